"""Exact cosines and Euclidean distances of candidate pairs of vectors.

Products and squares of 32-bit floats are exact in 64-bit floats, and are summed in a fixed order. The reported number
itself is compared with the threshold, inclusively.

`AllWithAll` and `every_nearest` compare all pairs: the exact search, for small collections and as the baseline for
others. A 32-bit matrix product rejects pairs that are surely too far apart; the rest is computed exactly.
"""

import math
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import numpy.typing as npt

from twinset.errors import OptionError
from twinset.pairs import vectors_kernels as kernels
from twinset.schema import Flags, Hashes, Numbers, Places, Vectors
from twinset.system.arrays import pair_words
from twinset.system.vectors import squares, unit_vectors

Scores = npt.NDArray[np.float64]

# NumPy spreads a product over all cores, so two products at a time would compete for them.
_ALONE = os.environ.get("OPENBLAS_NUM_THREADS") == "1"
_ONE_AT_A_TIME: AbstractContextManager[object] = nullcontext() if _ALONE else threading.Lock()
_TILE, _STRIPE = 2048, 256  # columns and rows of one product; up to their product of pairs at a time


def similar(
    lefts: Numbers,
    rights: Numbers,
    threshold: float,
    left: Vectors,
    left_squares: Scores,
    right: Vectors | None = None,
    right_squares: Scores | None = None,
) -> tuple[Places, Scores]:
    """Select the candidates with a cosine of at least the threshold, and return their cosines.

    lefts, rights: candidates, as positions in `left` and in `right`.
    threshold: minimum cosine (inclusive).
    left, left_squares: vectors as read, (n, d), and their squared lengths (`twinset.system.vectors.squares`).
    right, right_squares: the right side, if it is another collection.
    Returns (kept, cosines): positions in `lefts` and `rights`, ascending. A zero vector is similar to nothing.

    Examples
    --------
    >>> import numpy as np
    >>> three = np.array([[3, 4], [5, 0], [0, 7]], np.float32)
    >>> lefts, rights = np.array([0, 0, 1], np.uint32), np.array([1, 2, 2], np.uint32)
    >>> kept, cosines = similar(lefts, rights, 0.6, three, squares(three))
    >>> kept.tolist(), cosines.tolist()
    ([0, 1], [0.6, 0.8])
    """
    if right is None or right_squares is None:
        right, right_squares = left, left_squares
    kept, scores = np.empty(len(lefts), np.int64), np.empty(len(lefts), np.float64)
    count = kernels.similar(left, right, left_squares, right_squares, lefts, rights, threshold, kept, scores)
    return kept[:count], scores[:count]


def near(
    lefts: Numbers, rights: Numbers, radius: float, left: Vectors, right: Vectors | None = None
) -> tuple[Places, Scores]:
    """Select the candidates at most `radius` apart, and return their Euclidean distances; otherwise as `similar`.

    Examples
    --------
    >>> import numpy as np
    >>> three = np.array([[0, 0], [3, 4], [30, 40]], np.float32)
    >>> kept, distances = near(np.array([0, 0], np.uint32), np.array([1, 2], np.uint32), 5.0, three)
    >>> kept.tolist(), distances.tolist()
    ([0], [5.0])
    """
    kept, scores = np.empty(len(lefts), np.int64), np.empty(len(lefts), np.float64)
    count = kernels.near(left, left if right is None else right, lefts, rights, radius, kept, scores)
    return kept[:count], scores[:count]


def nearest(
    queries: Vectors, vectors: Vectors, offsets: Places, candidates: Numbers, count: int, measure: str = "cosine"
) -> tuple[Numbers, Scores, Places]:
    """Find the best candidates of each query, best first.

    queries, vectors: vectors as read, (m, d) and (n, d).
    offsets, candidates: those of query q are candidates[offsets[q]:offsets[q+1]], positions in `vectors`; repeats are
        allowed.
    count: number of results per query.
    measure: ``"cosine"``, largest first, or ``"distance"``, smallest first; ties by position in `vectors`.
    Returns (numbers, scores, counts): uint32 and float64 (m, count), filled up to counts int64 (m); the rest is
    undefined.

    Examples
    --------
    >>> import numpy as np
    >>> here = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    >>> numbers, cosines, counts = nearest(here[:1], here, np.array([0, 3]), np.array([2, 1, 2], np.uint32), 5)
    >>> numbers[0, : counts[0]].tolist(), cosines[0, : counts[0]].round(3).tolist()
    ([2, 1], [0.707, 0.0])
    """
    by_cosine = _is_cosine(measure)
    numbers, scores = np.zeros((len(queries), count), np.uint32), np.zeros((len(queries), count), np.float64)
    counts = np.zeros(len(queries), np.int64)
    lengths = (squares(queries), squares(vectors)) if by_cosine else (np.empty(0), np.empty(0))
    seen = np.zeros(len(vectors), np.uint32)
    kernels.nearest(queries, vectors, *lengths, offsets, candidates, by_cosine, seen, numbers, scores, counts)
    return numbers, -scores if by_cosine else scores, counts


def every_nearest(
    queries: Vectors, vectors: Vectors, count: int, measure: str = "cosine"
) -> tuple[Numbers, Scores, Places]:
    """Find the nearest of all vectors for each query: as `nearest`, with every vector a candidate.

    Examples
    --------
    >>> import numpy as np
    >>> here = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    >>> every_nearest(here[:1], here, count=2, measure="distance")[0].tolist()
    [[0, 2]]
    """
    by_cosine = _is_cosine(measure)
    count = min(count, len(vectors))
    if not len(queries) or not count:
        return nearest(queries, vectors, np.zeros(len(queries) + 1, np.int64), np.empty(0, np.uint32), count, measure)
    longest = max(_longest(queries), _longest(vectors))
    scaled, scaled_queries = _scaled(vectors, longest, by_cosine), _scaled(queries, longest, by_cosine)
    halves = squares(vectors)
    halves = np.where(halves > 0, 0.0, np.inf) if by_cosine else halves / longest**2 / 2
    slack = np.float32(4 * _slack(vectors.shape[1]) + 1e-6)
    parts = []
    for start in range(0, len(queries), _TILE):
        some = slice(start, start + _TILE)
        words = _closest(scaled_queries[some], scaled, halves.astype(np.float32), count, slack)
        asking = (words >> np.uint64(32)).astype(np.int64)
        offsets = np.searchsorted(asking, np.arange(len(queries[some]) + 1)).astype(np.int64)
        parts.append(nearest(queries[some], vectors, offsets, words.astype(np.uint32), count, measure))
    numbers, scores, counts = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return numbers, scores, counts


def _closest(queries: Vectors, vectors: Vectors, halves: Vectors, count: int, slack: np.float32) -> Hashes:
    """Pairs (query, vector), encoded as one number each, that include the `count` closest of each query; ascending.

    Goes by tiles of vectors and skips those farther than the worst of the best so far.
    """
    best: Vectors = np.full((len(queries), count), -np.inf, np.float32)
    tiles: list[tuple[Hashes, Vectors]] = []
    for other in range(0, len(vectors), _TILE):
        closeness = _product(queries, vectors[other : other + _TILE]) - halves[other : other + _TILE]
        if other == 0:
            kept = min(count, closeness.shape[1])
            best[:, :kept] = np.partition(closeness, -kept, axis=1)[:, -kept:]
        rows, columns = _true_entries(closeness >= (best.min(axis=1) - slack)[:, None])
        values = closeness[rows, columns]
        tiles.append((pair_words(rows, columns + other), values))
        if other and len(rows):
            best = _better(best, rows, values)
    words: Hashes
    words, values = (np.concatenate([part[i] for part in tiles]) for i in range(2))
    least = best.min(axis=1) - slack
    words = words[values >= least[(words >> np.uint64(32)).astype(np.int64)]]
    words.sort()
    return words


def _product(left: Vectors, right: Vectors) -> Vectors:
    """Product of the left matrix and the transposed right one."""
    with _ONE_AT_A_TIME:
        product: Vectors = left @ right.T
    return product


def _true_entries(mask: Flags) -> tuple[Places, Places]:
    """Rows and columns of the true entries: NumPy's nonzero, but faster where few are true."""
    rows, columns = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return rows, columns


def _better(best: Vectors, rows: Places, values: Vectors) -> Vectors:
    """Merge new values, by ascending row, into the best of each row."""
    firsts = np.searchsorted(rows, np.arange(len(best) + 1))
    places = np.arange(len(rows)) - firsts[rows]
    both = np.full((len(best), best.shape[1] + int(places.max()) + 1), -np.inf, np.float32)
    both[:, : best.shape[1]] = best
    both[rows, best.shape[1] + places] = values
    return np.partition(both, -best.shape[1], axis=1)[:, -best.shape[1] :]


class AllWithAll:
    """Exact all-pairs comparison of vectors, a part at a time, by one or more threads.

    Products of 32-bit floats reject pairs that are surely too far apart.

    vectors: float32 (n, d).
    threshold: minimum cosine, or maximum distance (inclusive).
    measure: ``"cosine"`` or ``"distance"``.

    Examples
    --------
    >>> import numpy as np
    >>> three = np.array([[3, 4], [5, 0], [0, 7]], np.float32)
    >>> [[one.tolist() for one in portion] for portion in AllWithAll(three, 0.6).pairs(0, 3)]
    [[[0, 0], [1, 2], [0.6, 0.8]]]
    """

    def __init__(self, vectors: Vectors, threshold: float, measure: str = "cosine") -> None:
        self.vectors, self.threshold, self.by_cosine = vectors, threshold, _is_cosine(measure)
        self.squares, self.longest = squares(vectors), _longest(vectors)
        self.scaled = _scaled(vectors, self.longest, self.by_cosine)
        self.slack = _slack(vectors.shape[1])

    def pairs(self, first: int, last: int) -> Iterator[tuple[Numbers, Numbers, Scores]]:
        """Yield the pairs whose smaller position is in [first, last), in batches, smaller position left."""
        for start in range(first, last, _STRIPE):
            positions = np.arange(start, min(start + _STRIPE, last))
            for other in range(start, len(self.vectors), _TILE):
                lefts, rights = self._candidates(positions, other)
                above = rights > lefts
                batch = self._verify(lefts[above], rights[above])
                if len(batch[2]):
                    yield batch

    def near(self, places: Places) -> Iterator[tuple[Numbers, Numbers, Scores]]:
        """Yield all vectors near enough to those at `places`, in batches: position, position of the near one, score.

        Each is near to itself. A zero vector has no cosines.
        """
        for start in range(0, len(places), _STRIPE):
            for other in range(0, len(self.vectors), _TILE):
                batch = self._verify(*self._candidates(places[start : start + _STRIPE], other))
                if len(batch[2]):
                    yield batch

    def _candidates(self, positions: Places, other: int) -> tuple[Numbers, Numbers]:
        """Possible matches of some positions with the tile that starts at `other`."""
        stop = min(other + _TILE, len(self.vectors))
        products = _product(self.scaled[positions], self.scaled[other:stop])
        if self.by_cosine:
            near = products >= np.float32(self.threshold - self.slack - 1e-6)
        else:
            mine, theirs = self.squares[positions] / self.longest**2, self.squares[other:stop] / self.longest**2
            reach = min(self.threshold / self.longest, 4.0)  # no distance exceeds twice the longest vector
            minimum = (mine[:, None] + theirs[None, :] - reach**2) / 2
            with np.errstate(over="ignore"):  # where every pair is near enough
                near = products >= (minimum - self.slack - 1e-6).astype(np.float32)
        rows, columns = _true_entries(near)
        return positions[rows].astype(np.uint32), (columns + other).astype(np.uint32)

    def _verify(self, lefts: Numbers, rights: Numbers) -> tuple[Numbers, Numbers, Scores]:
        """Select the exact matches, with their scores."""
        if self.by_cosine:
            kept, scores = similar(lefts, rights, self.threshold, self.vectors, self.squares)
        else:
            kept, scores = near(lefts, rights, self.threshold, self.vectors)
        return lefts[kept], rights[kept], scores


def _slack(dimensions: int) -> float:
    """Maximum error of a product of 32-bit floats, for vectors of length at most 1.

    In any order of summation it is γ|x||y|, where γ = du/(1-du) and u = 2^-24 (Higham, Accuracy and Stability of
    Numerical Algorithms, 3.1). Rounding the vectors and the threshold adds a few u.
    """
    units = (dimensions + 8) * 2.0**-24
    return units / (1 - units)


def _longest(vectors: Vectors) -> float:
    """Smallest power of two that no vector is longer than, 1 where all are zero."""
    longest = float(np.sqrt(squares(vectors).max(initial=0.0)))
    return float(2.0 ** np.ceil(np.log2(longest))) if longest else 1.0


def _scaled(vectors: Vectors, longest: float, by_cosine: bool) -> Vectors:
    """Scale to length 1 for cosines, to at most 1 by a power of two for distances."""
    return unit_vectors(vectors)[0] if by_cosine else np.ldexp(vectors, -round(math.log2(longest)))


def _is_cosine(measure: str) -> bool:
    if measure not in ("cosine", "distance"):
        raise OptionError(f"measure is {measure!r}; allowed: cosine or distance")
    return measure == "cosine"
