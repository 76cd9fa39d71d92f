"""The contract of a similarity join: plan, candidates, pairs, scores and audit for one kind of item."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from twinset.engines.local.audit.result import AuditResult
from twinset.engines.local.budget import Budget
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.sort_pairs import Rows
from twinset.engines.local.state import RunState
from twinset.engines.local.steps.sketch import WorkOptions
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.schema import Numbers, Scores, limited_score
from twinset.system.scratch import Spool


class RunPlan(Protocol):
    """A plan of any kind."""

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as plain values, ready for JSON."""


@dataclass(frozen=True)
class Work:
    """The options and resources of a run."""

    options: WorkOptions
    budget: Budget
    state: RunState
    threads: Threads
    progress: Progress


@dataclass
class Candidates:
    """Pairs of distinct contents to verify.

    `rows` are (n, 2). They are None for a join in memory, which makes and verifies candidates table by table; `count`
    is then known afterwards.
    """

    rows: Spool | None
    count: int


class SimilarityJoin(ABC):
    """The distinct items of a run, with the operations to join, measure and audit them.

    `sizes` are the exact set sizes of the compared documents, 0 if unknown or if the items are not sets.
    """

    plan: RunPlan
    sizes: Numbers
    ranks: Numbers | None = None
    """Where only the nearest are paired: the order of documents that are equally near, if not that of the input."""

    def __init__(self, corpus: Corpus, copies: Copies, work: Work) -> None:
        self.corpus, self.copies, self.work = corpus, copies, work
        self.options = work.options
        self.sizes = np.zeros(corpus.documents, np.uint32)

    @property
    def measure(self) -> str:
        """The name of the measure, which determines the score columns."""
        return self.options.measure

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether no pair can be missed."""

    @property
    def is_audited(self) -> bool:
        """Whether the recall is measured; for an exact join only on request."""
        return self.options.audit != 0 and not (self.options.audit is None and self.exact)

    @abstractmethod
    def candidates(self) -> Candidates:
        """Find pairs that may reach the threshold."""

    @abstractmethod
    def verify(self, candidates: Candidates) -> Spool:
        """Return the pairs that reach the threshold: (left, right, code), with the code that `scores` expects."""

    @abstractmethod
    def audit(self, pairs: Spool, candidates: Candidates) -> AuditResult | None:
        """Compare a sample of the items exactly with all others, and look up its pairs in `pairs`."""

    @abstractmethod
    def join_all(self, out: Spool) -> None:
        """Append (left, right, code) of every pair that reaches the threshold to `out`, without missing any."""

    @abstractmethod
    def measure_all(self, candidates: Spool, out: Spool) -> None:
        """Append (left, right, code) of every candidate to `out`, however dissimilar."""

    @abstractmethod
    def scores(self, left: Numbers, right: Numbers, code: Numbers) -> Scores:
        """Return the exact scores of pairs of documents; the code is SAME for identical contents."""

    @abstractmethod
    def identical_across(self, pairs: Spool) -> int:
        """Count the pairs of documents with equal items on two sides."""

    def similarity(self, rows: Rows, *, one_sided: bool = False) -> npt.NDArray[np.float64]:
        """Return the score of each row that the threshold limits (`limited_score`)."""
        return limited_score(self.scores(rows[:, 0], rows[:, 1], rows[:, 2]), self.measure, one_sided=one_sided)
