"""Sketch texts, records and sets for an index or for a query, and pack their contents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.candidates.banding import band_keys
from twinset.documents.items.pack import element_sets
from twinset.documents.items.records import read_records, written_records
from twinset.documents.normalize import buffers_of
from twinset.engines.local.steps.shingle_length import count_tokens
from twinset.engines.local.steps.sketch import distinct_sets
from twinset.errors import DamagedError, SourceError
from twinset.index.kinds.anchors import keys_of_texts
from twinset.index.kinds.columns import weighted_sets
from twinset.index.kinds.columns.weighted_sets import SetsWithWeights
from twinset.index.kinds.pack_text import pack, unpack, unpack_text, unpacked_size
from twinset.index.kinds.samples import sampled
from twinset.index.settings import Settings
from twinset.pairs.sets import Sets
from twinset.schema import Numbers, Places, Shingles, Sketches
from twinset.sketches.minhash import sketch
from twinset.sketches.weighted import weighted_sketch
from twinset.system import batch_sizes
from twinset.system.arrays import offsets_of, ranges

UNPACKED = 2**23
"""Bytes of texts unpacked at a time: a long text may have few shingles."""

Keys = npt.NDArray[np.int32]
"""Keys as a database stores them: the upper half of each, as a signed number."""


@dataclass
class SketchedBatch:
    """Sketches of a batch of documents, one row each.

    `shingles` are the numbers of distinct shingles, `sets` the shingle sets if they are needed, and `replaced` the rows
    with invalid UTF-8. `short` counts queries with fewer tokens than a shingle.
    """

    shingles: Numbers
    slots: Sketches
    keys: Keys
    sets: Sets | None
    replaced: Places
    short: int = 0

    def __len__(self) -> int:
        return len(self.shingles)

    def take(self, rows: Sequence[int]) -> SketchedBatch:
        """Return some rows, without their sets."""
        return SketchedBatch(self.shingles[rows], self.slots[rows], self.keys[rows], None, np.zeros(0, np.int64))


@dataclass(frozen=True)
class RaggedKeys:
    """Keys of documents, any number of each: those of document i are keys[offsets[i]:offsets[i+1]]."""

    offsets: Places
    keys: Keys

    def take(self, rows: Sequence[int]) -> RaggedKeys:
        """Return the keys of some documents."""
        counts = np.diff(self.offsets)[rows]
        return RaggedKeys(offsets_of(counts), self.keys[ranges(self.offsets[:-1][rows], counts)])

    def postings(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the rows of these documents in a table of postings, in its order."""
        return packed_postings(np.repeat(numbers, np.diff(self.offsets)), self.keys)


@dataclass
class Entries:
    """Documents ready to be written: ids, sketches and contents.

    Contents are packed texts (`are_texts`), shingle hashes, or None. `content_keys` are the keys that follow from the
    contents, by table: `anchors`, `samples`.
    """

    ids: list[str]
    sketched: SketchedBatch
    contents: list[bytes] | None
    are_texts: bool
    content_keys: Mapping[str, RaggedKeys] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """The approximate number of bytes to write."""
        done = self.sketched
        keys = done.keys.nbytes + sum(some.keys.nbytes for some in self.content_keys.values())
        return done.slots.nbytes + 4 * keys + sum(map(len, self.contents or ()))

    def take(self, rows: Sequence[int]) -> Entries:
        """Return some rows."""
        contents = None if self.contents is None else [self.contents[row] for row in rows]
        keys = {table: some.take(rows) for table, some in self.content_keys.items()}
        return Entries([self.ids[row] for row in rows], self.sketched.take(rows), contents, self.are_texts, keys)

    def postings(self, numbers: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.int64]]:
        """Return the rows of the documents under these numbers, by table of postings."""
        some = self.sketched.shingles > 0
        bands = packed_bands(numbers[some], self.sketched.keys[some])
        return {"bands": bands} | {table: keys.postings(numbers) for table, keys in self.content_keys.items()}


def sketch_texts(texts: pa.Array, settings: Settings, *, sets: bool) -> SketchedBatch:
    """Sketch texts with the options and the seed of an index; thread-safe."""
    if settings.options.item_kind == "weighted":
        return _sketch_weighted(texts, settings, sets=sets)
    slots = np.zeros((len(texts), settings.bands.n_hashes), np.uint32)
    shingles, replaced = _shingle(texts, settings, slots, keep=sets)
    return SketchedBatch(shingles.sizes, slots, keys_of(slots, settings), shingles if sets else None, replaced)


def _sketch_weighted(texts: pa.Array, settings: Settings, *, sets: bool) -> SketchedBatch:
    """Sketch weighted sets."""
    try:
        found = weighted_sets.read_objects(texts.to_pylist())
    except ValueError as error:
        raise SourceError(str(error)) from error
    slots = slots_of(found, settings)
    return SketchedBatch(found.sizes, slots, keys_of(slots, settings), found if sets else None, np.zeros(0, np.int64))


def slots_of(sets: Sets, settings: Settings) -> Sketches:
    """Return the sketches of sets that are one after the other; those of empty sets are 0."""
    n_hashes = settings.bands.n_hashes
    if isinstance(sets, SetsWithWeights):
        slots = weighted_sketch(sets.weighted, n_hashes, settings.seed)
        slots[sets.sizes == 0] = 0
        return slots
    shingles = Shingles(np.arange(len(sets.sizes)), sets.starts, sets.hashes)
    return sketch(shingles, settings.options.sketch, n_hashes, settings.seed)


def count_short(texts: pa.Array, shingles: Numbers, settings: Settings) -> int:
    """Return the number of texts with fewer tokens than a shingle, by their numbers of shingles."""
    options = settings.options
    single = texts.take(pa.array(np.flatnonzero(shingles == 1)))
    if options.item_kind != "text" or not len(single):
        return 0
    return int(np.count_nonzero(count_tokens(single, options, f"{options.kind}:1") < options.size))


def _shingle(texts: pa.Array, settings: Settings, slots: Sketches | None, *, keep: bool) -> tuple[Sets, Places]:
    """Return the shingle sets of texts, or without `keep` only their sizes; fill `slots` with sketches."""
    options = settings.options
    rows = _element_hashes(texts) if options.item_kind == "items" else texts
    return distinct_sets(rows, options, settings.seed, slots, options.sketch, keep=keep)


def _element_hashes(texts: pa.Array) -> pa.Array:
    """Parse sets, and return the hashes of their elements."""
    rows, bad = element_sets(texts)
    if bad:
        raise SourceError(f"set number {bad[0][0]} cannot be read: {bad[0][1]}")
    return rows


def keys_of(slots: Sketches, settings: Settings) -> Keys:
    """Return the band keys of sketches, (n, bands)."""
    keys = band_keys(slots, np.zeros(len(slots), np.uint64), settings.bands)
    return np.ascontiguousarray((keys >> np.uint64(32)).astype(np.uint32).view(np.int32).T)


def packed_bands(numbers: npt.NDArray[np.int64], keys: Keys) -> npt.NDArray[np.int64]:
    """Return the rows of the table `bands` as one number each, key above document, in the order of the table.

    Two bands of one document rarely have the same key; they are one row. NumPy's `unique` is ten times slower.

    Examples
    --------
    >>> packed_bands(np.array([7, 8]), np.array([[2, 2], [1, 3]], np.int32)) >> 32
    array([1, 2, 3])
    """
    return packed_postings(np.repeat(numbers, keys.shape[1]), keys.ravel())


def packed_postings(numbers: npt.NDArray[np.int64], keys: Keys) -> npt.NDArray[np.int64]:
    """Return rows of a table of postings, one document and key each, as `packed_bands` does."""
    packed: npt.NDArray[np.int64] = (keys.astype(np.int64) << 32) | numbers
    return distinct_postings(packed)


def distinct_postings(packed: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Sort rows in place, and return them without repeats."""
    packed.sort()
    fresh = packed[1:] != packed[:-1]
    return packed if fresh.all() else packed[np.concatenate([[True], fresh])]


def make_entries(ids: list[str], texts: pa.Array, settings: Settings) -> Entries:
    """Prepare documents for writing; thread-safe."""
    store, contained = settings.options.store, settings.options.contained
    done = sketch_texts(texts, settings, sets=store == "shingles" or contained)
    contents = None
    if store == "text":
        contents = [pack(text) for text in _written(texts, done.replaced, settings)]
    elif store == "shingles" and done.sets is not None:
        contents = [_stored_set(done.sets, row) for row in range(len(ids))]
    keys = {"samples": RaggedKeys(*sampled(done.sets))} if contained and done.sets is not None else {}
    if settings.options.passages is not None:
        keys["anchors"] = RaggedKeys(*keys_of_texts(texts, settings))
    done.sets = None
    return Entries(ids, done, contents, store == "text", keys)


def content_keys(contents: Sequence[bytes | None], settings: Settings) -> dict[str, RaggedKeys]:
    """Return the keys that follow from stored contents, by table; raise `DamagedError` if a content is missing."""
    keys = {}
    if settings.options.contained:
        keys["samples"] = RaggedKeys(*sampled(sets_of(contents, settings)))
    if settings.options.passages is not None:
        keys["anchors"] = _anchor_keys_of(contents, settings)
    return keys


def _anchor_keys_of(contents: Sequence[bytes | None], settings: Settings) -> RaggedKeys:
    kept = whole_contents(contents, settings)
    cuts = runs(np.array([unpacked_size(one) for one in kept], np.int64), UNPACKED)
    texts = (pa.array([unpack(one) for one in kept[first:last]], pa.large_binary()) for first, last in cuts)
    offsets, keys = zip(*(keys_of_texts(some, settings) for some in texts), strict=True) if kept else ((), ())
    counts = np.concatenate([np.zeros(0, np.int64), *map(np.diff, offsets)])
    return RaggedKeys(offsets_of(counts), np.concatenate([np.zeros(0, np.int32), *keys]))


def sets_of(contents: Sequence[bytes | None], settings: Settings) -> Sets:
    """Return the shingle sets of documents from their contents; raise `DamagedError` if one is missing."""
    kept = whole_contents(contents, settings)
    if settings.options.store == "shingles":
        if settings.options.item_kind == "weighted":
            return weighted_sets.stored_sets(kept)
        sizes = np.array([len(one) // 8 for one in kept], np.uint32)
        starts = np.zeros(len(kept) + 1, np.int64)
        np.cumsum(sizes, out=starts[1:])
        return Sets(np.frombuffer(bytearray().join(kept), np.uint64), starts, sizes)
    sizes = np.array([unpacked_size(one) for one in kept], np.int64)
    cuts = list(runs(sizes, UNPACKED))
    if len(cuts) <= 1:
        return _unpack_sets(kept, settings)
    pieces = [_trim(_unpack_sets(kept[first:last], settings)) for first, last in cuts]
    weighted = [one for one in pieces if isinstance(one, SetsWithWeights)]
    if weighted:
        return SetsWithWeights.concat(weighted)
    counts = np.concatenate([piece.sizes for piece in pieces])
    return Sets(np.concatenate([piece.hashes for piece in pieces]), np.cumsum(counts, dtype=np.int64) - counts, counts)


def whole_contents(contents: Sequence[bytes | None], settings: Settings) -> list[bytes]:
    """Return the contents of documents; raise `DamagedError` if one is missing or incomplete."""
    kept = [one for one in contents if one is not None]
    width = stored_width(settings)
    if len(kept) < len(contents) or (settings.options.store == "shingles" and any(len(one) % width for one in kept)):
        raise DamagedError("the index is damaged: the content of a document is missing or incomplete")
    return kept


def stored_width(settings: Settings) -> int:
    """Return the bytes of a shingle or an element where these are stored."""
    return weighted_sets.BYTES if settings.options.item_kind == "weighted" else 8


def are_whole(contents: Sequence[bytes | None], settings: Settings) -> bool:
    """Whether the stored contents of documents can be read."""
    try:
        kept = whole_contents(contents, settings)
        if settings.options.item_kind == "weighted":
            sets_of(kept, settings)
        elif settings.options.store == "text":
            for one in kept:  # one at a time: together they may be large
                rows = unpacked_rows([unpack_text(one).encode()], settings)
                if settings.options.item_kind == "items":
                    with _of_contents():
                        _element_hashes(rows)
    except DamagedError:
        return False
    return True


def _unpack_sets(kept: Sequence[bytes], settings: Settings) -> Sets:
    texts = [unpack(one) for one in kept]
    if settings.options.item_kind == "weighted":
        with _of_contents():
            return weighted_sets.read_objects(texts)
    rows = unpacked_rows(texts, settings)
    with _of_contents():
        return _shingle(rows, settings, None, keep=True)[0]


def unpacked_rows(texts: Sequence[bytes], settings: Settings) -> pa.Array:
    """Return stored texts in the form in which sources are read."""
    if settings.options.item_kind != "records":
        return pa.array(texts, pa.large_binary())
    with _of_contents():
        return read_records(texts, [column.name for column in settings.options.text_columns])


@contextmanager
def _of_contents() -> Iterator[None]:
    """Raise `DamagedError` for contents that cannot be read."""
    try:
        yield
    except (SourceError, ValueError) as error:
        raise DamagedError(f"the content of a document is damaged: {error}") from error


def _trim(sets: Sets) -> Sets:
    """Return the sets without the unused space of repeated shingles; weighted sets have none."""
    if isinstance(sets, SetsWithWeights):
        return sets
    each = zip(sets.starts.tolist(), sets.sizes.tolist(), strict=False)
    hashes = np.concatenate([sets.hashes[first : first + size] for first, size in each])
    return Sets(hashes, np.cumsum(sets.sizes, dtype=np.int64) - sets.sizes, sets.sizes)


def runs(sizes: npt.NDArray[Any], most: int) -> Iterator[tuple[int, int]]:
    """Split items into runs with a total size of up to `most`, or of one item.

    Examples
    --------
    >>> list(runs(np.array([3, 3, 9, 1], np.uint32), 6))
    [(0, 2), (2, 3), (3, 4)]
    """
    reach = np.cumsum(sizes, dtype=np.int64)
    first = 0
    while first < len(reach):
        done = int(reach[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(reach, done + most, "right")))
        last = min(last, first + batch_sizes.INDEX_RUN)
        yield first, last
        first = last


def _stored_set(sets: Sets, row: int) -> bytes:
    if isinstance(sets, SetsWithWeights):
        return sets.packed(row)
    first = int(sets.starts[row])
    return bytes(np.sort(sets.hashes[first : first + int(sets.sizes[row])]).tobytes())


def _written(texts: pa.Array, replaced: Places, settings: Settings) -> list[bytes]:
    """Return documents as texts in UTF-8: records and weighted sets as JSON objects."""
    if settings.options.item_kind == "records":
        return written_records(texts, [column.name for column in settings.options.text_columns])
    if settings.options.item_kind == "weighted":
        return weighted_sets.written(texts)
    return _utf8_bytes(texts, replaced)


def _utf8_bytes(texts: pa.Array, replaced: Places) -> list[bytes]:
    """Return each text as UTF-8, null as empty; invalid bytes become U+FFFD, as in the comparison."""
    data, offsets = buffers_of(texts)
    whole = data.data
    values = [bytes(whole[first:last]) for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
    for row in replaced.tolist():
        values[row] = values[row].decode("utf-8", "replace").encode()
    if texts.null_count:
        for row in np.flatnonzero(np.asarray(texts.is_null())).tolist():
            values[row] = b""
    return values
