"""Join of sets: by bands of their sketches, or exactly by prefixes; verified on their full shingle sets."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from twinset.engines.local.audit.result import AuditResult
from twinset.engines.local.copies import SAME, Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.joins.base import Candidates, SimilarityJoin, Work
from twinset.engines.local.steps import candidates as banded
from twinset.engines.local.steps.verify import SetVerifier
from twinset.pairs.sets import scores
from twinset.plan import Plan
from twinset.plan.containment import ContainmentPlan
from twinset.schema import Flags, Numbers, Scores
from twinset.system.scratch import Spool

if TYPE_CHECKING:
    from twinset.engines.local.audit.sets import SetAudit


class SetJoin(SimilarityJoin):
    """Texts, sets and records: all items that are sets of hashes."""

    plan: Plan | ContainmentPlan
    verifier: ClassVar[type[SetVerifier]] = SetVerifier

    def __init__(self, corpus: Corpus, copies: Copies, work: Work, plan: Plan | ContainmentPlan) -> None:
        super().__init__(corpus, copies, work)
        self.plan = plan
        scratch = work.state.scratch
        self._verifier = self.verifier(corpus, work.options, work.budget, scratch, work.threads, work.progress)
        self._verifier.sizes = self.sizes

    @property
    def exact(self) -> bool:
        """Whether candidates come from prefixes of the sets themselves."""
        return self.plan.exact

    @property
    def left_alone(self) -> Flags | None:
        """Documents that are compared with none, where there may be some."""
        return None

    def candidates(self) -> Candidates:
        """Find sketches that share a band; in an exact run, sets whose prefixes share an element."""
        work = (self.work.budget, self.work.state, self.work.threads, self.work.progress)
        if self.exact:
            from twinset.engines.local.steps import candidates_exact  # loads kernels: only where needed

            rows = candidates_exact.candidates(self.corpus, self.copies.first, self.options, *work)
        else:
            rows = banded.candidates(self.corpus, self.copies.first, cast("Plan", self.plan), *work)
        return Candidates(rows, len(rows))

    def verify(self, candidates: Candidates) -> Spool:
        """Compare the full shingle sets of every candidate; the code of a pair is the number of shared shingles."""
        state = self.work.state
        done = state.recall("pairs")
        if done is not None:
            self.sizes[:] = done[1]["sizes"].all()
            return done[1]["pairs"]
        pairs = state.spool("pairs", "<u4", 3)
        if self.is_audited:
            self._auditor.look_ahead(self.options.audit)
        self._verifier.verify(_rows_of(candidates), self.options.least, pairs)
        sizes = state.spool("sizes", "<u4")
        sizes.append(self.sizes)
        state.finish("pairs", {}, {"pairs": pairs, "sizes": sizes})
        return pairs

    @cached_property
    def _auditor(self) -> SetAudit:
        from twinset.engines.local.audit.sets import SetAudit  # loads kernels: only where needed

        work = self.work
        return SetAudit(
            self.corpus, self.copies, self.options, work.budget, work.state.scratch, work.threads, work.progress,
            self.left_alone,
        )  # fmt: skip

    def audit(self, pairs: Spool, candidates: Candidates) -> AuditResult:
        """Compare the sets of a sample with all others."""
        audited = self._auditor.audit(self.options.audit, pairs, self.sizes, candidates.count)
        self.sizes[:] = audited.sizes  # including those that only the audit has computed
        return audited

    def join_all(self, out: Spool) -> None:
        """Join by prefixes, whatever the plan."""
        from twinset.engines.local.steps.candidates_exact import PrefixJoin

        work = (self.work.budget, self.work.state, self.work.threads, self.work.progress)
        rows = Spool(self.work.state.scratch / "exact", "<u4", 2)
        for few in PrefixJoin(self.corpus, self.copies.first, self.options, *work).candidates():
            rows.append(few)
        self._verifier.verify(rows, self.options.threshold, out)

    def measure_all(self, candidates: Spool, out: Spool) -> None:
        """Count the shared shingles of every candidate."""
        self._verifier.verify(candidates, 0.0, out)

    def scores(self, left: Numbers, right: Numbers, code: Numbers) -> Scores:
        """Return the scores of pairs, from the shared shingles and both set sizes."""
        return jaccard_scores(self.sizes[self.copies.first[left]], self.sizes[self.copies.first[right]], code)

    def identical_across(self, pairs: Spool) -> int:
        """Count the pairs of documents with equal shingle sets on two sides."""
        total = 0
        for rows in pairs.chunks():
            left, right, shared = rows.T
            same = (shared == self.sizes[left]) & (shared == self.sizes[right])
            total += self.copies.count_pairs(left[same], right[same])
        return total


def jaccard_scores(left_sizes: Numbers, right_sizes: Numbers, shared: Numbers) -> Scores:
    """Return the scores of pairs of sets; if `shared` is SAME they are equal, and their sizes may be unknown."""
    same = shared == SAME
    one = np.uint32(1)
    return scores(*(np.where(same, one, numbers) for numbers in (shared, left_sizes, right_sizes)))


def _rows_of(candidates: Candidates) -> Spool:
    if candidates.rows is None:
        raise ValueError("candidates of sets need rows to verify")
    return candidates.rows
