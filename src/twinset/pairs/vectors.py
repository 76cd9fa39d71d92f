"""Candidates to pairs of vectors: nothing is reported whose cosine or distance was not taken exactly.

Exactly means: products and squares in 64-bit floats, of which those of 32-bit floats lose nothing, and their sums in a
fixed order. A pair at the threshold is reported: the very number that is reported is held against the threshold.

`AllWithAll` and `every_nearest` compare all with all: the exact search, for small collections and as a measure for the
others. There a matrix product in 32-bit floats sorts out what is surely too far; what remains is taken exactly.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import numpy.typing as npt

from twinset.errors import OptionError
from twinset.pairs import vectors_kernels as kernels
from twinset.schema import Hashes, Numbers, Places, Vectors
from twinset.system.vectors import squares, unit_vectors

Scores = npt.NDArray[np.float64]

# NumPy spreads a product over all cores: two at a time would only be in each other's way, unless it was told not to.
_ALONE = os.environ.get("OPENBLAS_NUM_THREADS") == "1"
_ONE_AT_A_TIME: AbstractContextManager[object] = nullcontext() if _ALONE else threading.Lock()
_TILE, _STRIPE = 2048, 256  # columns and rows of a product of all with all: where all are near, so many are pairs


def similar(
    lefts: Numbers,
    rights: Numbers,
    threshold: float,
    left: Vectors,
    left_squares: Scores,
    right: Vectors | None = None,
    right_squares: Scores | None = None,
) -> tuple[Places, Scores]:
    """Give which of the candidates have a cosine of at least the threshold, and their cosines.

    Parameters
    ----------
    lefts, rights
        Candidates: positions in `left` and in `right`.
    threshold
        Least cosine; inclusive.
    left, left_squares
        Vectors as they came, (n, d), and their squared lengths (`twinset.system.vectors.squares`).
    right, right_squares
        The other side, where it is another.

    Returns
    -------
    kept, cosines
        Places in `lefts` and `rights`, ascending. A vector that is all zeros is similar to nothing.

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
    """Give which of the candidates are at most `radius` apart, and their Euclidean distances; else as `similar`.

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
    """Give for each query the best of its candidates, best first.

    Parameters
    ----------
    queries, vectors
        Vectors as they came, (m, d) and (n, d).
    offsets, candidates
        Those of query q are candidates[offsets[q]:offsets[q+1]], positions in `vectors`; repeats do no harm.
    count
        How many to keep.
    measure
        ``"cosine"``, the largest first, or ``"distance"``, the smallest first; of equal ones the first in `vectors`.

    Returns
    -------
    numbers, scores, counts
        uint32 and float64 (m, count), filled up to counts int64 (m); what is beyond has no meaning.

    Examples
    --------
    >>> import numpy as np
    >>> here = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    >>> numbers, cosines, counts = nearest(here[:1], here, np.array([0, 3]), np.array([2, 1, 2], np.uint32), 5)
    >>> numbers[0, : counts[0]].tolist(), cosines[0, : counts[0]].round(3).tolist()
    ([2, 1], [0.707, 0.0])
    """
    by_cosine = _measured(measure)
    numbers, scores = np.zeros((len(queries), count), np.uint32), np.zeros((len(queries), count), np.float64)
    counts = np.zeros(len(queries), np.int64)
    lengths = (squares(queries), squares(vectors)) if by_cosine else (np.empty(0), np.empty(0))
    seen = np.zeros(len(vectors), np.uint32)
    kernels.nearest(queries, vectors, *lengths, offsets, candidates, by_cosine, seen, numbers, scores, counts)
    return numbers, -scores if by_cosine else scores, counts


def every_nearest(
    queries: Vectors, vectors: Vectors, count: int, measure: str = "cosine"
) -> tuple[Numbers, Scores, Places]:
    """Give for each query its nearest among all vectors: as `nearest`, with everything a candidate.

    Examples
    --------
    >>> import numpy as np
    >>> here = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    >>> every_nearest(here[:1], here, count=2, measure="distance")[0].tolist()
    [[0, 2]]
    """
    by_cosine = _measured(measure)
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
    """Pairs (query, vector), a number each, among which are the `count` closest of each query; ascending.

    A tile of the vectors at a time: whatever is not as close as the worst of the best so far is left out.
    """
    best: Vectors = np.full((len(queries), count), -np.inf, np.float32)
    found: list[tuple[Hashes, Vectors]] = []
    for other in range(0, len(vectors), _TILE):
        closeness = _product(queries, vectors[other : other + _TILE]) - halves[other : other + _TILE]
        if other == 0:
            kept = min(count, closeness.shape[1])
            best[:, :kept] = np.partition(closeness, -kept, axis=1)[:, -kept:]
        rows, columns = _places(closeness >= (best.min(axis=1) - slack)[:, None])
        values = closeness[rows, columns]
        found.append((rows.astype(np.uint64) << np.uint64(32) | (columns + other).astype(np.uint64), values))
        if other and len(rows):
            best = _better(best, rows, values)
    words: Hashes
    words, values = (np.concatenate([part[i] for part in found]) for i in range(2))
    least = best.min(axis=1) - slack
    words = words[values >= least[(words >> np.uint64(32)).astype(np.int64)]]
    words.sort()
    return words


def _product(left: Vectors, right: Vectors) -> Vectors:
    """The products of all with all."""
    with _ONE_AT_A_TIME:
        found: Vectors = left @ right.T
    return found


def _places(found: npt.NDArray[np.bool_]) -> tuple[Places, Places]:
    """Rows and columns where something was found: as NumPy's nonzero, but quicker where that is seldom."""
    rows, columns = np.divmod(np.flatnonzero(found), found.shape[1])
    return rows, columns


def _better(best: Vectors, rows: Places, values: Vectors) -> Vectors:
    """The best of each row with some new values, of ascending rows, among them."""
    firsts = np.searchsorted(rows, np.arange(len(best) + 1))
    places = np.arange(len(rows)) - firsts[rows]
    both = np.full((len(best), best.shape[1] + int(places.max()) + 1), -np.inf, np.float32)
    both[:, : best.shape[1]] = best
    both[rows, best.shape[1] + places] = values
    return np.partition(both, -best.shape[1], axis=1)[:, -best.shape[1] :]


class AllWithAll:
    """Vectors to be compared with each other, all with all, a part at a time, by one thread or several.

    What is surely too far apart is sorted out by products of 32-bit floats.

    Parameters
    ----------
    vectors
        float32 (n, d).
    threshold
        Least cosine, or greatest distance; inclusive.
    measure
        ``"cosine"`` or ``"distance"``.

    Examples
    --------
    >>> import numpy as np
    >>> three = np.array([[3, 4], [5, 0], [0, 7]], np.float32)
    >>> [[one.tolist() for one in portion] for portion in AllWithAll(three, 0.6).pairs(0, 3)]
    [[[0, 0], [1, 2], [0.6, 0.8]]]
    """

    def __init__(self, vectors: Vectors, threshold: float, measure: str = "cosine") -> None:
        self.vectors, self.threshold, self.by_cosine = vectors, threshold, _measured(measure)
        self.squares, self.longest = squares(vectors), _longest(vectors)
        self.scaled = _scaled(vectors, self.longest, self.by_cosine)
        self.slack = _slack(vectors.shape[1])

    def pairs(self, first: int, last: int) -> Iterator[tuple[Numbers, Numbers, Scores]]:
        """Give the pairs whose lesser position is from `first` to before `last`, a portion at a time, lesser left."""
        for start in range(first, last, _STRIPE):
            here = np.arange(start, min(start + _STRIPE, last))
            for other in range(start, len(self.vectors), _TILE):
                lefts, rights = self._candidates(here, other)
                above = rights > lefts
                found = self._verified(lefts[above], rights[above])
                if len(found[2]):
                    yield found

    def near(self, places: Places) -> Iterator[tuple[Numbers, Numbers, Scores]]:
        """Give all that is near enough to the vectors at some positions: each of them, what is near it, the score.

        Each is near to itself. A vector that is all zeros has no cosines.
        """
        for start in range(0, len(places), _STRIPE):
            for other in range(0, len(self.vectors), _TILE):
                found = self._verified(*self._candidates(places[start : start + _STRIPE], other))
                if len(found[2]):
                    yield found

    def _candidates(self, here: Places, other: int) -> tuple[Numbers, Numbers]:
        """Pairs of some positions and those from `other` on, a tile of them, that may be near enough."""
        stop = min(other + _TILE, len(self.vectors))
        products = _product(self.scaled[here], self.scaled[other:stop])
        if self.by_cosine:
            found = products >= np.float32(self.threshold - self.slack - 1e-6)
        else:
            mine, theirs = self.squares[here] / self.longest**2, self.squares[other:stop] / self.longest**2
            reach = min(self.threshold / self.longest, 4.0)  # nothing is farther apart than twice the longest
            least = (mine[:, None] + theirs[None, :] - reach**2) / 2
            with np.errstate(over="ignore"):  # where everything is near enough
                found = products >= (least - self.slack - 1e-6).astype(np.float32)
        rows, columns = _places(found)
        return here[rows].astype(np.uint32), (columns + other).astype(np.uint32)

    def _verified(self, lefts: Numbers, rights: Numbers) -> tuple[Numbers, Numbers, Scores]:
        """Those that are near enough, exactly."""
        if self.by_cosine:
            kept, scores = similar(lefts, rights, self.threshold, self.vectors, self.squares)
        else:
            kept, scores = near(lefts, rights, self.threshold, self.vectors)
        return lefts[kept], rights[kept], scores


def _slack(dimensions: int) -> float:
    """The most by which a product of 32-bit floats can be wrong, of vectors of length at most 1.

    Whatever the order of the sum it is γ|x||y|, where γ = du/(1-du) and u = 2^-24 (Higham, Accuracy and Stability of
    Numerical Algorithms, 3.1). Rounding the vectors themselves adds a few u, and so does the number it is held against.
    """
    units = (dimensions + 8) * 2.0**-24
    return units / (1 - units)


def _longest(vectors: Vectors) -> float:
    """A power of two that no vector is longer than, 1 where all are zero."""
    longest = float(np.sqrt(squares(vectors).max(initial=0.0)))
    return float(2.0 ** np.ceil(np.log2(longest))) if longest else 1.0


def _scaled(vectors: Vectors, longest: float, by_cosine: bool) -> Vectors:
    """At length 1 for cosines, at most 1 for distances: dividing by a power of two loses nothing that matters here."""
    return unit_vectors(vectors)[0] if by_cosine else np.ldexp(vectors, -round(math.log2(longest)))


def _measured(measure: str) -> bool:
    if measure not in ("cosine", "distance"):
        raise OptionError(f"measure is {measure!r}; allowed: cosine or distance")
    return measure == "cosine"
