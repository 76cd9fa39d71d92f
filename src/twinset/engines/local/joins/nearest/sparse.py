"""Join each sparse vector with its nearest ones, exactly."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from twinset.candidates.sparse.nearest import SparseNearest
from twinset.engines.local.audit.result import AuditResult
from twinset.engines.local.joins.base import Candidates
from twinset.engines.local.joins.in_memory import InMemoryJoin
from twinset.engines.local.joins.nearest.vectors import NearestVectors, Neighbours
from twinset.engines.local.joins.sparse import SparseVectorJoin
from twinset.engines.local.joins.vectors import slices
from twinset.errors import OptionError
from twinset.pairs.sparse import nearest
from twinset.plan.sparse import SparsePlan
from twinset.schema import Places
from twinset.system.scratch import Spool

_QUERIES = 256  # at a time


class NearestSparseJoin(SparseVectorJoin):
    """Sparse vectors, each paired with its nearest instead of all within a limit."""

    def _make_plan(self) -> SparsePlan:
        return SparsePlan(self.options.top_limit, self.columns, self.options.top)

    def verify(self, candidates: Candidates) -> Spool:
        """Find the nearest of each vector."""
        pairs = Spool(self.work.state.scratch / "nearest", "<u4", 3)
        top = self.options.top or 1
        count, border = len(self.numbers), self.border
        self._refuse_too_many_neighbours(count, top)
        queries = np.arange(count if border is None else border)
        neighbours = self._search(queries, top, 0 if border is None else border)
        pairing = _Pairing(self, queries, top, self.options.identical == "link")
        for some in pairing.rows(neighbours):
            pairs.append(some, self.work.budget.pairs)
        pairs.close()
        candidates.count = self.compared
        return pairs

    def audit(self, pairs: Spool, candidates: Candidates) -> AuditResult | None:
        """Return nothing: the search is exact."""
        return None

    def _refuse_too_many_neighbours(self, vectors: int, top: int) -> None:
        needed, room = 32 * vectors * (top + 1), self.work.budget.free // 2
        if needed > room:
            raise OptionError(
                f"the {top:,} nearest of {vectors:,} vectors take {needed >> 20:,} MiB of memory, but only "
                f"{room >> 20:,} MiB are left for them; ask for fewer with --top, or give more with --memory"
            )

    def _search(self, queries: Places, top: int, first: int) -> Neighbours:
        """Find the nearest of some vectors among those from `first` on."""
        count, limit = len(self.numbers), self.options.top_limit
        self.work.progress.stage("comparing", len(queries), "vectors")
        neighbours = Neighbours.empty(len(queries), top)
        if first >= count:
            return neighbours
        search = SparseNearest(self.vectors, 1 / np.sqrt(self.squares), self.columns, first, self.groups)

        def work(part: slice) -> int:
            at, met = part.start, 0
            for ends, found in search.candidates(queries[part], min(top, count), limit):
                some = slice(at, at + len(ends))
                starts = np.concatenate([[0], ends])
                neighbours.positions[some], neighbours.scores[some], neighbours.counts[some] = nearest(
                    queries[some], starts, found, top, self.vectors, self.squares, self.columns
                )
                at, met = at + len(ends), met + len(found)
            return met

        parts = slices(len(queries), _QUERIES)
        for part, met in zip(parts, self.work.threads.map(work, parts), strict=True):
            self.compared += met
            self.work.progress.advance(part.stop - part.start)
        if limit is not None:
            neighbours.counts = np.count_nonzero((neighbours.scores >= limit) & neighbours.present(), axis=1)
        return neighbours


class _Pairing(NearestVectors):
    """Pairs of documents from neighbours that were found otherwise than by hash tables."""

    def __init__(self, join: InMemoryJoin, queries: Places, top: int, link: bool) -> None:
        self.join, self.queries, self.top, self.link = cast(Any, join), queries, top, link
