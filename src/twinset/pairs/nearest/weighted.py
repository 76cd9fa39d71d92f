"""The nearest weighted sets of each set by Σ min / Σ max, at any distance, exactly.

What a set has in common with every other one is summed from inverted lists of elements with weights. Such a sum is
rounded otherwise than the sum in the order of hashes that the scores are defined by. So it only rules sets out, with a
margin of 1e-9; the rest are measured exactly. A set of total weight B has at least the similarity t to one of total
weight A only if Σ min >= t / (1 + t) (A + B), where t is the similarity of the k-th nearest so far.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from twinset.compiled.element_numbers import ElementNumbers
from twinset.pairs.nearest import weighted_kernels as kernels
from twinset.schema import Hashes, Numbers, Places, Shares, WeightedSets
from twinset.system.arrays import offsets_of, ranges

_WORK = 1 << 22  # entries of lists that a thread looks up at a time, about
_BYTES_AN_ELEMENT = 96  # the sets, their lists, and the table that numbers elements
_BYTES_A_SET = 96
_BYTES_A_SET_AND_THREAD = 12


@dataclass(frozen=True)
class NearestWeighted:
    """The nearest of each query: positions uint32 (n, k), scores and common weights; the first found[i] are set."""

    positions: Numbers
    scores: Shares
    shared: Shares
    found: Places
    compared: int


class _CommonScratch(threading.local):
    common: Shares = np.zeros(0)
    touched: Numbers = np.empty(0, np.uint32)

    def fit(self, sets: int) -> tuple[Shares, Numbers]:
        if len(self.common) != sets:
            self.common, self.touched = np.zeros(sets), np.empty(sets, np.uint32)
        return self.common, self.touched


_scratch = _CommonScratch()


class WeightedLists:
    """Inverted lists of weighted sets, by ascending total weight, and the sets that look their nearest up.

    salts: uint64 (sets); sets of different salts have nothing in common. ranks: uint32 (sets), the order of sets of
    equal similarity. border: the first of the sets that are looked up by those before it; None if all look up all
    others, 0 if all are looked up by sets that come later.

    Examples
    --------
    >>> hashes, weights = np.array([7, 9, 7, 8, 5], np.uint64), np.array([1.0, 2, 3, 1, 1])
    >>> sets = WeightedSets(np.array([0, 2, 4, 5]), hashes, weights)
    >>> lists = WeightedLists(sets, np.array([3.0, 4, 1]), np.zeros(3, np.uint64), np.arange(3, dtype=np.uint32))
    >>> nearest = lists.search(slice(0, 3), k=1)
    >>> lists.queries.tolist(), nearest.found.tolist(), nearest.scores[1:, 0].tolist()
    ([2, 0, 1], [0, 1, 1], [0.16666666666666666, 0.16666666666666666])
    """

    def __init__(
        self, sets: WeightedSets, sums: Shares, salts: Hashes, ranks: Numbers, border: int | None = None
    ) -> None:
        self.sets, self.sums = sets, sums
        order = np.argsort(sums, kind="stable")
        self.own = border is None
        self.targets = order if border is None else order[order >= border]
        self.queries = order if border is None else order[order < border]
        sizes = np.diff(sets.offsets).astype(np.uint32)
        elements = sets.hashes ^ np.repeat(salts, sizes)
        numbers = ElementNumbers()
        numbers.number(elements, sets.offsets[:-1], sizes)
        count = len(numbers)
        self._elements = None if len(self.queries) else numbers  # for sets that come later
        del numbers
        self._offsets, self._listed, self._weights = _chosen(sets, elements, self.targets)
        # The last list, that of elements which no set has, is empty.
        self._starts = offsets_of(np.bincount(self._listed, minlength=count + 1))
        self._members = np.empty(len(self._listed), np.uint32)
        self._entries = np.empty(len(self._listed), np.float64)
        kernels.fill_weighted_lists(
            self._offsets, self._listed, self._weights, self._starts[:-1].copy(), self._members, self._entries
        )
        if not self.own:
            self._offsets, self._listed, self._weights = _chosen(sets, elements, self.queries)
        self._totals, self._ranks = sums[self.targets], ranks[self.targets]
        self._numbers = self.targets.astype(np.uint32)

    @property
    def tasks(self) -> list[slice]:
        """The queries in parts of similar work."""
        work = np.zeros(len(self._listed) + 1, np.int64)
        np.cumsum(np.diff(self._starts)[self._listed], out=work[1:])
        at_least = len(self.targets) // 8 + 64
        reach = work[self._offsets[1:]] + np.arange(1, len(self.queries) + 1) * at_least
        cuts = np.flatnonzero(np.diff(reach // _WORK)) + 1
        edges = [0, *cuts.tolist(), len(self.queries)]
        return [slice(first, last) for first, last in pairwise(edges) if first < last]

    def search(self, rows: slice, k: int) -> NearestWeighted:
        """Find the k nearest of some queries, by their positions; threads may search for different ones."""
        queries = (self.queries.astype(np.uint32), self._offsets, self._listed, self._weights)
        return self._search(rows, k, queries, self.sets, self.sums)

    def search_sets(self, sets: WeightedSets, sums: Shares, k: int) -> NearestWeighted:
        """Find the k nearest of some other sets with these totals; threads may search for different ones."""
        if self._elements is None:
            raise ValueError("these lists are for their own sets; make them with border 0")
        listed = self._elements.find(sets.hashes).astype(np.uint32)
        queries = (np.arange(len(sums), dtype=np.uint32), sets.offsets, listed, sets.weights)
        return self._search(slice(0, len(sums)), k, queries, sets, sums)

    def _search(
        self, rows: slice, k: int, queries: tuple[Numbers, Places, Numbers, Shares], asking: WeightedSets, sums: Shares
    ) -> NearestWeighted:
        count, sets = rows.stop - rows.start, self.sets
        positions, scores, shared = np.zeros((count, k), np.uint32), np.zeros((count, k)), np.zeros((count, k))
        found = np.zeros(count, np.int64)
        compared = kernels.search(
            rows.start, rows.stop, self.own, k, *queries, asking.offsets, asking.hashes, asking.weights, sums,
            sets.offsets, sets.hashes, sets.weights, self.sums, self._totals, self._ranks, self._numbers, self._starts,
            self._members, self._entries, *_scratch.fit(len(self.targets)), scores, positions, shared, found,
        )  # fmt: skip
        return NearestWeighted(positions, scores, shared, found, compared)


def bytes_needed(sets: int, elements: int, threads: int) -> int:
    """Return the memory that lists of so many sets and elements take, while they are built and searched.

    Examples
    --------
    >>> bytes_needed(sets=1000, elements=50_000, threads=2)
    4920000
    """
    return elements * _BYTES_AN_ELEMENT + sets * (_BYTES_A_SET + threads * _BYTES_A_SET_AND_THREAD)


def _chosen(sets: WeightedSets, elements: Hashes, chosen: Places) -> tuple[Places, Numbers, Shares]:
    """Return the offsets, elements and weights of some sets, in this order."""
    counts = np.diff(sets.offsets)[chosen]
    places = ranges(sets.offsets[chosen], counts)
    return offsets_of(counts), elements[places].astype(np.uint32), sets.weights[places]
