"""Join each vector with its nearest ones: by hash tables, or by comparing all with all.

The distance of the nearest is not known beforehand. A sample is therefore compared with all vectors, and tables are
planned for the neighbours of the sample; the share of these that the tables find is the reported recall. If it costs
less, every vector is compared with all others instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.candidates import probing
from twinset.engines.local.audit import sample
from twinset.engines.local.audit.result import AuditResult
from twinset.engines.local.budget import Budget
from twinset.engines.local.joins.base import Candidates
from twinset.engines.local.joins.in_memory import distance_codes
from twinset.engines.local.joins.nearest.contents import ROWS_AT_ONCE, NearContents
from twinset.engines.local.joins.vectors import VectorJoin, slices
from twinset.engines.local.sort_pairs import Rows
from twinset.errors import OptionError
from twinset.pairs.vectors import every_nearest, nearest
from twinset.plan.vectors import VectorPlan, vector_plan
from twinset.schema import Codes, Flags, Hashes, Numbers, Places, Vectors
from twinset.sketches.vectors import keys as vector_keys
from twinset.system.arrays import pair_words
from twinset.system.scratch import Spool

_SAMPLE = 256
_ROWS = 1024  # queries at a time

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NearestPlan:
    """The plan of a search for the nearest: exact, or by tables planned for the neighbours of a sample.

    `limit` is the minimum cosine, or the maximum distance, of a neighbour; None for any.
    """

    top: int
    tables: VectorPlan
    limit: float | None = None

    def __str__(self) -> str:
        if self.tables.method == "exact":
            near = {"cosine": "with a cosine of at least {:g}", "distance": "within {:g}"}[self.tables.measure]
            end = "" if self.limit is None else f" {near.format(self.limit)}"
            return f"exact: the {self.top} nearest of each vector{end}, all compared with all"
        return str(self.tables).replace(": a pair at", ": a neighbour at")

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as plain values, ready for JSON."""
        return {**self.tables.to_dict(), "top": self.top, "limit": self.limit}


@dataclass
class Neighbours:
    """The nearest of each query vector: positions uint32 (n, top), of which the first counts[i] are set."""

    positions: Numbers
    scores: Floats
    counts: Places

    @classmethod
    def empty(cls, rows: int, width: int) -> Neighbours:
        """Make room for up to `width` neighbours of each of `rows` vectors."""
        return cls(np.zeros((rows, width), np.uint32), np.zeros((rows, width)), np.zeros(rows, np.int64))

    def present(self, rows: slice = slice(None)) -> Flags:
        """Mark the neighbours that are set."""
        present: Flags = np.arange(self.positions.shape[1]) < self.counts[rows, None]
        return present


class NearestVectorJoin(VectorJoin):
    """Vectors, each paired with its nearest instead of all within a limit."""

    plan: NearestPlan  # type: ignore[assignment]

    @property
    def exact(self) -> bool:
        """Whether all are compared with all."""
        return self.neighbours.plan.method == "exact"

    @property
    def vector_plan(self) -> VectorPlan:
        """The plan by which vectors are hashed."""
        return self.neighbours.plan

    def _make_plan(self) -> NearestPlan:  # type: ignore[override]
        options = self.options
        if options.top is None:
            raise ValueError("only pairs with top search for the nearest")
        self.neighbours = NearestVectors(self, options.top, options.top_limit, options.identical == "link")
        return NearestPlan(options.top, self.neighbours.plan, options.top_limit)

    def verify(self, candidates: Candidates) -> Spool:
        """Find the nearest of each vector."""
        scratch = self.work.state.scratch
        pairs = Spool(scratch / "nearest", "<u4", 3)
        self.neighbours.write(pairs, Spool(scratch / "missed", "<u4", 3))
        return pairs

    def audit(self, pairs: Spool, candidates: Candidates) -> AuditResult | None:
        """Return which of the sample's neighbours were found."""
        return self.neighbours.audited


class NearestVectors:
    """The nearest of each vector, by position; with two sides, those of the other side.

    `limit` is the minimum cosine or maximum distance. With `link`, copies are paired with their first appearance only.
    """

    def __init__(self, join: VectorJoin, top: int, limit: float | None = None, link: bool = False) -> None:
        self.join, self.top, self.limit, self.link = join, top, limit, link
        _refuse_too_many(len(join.numbers), top, join.work.budget)
        count, border = len(join.vectors), join.border
        self.queries = np.arange(count if border is None else border)
        self.targets = np.arange(0 if border is None else border, count)
        self.sample = self._draw_sample()
        self.truth = self._compare_all(self.sample)
        self.plan = self._make_plan()
        self.audited: AuditResult | None = None

    def write(self, out: Spool, missed: Spool) -> None:
        """Append (left, right, code) by document numbers to `out`, and the pairs missed in the sample to `missed`."""
        neighbours = self.search()
        for rows in self.rows(neighbours):
            out.append(rows, self.join.work.budget.pairs)
        out.close()
        self.audited = self._audit_sample(neighbours, missed)

    def _draw_sample(self) -> Places:
        join = self.join
        own = join.numbers[self.queries]
        return np.searchsorted(join.numbers, sample.drawn(join.corpus, own, min(_SAMPLE, len(own)), join.options.seed))

    def _make_plan(self) -> VectorPlan:
        """Plan tables that find the sample's neighbours with the wanted recall."""
        join = self.join
        dimensions = join.vectors.shape[1]
        settings = {"dimensions": dimensions, "measure": join.measure, "vectors": len(self.targets), "sides": 1}
        scores = np.sort(self.truth.scores[self.truth.present()])
        exact = join.options.exact
        missed = 1 - join.options.recall
        by_cosine = join.measure == "cosine"
        far = scores if by_cosine else scores[::-1]  # the farthest first
        level = float(far[int(missed / 2 * len(far))]) if len(far) else self.limit or 0.0
        fallback = 0.5 if by_cosine else max(level, 1.0)
        known = 0 < level < (1 if by_cosine else np.inf)
        if join.fixed:
            level = level if known else fallback
        elif exact or len(join.vectors) <= 2 * _SAMPLE or not known:
            return vector_plan(fallback, join.options.recall, method="exact", **settings)
        return vector_plan(level, 1 - missed / 2, others=join.others(), **settings, **join.fixed)

    def search(self) -> Neighbours:
        """Find all neighbours."""
        if self.plan.method == "exact":
            return self._compare_all(self.queries)
        return self._cut_off(self._search_tables())

    def _cut_off(self, neighbours: Neighbours) -> Neighbours:
        """Cut off neighbours beyond the limit; the nearest come first."""
        if self.limit is not None:
            scores = neighbours.scores
            near = scores >= self.limit if self.join.measure == "cosine" else scores <= self.limit
            neighbours.counts = np.count_nonzero(near & neighbours.present(), axis=1)
        return neighbours

    def _compare_all(self, positions: Places) -> Neighbours:
        """Find the nearest by comparing with all vectors of the same group."""
        return self._cut_off(self._nearest_in_group(positions))

    def _nearest_in_group(self, positions: Places) -> Neighbours:
        groups = self.join.groups
        if groups is None:
            return self._nearest_among(positions, self.targets)
        neighbours = Neighbours.empty(len(positions), min(self.top, len(self.targets)))
        sorted_targets = self.targets[np.argsort(groups[self.targets], kind="stable")]
        order = np.argsort(groups[positions], kind="stable")
        names = np.unique(groups[positions])
        edges = [
            np.searchsorted(sorted_groups, names, side=side).tolist()
            for sorted_groups in (groups[positions][order], groups[sorted_targets])
            for side in ("left", "right")
        ]
        for first, last, start, end in zip(*edges, strict=True):
            rows = order[first:last]
            group_nearest = self._nearest_among(positions[rows], sorted_targets[start:end])
            width = group_nearest.positions.shape[1]
            neighbours.positions[rows, :width] = group_nearest.positions
            neighbours.scores[rows, :width] = group_nearest.scores
            neighbours.counts[rows] = group_nearest.counts
        return neighbours

    def _nearest_among(self, positions: Places, others: Places) -> Neighbours:
        """Find the nearest among some others, excluding the vector itself."""
        join = self.join
        vectors = join.vectors if len(others) == len(join.vectors) else join.vectors[others]
        width = min(self.top + 1, len(others))

        def work(rows: slice) -> tuple[Numbers, Floats, Places]:
            return every_nearest(join.vectors[positions[rows]], vectors, width, join.measure)

        parts = list(join.work.threads.map(work, slices(len(positions), _ROWS)))
        numbers, scores, counts = (np.concatenate([part[at] for part in parts]) for at in range(3))
        return _drop_itself(others[numbers].astype(np.uint32), scores, counts, positions, self.top)

    def _search_tables(self) -> Neighbours:
        join, plan, seed = self.join, self.plan, self.join.options.seed
        hashed = join.directions()
        drawn = vector_keys.draw(plan, seed)
        parts = join.work.threads.map(lambda rows: vector_keys.sign(hashed[rows], plan, seed), slices(len(hashed)))
        signatures: Codes = np.concatenate(list(parts))
        best = Neighbours.empty(len(self.queries), self.top + 1)
        join.work.progress.stage("comparing", plan.tables, "tables")
        for tables in join.some_tables(plan):
            blocks = self._build_tables(hashed, drawn, tables, signatures)

            def work(rows: slice, tables=tables, blocks=blocks) -> None:  # type: ignore[no-untyped-def]
                self._improve_nearest(best, rows, hashed, drawn, tables, signatures, blocks)

            join.work.threads.run(work, slices(len(self.queries), _ROWS))
            join.work.progress.advance(len(tables))
        return _drop_itself(best.positions, best.scores, best.counts, self.queries, self.top)

    def _build_tables(
        self, hashed: Vectors, drawn: vector_keys.Drawn, tables: range, signatures: Codes
    ) -> list[probing.Probed]:
        """Build some tables of the vectors to be found, each under its own key."""
        keys = self.join.tried(hashed, drawn, tables, 0, self.targets)
        numbers, signed = self.targets.astype(np.uint32), signatures[self.targets]
        return list(self.join.work.threads.map(lambda one: probing.probed(numbers, one, signed), keys))

    def _improve_nearest(
        self, best: Neighbours, rows: slice, hashed: Vectors, drawn: vector_keys.Drawn, tables: range,
        signatures: Codes, blocks: list[probing.Probed],
    ) -> None:  # fmt: skip
        """Improve the nearest of some vectors by what they find in some tables."""
        join, plan = self.join, self.plan
        positions = self.queries[rows]
        moves = vector_keys.moves(hashed[positions], drawn, tables, plan.probes)
        owners, columns = np.nonzero(best.present(rows))
        words: list[Hashes] = [pair_words(owners, best.positions[rows][owners, columns])]
        for block, table_moves in zip(blocks, moves, strict=True):
            tried = probing.next_keys(table_moves, plan.probes)
            if join.groups is not None:
                tried ^= join.groups[positions, None]
            met = probing.find_candidates(tried, signatures[positions], block, plan.most_differing)
            words += [pair_words(some[:, 0], some[:, 1]) for some in met]
        unique_words = np.unique(np.concatenate(words))
        queries = (unique_words >> np.uint64(32)).astype(np.int64)
        offsets = np.searchsorted(queries, np.arange(len(positions) + 1)).astype(np.int64)
        candidates = unique_words.astype(np.uint32)
        width = best.positions.shape[1]
        improved = nearest(join.vectors[positions], join.vectors, offsets, candidates, width, join.measure)
        best.positions[rows], best.scores[rows], best.counts[rows] = improved

    def _audit_sample(self, neighbours: Neighbours, scratch: Spool) -> AuditResult | None:
        """Count the sample's neighbours that were found; None after an exact search."""
        if self.plan.method == "exact":
            return None
        join = self.join
        at = np.searchsorted(self.queries, self.sample)
        pairs_of, missed_of = self.truth.counts.copy(), np.zeros(len(self.sample), np.int64)
        for row, place in enumerate(self.sample.tolist()):
            true = self.truth.positions[row, : self.truth.counts[row]]
            found = neighbours.positions[at[row], : neighbours.counts[at[row]]]
            missed = true[~np.isin(true, found)]
            missed_of[row] = len(missed)
            if len(missed):
                codes = join.codes_of(np.full(len(missed), place), missed.astype(np.int64))
                lefts = np.full(len(missed), join.numbers[place], np.uint32)
                scratch.append(np.stack([lefts, join.numbers[missed], codes], axis=1))
        scratch.close()
        return AuditResult(
            population=len(self.queries), sample=join.numbers[self.sample], pairs_of=pairs_of, missed_of=missed_of,
            pairs=int(pairs_of.sum()), missed=int(missed_of.sum()), one_sided=True, sizes=join.sizes, rows=scratch,
            limit=join.work.budget.pairs,
        )  # fmt: skip

    def rows(self, neighbours: Neighbours) -> Iterator[Rows]:
        """Yield pairs of documents: each with its nearest, including copies."""
        join = self.join
        for rows in slices(len(self.queries), max(1, ROWS_AT_ONCE // (self.top + 1))):
            positions = self.queries[rows]
            owners, columns = np.nonzero(neighbours.present(rows))
            rights = neighbours.positions[rows][owners, columns].astype(np.int64)
            scores = neighbours.scores[rows][owners, columns]
            distances = np.maximum(1.0 - scores if join.measure == "cosine" else scores, 0.0)
            near = NearContents(join.numbers[positions], owners, join.numbers[rights], distances)
            yield from near.documents(
                join.copies, self.top, distance_codes(distances), link=self.link, one_sided=join.border is not None
            )


def _refuse_too_many(vectors: int, top: int, budget: Budget) -> None:
    needed, room = 32 * vectors * (top + 1), budget.free // 2
    if needed > room:
        raise OptionError(
            f"the {top:,} nearest of {vectors:,} vectors take {needed >> 20:,} MiB of memory, but only "
            f"{room >> 20:,} MiB are left for them; ask for fewer with --top, or give more with --memory"
        )


def _drop_itself(numbers: Numbers, scores: Floats, counts: Places, positions: Places, top: int) -> Neighbours:
    """Drop the query vector itself, and keep up to `top` neighbours."""
    other = Neighbours(numbers, scores, counts).present() & (numbers != positions[:, None])
    order = np.argsort(~other, axis=1, kind="stable")[:, :top]
    rows = np.arange(len(numbers))[:, None]
    return Neighbours(numbers[rows, order], scores[rows, order], np.minimum(other.sum(axis=1), top))
