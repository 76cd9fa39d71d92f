"""Exact overlaps of shingle sets: every reported pair is counted on both documents' full sets."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.pairs import sets_kernels
from twinset.schema import Bytes, Hashes, Numbers, Places, Scores, Shares, Shingles
from twinset.system import batch_sizes
from twinset.system.arrays import Room, offsets_of


class _OverlapScratch(threading.local):
    places: Hashes = np.empty(0, np.uint64)
    owners: Numbers = np.empty(0, np.uint32)
    filled: Numbers = np.empty(0, np.uint32)

    def fit(self, longest: int) -> Hashes:
        size = 1 << max(3, (2 * longest).bit_length())
        if len(self.places) < size or len(self.places) > 1024 * size:
            self.places = np.empty(size, np.uint64)
        return self.places

    def fit_table(self, most: int) -> tuple[Hashes, Numbers, Numbers]:
        places = self.fit(most - 1)
        if len(self.owners) < len(places):
            self.owners, self.filled = np.empty(len(places), np.uint32), np.empty(len(places), np.uint32)
        return places, self.owners, self.filled


_scratch = _OverlapScratch()


@dataclass(frozen=True)
class Sets:
    """Shingle sets of some documents: set j is hashes[starts[j]:starts[j]+sizes[j]]. Allocate first, then `fill`."""

    hashes: Hashes
    starts: Places
    sizes: Numbers

    @classmethod
    def with_room(cls, counts: npt.NDArray[np.integer], room: "Room | None" = None) -> "Sets":
        """Allocate sets of at most `counts` shingles each; with `room`, valid until the thread's next use of it."""
        starts = offsets_of(counts)
        hashes = np.empty(starts[-1], np.uint64) if room is None else room.fit(int(starts[-1]))
        return cls(hashes, starts, np.zeros(len(counts), np.uint32))

    def fill(self, shingles: Shingles, chosen: Places, sets: Places) -> None:
        """Make the sets `sets` of the rows shingles.rows[chosen], without repeats. Threads may fill different sets."""
        lengths = np.diff(shingles.offsets)[chosen]
        places = _scratch.fit(int(lengths.max(initial=0)))
        sizes = np.empty(len(chosen), np.uint32)
        sets_kernels.distinct(shingles.hashes, shingles.offsets, chosen, self.hashes, self.starts[sets], sizes, places)
        self.sizes[sets] = sizes


def overlaps(sets: Sets, lefts: Numbers, rights: Numbers, threshold: float) -> Numbers:
    """Shared shingles of each pair of sets, 0 where the Jaccard similarity is below the threshold.

    Fastest with equal `lefts` adjacent.

    Examples
    --------
    >>> import numpy as np
    >>> three = Sets.with_room(np.array([4, 4]))
    >>> both = Shingles(np.arange(2), np.array([0, 4, 8]), np.array([1, 2, 3, 3, 2, 3, 4, 2], np.uint64))
    >>> three.fill(both, np.arange(2), np.arange(2))
    >>> overlaps(three, np.array([0], np.uint32), np.array([1], np.uint32), 0.5).tolist()
    [2]

    """
    shared = np.empty(len(lefts), np.uint32)
    longest = int(sets.sizes.max(initial=0))
    sets_kernels.overlaps(lefts, rights, sets.hashes, sets.starts, sets.sizes, threshold, _scratch.fit(longest), shared)
    return shared


def held(sets: Sets, lefts: Numbers, rights: Numbers, threshold: float) -> Numbers:
    """Shared shingles of each pair of sets, 0 where neither holds the share `threshold` of the other.

    The share of the smaller set is the larger one, so only that is compared with the threshold.

    Examples
    --------
    >>> import numpy as np
    >>> two = Sets(np.array([1, 2, 3, 4, 2, 9], np.uint64), np.array([0, 4, 6]), np.array([4, 2], np.uint32))
    >>> [held(two, np.array([0], np.uint32), np.array([1], np.uint32), t).tolist() for t in (0.5, 0.6)]
    [[1], [0]]
    """
    left_is_larger = sets.sizes[lefts] >= sets.sizes[rights]
    larger = np.where(left_is_larger, lefts, rights)
    smaller = np.where(left_is_larger, rights, lefts)
    order = np.argsort(larger, kind="stable")
    shared = np.empty(len(lefts), np.uint32)
    longest = int(sets.sizes.max(initial=0))
    sets_kernels.held(
        larger[order], smaller[order], sets.hashes, sets.starts, sets.sizes, threshold, _scratch.fit(longest), shared
    )
    back = np.empty_like(shared)
    back[order] = shared
    return back


@dataclass(frozen=True)
class Bags:
    """Shingles of some documents with their repeats: those of document j are hashes[starts[j]:starts[j+1]]."""

    hashes: Hashes
    starts: Places

    @classmethod
    def with_room(cls, counts: npt.NDArray[np.integer], room: Room) -> "Bags":
        """Allocate `counts` shingles for each document, valid until the thread's next use of `room`."""
        starts = offsets_of(counts)
        return cls(room.fit(int(starts[-1])), starts)

    def fill(self, shingles: Shingles, documents: Places) -> None:
        """Copy the rows of `shingles` to `documents`."""
        sets_kernels.lay(shingles.hashes, shingles.offsets, documents, self.starts, self.hashes)


def compared(bags: Bags, lefts: Numbers, rights: Numbers, threshold: float) -> tuple[Numbers, Numbers]:
    """Return the overlaps, as `overlaps` does, and the set sizes of all documents that have a pair.

    No two documents have more than `batch_sizes.COMPARED_SHINGLES` shingles together. Fastest with the pairs of one
    connected component adjacent.

    Examples
    --------
    >>> import numpy as np
    >>> both = Shingles(np.arange(2), np.array([0, 4, 8]), np.array([1, 2, 3, 3, 2, 3, 4, 2], np.uint64))
    >>> bags = Bags.with_room(np.array([4, 4]), Room())
    >>> bags.fill(both, np.arange(2))
    >>> shared, sizes = compared(bags, np.array([0], np.uint32), np.array([1], np.uint32), 0.5)
    >>> shared.tolist(), sizes.tolist()
    ([2], [3, 3])

    """
    documents = len(bags.starts) - 1
    numbers, sizes = np.zeros(documents, np.uint32), np.zeros(documents, np.uint32)
    shared = np.empty(len(lefts), np.uint32)
    most = batch_sizes.COMPARED_SHINGLES
    table = _scratch.fit_table(most)
    members = np.empty(sets_kernels.TOGETHER, np.int64)
    hashes, starts = bags.hashes, bags.starts
    sets_kernels.compare(lefts, rights, hashes, starts, threshold, most, *table, numbers, members, sizes, shared)
    return shared, sizes


def gathered(pieces: Sequence[tuple[Bytes, Places, Places]], room: Room) -> tuple[Bytes, Places]:
    """Concatenate texts data[start:end] of several batches; return the bytes and the offsets of the texts.

    The bytes are overwritten by the same thread's next call.
    """
    offsets = offsets_of(np.concatenate([ends - starts for _, starts, ends in pieces]))
    out, at = room.fit_bytes(int(offsets[-1])), 0
    for data, starts, ends in pieces:
        sets_kernels.gather(data, starts, ends, out[offsets[at] :])
        at += len(starts)
    return out[: offsets[-1]], offsets


def scores(shared: Numbers | Shares, left: Numbers | Shares, right: Numbers | Shares) -> Scores:
    """Return all scores of pairs of sets from the overlap and both set sizes, which may be estimates.

    Examples
    --------
    >>> found = scores(np.array([2]), np.array([4]), np.array([2]))
    >>> {name: values.tolist() for name, values in found.items()}
    {'similarity': [0.5], 'left_in_right': [0.5], 'right_in_left': [1.0]}
    """
    common = shared.astype(np.float64)
    union = left.astype(np.float64) + right.astype(np.float64) - common
    return {"similarity": common / union, "left_in_right": common / left, "right_in_left": common / right}
