"""Exact cosines of candidate pairs of sparse vectors.

Products of 32-bit floats are exact in 64-bit floats, and are summed by ascending column. The reported number itself is
compared with the threshold, inclusively.
"""

import numpy as np
import numpy.typing as npt

from twinset.pairs import sparse_kernels as kernels
from twinset.schema import Numbers, Places, SparseVectors

Scores = npt.NDArray[np.float64]

_FEW_COLUMNS = 4  # for each entry: with more, columns are numbered anew


def compacted(vectors: SparseVectors) -> tuple[SparseVectors, int]:
    """Number columns anew, in the same order, if most of them are empty; also return the number of columns.

    Examples
    --------
    >>> rows = SparseVectors(np.array([0, 2]), np.array([7, 2**31 - 1], np.uint32), np.array([1, 2], np.float32))
    >>> compacted(rows)[0].columns.tolist(), compacted(rows)[1]
    ([0, 1], 2)
    """
    columns = int(vectors.columns.max(initial=0)) + 1
    if columns <= _FEW_COLUMNS * len(vectors.columns):
        return vectors, columns
    distinct, places = np.unique(vectors.columns, return_inverse=True)
    return SparseVectors(vectors.offsets, places.astype(np.uint32), vectors.values), max(1, len(distinct))


def squares(vectors: SparseVectors) -> Scores:
    """Return the squared length of each vector, in 64-bit floats.

    Examples
    --------
    >>> squares(SparseVectors(np.array([0, 2]), np.array([1, 9], np.uint32), np.array([3, 4], np.float32))).tolist()
    [25.0]
    """
    lengths = np.empty(len(vectors.offsets) - 1, np.float64)
    kernels.squares(vectors.offsets, vectors.values, lengths)
    return lengths


def similar(
    lefts: Numbers, rights: Numbers, threshold: float, vectors: SparseVectors, lengths: Scores
) -> tuple[Places, Scores]:
    """Select the candidates with a cosine of at least the threshold, and return their cosines.

    lefts, rights: candidates, as positions.
    threshold: minimum cosine (inclusive).
    vectors, lengths: none of them empty; their squared lengths.
    Returns (kept, cosines): positions in `lefts` and `rights`, ascending.

    Examples
    --------
    >>> rows = SparseVectors(np.array([0, 2, 3]), np.array([1, 9, 9], np.uint32), np.array([3, 4, 2], np.float32))
    >>> kept, cosines = similar(np.array([0], np.uint32), np.array([1], np.uint32), 0.8, rows, squares(rows))
    >>> kept.tolist(), cosines.tolist()
    ([0], [0.8])
    """
    kept, scores = np.empty(len(lefts), np.int64), np.empty(len(lefts), np.float64)
    count = kernels.similar(
        vectors.offsets, vectors.columns, vectors.values, lengths, lefts, rights, threshold, kept, scores
    )
    return kept[:count], scores[:count]


def like(
    query: int, threshold: float, vectors: SparseVectors, lengths: Scores, columns: int
) -> tuple[Numbers, Scores]:
    """Compare one vector with all: those with a cosine of at least the threshold, itself included, and their cosines.

    Examples
    --------
    >>> rows = SparseVectors(np.array([0, 2, 3]), np.array([1, 9, 9], np.uint32), np.array([3, 4, 2], np.float32))
    >>> [some.tolist() for some in like(0, 0.5, rows, squares(rows), columns=10)]
    [[0, 1], [1.0, 0.8]]
    """
    rows, scores = np.empty(len(lengths), np.uint32), np.empty(len(lengths), np.float64)
    count = kernels.like(
        vectors.offsets, vectors.columns, vectors.values, lengths, query, threshold, np.zeros(columns), rows, scores
    )
    return rows[:count], scores[:count]


def nearest(
    queries: Places, starts: Places, candidates: Numbers, count: int, vectors: SparseVectors, lengths: Scores,
    columns: int,
) -> tuple[Numbers, Scores, Places]:  # fmt: skip
    """Find the best candidates of each query, best first, ties by position.

    queries: positions; candidates of query q: candidates[starts[q]:starts[q+1]], without repeats.
    count: number of results per query.
    Returns (numbers, scores, counts): uint32 and float64 (queries, count), filled up to counts int64; the rest is
    undefined.

    Examples
    --------
    >>> rows = SparseVectors(np.array([0, 2, 3]), np.array([1, 9, 9], np.uint32), np.array([3, 4, 2], np.float32))
    >>> both = np.array([0, 1], np.uint32)
    >>> numbers, cosines, _ = nearest(np.array([1]), np.array([0, 2]), both, 2, rows, squares(rows), columns=10)
    >>> numbers.tolist(), cosines.tolist()
    ([[1, 0]], [[1.0, 0.8]])
    """
    numbers, scores = np.zeros((len(queries), count), np.uint32), np.zeros((len(queries), count))
    counts = np.zeros(len(queries), np.int64)
    kernels.nearest(
        vectors.offsets, vectors.columns, vectors.values, lengths, queries, starts, candidates, np.zeros(columns),
        numbers, scores, counts,
    )  # fmt: skip
    return numbers, -scores, counts
