"""Join of sets by containment: the larger of a pair contains at least the requested share of the smaller."""

from __future__ import annotations

import numpy as np

from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.joins.base import Candidates, Work
from twinset.engines.local.joins.sets import SetJoin
from twinset.engines.local.steps.candidates import STAGE, write_candidates
from twinset.engines.local.steps.candidates_contained import ContainmentSearch
from twinset.engines.local.steps.sketch import READ
from twinset.engines.local.steps.verify import ContainmentVerifier
from twinset.plan.containment import ContainmentPlan
from twinset.schema import Flags, Numbers
from twinset.system.scratch import Spool


class ContainmentJoin(SetJoin):
    """Texts, sets and records, joined by containment. All set sizes are known after the candidates."""

    plan: ContainmentPlan
    verifier = ContainmentVerifier

    def __init__(self, corpus: Corpus, copies: Copies, work: Work, plan: ContainmentPlan) -> None:
        super().__init__(corpus, copies, work, plan)
        self._work = (work.budget, work.state, work.threads, work.progress)

    def candidates(self) -> Candidates:
        """File each set under a few shingles, and look up all shingles of every set."""
        earlier = self.work.state.recall(STAGE)
        if earlier is not None:
            rows, sizes = earlier[1]["candidates"], earlier[1]["set_sizes"].all()
        else:
            search = ContainmentSearch(self.corpus, self.copies.first, self.options, *self._work)
            found = search.candidates(self.plan.loss, self.options.least_shingles)
            rows = write_candidates(found, self.work.budget, self.work.state, search.sizes)
            sizes = search.sizes
        self.sizes[:] = sizes
        self._leave_short()
        return Candidates(rows, len(rows))

    @property
    def set_sizes(self) -> Numbers:
        """The set sizes of all documents, copies included."""
        return self.sizes[self.copies.first]

    @property
    def left_alone(self) -> Flags:
        """Documents with fewer shingles than one must have to be removed."""
        short: Flags = (self.set_sizes < self.options.least_shingles) & (self.corpus.status == READ)
        return short

    def _leave_short(self) -> None:
        """Make every copy of a short document a document of its own, so that none of them is removed."""
        short = self.left_alone
        if not short.any():
            return
        self.sizes[short] = self.set_sizes[short]
        first = np.where(short, np.arange(len(short), dtype=np.uint32), self.copies.first)
        self.copies = Copies.of(first, self.corpus.status)

    def join_all(self, out: Spool) -> None:
        """Join without loss, whatever the plan."""
        search = ContainmentSearch(self.corpus, self.copies.first, self.options, *self._work)
        rows = Spool(self.work.state.scratch / "exact", "<u4", 2)
        for few in search.candidates(0.0, self.options.least_shingles):
            rows.append(few)
        self._verifier.verify(rows, self.options.threshold, out)
