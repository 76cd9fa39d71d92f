"""The contract of a similarity join: what each kind of item says about plan, candidates, pairs, scores and audit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from twinset.engines.local.budget import Budget
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.sort_pairs import Rows
from twinset.engines.local.state import State
from twinset.engines.local.steps.sketch import WorkOptions
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.schema import DISTANCES, SCORES, Numbers, Scores
from twinset.system.scratch import Spool

if TYPE_CHECKING:
    from twinset.engines.local.audit.run import AuditResult

__all__ = ["Candidates", "RunPlan", "SimilarityJoin", "Work"]


class RunPlan(Protocol):
    """What a plan of any kind can say of itself."""

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as plain values, ready for JSON."""


@dataclass(frozen=True)
class Work:
    """What a run works with."""

    options: WorkOptions
    budget: Budget
    state: State
    threads: Threads
    progress: Progress


@dataclass
class Candidates:
    """Pairs of distinct contents to verify.

    `rows` are written down, (n, 2). They are None where a join in memory draws them one table at a time while it
    verifies them; `count` is then known when it is done.
    """

    rows: Spool | None
    count: int


class SimilarityJoin(ABC):
    """The distinct items of a run, and how those of this kind are joined, measured and audited.

    `sizes` are the exact set sizes of the documents that were compared, 0 where they are unknown or the items are no
    sets.
    """

    plan: RunPlan
    sizes: Numbers

    def __init__(self, corpus: Corpus, copies: Copies, work: Work) -> None:
        self.corpus, self.copies, self.work = corpus, copies, work
        self.options = work.options
        self.sizes = np.zeros(corpus.documents, np.uint32)

    @property
    def measure(self) -> str:
        """The name of the measure, by which tables have their columns."""
        return self.options.measure

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether no pair can be missed."""

    @property
    def is_audited(self) -> bool:
        """Whether the recall is measured: of an exact join only if that was asked for."""
        return self.options.audit != 0 and not (self.options.audit is None and self.exact)

    @abstractmethod
    def candidates(self) -> Candidates:
        """Pairs that may reach the threshold."""

    @abstractmethod
    def verify(self, candidates: Candidates) -> Spool:
        """The pairs that reach the threshold: (left, right, code), where the code is what `scores` wants to know."""

    @abstractmethod
    def audit(self, pairs: Spool, candidates: Candidates) -> AuditResult | None:
        """Compare a sample of the items with all others exactly, and look up what was found in `pairs`."""

    @abstractmethod
    def join_all(self, out: Spool) -> None:
        """Append (left, right, code) of every pair that reaches the threshold to `out`: none is missed."""

    @abstractmethod
    def measure_all(self, candidates: Spool, out: Spool) -> None:
        """Append (left, right, code) of every candidate to `out`, however dissimilar."""

    @abstractmethod
    def scores(self, left: Numbers, right: Numbers, code: Numbers) -> Scores:
        """The exact scores of pairs of documents; the code is SAME where they have the same content."""

    @abstractmethod
    def identical_across(self, pairs: Spool) -> int:
        """How many pairs of documents equal items on two sides make."""

    def similarity(self, rows: Rows) -> npt.NDArray[np.float64]:
        """How similar the two documents of each row are; of what has a distance, its negative."""
        score = self.scores(rows[:, 0], rows[:, 1], rows[:, 2])[SCORES[self.measure][0].name]
        return -score.astype(np.float64) if self.measure in DISTANCES else score
