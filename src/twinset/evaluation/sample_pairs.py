"""Find all similar pairs of a sample by the rarest shingles of each set (prefix filter)."""

import math

import numpy as np

from twinset.pairs.sets import Sets
from twinset.schema import Hashes, Numbers

MOST_MEETINGS = 20_000_000
"""Maximum number of pairs to compare; a sample with more is cut down."""


def near_pairs(sets: Sets, floor: float, most: int = MOST_MEETINGS) -> tuple[int, Numbers, Numbers]:
    """Return every pair of sets that may be at least `floor` similar, smaller number first, sorted.

    Similar sets share at least the share `floor` of the larger. So one of the first n - ceil(floor n) + 1 of its n
    shingles, rarest first, is shared. The first value is the number of sets compared: all, or fewer if too many
    collide.

    Examples
    --------
    >>> import numpy as np
    >>> from twinset.schema import Shingles
    >>> three = Sets.with_room(np.array([3, 3, 3]))
    >>> hashes = np.array([1, 2, 3, 2, 3, 4, 7, 8, 9], np.uint64) << np.uint64(50)
    >>> three.fill(Shingles(np.arange(3), np.array([0, 3, 6, 9]), hashes), np.arange(3), np.arange(3))
    >>> count, lefts, rights = near_pairs(three, 0.5)
    >>> count, lefts.tolist(), rights.tolist()
    (3, [0], [1])
    """
    count = len(sets.sizes)
    while count > 1:
        places, numbers = _postings(sets, count, floor)
        runs = np.diff(np.append(np.flatnonzero(np.diff(places, prepend=-1)), len(places)))
        meetings = int((runs * (runs - 1) // 2).sum())
        if meetings <= most or count == 2:
            return count, *_met(runs, numbers)
        count = max(2, min(count - 1, int(count * math.sqrt(most / meetings))))
    none = np.zeros(0, np.uint32)
    return count, none, none


def _postings(sets: Sets, count: int, floor: float) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Numbers]:
    """Shared shingles among the rarest of each of the first `count` sets: their positions, sorted, and their owners."""
    sizes = sets.sizes[:count].astype(np.int64)
    starts = np.repeat(sets.starts[:count] - np.append(0, np.cumsum(sizes)[:-1]), sizes)
    hashes: Hashes = sets.hashes[starts + np.arange(len(starts))]
    bits = np.uint64(max(1, (count - 1).bit_length()))
    mask = (np.uint64(1) << bits) - np.uint64(1)
    # The high bits of a hash above the set's number: sets are few, so enough of the hash remains.
    words = (hashes & ~mask) | np.repeat(np.arange(count, dtype=np.uint64), sizes)
    words.sort()
    begins = np.flatnonzero(np.diff(words >> bits, prepend=np.uint64(0)) != 0)
    begins = begins if len(begins) and begins[0] == 0 else np.append(0, begins)[: len(words)]
    frequency = np.diff(np.append(begins, len(words)))
    often = np.repeat(frequency, frequency)
    owner = (words & mask).astype(np.int64)
    alone = np.bincount(owner[often == 1], minlength=count)
    shared = often > 1
    place = np.repeat(np.arange(len(frequency)), frequency)[shared]
    owner, often = owner[shared], often[shared]
    order = np.lexsort((place, often, owner))
    owner, place = owner[order], place[order]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner) + alone[owner]
    kept = rank < sizes[owner] - np.ceil(floor * sizes[owner] * (1 - 1e-12)) + 1
    owner, place = owner[kept], place[kept]
    order = np.lexsort((owner, place))
    return place[order], owner[order].astype(np.uint32)


def _met(runs: np.ndarray[tuple[int], np.dtype[np.int64]], numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Every pair of numbers within a run, once."""
    ends = np.cumsum(runs)
    at = np.arange(len(numbers)) - np.repeat(ends - runs, runs)  # each pairs with all before it in its run
    later = np.repeat(np.arange(len(numbers)), at)
    earlier = np.arange(len(later)) - np.repeat(np.cumsum(at) - at, at) + np.repeat(ends - runs, runs)[later]
    words = np.unique((numbers[earlier].astype(np.uint64) << np.uint64(32)) | numbers[later])
    return (words >> np.uint64(32)).astype(np.uint32), words.astype(np.uint32)
