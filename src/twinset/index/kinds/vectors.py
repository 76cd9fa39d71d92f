"""Vectors in an index: stored under one key for each hash table, found by probing several keys in each.

The keys are those of `twinset.sketches.vectors.keys`, of a plan in which only the query probes (`sides` is 1). One key
of each table is stored, mixed with the number of the table. Candidates are verified exactly, by the same functions as
pairs. Vectors within the limit of the index are found with the recall of the plan.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.candidates import probing
from twinset.documents.items.vectors import holds_vectors, packed_rows, packed_vectors, read_vector
from twinset.errors import OptionError, PlanWarning, SourceError
from twinset.index.backend import Backend, Int64s, SketchRows
from twinset.index.kinds.base import FixedWidthKind, as_sequence
from twinset.index.kinds.text_entries import Keys, SketchedBatch
from twinset.index.query import (
    MOST_SCANNED,
    Answers,
    Limits,
    Searcher,
    Shares,
    find_candidates,
    queries_short_of,
    replace_answers,
)
from twinset.index.settings import Settings
from twinset.options.index import IndexOptions, QueryOptions, SourceOptions
from twinset.pairs.vectors import near, similar
from twinset.plan.vectors import VectorPlan, vector_plan
from twinset.schema import Hashes, Sketches, Vectors
from twinset.sketches.vectors import keys as vector_keys
from twinset.system.vectors import check_vectors, squares, unit_vectors

_PLANNED = 1_000_000  # vectors that the plan is made for
_PROBES, _MORE = 32, 128
"""Keys probed in a table besides the vector's own. Each table stores a row for each vector, so few tables with many
probes are better here than in memory."""
_MANY_TABLES, _MOST_TABLES = 32, 256  # above the first more keys are probed, above the second all vectors are compared
_FARTHEST = 1e30  # no tables are made for a greater distance
_SAMPLED = 2000  # random pairs of the first vectors, to estimate false candidates
_HASHED = 4096
_QUERIES, _KEYS, _MEETINGS = 1024, 2**19, 2**19
_SKETCHES = 2**25
_PAIRS = 2**20  # compared at a time, where all are
_GRID, _STEPS, _FAR = 20, 4, 8.0
"""The recall of answers is rounded down in steps: `_GRID` over the cosine, `_STEPS` per doubling of the distance.
Beyond `_FAR` times the distance limit no recall is promised."""
_MIX, _TURN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


class VectorKind(FixedWidthKind):
    """Vectors with the same number of dimensions."""

    name = "vector"
    empty = "direction"

    def plan_from(self, rows: pa.Array) -> Settings:
        """Take the dimensions of the first vector, and plan for the similarity of unrelated vectors."""
        sizes = self._sizes(rows)
        width = self.width or next(iter(sizes[sizes > 0].tolist()), 0)
        if self.is_planned or not (sizes == width).any() or not width:
            return self.settings
        options = dataclasses.replace(self.settings.options, dimensions=width // 4)
        data = [one for one in rows.to_pylist() if one is not None and len(one) == width]
        vectors = np.frombuffer(b"".join(data), "<f4").reshape(-1, width // 4).astype(np.float32, copy=False)
        plan = _make_plan(options, _sample_scores(vectors, options.measure, self.settings.seed))
        return dataclasses.replace(self.settings, options=options, plan=plan)

    @property
    def width(self) -> int | None:
        """Bytes of a vector."""
        dimensions = self.settings.options.dimensions
        return None if dimensions is None else 4 * dimensions

    def size(self, width: int) -> str:
        """Describe the size in dimensions."""
        return f"{width // 4} dimensions"

    @property
    def plan(self) -> VectorPlan:
        """The plan; raise `ValueError` if there is none yet."""
        if not isinstance(self.settings.plan, VectorPlan):
            raise ValueError("the index has no plan yet")
        return self.settings.plan

    @cached_property
    def drawn(self) -> vector_keys.Drawn:
        """The random parameters of the tables."""
        return vector_keys.draw(self.plan, self.settings.seed)

    def valid_slots(self, slots: Sketches) -> npt.NDArray[np.bool_]:
        """Return which sketches are vectors that are finite and, for cosines, not zero."""
        vectors = self.vectors_of(slots)
        right = np.asarray(np.isfinite(vectors).all(axis=1))
        return right & vectors.any(axis=1) if self.settings.options.measure == "cosine" else right

    def vectors_of(self, slots: Sketches) -> Vectors:
        """Return the vectors stored in sketches."""
        return np.ascontiguousarray(slots[:, : (self.width or 0) // 4]).view(np.float32)

    def source_columns(self, options: SourceOptions) -> dict[str, Any]:
        """Return the column of vectors, and the distance, without which zero vectors are empty."""
        ours = self.settings.options
        if options.item_kind not in ("text", "vectors"):
            raise OptionError(f"{options.item_flag} does not fit: the index holds vectors; leave it out")
        return {"vectors": options.vectors if options.vectors is not None else ours.vectors, "distance": ours.distance}

    def is_single(self, what: Any) -> bool:
        """Whether a query is one vector: a list of numbers, an array of one dimension, or a string of numbers."""
        if isinstance(what, np.ndarray):
            return what.ndim == 1 and what.dtype.kind in "fiu"
        if isinstance(what, (list, tuple)):
            return bool(what) and all(isinstance(one, (int, float, np.number)) for one in what)
        return isinstance(what, str)

    def from_values(self, values: Any) -> pa.Array:
        """Accept an array of two dimensions, a list of lists, or an Arrow column."""
        directions = self.settings.options.measure == "cosine"
        within = self.settings.options.distance
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            column = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
            if not (holds_vectors(column.type) or pa.types.is_null(column.type)):
                raise SourceError(f"vectors must be lists of numbers, not {column.type}")
            rows, bad = packed_vectors(column, directions, within)
        elif isinstance(values, np.ndarray) and values.dtype != object:
            check_vectors(values)
            starts = np.arange(len(values) + 1, dtype=np.int64) * values.shape[1]
            rows, bad = packed_rows(values.reshape(-1), starts, np.zeros(len(values), np.bool_), directions, within)
        else:
            rows, bad = _pack_list(values, directions, within)
        if bad:
            raise SourceError(f"vector number {bad[0][0]} cannot be read: {bad[0][1]}")
        return rows

    def keys(self, slots: Sketches) -> Keys:
        """Return one key for each table."""
        if not self.is_planned:
            return np.zeros((len(slots), 0), np.int32)
        return self.probe_keys(self.vectors_of(slots), 0)

    def probe_keys(self, vectors: Vectors, probes: int) -> Keys:
        """Return the keys that vectors probe: in each table their own and `probes` more, (n, tables × (1 + probes))."""
        tables = range(self.plan.tables)
        keys = np.zeros((len(vectors), len(tables), probes + 1), np.uint32)
        for start in range(0, len(vectors) if tables else 0, _HASHED):
            some = np.ascontiguousarray(vectors[start : start + _HASHED])
            hashed = unit_vectors(some)[0] if self.plan.measure == "cosine" else some
            for table, moves in enumerate(vector_keys.moves(hashed, self.drawn, tables, probes)):
                tried = probing.next_keys(moves, probes) if probes else moves.keys[:, None]
                keys[start : start + _HASHED, table] = _mix(tried, table)
        return keys.reshape(len(vectors), -1).view(np.int32)

    def limits(self, options: QueryOptions) -> Limits:
        """Default to the limit of the index, or to none for the k nearest."""
        ours = self.settings.options
        by_cosine = ours.measure == "cosine"
        name, other = ("threshold", "distance") if by_cosine else ("distance", "threshold")
        if getattr(options, other) is not None:
            raise OptionError(f"{other} does not apply to this index, which is searched by {name}; give --{name}")
        planned = float(getattr(ours, name))
        limit = getattr(options, name)
        if limit is None:
            return Limits(planned if options.k is None else -2.0 if by_cosine else np.inf, options.k)
        if (limit < planned if by_cosine else limit > planned) and not options.force:
            chance = f"{self.recall(float(limit)):.4f}" if self.is_planned else "below the recall of the plan"
            raise OptionError(
                f"{name} is {limit:g}, and the index was planned for {planned:g}: a vector at {limit:g} would be "
                f"found only with probability {chance}; use {planned:g} or {'more' if by_cosine else 'less'}, "
                "query the k nearest, or accept the lower recall with --force"
            )
        return Limits(float(limit), options.k)

    def recall(self, likeness: float) -> float:
        """Return the minimum probability that a vector at this cosine or distance is found."""
        return _recall(self.plan, likeness)

    def nearest_by(self, backend: Backend) -> str:
        """Compare all vectors, unless they are too many."""
        return "all" if backend.count() <= MOST_SCANNED or not (self.is_planned and self.plan.tables) else "tables"

    def searcher(self, backend: Backend, limits: Limits) -> Searcher:
        """Search by tables."""
        return VectorSearcher(backend, self)


class VectorSearcher(Searcher):
    """Answers queries in an index of vectors: cosines or distances."""

    def __init__(self, backend: Backend, kind: VectorKind) -> None:
        super().__init__(backend, kind.settings)
        self.kind = kind
        self.by_cosine = self.measure == "cosine"
        self._scanned = np.zeros(0, np.int64)

    def recall(self, answers: Answers, limits: Limits) -> Shares:
        """Return the recall of the plan, rounded down in steps; 1 where a query was compared with all vectors."""
        values, places = np.unique(answers.scores[0], return_inverse=True)
        found: Shares = np.array([self.kind.recall(value) for value in values.tolist()], np.float64)[places]
        return np.where(np.isin(answers.queries, self._scanned), 1.0, found)

    def find(self, queries: SketchedBatch, limits: Limits, without: int | None = None) -> list[Answers]:
        """Return the answers in portions."""
        rows = np.flatnonzero(queries.shingles)
        if not len(rows) or not self.kind.is_planned:
            return []
        vectors = self.kind.vectors_of(queries.slots)
        if not self.kind.plan.tables and not self._ranks(limits):
            found = Answers.concat(list(self._compare_all(vectors, rows, limits, without)), self.measure)
            return [found.best(limits, descending=self.by_cosine)]
        parts: list[Answers] = []
        for query_rows, numbers in self._candidates(vectors, rows, limits):
            if without is not None:
                other = numbers != without
                query_rows, numbers = query_rows[other], numbers[other]
            near_by = [
                self._verify(vectors, query_rows[chosen], places, sketches, limits)
                for chosen, places, sketches in self.with_sketches(numbers, self.kind.slots, _SKETCHES)
            ]
            parts.append(Answers.concat(near_by, self.measure).best(limits, descending=self.by_cosine))
        return (
            parts if limits.k is None or self._ranks(limits) else self._complete(parts, vectors, rows, limits, without)
        )

    def _complete(
        self, parts: list[Answers], vectors: Vectors, rows: Int64s, limits: Limits, without: int | None
    ) -> list[Answers]:
        """Find the k nearest where tables do not: compare with all vectors, unless they are too many."""
        planned = self.kind.plan.threshold
        beyond = limits.threshold < planned if self.by_cosine else limits.threshold > planned
        short = queries_short_of(parts, rows, limits.k or 0, planned, descending=self.by_cosine) if beyond else rows[:0]
        if not len(short) or not self.has_at_most(MOST_SCANNED):
            return parts
        self._scanned = short
        found = Answers.concat(list(self._compare_all(vectors, short, limits, without)), self.measure)
        return replace_answers(parts, short, [found.best(limits, descending=self.by_cosine)], self.measure)

    def _ranks(self, limits: Limits) -> bool:
        """Whether candidates also come from a ranking of all documents."""
        return False

    def _candidates(self, vectors: Vectors, rows: Int64s, limits: Limits) -> Iterator[tuple[Int64s, Int64s]]:
        """Yield pairs of query and document; all pairs of a query are in one portion."""
        plan = self.kind.plan
        at_once = max(1, min(_QUERIES, _KEYS // (plan.tables * (1 + plan.probes))))
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            yield from find_candidates(self.backend, some, self.kind.probe_keys(vectors[some], plan.probes), _MEETINGS)

    def _compare_all(self, vectors: Vectors, rows: Int64s, limits: Limits, without: int | None) -> Iterator[Answers]:
        """Compare queries with every vector, for a plan without tables."""
        after, most = 0, max(1, min(_PAIRS // len(rows), _SKETCHES // (4 * self.kind.slots)))
        while len((page := self.backend.sketch_page(after, most).padded_to(self.kind.slots)).numbers):
            if page.slots.shape[1] != self.kind.slots:
                raise self.damaged("has no sketch, or a sketch of another plan")
            after = int(page.numbers[-1])
            places = np.flatnonzero((page.shingles > 0) & (page.numbers != (without or 0)))
            query_rows, others = np.repeat(rows, len(places)), np.tile(places, len(rows))
            yield self._verify(vectors, query_rows, others, page, limits).best(limits, descending=self.by_cosine)

    def _verify(
        self, vectors: Vectors, query_rows: Int64s, places: Int64s, sketches: SketchRows, limits: Limits
    ) -> Answers:
        """Return the pairs of query and document within the limit, with exact scores."""
        theirs = self.kind.vectors_of(sketches.slots)
        lefts, rights = query_rows.astype(np.uint32), places.astype(np.uint32)
        if self.by_cosine:
            lengths = squares(vectors), squares(theirs)
            found, scores = similar(lefts, rights, limits.threshold, vectors, lengths[0], theirs, lengths[1])
        else:
            found, scores = near(lefts, rights, limits.threshold, vectors, theirs)
        return Answers(query_rows[found], sketches.numbers[places[found]], (scores,))


def _make_plan(options: IndexOptions, others: list[float] | None) -> VectorPlan:
    """Plan few tables, or none if comparing all vectors is faster.

    An index with fewer vectors than the plan assumes has longer keys than it needs, which costs little.
    """
    limit = options.threshold if options.distance is None else options.distance
    options_of_plan: dict[str, Any] = {
        "dimensions": options.dimensions, "measure": options.measure, "vectors": _PLANNED, "others": others, "sides": 1,
    }  # fmt: skip
    if options.measure == "distance" and limit >= _FARTHEST:
        return vector_plan(limit, options.recall, method="exact", **options_of_plan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)  # a plan without tables is the alternative
        plan = vector_plan(limit, options.recall, probes=_PROBES, **options_of_plan)
        if plan.tables > _MANY_TABLES:
            more = vector_plan(limit, options.recall, probes=_MORE, **options_of_plan)
            plan = min(plan, more, key=lambda one: one.tables)
    if plan.tables > _MOST_TABLES or plan.reached < options.recall:
        return vector_plan(limit, options.recall, method="exact", **options_of_plan)
    return plan


@lru_cache(maxsize=4096)
def _recall(plan: VectorPlan, likeness: float) -> float:
    """Return the recall at the next worse step, to simulate few steps; within the limit, at least the recall there."""
    if plan.method == "exact":
        return 1.0
    if plan.measure == "cosine":
        near_by, step = likeness >= plan.threshold, max(0.0, math.floor(likeness * _GRID) / _GRID)
    else:
        near_by, ratio = likeness <= plan.threshold, max(0.25, likeness / plan.threshold)
        if ratio > _FAR:
            return 0.0
        step = 2 ** (math.ceil(math.log2(ratio) * _STEPS) / _STEPS) * plan.threshold
    found = plan.p_least(step)
    return max(found, plan.p_least(plan.threshold)) if near_by else found


def _mix(keys: Hashes, table: int) -> npt.NDArray[np.uint32]:
    """Mix the keys of one table with its number into 32 bits."""
    mixed: Hashes = (keys ^ np.uint64(table + 1)) * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(29)) ^ np.uint64(table << 40)) * _TURN
    mixed ^= mixed >> np.uint64(32)
    return mixed.astype(np.uint32)


def _sample_scores(vectors: Vectors, measure: str, seed: int) -> list[float] | None:
    """Return the cosines or distances of random pairs, excluding nearly equal vectors."""
    if len(vectors) < 2:
        return None
    few = np.random.default_rng(seed).integers(0, len(vectors), (2, _SAMPLED)).astype(np.uint32)
    lefts, rights = (np.ascontiguousarray(side) for side in few[:, few[0] != few[1]])
    if measure == "cosine":
        scores = similar(lefts, rights, -2.0, vectors, squares(vectors))[1]
        return [float(one) for one in scores[scores < 1 - 1e-6]] or None
    scores = near(lefts, rights, np.inf, vectors)[1]
    return [float(one) for one in scores[scores > 0]] or None


def _pack_list(values: Any, directions: bool, within: float | None) -> tuple[pa.Array, list[tuple[int, str]]]:
    """Pack a list of vectors."""
    listed: list[npt.NDArray[Any] | None] = []
    for place, value in enumerate([values] if isinstance(values, str) else as_sequence(values)):
        try:
            vector = None if value is None else read_vector(value) if isinstance(value, str) else value
            array = None if vector is None else np.asarray(vector, np.float64)
        except (TypeError, ValueError) as error:
            return pa.nulls(0), [(place, str(error))]
        if array is not None and array.ndim != 1:
            return pa.nulls(0), [(place, f"a vector must be a list of numbers, not {type(value).__name__}")]
        listed.append(array)
    return packed_vectors(pa.array(listed, pa.large_list(pa.float64())), directions, within)
