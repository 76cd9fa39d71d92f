"""The contract of an engine: what the pipeline asks of a run, step by step.

The pipeline says which step follows which. An engine says where documents, sketches and pairs live, and how they are
spilled, shuffled and retried. What passes between two steps belongs to the engine: the pipeline hands it on and never
looks inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

import pyarrow as pa

from twinset.engines.progress import Progress, Silent
from twinset.options import DedupOptions, PairsOptions

__all__ = ["Audit", "Candidates", "Clusters", "Corpus", "Engine", "IndexBeside", "Job", "Join", "Matches", "Output",
           "Pairs", "Run", "Tables", "Unique"]  # fmt: skip

Corpus: TypeAlias = Any
"""The documents of a run: what was read of each, and its sketch where its kind has one."""
Unique: TypeAlias = Any
"""Documents by content: identical ones together, represented by the first."""
Join: TypeAlias = Any
"""A plan, and what carries it out for one kind of item: candidates, exact scores, audit."""
Candidates: TypeAlias = Any
"""Pairs of distinct contents that may reach the threshold."""
Pairs: TypeAlias = Any
"""Pairs of distinct contents that do reach it."""
Audit: TypeAlias = Any
"""Which pairs of a sample were found and which were missed; None where no audit was asked for."""
Matches: TypeAlias = Any
"""For each document the most similar one of an index; None without an index."""
Clusters: TypeAlias = Any
"""Which documents are kept, and because of which one each other document is removed."""
Tables: TypeAlias = Any
"""What names documents and scores pairs for the tables of a result."""


@dataclass(frozen=True)
class Job:
    """What a run is to do.

    `own_files` are files of an index: no sources, and not to be replaced. With `whole_rows` whole rows are kept while
    they fit in memory, for a job that writes them again.
    """

    sources: tuple[object, ...]
    options: PairsOptions | DedupOptions
    version: str
    output: Path | None = None
    progress: Progress = field(default_factory=Silent)
    own_files: Sequence[str] = ()
    whole_rows: bool = False


@dataclass(frozen=True)
class Output:
    """What a run hands over: the summary, the plan, and the tables unless they were written to `path`."""

    summary: dict[str, Any]
    plan: Any
    path: Path | None
    tables: dict[str, pa.Table]


class Run(ABC):
    """One run of an engine. Used with `with`; the pipeline calls its steps in the order in which they stand here."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @abstractmethod
    def outline(self) -> dict[str, Any]:
        """Say what would be read and planned; nothing but heads and footers is read."""

    @abstractmethod
    def read(self) -> Corpus:
        """Documents → shingles → sketches: every document is read once."""

    @abstractmethod
    def collapse(self, corpus: Corpus) -> Unique:
        """Group documents of identical content."""

    @abstractmethod
    def plan(self, corpus: Corpus, unique: Unique) -> Join:
        """Decide how items are joined: for sets by the options alone, for other kinds from the items."""

    @abstractmethod
    def candidates(self, join: Join) -> Candidates:
        """Sketches → candidates."""

    @abstractmethod
    def verify(self, join: Join, candidates: Candidates) -> Pairs:
        """Candidates → pairs, exactly."""

    @abstractmethod
    def audit(self, join: Join, pairs: Pairs, candidates: Candidates) -> Audit:
        """Measure the recall of the pairs on a sample of the documents."""

    @abstractmethod
    def cluster(self, join: Join, pairs: Pairs, matches: Matches) -> Clusters:
        """Pairs → clusters; what matches a document of an index is removed because of it."""

    @abstractmethod
    def tables(self, join: Join, matches: Matches) -> Tables:
        """Name documents and score pairs."""

    @abstractmethod
    def write_pairs(self, join: Join, pairs: Pairs, candidates: Candidates, audit: Audit) -> Output:
        """Write the pairs of documents, and put the file in its place."""

    @abstractmethod
    def write_result(
        self, join: Join, tables: Tables, pairs: Pairs, candidates: Candidates, audit: Audit, clusters: Clusters,
        matches: Matches, index: IndexBeside | None,
    ) -> Output:  # fmt: skip
        """Write clean data and a reason for every removal, and put the folder in its place."""


class Engine(Protocol):
    """Where runs happen."""

    def open(self, job: Job) -> Run:
        """Open the sources of a job; nothing is read yet."""


class IndexBeside(Protocol):
    """An index beside a run: new documents are compared with it, and those kept are added to it."""

    def match(self, corpus: Corpus, unique: Unique) -> Matches:
        """Find the most similar document of the index for each distinct content; from here on it is locked."""

    def add(self, tables: Tables, clusters: Clusters) -> None:
        """Put the kept documents into the index, in a transaction that `commit` ends."""

    def summary(self, matched: int) -> dict[str, Any]:
        """What a summary says of the index; `matched` documents were removed because of it."""

    def commit(self, output: Path | None) -> None:
        """Commit, once the result is in its place."""
