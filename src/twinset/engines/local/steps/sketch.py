"""Process one block of documents: normalise, shingle, sketch, cut into bands."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.candidates import banding
from twinset.documents.normalize import buffers_of, hash_bytes, hash_rows, hash_values
from twinset.documents.parts import Block, Part
from twinset.engines.local.steps.shingle import item_lengths, shingled
from twinset.errors import RowError
from twinset.options import DedupOptions, PairsOptions, ReadOptions, ShingleOptions
from twinset.plan import Plan
from twinset.schema import Bytes, Hashes, Numbers, Places, Shingles, Sketches
from twinset.shingles.texts import repeat_often, repeats
from twinset.sketches import minhash_kernels as sketch_kernels
from twinset.sketches.minhash import sketch
from twinset.wording import at_row

READ, EMPTY, UNREADABLE = range(3)
"""The status of a document: it has shingles, it has none, or its row could not be read."""

_ID_SEED, _BY_SEED = 0x1D, 0xB1
_CONTENT_SEEDS = (0xC0DE1, 0xC0DE2)
_NONE = np.zeros(0, np.int64)

ELEMENT_BYTES = {"codes": 1, "images": 1, "vectors": 4, "sparse": 8, "weighted": 16}
"""Bytes per element of a packed item, for the kinds that are not sets of hashes."""
_WITH_BYTES = ("text", "records")
"""The kinds of which equal contents may differ in some bytes."""
OTHER_SIDE = np.uint64(0x5851F42D4C957F2D)
"""XORed into the digests of documents compared against, so that none is a copy across the border."""


WorkOptions = PairsOptions | DedupOptions
"""The options of either kind of run."""


@dataclass
class SketchedBlock:
    """A processed block of documents: one entry per row, except the keys (bands, rows).

    `salts` are those of the digests, empty without ``--by``. `texts` are hashes of texts and records byte for byte,
    empty for other kinds, whose equal contents are equal in all that counts.
    """

    rows: int
    status: Bytes
    counts: Numbers
    digests: Hashes
    salts: Hashes
    texts: Hashes
    keys: Hashes
    sketches: Bytes
    ids: pa.Array
    own_ids: bool
    id_hashes: Hashes
    lengths: Hashes
    sources: Numbers
    columns: dict[str, Any]
    text_bytes: int
    replaced: list[int]
    repeats: Numbers
    unreadable: list[tuple[int, str]] = field(default_factory=list)


def sketch_block(
    block: Block, part: Part, options: WorkOptions, plan: Plan | None, other_side: bool, by_length: bool
) -> SketchedBlock:
    """Process a block for the later stages; without a plan its items are not sets of hashes."""
    salts = group_salts(block, options)
    items = _digest_items(block, options) if plan is None else _sketch_sets(block, salts, options, plan)
    refuse_replaced(items.replaced, block, part, options)
    counts, digests = items.counts, items.digests
    digests ^= salts[:, None]
    if other_side:
        digests ^= OTHER_SIDE
    status = np.where(counts == 0, EMPTY, READ).astype(np.uint8)
    status[[row for row, _ in block.unreadable]] = UNREADABLE
    ids, lengths, sources = block_ids(block, part), np.zeros(0, np.uint64), block.sources
    if by_length:
        lengths = item_lengths(block.texts, options, items.others) if block.lengths is None else block.lengths
    return SketchedBlock(
        rows=block.rows,
        status=status,
        counts=counts,
        digests=digests,
        salts=salts if options.by is not None else np.zeros(0, np.uint64),
        texts=hash_bytes(block.texts) if options.item_kind in _WITH_BYTES else np.zeros(0, np.uint64),
        keys=items.keys,
        sketches=items.sketches,
        ids=ids,
        own_ids=block.ids is not None,
        id_hashes=hash_ids(ids, other_side),
        lengths=lengths,
        sources=np.full(block.rows, part.source, np.uint32) if sources is None else sources.astype(np.uint32),
        columns=block.columns,
        text_bytes=items.nbytes,
        replaced=sorted({*items.replaced.tolist(), *block.replaced}),
        repeats=items.repeats,
        unreadable=block.unreadable,
    )


@dataclass
class _Items:
    """The items of a block: sizes, digests and, for sets, sketches and band keys."""

    counts: Numbers
    digests: Hashes
    keys: Hashes
    sketches: Bytes
    repeats: Numbers
    replaced: Places
    others: Places | None
    nbytes: int


def _digest_items(block: Block, options: WorkOptions) -> _Items:
    """Count and digest items that are not sets of hashes."""
    rows, kind = block.texts, options.item_kind
    counts = (np.diff(buffers_of(rows)[1]) // ELEMENT_BYTES[kind]).astype(np.uint32)
    if rows.null_count:
        counts[np.asarray(rows.is_null())] = 0
    return _Items(
        counts, row_digests(rows), keys=np.empty((0, block.rows), np.uint64),
        sketches=np.empty((block.rows, 0), np.uint8), repeats=np.zeros(0, np.uint32), replaced=_NONE, others=None,
        nbytes=int(counts.sum(dtype=np.int64)) * ELEMENT_BYTES[kind],
    )  # fmt: skip


def _sketch_sets(block: Block, salts: Hashes, options: WorkOptions, plan: Plan) -> _Items:
    """Shingle and sketch sets of hashes, and cut the sketches into bands."""
    done = shingled(block.texts, options, options.seed)
    slots = np.empty((block.rows, plan.n_hashes), np.uint32)
    counts = np.zeros(block.rows, np.uint32)
    digests = np.zeros((block.rows, 2), np.uint64)
    # Counting repeated shingles saves work in an audit.
    counted = options.audit != 0 and options.item_kind == "text" and repeat_often(options)
    n_repeats = np.zeros(block.rows if counted else 0, np.uint32)
    for portion in done.portions:
        if not plan.exact:
            sketch(portion, options.sketch, plan.n_hashes, options.seed, slots)
        sketch_kernels.digest(portion.hashes, portion.offsets, portion.rows, digests)
        counts[portion.rows] = np.diff(portion.offsets)
        if len(n_repeats):
            n_repeats[portion.rows] = repeats(portion)
    keys = banding.band_keys(slots, salts, plan)
    return _Items(counts, digests, keys, low_bytes(slots), n_repeats, done.replaced, done.others, done.nbytes)


def low_bytes(slots: Sketches) -> Bytes:
    """Return the low byte of each slot, padded for comparison."""
    rows, n_hashes = slots.shape
    low = np.zeros((rows, banding.width(n_hashes)), np.uint8)
    if low.shape[1] == n_hashes:
        sketch_kernels.low_bytes(slots, low)
    else:
        low[:, :n_hashes] = slots & np.uint32(0xFF)
    return low


def row_digests(rows: pa.Array) -> Hashes:
    """Return 128-bit digests of rows of bytes."""
    return np.stack([hash_rows(rows, seed) for seed in _CONTENT_SEEDS], axis=1)


def unsalted(digests: Hashes, salts: Hashes, border: int | None) -> Hashes:
    """Return the digests of contents without what keeps groups and sides apart; `border` is the first of the other."""
    plain = digests ^ salts[:, None] if len(salts) else digests.copy()
    if border is not None:
        plain[border:] ^= OTHER_SIDE
    return plain


def content_groups(corpus_digests: Hashes, rows: pa.Array, other_side: bool) -> Hashes:
    """Recover the hash of each row's `by` column, which salts its digest."""
    groups: Hashes = corpus_digests[:, 0] ^ hash_rows(rows, _CONTENT_SEEDS[0])
    return groups ^ OTHER_SIDE if other_side else groups


def shingle_sets(texts: pa.Array, options: ShingleOptions, seed: int) -> list[Hashes]:
    """Return the shingle hashes of each of a few texts, to compare documents outside a run."""
    sets = [np.empty(0, np.uint64)] * len(texts)
    for portion in shingled(texts, options, seed).portions:
        for row, start, end in zip(portion.rows, portion.offsets[:-1], portion.offsets[1:], strict=True):
            sets[row] = portion.hashes[start:end].copy()
    return sets


def content_digests(portion: Shingles) -> Hashes:
    """Return 128-bit digests of each row's shingles in any order; `Corpus.digests` are these, salted."""
    digests = np.empty((len(portion.rows), 2), np.uint64)
    sketch_kernels.digest(portion.hashes, portion.offsets, np.arange(len(digests)), digests)
    return digests


def refuse_replaced(replaced: Places, block: Block, part: Part, options: ReadOptions) -> None:
    """Raise if bytes were replaced and that is not allowed."""
    rows = [*replaced.tolist(), *block.replaced]
    if options.on_error == "stop" and rows:
        raise RowError(
            "the text holds bytes that are not UTF-8; name its encoding with --encoding, or let them be replaced "
            "(--on-error replace)",
            where=at_row(part.name, block.first_row + min(rows)),
        )


def group_salts(block: Block, options: ReadOptions) -> Hashes:
    """Return a hash of the `by` column, which separates documents that are not compared."""
    if options.by is None:
        return np.zeros(block.rows, np.uint64)
    return hash_values(block.by, _BY_SEED)


def hash_ids(ids: pa.Array, other_side: bool) -> Hashes:
    """Return the hashes of ids; those of the two sides of a comparison never agree."""
    return hash_values(ids, _ID_SEED + other_side)


def block_ids(block: Block, part: Part) -> pa.Array:
    """Return the ids of a block's rows as strings; unreadable rows are named by their position."""
    ids = part.row_ids(block)
    if ids.null_count:
        names = [
            value.as_py() if value.is_valid else f"{part.name}:{block.first_row + row}" for row, value in enumerate(ids)
        ]
        ids = pa.array(names, pa.string())
    return ids.cast(pa.string()) if ids.type != pa.string() else ids
