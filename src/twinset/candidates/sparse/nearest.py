"""Find the nearest of each sparse vector by inverted lists of columns, without missing one.

The lists of all columns of a vector are read, and the products with all vectors summed up in 32-bit floats. With a
margin for their rounding, what is yielded has the exact nearest in it, and all that are as near as the last of them.

Bounds that leave out the lists of frequent columns were tried: multiplying out the vectors that remain costs as much as
these lists, which are read in order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from twinset.candidates.sparse import nearest_kernels as kernels
from twinset.candidates.sparse.join import ColumnLists, by_frequency, rounding
from twinset.schema import Hashes, Numbers, Places, SparseVectors

_LEAST_ROOM = 1 << 18
_NO_GROUPS = np.empty(0, np.uint64)


class SparseNearest:
    """Lists of some vectors, searched by one or more threads.

    vectors: none of them empty; scale: the inverse of their lengths.
    columns: their number; those of the vectors are below it.
    first: neighbours are the vectors from this position on.
    groups: uint64, a hash for each vector; neighbours are of the same group. None for no groups.

    Examples
    --------
    >>> rows = SparseVectors(
    ...     np.array([0, 2, 4, 5]), np.array([1, 7, 1, 7, 2], np.uint32), np.array([1, 3, 1, 2, 5], np.float32)
    ... )
    >>> search = SparseNearest(rows, 1 / np.sqrt([10, 5, 25]), columns=8)
    >>> [(ends.tolist(), found.tolist()) for ends, found in search.candidates(np.array([0, 1]), wanted=1)]
    [([1, 2], [1, 0])]
    """

    def __init__(
        self, vectors: SparseVectors, scale: npt.NDArray[np.float64], columns: int, first: int = 0,
        groups: Hashes | None = None,
    ) -> None:  # fmt: skip
        self.slack = 2 * rounding(vectors)
        self._first, self._groups = first, _NO_GROUPS if groups is None else groups
        self._vectors = by_frequency(vectors, scale, columns)
        counts = np.diff(self._vectors.offsets)
        self._lists = ColumnLists.of(self._vectors, np.where(np.arange(len(counts)) < first, counts, 0), columns)

    def candidates(self, queries: Places, wanted: int, limit: float | None = None) -> Iterator[tuple[Places, Numbers]]:
        """Yield candidates for a few queries at a time, in order: the end of those of each query, and their positions.

        wanted: number of neighbours, not counting the query itself.
        limit: minimum cosine.
        """
        n, own, lists = len(self._vectors.offsets) - 1, self._vectors, self._lists
        sums, rows, totals = np.zeros(n, np.float32), np.empty(n, np.uint32), np.empty(n, np.float32)
        out, ends = np.empty(n + _LEAST_ROOM, np.uint32), np.empty(len(queries), np.int64)
        least = -2.0 if limit is None else limit - self.slack
        state = np.zeros(1, np.int64)
        while state[0] < len(queries):
            first = int(state[0])
            count = kernels.nearest(
                own.offsets, own.columns, own.values, queries, lists.starts, lists.rows, lists.values, self._groups,
                self._first, n, wanted, least, self.slack, state, sums, rows, totals, out, ends,
            )  # fmt: skip
            yield ends[first : int(state[0])].copy(), out[:count].copy()
