"""The map steps over one block of documents: normalise, shingle, sketch, cut into bands."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.candidates import banding
from twinset.documents.normalize import Normalized, hash_values, lengths, normalize
from twinset.documents.parts import Block, Part
from twinset.errors import RowError
from twinset.options import DedupOptions, PairsOptions, ReadOptions, ShingleOptions
from twinset.plan import Plan
from twinset.schema import Bytes, Hashes, Numbers, Places, Shingles
from twinset.shingles.shingle import shingle
from twinset.sketches import kernels as sketch_kernels
from twinset.sketches.minhash import sketch
from twinset.wording import at_row

READ, EMPTY, UNREADABLE = range(3)
"""What became of a document: it has shingles, it has none, or its row could not be read."""

_ID_SEED, _BY_SEED = 0x1D, 0xB1
OTHER_SIDE = np.uint64(0x5851F42D4C957F2D)
"""What is in the digests of documents that are compared against, so that none is a copy across the border."""


WorkOptions = PairsOptions | DedupOptions
"""The options that the map steps look at: those of either kind of run."""


@dataclass
class Sketched:
    """What is known of a block of documents once it was read: one entry a row, but for the keys, (bands, rows)."""

    rows: int
    status: Bytes
    counts: Numbers
    digests: Hashes
    keys: Hashes
    sketches: Bytes
    ids: pa.Array
    own_ids: bool
    id_hashes: Hashes
    lengths: Hashes
    sources: Numbers
    columns: dict[str, Any]
    text_bytes: int
    replaced: int
    unreadable: list[tuple[int, str]] = field(default_factory=list)


def sketch_block(
    block: Block, part: Part, options: WorkOptions, plan: Plan, other_side: bool, by_length: bool
) -> Sketched:
    """All that later stages need of a block, but for its texts."""
    ready = normalize(block.texts, lowercase=options.lowercase, nfc=options.nfc)
    _refuse_replaced(ready, block, part, options)
    salts = _salts(block, options)
    slots = np.empty((block.rows, plan.n_hashes), np.uint32)
    counts = np.zeros(block.rows, np.uint32)
    digests = np.zeros((block.rows, 2), np.uint64)
    for texts in ready.texts:
        for portion in shingle(texts, options, options.seed):
            if not plan.exact:
                _place(slots, portion.rows, sketch(portion, options.sketch, plan.n_hashes, options.seed))
            _place(digests, portion.rows, content_digests(portion))
            counts[portion.rows] = np.diff(portion.offsets)
    low = np.zeros((block.rows, banding.width(plan.n_hashes)), np.uint8)
    if low.shape[1] == plan.n_hashes:
        sketch_kernels.low_bytes(slots, low)
    else:
        low[:, : plan.n_hashes] = slots & np.uint32(0xFF)
    digests ^= salts[:, None]
    if other_side:
        digests ^= OTHER_SIDE
    status = np.where(counts == 0, EMPTY, READ).astype(np.uint8)
    status[[row for row, _ in block.unreadable]] = UNREADABLE
    ids = _ids(block, part)
    return Sketched(
        rows=block.rows,
        status=status,
        counts=counts,
        digests=digests,
        keys=banding.band_keys(slots, salts, plan),
        sketches=low,
        ids=ids,
        own_ids=block.ids is not None,
        id_hashes=hash_values(ids, _ID_SEED + other_side),
        lengths=lengths(block.texts) if by_length else np.zeros(0, np.uint64),
        sources=_sources(block, part),
        columns=block.columns,
        text_bytes=sum(int((texts.ends - texts.starts).sum()) for texts in ready.texts),
        replaced=len(ready.replaced) + block.replaced,
        unreadable=block.unreadable,
    )


def shingle_sets(texts: pa.Array, options: ShingleOptions, seed: int) -> list[Hashes]:
    """Shingle hashes of each of a few texts: for comparing documents outside a run."""
    found = [np.empty(0, np.uint64)] * len(texts)
    for ready in normalize(texts, lowercase=options.lowercase, nfc=options.nfc).texts:
        for portion in shingle(ready, options, seed):
            for place, row in enumerate(portion.rows):
                found[row] = portion.hashes[portion.offsets[place] : portion.offsets[place + 1]].copy()
    return found


def _place(out: npt.NDArray[Any], rows: Places, values: npt.NDArray[Any]) -> None:
    """Put values into rows; a plain slice where the rows are consecutive, as they nearly always are."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        out[rows[0] : rows[-1] + 1] = values
    else:
        out[rows] = values


def content_digests(portion: Shingles) -> Hashes:
    """128 bits of each row's shingles, whatever their order; `Corpus.digests` are these, salted."""
    digests = np.empty((len(portion.rows), 2), np.uint64)
    sketch_kernels.digest(portion.hashes, portion.offsets, digests)
    return digests


def _refuse_replaced(ready: Normalized, block: Block, part: Part, options: ReadOptions) -> None:
    if options.on_error == "stop" and (len(ready.replaced) or block.replaced):
        row = int(ready.replaced[0]) + block.first_row if len(ready.replaced) else block.first_row
        raise RowError(
            "the text holds bytes that are not UTF-8; name its encoding with --encoding, or let them be replaced "
            "(--on-error replace)",
            where=at_row(part.name, row),
        )


def _salts(block: Block, options: ReadOptions) -> Hashes:
    """What keeps documents apart that shall not be compared: a hash of the column of `by`."""
    if options.by is None:
        return np.zeros(block.rows, np.uint64)
    return hash_values(block.by, _BY_SEED)


def _ids(block: Block, part: Part) -> pa.Array:
    ids = part.row_ids(block)
    if ids.null_count:  # unreadable rows have none
        names = [
            value.as_py() if value.is_valid else f"{part.name}:{block.first_row + row}" for row, value in enumerate(ids)
        ]
        ids = pa.array(names, pa.string())
    return ids.cast(pa.string()) if ids.type != pa.string() else ids


def _sources(block: Block, part: Part) -> Numbers:
    if block.sources is not None:
        return block.sources.astype(np.uint32)
    return np.full(block.rows, part.source, np.uint32)
