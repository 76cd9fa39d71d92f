"""The contract of an engine.

The pipeline decides the order of the steps. An engine decides where documents, sketches and pairs are stored. The
values passed between two steps belong to the engine; the pipeline never looks inside them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

from twinset.documents.data_sets.splits import spread
from twinset.engines.progress import Progress, Silent
from twinset.options import DedupOptions, PairsOptions
from twinset.options.passages import PassagesOptions, TrimOptions

__all__ = ["Audit", "Candidates", "Clusters", "Corpus", "Cuts", "Engine", "IndexBeside", "Job", "Join", "Matches",
           "Output", "Pairs", "PassageRun", "Run", "Tables", "TrimRun", "Unique"]  # fmt: skip

Corpus: TypeAlias = Any
"""The documents of a run, with their sketches if their kind has any."""
Unique: TypeAlias = Any
"""Documents grouped by content; the first of each group represents it."""
Join: TypeAlias = Any
"""A similarity join for one kind of item: its plan, candidates, exact scores and audit."""
Candidates: TypeAlias = Any
"""Pairs of distinct contents that may reach the threshold."""
Pairs: TypeAlias = Any
"""Pairs of distinct contents that reach the threshold."""
Audit: TypeAlias = Any
"""The pairs of a sample that were found and missed; None without an audit."""
Matches: TypeAlias = Any
"""The most similar document of an index for each document; None without an index."""
Clusters: TypeAlias = Any
"""The kept documents, and for each removed document the kept one that replaces it."""
Cuts: TypeAlias = Any
"""Words to cut, each with the place of the copy that stays."""
Tables: TypeAlias = Any
"""Ids and scores for the tables of a result."""


@dataclass(frozen=True)
class Job:
    """The sources, options and output of a run; the splits of a data set are sources of their own.

    `output` is a folder, or for pairs a file unless `pairs_folder` is set. `rows_file` is the one file for all kept
    rows, if that is wanted.
    `own_files` are the files of an index: they are neither read as sources nor replaced. `whole_rows` keeps whole rows
    while they fit in memory, for a job that writes them. `needs_ids` says why ids must be unique; if it is empty and
    the default column ``id`` has repeated ids, rows are named ``file:row``. `address` is the output of an engine that
    does not write to this machine's file system by itself, and `replaced` are the keys there that it may delete. A
    job that is `outlined` is described only.
    """

    sources: tuple[object, ...]
    options: PairsOptions | DedupOptions | PassagesOptions | TrimOptions
    version: str
    output: Path | None = None
    progress: Progress = field(default_factory=Silent)
    own_files: Sequence[str] = ()
    whole_rows: bool = False
    needs_ids: str = ""
    rows_file: Path | None = None
    pairs_folder: bool = False
    address: str | None = None
    outlined: bool = False
    replaced: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", spread(self.sources))


@dataclass(frozen=True)
class Output:
    """The result of a run: its summary, its plan, and its tables unless they were written to `path`.

    `sources` are those that a result in memory may read again; `held` is whatever must live as long as they do.
    `recorded` is false if the tables are no Arrow tables, and lack the records that explain and recut need.
    """

    summary: dict[str, Any]
    plan: Any
    path: Path | None
    tables: dict[str, Any]
    sources: tuple[object, ...] = ()
    held: object = None
    recorded: bool = True


class Run(ABC):
    """One run of an engine, a context manager. The pipeline calls its steps in the order below.

    `options` are those of the job, or what the run has chosen where the job leaves it open.
    """

    options: Any

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @abstractmethod
    def outline(self) -> dict[str, Any]:
        """Describe what would be read and planned; only headers and footers are read."""

    @abstractmethod
    def read(self) -> Corpus:
        """Read every document once: documents → shingles → sketches."""

    @abstractmethod
    def collapse(self, corpus: Corpus) -> Unique:
        """Group documents of identical content."""

    @abstractmethod
    def plan(self, corpus: Corpus, unique: Unique) -> Join:
        """Plan the join: for sets from the options alone, for other kinds from the items."""

    @abstractmethod
    def candidates(self, join: Join) -> Candidates:
        """Find candidates from sketches."""

    @abstractmethod
    def verify(self, join: Join, candidates: Candidates) -> Pairs:
        """Compare candidates exactly."""

    @abstractmethod
    def audit(self, join: Join, pairs: Pairs, candidates: Candidates) -> Audit:
        """Measure the recall of the pairs on a sample of the documents."""

    @abstractmethod
    def cluster(self, join: Join, pairs: Pairs, matches: Matches) -> Clusters:
        """Cluster pairs; documents that match one of the index are removed."""

    @abstractmethod
    def tables(self, join: Join, matches: Matches) -> Tables:
        """Prepare ids and scores for the tables."""

    @abstractmethod
    def write_pairs(self, join: Join, pairs: Pairs, candidates: Candidates, audit: Audit) -> Output:
        """Write the pairs of documents to the output file."""

    @abstractmethod
    def write_result(
        self, join: Join, tables: Tables, pairs: Pairs, candidates: Candidates, audit: Audit, clusters: Clusters,
        matches: Matches, index: IndexBeside | None,
    ) -> Output:  # fmt: skip
        """Write clean data and a reason for every removal to the output folder."""


class PassageRun(ABC):
    """A run that finds passages. The pipeline calls its steps in the order below."""

    @abstractmethod
    def read(self) -> Corpus:
        """Read every document once: its words, and anchors of them."""

    @abstractmethod
    def candidates(self, corpus: Corpus) -> Candidates:
        """Find pairs of places with equal anchors."""

    @abstractmethod
    def verify(self, corpus: Corpus, candidates: Candidates) -> Pairs:
        """Extend pairs of places to passages."""

    @abstractmethod
    def write_passages(self, corpus: Corpus, candidates: Candidates, passages: Pairs) -> Output:
        """Write passages, the copied share of each document, and boilerplate."""


class TrimRun(ABC):
    """A run that cuts repeated passages. The pipeline calls its steps in the order below."""

    @abstractmethod
    def read(self) -> Corpus:
        """Read every document once: its words, and anchors of them."""

    @abstractmethod
    def cut(self, corpus: Corpus) -> Cuts:
        """Find later copies of passages, in the order of the keep policy."""

    @abstractmethod
    def write_trimmed(self, corpus: Corpus, cuts: Cuts) -> Output:
        """Write the documents without what was cut, and what was cut and why."""


class Engine(Protocol):
    """Opens runs."""

    def place_pairs(self, job: Job, output: Any) -> Job:
        """Return the job with its output, a file or a folder for pairs, which must not replace anything else."""

    def place_result(self, job: Job, output: Any) -> Job:
        """Return the job with its output, the place of a result, which must not replace anything else."""

    def open(self, job: Job) -> Run:
        """Open the sources of a job; nothing is read yet."""


class IndexBeside(Protocol):
    """An index used by a run: documents are compared with it, and kept ones are added to it."""

    def find_matches(self, corpus: Corpus, unique: Unique) -> Matches:
        """Lock the index and find its most similar document for each distinct content."""

    def add(self, tables: Tables, clusters: Clusters) -> None:
        """Add the kept documents to the index in a transaction that `commit` ends."""

    def summary(self, matched: int) -> dict[str, Any]:
        """Describe the index for the summary; `matched` documents were removed because of it."""

    def commit(self, output: Path | None) -> None:
        """Commit the transaction once the result is written."""
