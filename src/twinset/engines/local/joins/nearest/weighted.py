"""Join each weighted set with its nearest, however far: exactly, from inverted lists in memory."""

from __future__ import annotations

import numpy as np

from twinset.engines.local.audit.result import AuditResult
from twinset.engines.local.joins.base import Candidates
from twinset.engines.local.joins.in_memory import distance_codes
from twinset.engines.local.joins.nearest.contents import NearContents, NearestDocuments
from twinset.engines.local.joins.weighted import WeightedJoin
from twinset.pairs.nearest.weighted import NearestWeighted, WeightedLists, bytes_needed
from twinset.plan.nearest import NearestSetsPlan
from twinset.schema import Numbers
from twinset.system.scratch import Spool


class NearestWeightedJoin(WeightedJoin):
    """Weighted sets, each paired with its nearest instead of all that reach a threshold."""

    plan: NearestSetsPlan  # type: ignore[assignment]

    @property
    def exact(self) -> bool:
        """Whether no pair can be missed."""
        return True

    def _make_plan(self) -> NearestSetsPlan:  # type: ignore[override]
        return NearestSetsPlan(self.options.top or 1)

    def _needed_bytes(self, counts: Numbers) -> int:
        return bytes_needed(len(counts), int(counts.sum(dtype=np.int64)), self.work.threads.count)

    def verify(self, candidates: Candidates) -> Spool:
        """Find the nearest of each set."""
        top = self.plan.top
        nearest = NearestDocuments(self.corpus, self.copies, top, link=self.options.identical == "link")
        self.ranks = nearest.ranks
        salts = np.zeros(len(self.numbers), np.uint64) if self.groups is None else self.groups
        lists = WeightedLists(self.sets, self.sums, salts, nearest.content_ranks(self.numbers), self.border)
        pairs = Spool(self.work.state.scratch / "nearest", "<u4", 3)
        self.work.progress.stage("finding the nearest", len(lists.queries), "documents")
        tasks = [part for task in lists.tasks for part in nearest.cut(task)]
        results = self.work.threads.map(lambda rows: lists.search(rows, top), tasks)
        for rows, found in zip(tasks, results, strict=True):
            near = self._near_contents(lists, rows, found)
            for some in nearest.rows(near, distance_codes(near.distances), 0):
                pairs.append(some, self.work.budget.pairs)
            candidates.count += found.compared
            self.work.progress.advance(rows.stop - rows.start)
        pairs.close()
        return pairs

    def _near_contents(self, lists: WeightedLists, rows: slice, found: NearestWeighted) -> NearContents:
        """Return the nearest contents by document numbers."""
        owners, columns = np.nonzero(np.arange(found.positions.shape[1]) < found.found[:, None])
        rights = self.numbers[lists.targets[found.positions[owners, columns]]]
        return NearContents(self.numbers[lists.queries[rows]], owners, rights, 1.0 - found.scores[owners, columns])

    def audit(self, pairs: Spool, candidates: Candidates) -> AuditResult | None:
        """Return nothing: no neighbour can be missed."""
        return None
