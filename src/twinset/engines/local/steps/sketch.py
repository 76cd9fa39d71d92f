"""The map steps over one block of documents: normalise, shingle, sketch, cut into bands."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.candidates import banding
from twinset.documents.normalize import buffers_of, hash_rows, hash_values
from twinset.documents.parts import Block, Part
from twinset.engines.local.steps.shingle import item_lengths, kind_of, shingled
from twinset.errors import RowError
from twinset.options import DedupOptions, PairsOptions, ReadOptions, ShingleOptions
from twinset.plan import Plan
from twinset.schema import Bytes, Hashes, Numbers, Places, Shingles
from twinset.shingles.texts import repeat_often, repeats
from twinset.sketches import minhash_kernels as sketch_kernels
from twinset.sketches.minhash import sketch
from twinset.wording import at_row

READ, EMPTY, UNREADABLE = range(3)
"""What became of a document: it has shingles, it has none, or its row could not be read."""

_ID_SEED, _BY_SEED = 0x1D, 0xB1
_CONTENT_SEEDS = (0xC0DE1, 0xC0DE2)
_NONE = np.zeros(0, np.int64)

ELEMENT_BYTES = {"codes": 1, "images": 1, "vectors": 4, "weighted": 16}
"""Bytes that an element of a packed item takes, of the kinds that are joined by a measure of their own."""
OTHER_SIDE = np.uint64(0x5851F42D4C957F2D)
"""What is in the digests of documents that are compared against, so that none is a copy across the border."""


WorkOptions = PairsOptions | DedupOptions
"""The options that the map steps look at: those of either kind of run."""


@dataclass
class SketchedBlock:
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
    replaced: list[int]
    repeats: Numbers
    unreadable: list[tuple[int, str]] = field(default_factory=list)


def sketch_block(
    block: Block, part: Part, options: WorkOptions, plan: Plan | None, other_side: bool, by_length: bool
) -> SketchedBlock:
    """All that later stages need of a block, but for its texts; without a plan its items are no sets of hashes."""
    salts = _salts(block, options)
    items = _packed(block, options) if plan is None else _sketched(block, salts, options, plan)
    refuse_replaced(items.replaced, block, part, options)
    counts, digests = items.counts, items.digests
    digests ^= salts[:, None]
    if other_side:
        digests ^= OTHER_SIDE
    status = np.where(counts == 0, EMPTY, READ).astype(np.uint8)
    status[[row for row, _ in block.unreadable]] = UNREADABLE
    ids = block_ids(block, part)
    return SketchedBlock(
        rows=block.rows,
        status=status,
        counts=counts,
        digests=digests,
        keys=items.keys,
        sketches=items.sketches,
        ids=ids,
        own_ids=block.ids is not None,
        id_hashes=hash_values(ids, _ID_SEED + other_side),
        lengths=_lengths(block, options, items.others) if by_length else np.zeros(0, np.uint64),
        sources=_sources(block, part),
        columns=block.columns,
        text_bytes=items.nbytes,
        replaced=sorted({*items.replaced.tolist(), *block.replaced}),
        repeats=items.repeats,
        unreadable=block.unreadable,
    )


@dataclass
class _Items:
    """What is known of the items of a block by themselves: sizes, digests and, of sets, sketches and band keys."""

    counts: Numbers
    digests: Hashes
    keys: Hashes
    sketches: Bytes
    repeats: Numbers
    replaced: Places
    others: Places | None
    nbytes: int


def _packed(block: Block, options: WorkOptions) -> _Items:
    """Items that are no sets of hashes: counted and digested as they are packed."""
    counts, digests = _weighed(block.texts, options.item_kind)
    return _Items(
        counts, digests, keys=np.empty((0, block.rows), np.uint64), sketches=np.empty((block.rows, 0), np.uint8),
        repeats=np.zeros(0, np.uint32), replaced=_NONE, others=None, nbytes=_bytes_in(counts, options.item_kind),
    )  # fmt: skip


def _sketched(block: Block, salts: Hashes, options: WorkOptions, plan: Plan) -> _Items:
    """Sets of hashes: shingled, sketched and cut into bands."""
    done = shingled(block.texts, options, options.seed)
    slots = np.empty((block.rows, plan.n_hashes), np.uint32)
    counts = np.zeros(block.rows, np.uint32)
    digests = np.zeros((block.rows, 2), np.uint64)
    again = np.zeros(block.rows if _counts_repeats(options) else 0, np.uint32)
    for portion in done.portions:
        if not plan.exact:
            sketch(portion, options.sketch, plan.n_hashes, options.seed, slots)
        sketch_kernels.digest(portion.hashes, portion.offsets, portion.rows, digests)
        counts[portion.rows] = np.diff(portion.offsets)
        if len(again):
            again[portion.rows] = repeats(portion)
    low = np.zeros((block.rows, banding.width(plan.n_hashes)), np.uint8)
    if low.shape[1] == plan.n_hashes:
        sketch_kernels.low_bytes(slots, low)
    else:
        low[:, : plan.n_hashes] = slots & np.uint32(0xFF)
    keys = banding.band_keys(slots, salts, plan)
    return _Items(counts, digests, keys, low, again, done.replaced, done.others, done.nbytes)


def _counts_repeats(options: WorkOptions) -> bool:
    """Whether it is worth knowing how many shingles of a text are repeats: an audit has less to look at then."""
    return options.audit != 0 and kind_of(options) == "text" and repeat_often(options)


def _weighed(rows: pa.Array, kind: str) -> tuple[Numbers, Hashes]:
    """How many bytes, numbers or elements each item has that is no set of hashes, and 128 bits of what it is."""
    counts = np.diff(buffers_of(rows)[1]) // ELEMENT_BYTES[kind]
    digests = row_digests(rows)
    if rows.null_count:
        counts = np.where(np.asarray(rows.is_null()), 0, counts)
    return counts.astype(np.uint32), digests


def _lengths(block: Block, options: WorkOptions, others: Places | None) -> Hashes:
    return item_lengths(block.texts, options, others) if block.lengths is None else block.lengths


def _bytes_in(counts: Numbers, kind: str) -> int:
    return int(counts.sum(dtype=np.int64)) * ELEMENT_BYTES[kind]


def row_digests(rows: pa.Array) -> Hashes:
    """128 bits of each row of bytes: equal for equal ones."""
    return np.stack([hash_rows(rows, seed) for seed in _CONTENT_SEEDS], axis=1)


def content_groups(corpus_digests: Hashes, rows: pa.Array, other_side: bool) -> Hashes:
    """The hash of each row's column of `by`, with which its digest was salted."""
    groups: Hashes = corpus_digests[:, 0] ^ hash_rows(rows, _CONTENT_SEEDS[0])
    return groups ^ OTHER_SIDE if other_side else groups


def shingle_sets(texts: pa.Array, options: ShingleOptions, seed: int) -> list[Hashes]:
    """Shingle hashes of each of a few texts: for comparing documents outside a run."""
    found = [np.empty(0, np.uint64)] * len(texts)
    for portion in shingled(texts, options, seed).portions:
        for place, row in enumerate(portion.rows):
            found[row] = portion.hashes[portion.offsets[place] : portion.offsets[place + 1]].copy()
    return found


def content_digests(portion: Shingles) -> Hashes:
    """128 bits of each row's shingles, whatever their order; `Corpus.digests` are these, salted."""
    digests = np.empty((len(portion.rows), 2), np.uint64)
    sketch_kernels.digest(portion.hashes, portion.offsets, np.arange(len(digests)), digests)
    return digests


def refuse_replaced(replaced: Places, block: Block, part: Part, options: ReadOptions) -> None:
    """Raise where bytes were replaced and that was not allowed."""
    odd = [*replaced.tolist(), *block.replaced]
    if options.on_error == "stop" and odd:
        raise RowError(
            "the text holds bytes that are not UTF-8; name its encoding with --encoding, or let them be replaced "
            "(--on-error replace)",
            where=at_row(part.name, block.first_row + min(odd)),
        )


def _salts(block: Block, options: ReadOptions) -> Hashes:
    """What keeps documents apart that shall not be compared: a hash of the column of `by`."""
    if options.by is None:
        return np.zeros(block.rows, np.uint64)
    return hash_values(block.by, _BY_SEED)


def block_ids(block: Block, part: Part) -> pa.Array:
    """The ids of a block's rows, as strings; unreadable rows have that of their place."""
    ids = part.row_ids(block)
    if ids.null_count:
        names = [
            value.as_py() if value.is_valid else f"{part.name}:{block.first_row + row}" for row, value in enumerate(ids)
        ]
        ids = pa.array(names, pa.string())
    return ids.cast(pa.string()) if ids.type != pa.string() else ids


def _sources(block: Block, part: Part) -> Numbers:
    if block.sources is not None:
        return block.sources.astype(np.uint32)
    return np.full(block.rows, part.source, np.uint32)
