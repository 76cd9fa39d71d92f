"""Bottom-k sketches: the k smallest hashes of a set, by one hash function.

The k smallest hashes of the union of two sets are a random sample of it, and follow from the two sketches. The share of
them that both sets have is an unbiased estimate of Jaccard similarity, and exact where the union has at most k
elements. Two sketches merge into that of the union. There are no slots and so no bands: documents collide by the hashes
themselves. (Cohen and Kaplan: Summarizing data using bottom-k sketches, PODC 2007; Beyer and others: On synopses for
distinct-value estimation under multiset operations, SIGMOD 2007.)
"""

from dataclasses import dataclass

import numpy as np

from twinset.errors import OptionError
from twinset.schema import Hashes, Numbers, Places, Shares, Shingles
from twinset.sketches import bottom_k_kernels as kernels
from twinset.sketches.minhash import standard_errors


@dataclass(frozen=True)
class BottomK:
    """Sketches of some sets: sketch i is values[starts[i]:starts[i+1]], ascending; fewer than k is the whole set.

    Examples
    --------
    >>> sets = Shingles(np.arange(2), np.array([0, 4, 6]), np.array([7, 8, 9, 7, 9, 3], np.uint64))
    >>> sketches = bottom_k(sets, k=2)
    >>> [one.tolist() for one in sketches]
    [[7, 8], [3, 9]]
    """

    k: int
    starts: Places
    values: Hashes

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, place: int) -> Hashes:
        if not 0 <= place < len(self):
            raise IndexError(place)
        return self.values[self.starts[place] : self.starts[place + 1]]


def bottom_k(shingles: Shingles, k: int) -> BottomK:
    """Sketch each row of `shingles` by its `k` smallest hashes; repeats count once.

    Examples
    --------
    >>> sets = Shingles(np.arange(1), np.array([0, 3]), np.array([9, 7, 9], np.uint64))
    >>> bottom_k(sets, k=128)[0].tolist()
    [7, 9]
    """
    room = int(np.minimum(np.diff(shingles.offsets), k).sum())
    values, starts = np.empty(room, np.uint64), np.empty(len(shingles.rows) + 1, np.int64)
    count = kernels.least(shingles.hashes, shingles.offsets, k, values, starts)
    return BottomK(k, starts, values[:count])


def estimates(sketches: BottomK, lefts: Numbers, rights: Numbers) -> tuple[Shares, Shares]:
    """Estimate the Jaccard similarity of pairs of sets, and the standard error of each estimate.

    lefts, rights: positions of the sets, uint32.
    Returns the share of the k smallest of the union that both have, and its standard error; 0 for two empty sets.

    Examples
    --------
    >>> sets = Shingles(np.arange(2), np.array([0, 3, 6]), np.array([7, 8, 9, 7, 9, 3], np.uint64))
    >>> pair = np.array([0], np.uint32), np.array([1], np.uint32)
    >>> [found.tolist() for found in estimates(bottom_k(sets, k=8), *pair)]
    [[0.5], [0.0]]
    """
    shared, seen = np.empty(len(lefts), np.uint32), np.empty(len(lefts), np.uint32)
    kernels.meetings(lefts, rights, sketches.values, sketches.starts, sketches.k, shared, seen)
    return scores(shared, seen, sketches.k)


def scores(shared: Numbers, seen: Numbers, k: int) -> tuple[Shares, Shares]:
    """Estimates and standard errors, from the common hashes and all hashes of the k smallest of the union.

    With fewer than k they are the whole union: the similarity is exact, with error 0.

    Examples
    --------
    >>> [found.round(4).tolist() for found in scores(np.array([50, 3]), np.array([100, 4]), 100)]
    [[0.5, 0.75], [0.05, 0.0]]
    """
    return shared / np.maximum(seen, 1), np.where(seen < k, 0.0, standard_errors(shared, k))


def merged(sketches: BottomK, groups: Places, n_groups: int) -> BottomK:
    """Merge sketches by group: the sketch of the union of the group's sets.

    groups: the group of each set, from 0 to n_groups - 1, int64.
    n_groups: number of groups; one without sets has an empty sketch.

    Examples
    --------
    >>> sets = Shingles(np.arange(3), np.array([0, 2, 4, 5]), np.array([7, 8, 8, 3, 9], np.uint64))
    >>> [one.tolist() for one in merged(bottom_k(sets, k=2), np.array([0, 0, 1]), 2)]
    [[3, 7], [9]]
    """
    if len(groups) != len(sketches):
        raise OptionError(f"{len(groups)} groups for {len(sketches)} sketches; allowed: one for each")
    lengths = np.diff(sketches.starts)
    order = np.argsort(groups, kind="stable")
    offsets = np.zeros(n_groups + 1, np.int64)
    np.cumsum(np.bincount(groups, lengths, n_groups).astype(np.int64), out=offsets[1:])
    ordered = lengths[order]
    moved = sketches.starts[:-1][order] - (np.cumsum(ordered) - ordered)
    places = np.repeat(moved, ordered) + np.arange(len(sketches.values))
    return bottom_k(Shingles(np.arange(n_groups), offsets, sketches.values[places]), sketches.k)
