"""Join of vectors in memory: by hash tables with exact verification, or all with all if that is less work."""

import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.candidates import probing
from twinset.engines.local.audit import sample
from twinset.engines.local.joins.in_memory import InMemoryJoin, Sink, distance_codes
from twinset.pairs.vectors import AllWithAll, near, similar
from twinset.plan.vectors import VectorPlan, exact_vector_plan, fixed_arguments, vector_plan
from twinset.schema import Bytes, Codes, Hashes, Numbers, Places, Scores, Vectors
from twinset.sketches.vectors import keys as vector_keys
from twinset.system.vectors import digests, squares, unit_vectors

_ROWS = 4096  # hashed at a time
_SHORT_TIME = 2e8  # nanoseconds: all are compared with all if that takes less
_PAIR, _PRODUCT = 1.5, 0.05  # comparing two vectors, and a dimension of it, in nanoseconds
_SAMPLED, _COSINES = 2000, 5000  # vectors and pairs of them from which the plan estimates false candidates
_MIN_AUDITED = 64
_MIN_SHARE = 1e-12  # share of the longest vector: the minimum distance to plan for
_MAX_TABLES = 32  # hashed together
_BYTES_A_VECTOR = 64  # its signature, lengths, numbers and positions, besides the vector and its direction


class VectorJoin(InMemoryJoin):
    """Vectors: float32 (n, dimensions)."""

    plan: VectorPlan

    @property
    def exact(self) -> bool:
        """Whether no pair can be missed: all are compared with all."""
        return self.plan.method == "exact"

    @property
    def vector_plan(self) -> VectorPlan:
        """The plan by which vectors are hashed."""
        return self.plan

    @property
    def limit(self) -> float:
        """The minimum cosine, or the maximum distance."""
        return self.options.least if self.measure == "cosine" else self.options.farthest

    def _allocate(self, counts: Numbers) -> None:
        self.vectors: Vectors = np.zeros((len(counts), _width(counts)), np.float32)

    def _needed_bytes(self, counts: Numbers) -> int:
        return len(counts) * (2 * 4 * _width(counts) + _BYTES_A_VECTOR)

    def _fill(self, places: Places, data: Bytes, starts: Places, ends: Places) -> None:
        size = 4 * self.vectors.shape[1]
        for start in range(0, len(places), _ROWS):
            some = slice(start, start + _ROWS)
            rows = np.ascontiguousarray(data[starts[some, None] + np.arange(size)])
            self.vectors[places[some]] = rows.view("<f4")

    def _prepare(self) -> None:
        self.squares = squares(self.vectors)
        self._background: list[float] = []
        self._all_with_all: AllWithAll | None = None
        self._lock = threading.Lock()

    def _make_plan(self) -> VectorPlan:
        count, dimensions = self.vectors.shape
        settings: dict[str, Any] = {"dimensions": dimensions, "measure": self.measure, "vectors": count}
        if self.limit == 0:  # only equal vectors are near
            return exact_vector_plan(self.measure, self.limit, self.options.recall, dimensions)
        limit = self.limit
        if self.measure == "distance":  # strips too narrow for 64-bit floats would put all together
            limit = max(limit, _MIN_SHARE * float(np.sqrt(self.squares.max(initial=0.0))))
        exact = self.options.exact
        few = count**2 / 2 * (_PAIR + _PRODUCT * dimensions) < _SHORT_TIME
        if exact or (few and not self.options.fixed_tables):
            return vector_plan(self.limit, self.options.recall, method="exact", **settings)
        self._background = self.others()
        return vector_plan(limit, self.options.recall, others=self._background, **settings, **self.fixed)

    @property
    def fixed(self) -> dict[str, Any]:
        """What the options fix of the tables, as arguments of `vector_plan`."""
        return fixed_arguments(self.options)

    def others(self) -> list[float]:
        """Return cosines or distances of some pairs, drawn by content and seed, whatever the order of rows."""
        few = sample.drawn(self.corpus, self.numbers, min(_SAMPLED, len(self.numbers)), self.options.seed)
        places = np.searchsorted(self.numbers, few)
        found: list[float] = []
        for shift in range(1, len(places)):
            lefts, rights = places.astype(np.uint32), np.roll(places, shift).astype(np.uint32)
            scores = self._exact_scores(lefts, rights)
            # Nearly equal vectors are near-duplicates, not false candidates.
            distinct = scores < 1 - 1e-6 if self.measure == "cosine" else scores > 1e-6 * self.limit
            found += scores[distinct].tolist()
            if len(found) >= _COSINES:
                break
        return found or [0.0 if self.measure == "cosine" else 2 * self.limit]

    def _join(self, sink: Sink) -> None:
        if self.limit == 0:
            self._join_equal(sink)
        elif self.exact:
            self._join_all(sink)
        else:
            self._join_tables(sink)

    def _join_equal(self, sink: Sink) -> None:
        """Pair equal vectors of two sides; those of one side were collapsed."""
        if self.border is None:
            return
        settings = digests(self.vectors)
        if self.groups is not None:  # equal vectors of two groups are not paired
            settings ^= self.groups[:, None]
        keys = np.ascontiguousarray(settings).view("u8,u8").reshape(-1)
        _, lefts, rights = np.intersect1d(keys[: self.border], keys[self.border :], return_indices=True)
        sink(lefts.astype(np.uint32), (rights + self.border).astype(np.uint32), np.zeros(len(lefts), np.uint32))

    def _join_all(self, sink: Sink) -> None:
        """Compare all with all; with two sides, the smaller with the larger."""
        count, border = len(self.vectors), self.border
        order = np.arange(count)
        if border is not None and border > count - border:
            order = np.roll(order, count - border)
        swapped = border is not None and order[0] != 0
        first = count if border is None else count - border if swapped else border
        all_with_all = AllWithAll(self.vectors[order] if swapped else self.vectors, self.limit, self.measure)

        def work(start: int) -> int:
            found = 0
            for lefts, rights, scores in all_with_all.pairs(start, min(start + _ROWS // 2, first)):
                if border is not None:
                    across = rights >= first
                    lefts, rights, scores = lefts[across], rights[across], scores[across]
                    if swapped:
                        lefts, rights = order[rights].astype(np.uint32), order[lefts].astype(np.uint32)
                sink(lefts, rights, self._codes(scores))
                found += len(scores)
            return found

        self.work.progress.stage("comparing", first, "vectors")
        starts = range(0, first, _ROWS // 2)
        for start, found in zip(starts, self.work.threads.map(work, starts), strict=True):
            self.compared += found
            self.work.progress.advance(min(_ROWS // 2, first - start))

    def _join_tables(self, sink: Sink) -> None:
        hashed = self.directions()
        signatures = np.concatenate(
            list(self.work.threads.map(lambda rows: vector_keys.sign(hashed[rows], self.plan, self.options.seed),
                                       slices(len(hashed))))
        )  # fmt: skip
        drawn = vector_keys.draw(self.plan, self.options.seed)
        self.work.progress.stage("comparing", self.plan.tables, "tables")
        for tables in self.some_tables(self.plan):
            tried = self.tried(hashed, drawn, tables, self.plan.probes, None)
            jobs = self._jobs(tried, signatures)
            for found in self.work.threads.map(lambda job: self._verify_table(*job, sink), jobs):
                self.compared += found
            self.work.progress.advance(len(tables))

    def some_tables(self, plan: VectorPlan) -> Iterator[range]:
        """Yield ranges of tables whose keys fit in memory together."""
        size = len(self.vectors) * (8 * (1 + plan.probes) + 48)
        per_batch = max(1, min(_MAX_TABLES, self.work.budget.free // 4 // max(1, size)))
        for first in range(0, plan.tables, per_batch):
            yield range(first, min(first + per_batch, plan.tables))

    def directions(self) -> Vectors:
        """Return the vectors to hash: for cosines, of length 1."""
        if self.measure == "distance":
            return self.vectors
        return unit_vectors(self.vectors)[0]

    def tried(
        self, hashed: Vectors, drawn: vector_keys.Drawn, tables: range, probes: int, places: Places | None
    ) -> list[Hashes]:
        """Return the keys that all vectors, or some, try in some tables; keys of two groups differ."""
        count = len(hashed) if places is None else len(places)
        tried = [np.empty((count, probes + 1), np.uint64) for _ in tables]

        def work(rows: slice) -> None:
            chosen = rows if places is None else places[rows]
            for table, table_moves in enumerate(vector_keys.moves(hashed[chosen], drawn, tables, probes)):
                tried[table][rows] = probing.next_keys(table_moves, probes)
                if self.groups is not None:
                    tried[table][rows] ^= self.groups[chosen, None]

        self.work.threads.run(work, slices(count))
        return tried

    def _jobs(
        self, tried: list[Hashes], signatures: Codes
    ) -> Iterator[tuple[probing.Probed, probing.Probed | None, tuple[int, int]]]:
        """Yield a table and a range of its rows; with two sides, both sides of a table."""
        numbers = np.arange(len(self.vectors), dtype=np.uint32)
        for keys in tried:
            if self.border is not None:
                sides = (slice(None, self.border), slice(self.border, None))
                left, right = (
                    probing.probed(numbers[side], np.ascontiguousarray(keys[side]), signatures[side]) for side in sides
                )
                yield left, right, (0, 0)
                continue
            block = probing.probed(numbers, keys, signatures)
            cuts = np.linspace(0, len(numbers), self.work.threads.count + 1).astype(int).tolist()
            for part in pairwise(cuts):
                yield block, None, part

    def _verify_table(
        self, block: probing.Probed, other: probing.Probed | None, rows: tuple[int, int], sink: Sink
    ) -> int:
        limit, count = self.plan.most_differing, 0
        candidates = probing.within(block, limit, rows) if other is None else probing.across(block, other, limit)
        for some in candidates:
            lefts, rights = (np.ascontiguousarray(some[:, side]) for side in (0, 1))
            if self.measure == "cosine":
                kept, scores = similar(lefts, rights, self.limit, self.vectors, self.squares)
            else:
                kept, scores = near(lefts, rights, self.limit, self.vectors)
            sink(lefts[kept], rights[kept], self._codes(scores))
            count += len(some)
        return count

    def near_all(self, places: Places) -> Iterator[tuple[Places, Places, Numbers]]:
        """Compare some vectors with all others."""
        with self._lock:
            if self._all_with_all is None:
                self._all_with_all = AllWithAll(self.vectors, self.limit, self.measure)
        for lefts, rights, scores in self._all_with_all.near(places):
            yield lefts.astype(np.int64), rights.astype(np.int64), self._codes(scores)

    def affordable(self, count: int, partners: int) -> int:
        """Allow a quarter of the expected cost of the hash tables, and a constant."""
        one = max(1.0, partners * (_PAIR + _PRODUCT * self.vectors.shape[1]))
        run = self.plan.cost(len(self.vectors), self._background) * len(self.vectors)
        return min(count, max(_MIN_AUDITED, int((_SHORT_TIME / 2 + run / 4) / one)))

    def _codes(self, scores: npt.NDArray[np.float64]) -> Numbers:
        return distance_codes(1.0 - scores if self.measure == "cosine" else scores)

    def _exact_scores(self, lefts: Numbers, rights: Numbers) -> npt.NDArray[np.float64]:
        if self.measure == "cosine":
            return similar(lefts, rights, -2.0, self.vectors, self.squares)[1]
        return near(lefts, rights, np.inf, self.vectors)[1]

    def codes_of(self, lefts: Places, rights: Places) -> Numbers:
        """Return 1 - cosine, or the distance, rounded."""
        return self._codes(self._exact_scores(lefts.astype(np.uint32), rights.astype(np.uint32)))

    def scores_of(self, lefts: Places, rights: Places) -> Scores:
        """Return the cosine, or the distance."""
        name = "similarity" if self.measure == "cosine" else "distance"
        return {name: self._exact_scores(lefts.astype(np.uint32), rights.astype(np.uint32))}


def _width(counts: Numbers) -> int:
    return int(counts[0]) if len(counts) else 1


def slices(count: int, rows: int = _ROWS) -> list[slice]:
    """Return slices of `rows` rows; a single empty one if `count` is 0."""
    return [slice(start, min(start + rows, count)) for start in range(0, max(count, 1), rows)]
