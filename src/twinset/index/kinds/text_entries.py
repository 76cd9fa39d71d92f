"""Texts to what an index keeps of them, and to what a query compares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.candidates.banding import band_keys
from twinset.documents.items.pack import element_sets
from twinset.documents.normalize import buffers_of
from twinset.engines.local.steps.shingle import shingled
from twinset.errors import DamagedError, SourceError
from twinset.index.kinds.pack_text import pack, unpack, unpacked_size
from twinset.index.settings import Settings
from twinset.pairs.sets import Sets
from twinset.schema import Hashes, Numbers, Places, Sketches
from twinset.sketches.minhash import sketch

_MOST_ROWS = 16384
UNPACKED = 2**25
"""Bytes of texts that are unpacked at a time: few shingles may come of a long text, or none."""

Keys = npt.NDArray[np.int32]
"""Band keys as a database keeps them: the upper half of each key, read as a signed number."""


@dataclass
class SketchedBatch:
    """Sketches of some texts, one row each.

    `shingles` counts distinct ones. `sets` are the shingle sets themselves, where they were asked for. `replaced` are
    the rows whose bytes were not UTF-8.
    """

    shingles: Numbers
    slots: Sketches
    keys: Keys
    sets: Sets | None
    replaced: Places

    def __len__(self) -> int:
        return len(self.shingles)

    def take(self, rows: Sequence[int]) -> SketchedBatch:
        """Some of them, without their sets."""
        return SketchedBatch(self.shingles[rows], self.slots[rows], self.keys[rows], None, np.zeros(0, np.int64))


@dataclass
class Entries:
    """Documents ready to be written: ids, their sketches, and their contents as the index keeps them.

    Contents are packed texts (`are_texts`) or shingle hashes, or there are none.
    """

    ids: list[str]
    sketched: SketchedBatch
    contents: list[bytes] | None
    are_texts: bool

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """About how much is written."""
        done = self.sketched
        return done.slots.nbytes + 4 * done.keys.nbytes + sum(map(len, self.contents or ()))

    def take(self, rows: Sequence[int]) -> Entries:
        """Some of them."""
        contents = None if self.contents is None else [self.contents[row] for row in rows]
        return Entries([self.ids[row] for row in rows], self.sketched.take(rows), contents, self.are_texts)


def sketch_texts(texts: pa.Array, settings: Settings, *, sets: bool) -> SketchedBatch:
    """Sketch texts with an index's options and seed; safe in any thread."""
    slots = np.zeros((len(texts), settings.bands.n_hashes), np.uint32)
    made, replaced = _shingled(texts, settings, slots, keep=sets)
    return SketchedBatch(made.sizes, slots, keys_of(slots, settings), made if sets else None, replaced)


def _shingled(texts: pa.Array, settings: Settings, slots: Sketches | None, *, keep: bool) -> tuple[Sets, Places]:
    """The shingle sets of texts, or with not `keep` their sizes alone; sketches are put into `slots` on the way."""
    options = settings.options
    ready = shingled(_listed(texts) if options.items is not None else texts, options, settings.seed)
    sizes, starts = np.zeros(len(texts), np.uint32), np.zeros(len(texts), np.int64)
    pieces: list[Hashes] = []
    held = 0
    for portion in ready.portions:
        if slots is not None:
            slots[portion.rows] = sketch(portion, options.sketch, slots.shape[1], settings.seed)
        found = Sets.with_room(np.diff(portion.offsets))
        places = np.arange(len(portion.rows))
        found.fill(portion, places, places)
        sizes[portion.rows] = found.sizes
        starts[portion.rows] = found.starts[:-1] + held
        if keep:
            pieces.append(found.hashes)
            held += len(found.hashes)
    hashes = pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, np.uint64), *pieces])
    return Sets(hashes, starts, sizes), ready.replaced


def _listed(texts: pa.Array) -> pa.Array:
    """Sets as they are written, as the hashes of their elements."""
    rows, bad = element_sets(texts)
    if bad:
        raise SourceError(f"set number {bad[0][0]} cannot be read: {bad[0][1]}")
    return rows


def keys_of(slots: Sketches, settings: Settings) -> Keys:
    """The band keys of sketches, (n, bands)."""
    keys = band_keys(slots, np.zeros(len(slots), np.uint64), settings.bands)
    return np.ascontiguousarray((keys >> np.uint64(32)).astype(np.uint32).view(np.int32).T)


def packed_bands(numbers: npt.NDArray[np.int64], keys: Keys) -> npt.NDArray[np.int64]:
    """Rows of the table `bands` as one number each, key above document, in the order of the table.

    Two bands of one document may have the same key, once in a great while: that is one row. NumPy's `unique` would do
    the same, ten times as slowly.

    Examples
    --------
    >>> packed_bands(np.array([7, 8]), np.array([[2, 2], [1, 3]], np.int32)) >> 32
    array([1, 2, 3])
    """
    packed: npt.NDArray[np.int64] = ((keys.astype(np.int64) << 32) | numbers[:, None]).ravel()
    packed.sort()
    fresh = packed[1:] != packed[:-1]
    return packed if fresh.all() else packed[np.concatenate([[True], fresh])]


def make_entries(ids: list[str], texts: pa.Array, settings: Settings) -> Entries:
    """Documents ready to be written; safe in any thread."""
    store = settings.options.store
    done = sketch_texts(texts, settings, sets=store == "shingles")
    contents = None
    if store == "text":
        contents = [pack(text) for text in _bytes_of(texts, done.replaced)]
    elif done.sets is not None:
        contents = [_set(done.sets, row).tobytes() for row in range(len(ids))]
    done.sets = None
    return Entries(ids, done, contents, store == "text")


def sets_of(contents: Sequence[bytes | None], settings: Settings) -> Sets:
    """The shingle sets of documents, from what was kept of them; of a document there must be something."""
    kept = [one for one in contents if one is not None]
    if len(kept) < len(contents) or (settings.options.store == "shingles" and any(len(one) % 8 for one in kept)):
        raise DamagedError("the index is damaged: what was kept of a document is not there, or not the whole of it")
    if settings.options.store == "shingles":
        sizes = np.array([len(one) // 8 for one in kept], np.uint32)
        starts = np.zeros(len(kept) + 1, np.int64)
        np.cumsum(sizes, out=starts[1:])
        return Sets(np.frombuffer(bytearray().join(kept), np.uint64), starts, sizes)
    sizes = np.array([unpacked_size(one) for one in kept], np.int64)
    cuts = list(runs(sizes, UNPACKED))
    if len(cuts) <= 1:
        return _unpacked(kept, settings)
    pieces = [_trimmed(_unpacked(kept[first:last], settings)) for first, last in cuts]
    counts = np.concatenate([piece.sizes for piece in pieces])
    return Sets(np.concatenate([piece.hashes for piece in pieces]), np.cumsum(counts, dtype=np.int64) - counts, counts)


def _unpacked(kept: Sequence[bytes], settings: Settings) -> Sets:
    texts = pa.array([unpack(one) for one in kept], pa.large_binary())
    return _shingled(texts, settings, None, keep=True)[0]


def _trimmed(sets: Sets) -> Sets:
    """The same sets without the room that repeated shingles took."""
    each = zip(sets.starts.tolist(), sets.sizes.tolist(), strict=False)
    hashes = np.concatenate([sets.hashes[first : first + size] for first, size in each])
    return Sets(hashes, np.cumsum(sets.sizes, dtype=np.int64) - sets.sizes, sets.sizes)


def runs(sizes: npt.NDArray[Any], most: int) -> Iterator[tuple[int, int]]:
    """Cut things of some sizes into runs of at most so much, or of one thing: texts differ in length a thousandfold.

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
        last = min(last, first + _MOST_ROWS)
        yield first, last
        first = last


def _set(sets: Sets, row: int) -> Any:
    first = int(sets.starts[row])
    return np.sort(sets.hashes[first : first + int(sets.sizes[row])])


def _bytes_of(texts: pa.Array, replaced: Places) -> list[bytes]:
    """Each text as UTF-8, null as nothing; bytes that are not UTF-8 become U+FFFD, as they are compared."""
    data, offsets = buffers_of(texts)
    whole = data.data
    found = [bytes(whole[first:last]) for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
    for row in replaced.tolist():
        found[row] = found[row].decode("utf-8", "replace").encode()
    if texts.null_count:
        for row in np.flatnonzero(np.asarray(texts.is_null())).tolist():
            found[row] = b""
    return found
