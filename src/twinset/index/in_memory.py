"""An index of vectors in memory: hash tables, and exact verification of their candidates.

Nothing is written to disk. Only queries probe several buckets, so there are more tables than in a join of the same
vectors at the same recall.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from twinset.candidates import probing
from twinset.documents.items.vectors import packed_rows
from twinset.errors import SourceError
from twinset.pairs.vectors import Scores, every_nearest, near, nearest, similar
from twinset.plan.vectors import VectorPlan, vector_plan
from twinset.schema import Codes, Hashes, Numbers, Places, Vectors
from twinset.sketches.vectors import keys as vector_keys
from twinset.system.vectors import check_vectors, squares, unit_vectors

_ROWS = 4096  # vectors hashed at a time
_PAIRS = 1 << 22  # pairs compared at a time, without tables
_SAMPLED = 2000


class VectorIndex:
    """Vectors in memory, to be searched for those similar to others.

    Every result is verified exactly. A vector within the limit is found with at least the probability `recall`.

    Parameters
    ----------
    vectors
        Numbers, (n, d).
    threshold
        Minimum cosine of a result.
    distance
        Maximum Euclidean distance of a result. If it is given, `threshold` is ignored.
    recall
        Minimum probability that a vector exactly at the limit is found.
    seed
        Seed of the random hash functions.

    Examples
    --------
    >>> import numpy as np
    >>> import twinset
    >>> index = twinset.VectorIndex(np.array([[1, 0], [0, 1], [1, 1]]), threshold=0.7)
    >>> queries, numbers, cosines = index.search(np.array([[2, 2.1]]))
    >>> numbers.tolist(), cosines.round(2).tolist()
    ([1, 2], [0.72, 1.0])
    """

    def __init__(
        self, vectors: npt.ArrayLike, *, threshold: float = 0.9, distance: float | None = None, recall: float = 0.99,
        seed: int = 1,
    ) -> None:  # fmt: skip
        self.measure, self.limit = ("cosine", threshold) if distance is None else ("distance", distance)
        self.vectors = self._check(vectors)
        self.seed = seed
        self._squares = squares(self.vectors)
        self.plan = self._make_plan(recall)
        self._tables: list[probing.Probed] = []
        if self.plan.method != "exact":
            self._drawn = vector_keys.draw(self.plan, seed)
            self._fill_tables()

    def __len__(self) -> int:
        return len(self.vectors)

    def search(self, queries: npt.ArrayLike) -> tuple[Numbers, Numbers, Scores]:
        """Return every vector within the limit of a query: query rows, vector rows, and cosines or distances.

        The order is that of the queries, and of the vectors for each query.
        """
        rows = self._check(queries, self.vectors.shape[1])
        lengths = squares(rows)
        results: list[tuple[Numbers, Numbers, Scores]] = []
        for pairs in self._candidates(rows):
            lefts, rights = (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)
            if self.measure == "cosine":
                chosen, scores = similar(lefts, rights, self.limit, rows, lengths, self.vectors, self._squares)
            else:
                chosen, scores = near(lefts, rights, self.limit, rows, self.vectors)
            results.append((lefts[chosen], rights[chosen], scores))
        empty = (np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0))
        query_rows, numbers, scores = (np.concatenate([part[at] for part in (empty, *results)]) for at in range(3))
        return query_rows, numbers, scores

    def nearest(self, queries: npt.ArrayLike, k: int = 10) -> tuple[Numbers, Scores, Places]:
        """Return the k nearest vectors of each query, best first: vector rows, scores, and the number of results.

        Where all k are within the limit, they are found with the recall of the plan. Otherwise the query is compared
        with all vectors, so that the k nearest are found however distant they are.
        """
        rows = self._check(queries, self.vectors.shape[1])
        parts = [(np.zeros((0, k), np.uint32), np.zeros((0, k)), np.zeros(0, np.int64))]
        first = 0
        for pairs in self._candidates(rows):
            last = min(len(rows), first + self._batch_rows)
            lefts = (pairs >> np.uint64(32)).astype(np.int64)
            offsets = np.searchsorted(lefts, np.arange(first, last + 1)).astype(np.int64)
            parts.append(nearest(rows[first:last], self.vectors, offsets, pairs.astype(np.uint32), k, self.measure))
            first = last
        numbers, scores, counts = (np.concatenate([part[at] for part in parts]) for at in range(3))
        if self._tables:
            self._complete(rows, k, numbers, scores, counts)
        return numbers, scores, counts

    def _complete(self, rows: Vectors, k: int, numbers: Numbers, scores: Scores, counts: Places) -> None:
        """Compare queries with all vectors where the tables found fewer than k within the limit."""
        inside = scores >= self.limit if self.measure == "cosine" else scores <= self.limit
        inside &= np.arange(k) < counts[:, None]
        short = np.flatnonzero(inside.sum(axis=1) < k)
        if not len(short):
            return
        every, their_scores, their_counts = every_nearest(rows[short], self.vectors, k, self.measure)
        width = every.shape[1]
        numbers[short, :width], scores[short, :width], counts[short] = every, their_scores, their_counts

    def _check(self, values: npt.ArrayLike, dimensions: int | None = None) -> Vectors:
        """Return vectors as 32-bit floats; refuse those whose distances the rounding would change."""
        numbers = np.asarray(values)
        vectors = check_vectors(numbers, dimensions)
        if self.measure == "distance" and numbers.dtype != np.float32:
            starts = np.arange(len(numbers) + 1, dtype=np.int64) * numbers.shape[1]
            nulls = np.zeros(len(numbers), np.bool_)
            for row, reason in packed_rows(numbers.reshape(-1), starts, nulls, False, self.limit)[1]:
                raise SourceError(f"row {row}, counted from 0: {reason}")
        return vectors

    def _make_plan(self, recall: float) -> VectorPlan:
        """Plan for the similarity of unrelated vectors, estimated from random pairs."""
        pairs = np.random.default_rng(self.seed).integers(0, max(1, len(self)), (2, _SAMPLED)).astype(np.uint32)
        pairs = pairs[:, pairs[0] != pairs[1]] if len(self) > 1 else pairs[:, :0]
        lefts, rights = (np.ascontiguousarray(side) for side in pairs)
        if self.measure == "cosine":
            others = similar(lefts, rights, -1.0, self.vectors, self._squares)[1]
        else:
            others = near(lefts, rights, np.inf, self.vectors)[1]
        return vector_plan(
            self.limit, recall, dimensions=self.vectors.shape[1], measure=self.measure, vectors=len(self),
            others=others.tolist() or None, sides=1,
        )  # fmt: skip

    def _fill_tables(self) -> None:
        hashed = self._hash_input(self.vectors)
        tables = range(self.plan.tables)
        keys = [np.empty((len(self), 1), np.uint64) for _ in tables]
        signatures: list[Codes] = []
        for start in range(0, max(1, len(self)), _ROWS):
            some = slice(start, start + _ROWS)
            for table, moves in enumerate(vector_keys.moves(hashed[some], self._drawn, tables)):
                keys[table][some, 0] = moves.keys
            signatures.append(vector_keys.sign(hashed[some], self.plan, self.seed))
        signs = np.concatenate(signatures)
        numbers = np.arange(len(self), dtype=np.uint32)
        self._tables = [probing.probed(numbers, one, signs) for one in keys]

    def _hash_input(self, vectors: Vectors) -> Vectors:
        return unit_vectors(vectors)[0] if self.measure == "cosine" else vectors

    @property
    def _batch_rows(self) -> int:
        return _ROWS if self._tables else max(1, _PAIRS // max(1, len(self)))

    def _candidates(self, queries: Vectors) -> Iterator[Hashes]:
        """Yield candidate pairs for some queries at a time: query above vector in one number, sorted."""
        for start in range(0, len(queries), self._batch_rows):
            some = queries[start : start + self._batch_rows]
            yield self._look_up(some, start) if self._tables else self._all_pairs(len(some), start)

    def _all_pairs(self, count: int, start: int) -> Hashes:
        rows = np.repeat(np.arange(start, start + count, dtype=np.uint64), len(self))
        pairs: Hashes = rows << np.uint64(32) | np.tile(np.arange(len(self), dtype=np.uint64), count)
        return pairs

    def _look_up(self, queries: Vectors, start: int) -> Hashes:
        hashed = self._hash_input(queries)
        signatures = vector_keys.sign(hashed, self.plan, self.seed)
        parts = [np.empty(0, np.uint64)]
        each_table = vector_keys.moves(hashed, self._drawn, range(self.plan.tables), self.plan.probes)
        for table, moves in zip(self._tables, each_table, strict=True):
            keys = probing.next_keys(moves, self.plan.probes)
            matches = probing.find_candidates(keys, signatures, table, self.plan.most_differing)
            shift = np.uint64(32)
            parts += [(rows[:, 0].astype(np.uint64) + np.uint64(start)) << shift | rows[:, 1] for rows in matches]
        pairs: Hashes = np.unique(np.concatenate(parts))
        return pairs
