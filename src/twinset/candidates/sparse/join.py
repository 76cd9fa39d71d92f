"""Join sparse vectors by an inverted list of their rarest columns, without missing a pair at the threshold.

Vectors are scaled to length 1, and their columns ordered from the most frequent to the rarest. The head of a vector,
its most frequent columns, is as long as it can be below a limit that is at most the threshold; only the rest is listed.
By Cauchy and Schwarz two heads, or a head and a vector, have a product below the limit. So a pair that reaches the
threshold has a listed column of both in common, and frequent columns, whose lists are long, are not looked at.

Vectors are numbered by their first listed column, the rarest first. A query meets earlier vectors only, in the lists of
its own listed columns: for each it has the product behind the vector's head, and the rest is at most the length of that
head times the length of the query before it. What can still reach the threshold is multiplied out, in 32-bit floats
with a margin for their rounding. The exact cosines of the candidates are computed elsewhere. Values of either sign are
allowed.

After: Bayardo, Ma, Srikant, WWW 2007 (unlisted heads); Anastasiu and Karypis, ICDE 2014 (bounds by length).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.candidates.sparse import join_kernels as kernels
from twinset.schema import CandidatePairs, Numbers, Places, SparseVectors
from twinset.system.arrays import offsets_of, ranges

_SHARE = 0.9  # length of the heads, in thresholds: shorter ones have longer lists and better bounds
_LONGEST_HEAD = 1 - 1e-6
_BUCKETS = 8  # bits: ranges of positions for which a query has one bound each
_LEAST_ROOM = 1 << 16

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ColumnLists:
    """The entries of each column: rows[starts[c]:starts[c+1]], ascending, and their values."""

    starts: Places
    rows: Numbers
    values: Floats

    @classmethod
    def of(cls, vectors: SparseVectors, heads: Places, columns: int) -> ColumnLists:
        """List the entries behind the heads."""
        counts = np.diff(vectors.offsets)
        behind = vectors.columns[ranges(vectors.offsets[:-1] + heads, counts - heads)] if heads.any() else None
        starts = offsets_of(np.bincount(vectors.columns if behind is None else behind, minlength=columns))
        rows, values = np.empty(starts[-1], np.uint32), np.empty(starts[-1], np.float32)
        kernels.invert(vectors.offsets, vectors.columns, vectors.values, heads, starts[:-1].copy(), rows, values)
        return cls(starts, rows, values)


def by_frequency(vectors: SparseVectors, scale: npt.NDArray[np.float64], columns: int) -> SparseVectors:
    """Scale vectors and number their columns from the most frequent to the rarest.

    Examples
    --------
    >>> rows = SparseVectors(np.array([0, 1, 3]), np.array([2, 0, 2], np.uint32), np.array([2, 1, 1], np.float32))
    >>> ordered = by_frequency(rows, np.array([0.5, 1.0]), columns=3)
    >>> ordered.columns.tolist(), ordered.values.tolist()
    ([0, 0, 1], [1.0, 1.0, 1.0])
    """
    order = np.argsort(-np.bincount(vectors.columns, minlength=columns), kind="stable")
    ranks = np.empty(columns, np.uint32)
    ranks[order] = np.arange(columns, dtype=np.uint32)
    values = (vectors.values * np.repeat(scale, np.diff(vectors.offsets))).astype(np.float32)
    renumbered = SparseVectors(vectors.offsets, ranks[vectors.columns], values)
    # Inverted twice, the columns of each vector ascend.
    lists = ColumnLists.of(renumbered, np.zeros(len(scale), np.int64), columns)
    by_column = SparseVectors(lists.starts, lists.rows, lists.values)
    back = ColumnLists.of(by_column, np.zeros(columns, np.int64), len(scale))
    return SparseVectors(vectors.offsets, back.rows, back.values)


def reordered(vectors: SparseVectors, order: Places) -> SparseVectors:
    """Return some vectors in another order.

    Examples
    --------
    >>> rows = SparseVectors(np.array([0, 1, 3]), np.array([7, 7, 9], np.uint32), np.array([2, 1, 1], np.float32))
    >>> reordered(rows, np.array([1, 0])).columns.tolist()
    [7, 9, 7]
    """
    counts = np.diff(vectors.offsets)[order]
    entries = ranges(vectors.offsets[:-1][order], counts)
    return SparseVectors(offsets_of(counts), vectors.columns[entries], vectors.values[entries])


def rounding(vectors: SparseVectors) -> float:
    """Return the maximum error of a product of two vectors of length 1 in 32-bit floats.

    In any order of summation it is γ|x||y|, where γ = du/(1-du), u = 2^-24 and d is the number of terms (Higham,
    Accuracy and Stability of Numerical Algorithms, 3.1). Scaling and bounds add a few u.
    """
    units = (int(np.diff(vectors.offsets).max(initial=0)) + 16) * 2.0**-24
    return units / (1 - units) + 1e-7


class SparseJoin:
    """The listed entries of some vectors, joined a range of queries at a time, by one or more threads.

    vectors: none of them empty; scale: the inverse of their lengths.
    columns: their number; those of the vectors are below it.
    threshold: minimum cosine, above 0 (inclusive).
    border: only pairs of vectors across this position.
    `met` counts the pairs met in the lists so far, `multiplied` those of them that were multiplied out.

    Examples
    --------
    >>> rows = SparseVectors(
    ...     np.array([0, 2, 4, 5]), np.array([1, 7, 1, 7, 2], np.uint32), np.array([1, 3, 1, 2, 5], np.float32)
    ... )
    >>> join = SparseJoin(rows, 1 / np.sqrt([10, 5, 25]), 8, 0.9)
    >>> [some.tolist() for some in join.candidates(0, 3)]
    [[[0, 1]]]
    >>> join.met, join.multiplied
    (1, 1)
    """

    def __init__(
        self, vectors: SparseVectors, scale: npt.NDArray[np.float64], columns: int, threshold: float,
        border: int | None = None,
    ) -> None:  # fmt: skip
        self.least = np.float32(threshold - rounding(vectors))
        self._columns = columns
        ordered = by_frequency(vectors, scale, columns)
        heads, lengths = np.empty(len(scale), np.int64), np.empty(len(scale), np.float32)
        limit = min(_SHARE * threshold, _LONGEST_HEAD)
        kernels.split(ordered.offsets, ordered.columns, ordered.values, limit, heads, lengths)
        firsts = ordered.columns[ordered.offsets[:-1] + heads].astype(np.int64)
        self.order = np.argsort(-firsts, kind="stable")
        self._vectors = reordered(ordered, self.order)
        self._heads, self._lengths = heads[self.order], lengths[self.order]
        self._shift = max(0, len(scale).bit_length() - _BUCKETS)
        self._firsts = firsts[self.order][:: 1 << self._shift].copy()
        self.met = self.multiplied = 0
        self._counting = threading.Lock()
        if border is None:
            self._sides = [(np.arange(len(scale)), self._listed(None))]
        else:
            own = self.order < border
            self._sides = [(np.flatnonzero(side), self._listed(~side)) for side in (own, ~own)]

    def _listed(self, chosen: npt.NDArray[np.bool_] | None) -> ColumnLists:
        """List the vectors of one side."""
        heads = self._heads
        if chosen is not None:  # of the others nothing is listed
            heads = np.where(chosen, heads, np.diff(self._vectors.offsets))
        return ColumnLists.of(self._vectors, heads, self._columns)

    def candidates(self, first: int, last: int) -> Iterator[CandidatePairs]:
        """Yield pairs that may reach the threshold, smaller position left, of queries [first, last) in join order."""
        n = len(self.order)
        sums, spread = np.zeros(n, np.float32), np.zeros(self._columns, np.float32)
        met = np.empty(n, np.uint32)
        lefts, rights = (np.empty(n + _LEAST_ROOM, np.uint32) for _ in range(2))
        for queries, lists in self._sides:
            some = queries[slice(*np.searchsorted(queries, [first, last]))]
            state = np.zeros(3, np.int64)
            while state[0] < len(some):
                count = kernels.join(
                    self._vectors.offsets, self._vectors.columns, self._vectors.values, self._heads, self._lengths,
                    some, self._firsts, self._shift, lists.starts, lists.rows, lists.values, self.least, state, sums,
                    spread, met, lefts, rights,
                )  # fmt: skip
                if count:
                    pairs = np.stack([self.order[lefts[:count]], self.order[rights[:count]]], axis=1)
                    yield np.sort(pairs, axis=1).astype(np.uint32)
            with self._counting:
                self.met += int(state[1])
                self.multiplied += int(state[2])
