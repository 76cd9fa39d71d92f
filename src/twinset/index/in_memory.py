"""Vectors in hash tables, in memory, to be asked what is near to others: for a program that keeps them at hand.

Nothing is stored. What is found is verified exactly, and everything within the limit is found with the recall that was
asked for; only the queries look, so there are more tables than in a join of the same vectors.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from twinset.candidates import probing
from twinset.documents.items.vectors import packed_rows
from twinset.errors import SourceError
from twinset.pairs.vectors import Scores, near, nearest, similar
from twinset.plan.vectors import VectorPlan, vector_plan
from twinset.schema import Codes, Hashes, Numbers, Places, Vectors
from twinset.sketches.vectors import keys as vector_keys
from twinset.system.vectors import check_vectors, squares, unit_vectors

_ROWS = 4096  # hashed at a time
_PAIRS = 1 << 22  # compared at a time, where all are
_SAMPLED = 2000


class VectorIndex:
    """Vectors to be asked for those near others.

    Parameters
    ----------
    vectors
        Numbers, (n, d).
    threshold
        Least cosine of what is near.
    distance
        Greatest Euclidean distance of what is near; if it is given, `threshold` is not looked at.
    recall
        Least probability that a vector exactly at the limit is found.
    seed
        Of all that is drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> index = VectorIndex(np.array([[1, 0], [0, 1], [1, 1]]), threshold=0.7)
    >>> queries, numbers, cosines = index.near(np.array([[2, 2.1]]))
    >>> numbers.tolist(), cosines.round(2).tolist()
    ([1, 2], [0.72, 1.0])
    """

    def __init__(
        self, vectors: npt.ArrayLike, *, threshold: float = 0.9, distance: float | None = None, recall: float = 0.99,
        seed: int = 1,
    ) -> None:  # fmt: skip
        self.measure, self.limit = ("cosine", threshold) if distance is None else ("distance", distance)
        self.vectors = self._checked(vectors)
        self.seed = seed
        self._squares = squares(self.vectors)
        self.plan = self._planned(recall)
        self._blocks: list[probing.Probed] = []
        if self.plan.method != "exact":
            self._drawn = vector_keys.draw(self.plan, seed)
            self._file()

    def __len__(self) -> int:
        return len(self.vectors)

    def _checked(self, given: npt.ArrayLike, dimensions: int | None = None) -> Vectors:
        """Vectors as 32-bit floats; refused where rounding to these would be seen in a distance."""
        numbers = np.asarray(given)
        vectors = check_vectors(numbers, dimensions)
        if self.measure == "distance" and numbers.dtype != np.float32:
            starts = np.arange(len(numbers) + 1, dtype=np.int64) * numbers.shape[1]
            none = np.zeros(len(numbers), np.bool_)
            for row, reason in packed_rows(numbers.reshape(-1), starts, none, False, self.limit)[1]:
                raise SourceError(f"row {row}, counted from 0: {reason}")
        return vectors

    def _planned(self, recall: float) -> VectorPlan:
        few = np.random.default_rng(self.seed).integers(0, max(1, len(self)), (2, _SAMPLED)).astype(np.uint32)
        apart = few[:, few[0] != few[1]] if len(self) > 1 else few[:, :0]
        lefts, rights = (np.ascontiguousarray(side) for side in apart)
        if self.measure == "cosine":
            others = similar(lefts, rights, -1.0, self.vectors, self._squares)[1]
        else:
            others = near(lefts, rights, np.inf, self.vectors)[1]
        return vector_plan(
            self.limit, recall, dimensions=self.vectors.shape[1], measure=self.measure, vectors=len(self),
            others=others.tolist() or None, sides=1,
        )  # fmt: skip

    def _file(self) -> None:
        hashed = self._hashed(self.vectors)
        tables = range(self.plan.tables)
        keys = [np.empty((len(self), 1), np.uint64) for _ in tables]
        signed: list[Codes] = []
        for start in range(0, max(1, len(self)), _ROWS):
            some = slice(start, start + _ROWS)
            for table, here in enumerate(vector_keys.moves(hashed[some], self._drawn, tables)):
                keys[table][some, 0] = here.keys
            signed.append(vector_keys.sign(hashed[some], self.plan, self.seed))
        signatures = np.concatenate(signed)
        numbers = np.arange(len(self), dtype=np.uint32)
        self._blocks = [probing.probed(numbers, one, signatures) for one in keys]

    def _hashed(self, vectors: Vectors) -> Vectors:
        return unit_vectors(vectors)[0] if self.measure == "cosine" else vectors

    def near(self, queries: npt.ArrayLike) -> tuple[Numbers, Numbers, Scores]:
        """Everything within the limit: places of queries, numbers of vectors, and cosines or distances.

        In the order of the queries, and of the numbers for each.
        """
        asked = self._checked(queries, self.vectors.shape[1])
        lengths = squares(asked)
        found: list[tuple[Numbers, Numbers, Scores]] = []
        for words in self._met(asked):
            lefts, rights = (words >> np.uint64(32)).astype(np.uint32), words.astype(np.uint32)
            if self.measure == "cosine":
                kept, scores = similar(lefts, rights, self.limit, asked, lengths, self.vectors, self._squares)
            else:
                kept, scores = near(lefts, rights, self.limit, asked, self.vectors)
            found.append((lefts[kept], rights[kept], scores))
        nothing = (np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0))
        places, numbers, scores = (np.concatenate([part[at] for part in (nothing, *found)]) for at in range(3))
        return places, numbers, scores

    def nearest(self, queries: npt.ArrayLike, k: int = 10) -> tuple[Numbers, Scores, Places]:
        """The k nearest of what the tables have, best first: numbers, cosines or distances, and how many there are.

        Those within the limit are there with the recall of the plan; what is farther may be missed more often.
        """
        asked = self._checked(queries, self.vectors.shape[1])
        parts = [(np.zeros((0, k), np.uint32), np.zeros((0, k)), np.zeros(0, np.int64))]
        done = 0
        for words in self._met(asked):
            last = min(len(asked), done + self._at_once)
            places = (words >> np.uint64(32)).astype(np.int64)
            offsets = np.searchsorted(places, np.arange(done, last + 1)).astype(np.int64)
            parts.append(nearest(asked[done:last], self.vectors, offsets, words.astype(np.uint32), k, self.measure))
            done = last
        numbers, scores, counts = (np.concatenate([part[at] for part in parts]) for at in range(3))
        return numbers, scores, counts

    @property
    def _at_once(self) -> int:
        return _ROWS if self._blocks else max(1, _PAIRS // max(1, len(self)))

    def _met(self, queries: Vectors) -> Iterator[Hashes]:
        """Pairs of a query and a vector that it meets, each as one number, sorted: some queries at a time."""
        for start in range(0, len(queries), self._at_once):
            some = queries[start : start + self._at_once]
            yield self._looked_up(some, start) if self._blocks else self._every(len(some), start)

    def _every(self, count: int, start: int) -> Hashes:
        asking = np.repeat(np.arange(start, start + count, dtype=np.uint64), len(self))
        words: Hashes = asking << np.uint64(32) | np.tile(np.arange(len(self), dtype=np.uint64), count)
        return words

    def _looked_up(self, queries: Vectors, start: int) -> Hashes:
        hashed = self._hashed(queries)
        signatures = vector_keys.sign(hashed, self.plan, self.seed)
        found = [np.empty(0, np.uint64)]
        moves = vector_keys.moves(hashed, self._drawn, range(self.plan.tables), self.plan.probes)
        for block, here in zip(self._blocks, moves, strict=True):
            tried = probing.next_keys(here, self.plan.probes)
            met = probing.asked(tried, signatures, block, self.plan.most_differing)
            found += [(some[:, 0].astype(np.uint64) + np.uint64(start)) << np.uint64(32) | some[:, 1] for some in met]
        words: Hashes = np.unique(np.concatenate(found))
        return words
