"""Vectors in memory, joined by hash tables and verified exactly, or compared all with all where that is less work."""

import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.candidates import probing
from twinset.engines.local.audit import sample
from twinset.engines.local.joins.in_memory import InMemoryJoin, Sink, distance_codes
from twinset.options import PairsOptions
from twinset.pairs.vectors import AllWithAll, near, similar
from twinset.plan.vectors import VectorPlan, vector_plan
from twinset.schema import Bytes, Codes, Hashes, Numbers, Places, Scores, Vectors
from twinset.sketches.vectors import keys as vector_keys
from twinset.system.vectors import digests, squares, unit_vectors

_ROWS = 4096  # hashed at a time
_FEW = 2e8  # nanoseconds: a collection that is compared all with all in less needs no plan
_PAIR, _PRODUCT = 1.5, 0.05  # comparing two vectors, and a dimension of it, in nanoseconds
_SAMPLED, _COSINES = 2000, 5000  # vectors and pairs of them that tell the plan what will meet by chance
_LEAST_AUDITED = 64
_NARROWEST = 1e-12  # of the longest vector: no distance is planned for that is less
_MOST_TABLES = 32  # hashed together
_BYTES_A_VECTOR = 64  # its signature, lengths, numbers and places, beside the vector and its direction


class VectorJoin(InMemoryJoin):
    """Vectors: float32 (n, dimensions)."""

    plan: VectorPlan

    @property
    def exact(self) -> bool:
        """Whether all are compared with all."""
        return self.plan.method == "exact"

    @property
    def vector_plan(self) -> VectorPlan:
        """How vectors are hashed."""
        return self.plan

    @property
    def limit(self) -> float:
        """The least cosine, or the greatest distance."""
        return self.options.least if self.measure == "cosine" else self.options.farthest

    def _room(self, counts: Numbers) -> None:
        self.vectors: Vectors = np.zeros((len(counts), _width(counts)), np.float32)

    def _memory(self, counts: Numbers) -> int:
        return len(counts) * (2 * 4 * _width(counts) + _BYTES_A_VECTOR)

    def _fill(self, places: Places, data: Bytes, starts: Places, ends: Places) -> None:
        size = 4 * self.vectors.shape[1]
        for start in range(0, len(places), _ROWS):
            some = slice(start, start + _ROWS)
            rows = np.ascontiguousarray(data[starts[some, None] + np.arange(size)])
            self.vectors[places[some]] = rows.view("<f4")

    def _look_over(self) -> None:
        self.squares = squares(self.vectors)
        self._background: list[float] = []
        self._every: AllWithAll | None = None
        self._lock = threading.Lock()

    def _planned(self) -> VectorPlan:
        count, dimensions = self.vectors.shape
        words: dict[str, Any] = {"dimensions": dimensions, "measure": self.measure, "vectors": count}
        if self.limit == 0:  # only what is equal is near
            return VectorPlan(
                self.measure, self.limit, self.options.recall, dimensions, "exact", 0, 0.0, 0, 0, 2, 0, 0.0, (0, 0)
            )
        limit = self.limit
        if self.measure == "distance":  # strips too narrow for 64-bit floats would bring all together
            limit = max(limit, _NARROWEST * float(np.sqrt(self.squares.max(initial=0.0))))
        asked = isinstance(self.options, PairsOptions) and self.options.exact
        if asked or count**2 / 2 * (_PAIR + _PRODUCT * dimensions) < _FEW:
            return vector_plan(self.limit, self.options.recall, method="exact", **words)
        self._background = self.others()
        return vector_plan(limit, self.options.recall, others=self._background, **words)

    def others(self) -> list[float]:
        """Cosines or distances of some pairs, drawn by content and seed: whatever the order of the rows, the same."""
        few = sample.drawn(self.corpus, self.numbers, min(_SAMPLED, len(self.numbers)), self.options.seed)
        places = np.searchsorted(self.numbers, few)
        found: list[float] = []
        for shift in range(1, len(places)):
            lefts, rights = places.astype(np.uint32), np.roll(places, shift).astype(np.uint32)
            scores = self._exactly(lefts, rights)
            # What is all but equal is a near-duplicate, and no chance meeting.
            apart = scores < 1 - 1e-6 if self.measure == "cosine" else scores > 1e-6 * self.limit
            found += scores[apart].tolist()
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
        """Equal vectors of the two sides; on one side there are none, for they were collapsed."""
        if self.border is None:
            return
        words = digests(self.vectors)
        if self.groups is not None:  # equal vectors of two groups are two items
            words ^= self.groups[:, None]
        keys = np.ascontiguousarray(words).view("u8,u8").reshape(-1)
        _, lefts, rights = np.intersect1d(keys[: self.border], keys[self.border :], return_indices=True)
        sink(lefts.astype(np.uint32), (rights + self.border).astype(np.uint32), np.zeros(len(lefts), np.uint32))

    def _join_all(self, sink: Sink) -> None:
        """Compare all with all; with two sides, the smaller with the larger."""
        count, border = len(self.vectors), self.border
        order = np.arange(count)
        if border is not None and border > count - border:
            order = np.roll(order, count - border)
        turned = border is not None and order[0] != 0
        first = count if border is None else count - border if turned else border
        every = AllWithAll(self.vectors[order] if turned else self.vectors, self.limit, self.measure)

        def work(start: int) -> int:
            found = 0
            for lefts, rights, scores in every.pairs(start, min(start + _ROWS // 2, first)):
                if border is not None:
                    across = rights >= first
                    lefts, rights, scores = lefts[across], rights[across], scores[across]
                    if turned:
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
            for found in self.work.threads.map(lambda one: self._found(*one, sink), self._jobs(tried, signatures)):
                self.compared += found
            self.work.progress.advance(len(tables))

    def some_tables(self, plan: VectorPlan) -> Iterator[range]:
        """Tables whose keys fit in memory together."""
        size = len(self.vectors) * (8 * (1 + plan.probes) + 48)
        many = max(1, min(_MOST_TABLES, self.work.budget.free // 4 // max(1, size)))
        for first in range(0, plan.tables, many):
            yield range(first, min(first + many, plan.tables))

    def directions(self) -> Vectors:
        """What is hashed: for cosines the vectors at length 1."""
        if self.measure == "distance":
            return self.vectors
        return unit_vectors(self.vectors)[0]

    def tried(
        self, hashed: Vectors, drawn: vector_keys.Drawn, tables: range, probes: int, places: Places | None
    ) -> list[Hashes]:
        """The keys that vectors, all or those at some places, try in some tables; those of two groups never agree."""
        count = len(hashed) if places is None else len(places)
        tried = [np.empty((count, probes + 1), np.uint64) for _ in tables]

        def work(rows: slice) -> None:
            mine = rows if places is None else places[rows]
            for table, here in enumerate(vector_keys.moves(hashed[mine], drawn, tables, probes)):
                tried[table][rows] = probing.next_keys(here, probes)
                if self.groups is not None:
                    tried[table][rows] ^= self.groups[mine, None]

        for _ in self.work.threads.map(work, slices(count)):
            pass
        return tried

    def _jobs(
        self, tried: list[Hashes], signatures: Codes
    ) -> Iterator[tuple[probing.Probed, probing.Probed | None, tuple[int, int]]]:
        """A table and rows of it; with two sides, both sides of a table."""
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

    def _found(self, block: probing.Probed, other: probing.Probed | None, rows: tuple[int, int], sink: Sink) -> int:
        most, count = self.plan.most_differing, 0
        candidates = probing.within(block, most, rows) if other is None else probing.across(block, other, most)
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
        """Compare some vectors with all."""
        with self._lock:
            if self._every is None:
                self._every = AllWithAll(self.vectors, self.limit, self.measure)
        for lefts, rights, scores in self._every.near(places):
            yield lefts.astype(np.int64), rights.astype(np.int64), self._codes(scores)

    def affordable(self, count: int, partners: int) -> int:
        """A quarter of what hash tables are expected to cost, and a moment besides, which a run needs to start."""
        one = max(1.0, partners * (_PAIR + _PRODUCT * self.vectors.shape[1]))
        run = self.plan.cost(len(self.vectors), self._background) * len(self.vectors)
        return min(count, max(_LEAST_AUDITED, int((_FEW / 2 + run / 4) / one)))

    def _codes(self, scores: npt.NDArray[np.float64]) -> Numbers:
        return distance_codes(1.0 - scores if self.measure == "cosine" else scores)

    def _exactly(self, lefts: Numbers, rights: Numbers) -> npt.NDArray[np.float64]:
        if self.measure == "cosine":
            return similar(lefts, rights, -2.0, self.vectors, self.squares)[1]
        return near(lefts, rights, np.inf, self.vectors)[1]

    def codes_of(self, lefts: Places, rights: Places) -> Numbers:
        """One less the cosine, or the distance, rounded."""
        return self._codes(self._exactly(lefts.astype(np.uint32), rights.astype(np.uint32)))

    def scores_of(self, lefts: Places, rights: Places) -> Scores:
        """The cosine, or the distance."""
        name = "similarity" if self.measure == "cosine" else "distance"
        return {name: self._exactly(lefts.astype(np.uint32), rights.astype(np.uint32))}


def _width(counts: Numbers) -> int:
    return int(counts[0]) if len(counts) else 1


def slices(count: int, rows: int = _ROWS) -> list[slice]:
    """Ranges of so many rows; one, which is empty, where there are none."""
    return [slice(start, min(start + rows, count)) for start in range(0, max(count, 1), rows)]
