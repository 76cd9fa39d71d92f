"""The engine of one machine: threads, a memory budget, scratch files, and state from which a killed run resumes."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from twinset.clusters.keep import check_columns
from twinset.documents.frames import one_frame
from twinset.documents.own_files import exclude_outputs, patterns_of_files
from twinset.documents.parts import Part
from twinset.documents.sources import Sources, open_sources
from twinset.engines.base import Engine, IndexBeside, Job, Output, Run
from twinset.engines.local.audit.result import AuditResult
from twinset.engines.local.budget import Budget, batch_within, give_back
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.joins.base import Candidates, SimilarityJoin, Work
from twinset.engines.local.joins.choose import join_for
from twinset.engines.local.state import State, fingerprint
from twinset.engines.local.steps import candidates as banded
from twinset.engines.local.steps import cluster
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.cluster_beside_index import IndexMatches, refuse_to_bury
from twinset.engines.local.steps.open import refuse_to_replace, sketch_pictures, tell_unexpected, warn_of_unreadable
from twinset.engines.local.steps.read import DocumentReader
from twinset.engines.local.steps.shingle_length import (
    choice_note,
    choose_shingle,
    find_short_texts,
    measure_parts,
    short_texts_note,
)
from twinset.engines.local.steps.short_fields import find_short_records
from twinset.engines.local.threads import Threads
from twinset.engines.local.write import result
from twinset.engines.local.write.place import move_to_place, state_folder
from twinset.engines.local.write.tables import ResultTables
from twinset.errors import OptionError
from twinset.options import DedupOptions
from twinset.options.checks import AUTO
from twinset.options.place import Place
from twinset.plan import Plan
from twinset.plan.choose import outline_plan, plan_for
from twinset.schema import HASH_SCHEME
from twinset.system.compile_time import compile_seconds
from twinset.system.memory import temporary_folder
from twinset.system.scratch import Spool, cannot_write

if TYPE_CHECKING:
    from twinset.engines.local.write.kept_file import KeptFile

WITHOUT_COLUMNS = ("text", "images", "lines", "npy")
"""Formats whose rows have no columns for --flag, except in one file of rows."""
MAX_IDENTICAL = 100_000_000
LENGTHS = "lengths"
"""The stage that measures texts, in the state of a run."""


class LocalEngine(Engine):
    """Opens runs on this machine."""

    def open(self, job: Job) -> LocalRun:
        """Open the sources of a job; nothing is read yet."""
        return LocalRun(job)


class LocalRun(Run):
    """A run on this machine."""

    def __init__(self, job: Job) -> None:
        options = job.options
        self.job, self.options, self.output, self.progress = job, options, job.output, job.progress
        self.place = None if job.output is None else Place(job.output, job.rows_file)
        self.written = False
        self.sketching: Plan | None = plan_for(options)
        self.started = time.perf_counter()
        self.timings: dict[str, float] = {}
        self.found_lengths: dict[str, Any] = {}
        self.batch_bytes = batch_within(options.batch_bytes, options.memory_bytes, options.thread_count)
        self._inputs = temporary_folder(options.scratch)
        try:
            self._open(job.sources, job.own_files)
        except BaseException:
            self._inputs.cleanup()
            raise
        self.threads = Threads(options.thread_count)
        self.budget = Budget.of(options.memory_bytes, options.thread_count, self.batch_bytes)

    def _open(self, sources: tuple[object, ...], own_files: Sequence[str]) -> None:
        """Open sources and state; `own_files` belong to an index and must not be read or replaced."""
        options, scratch = self.options, Path(self._inputs.name)
        outputs = self.place.paths if self.place else []
        every = (*sources, *options.against)
        reading, self.left_out = exclude_outputs(options, outputs, every, patterns_of_files(own_files, every))
        self.given = sources
        self.found = open_sources(sources, reading, scratch=scratch)
        against = (
            open_sources(options.against, reading, scratch=scratch, against=True) if options.against else Sources()
        )
        self.parts: list[Part] = [*self.found.parts, *against.parts]
        sketch_pictures(self.parts, options)
        if options.codes is not None:
            from twinset.engines.local.sketch_files.code_files import refuse_unlike  # loads kernels: only where needed

            refuse_unlike(self.parts, options)
        self.against = len(self.found.parts)
        self.skipped = [*self.found.skipped, *against.skipped]
        for output in outputs:
            refuse_to_replace(output, self.parts)
            refuse_to_bury(output, own_files)
        tell_unexpected(self.skipped, self.parts, self.progress)
        columns = frozenset(column for _, column in options.keep_rules if column is not None)
        whole = isinstance(options, DedupOptions) and (self.place is not None or one_frame(self.job.sources) is None)
        for part in self.found.parts:
            part.wanted = columns
            for inner in part.inner if whole else ():  # early: comparing may take hours
                inner.check_whole()
            if options.flag and (self.job.rows_file is None or part.format not in WITHOUT_COLUMNS):
                part.check_flag()
        folder = state_folder(self.place) if self.place else scratch / "state"
        spill = Path(options.scratch) if options.scratch else None
        self.state = State(folder, self._fingerprint(), spill)
        if self.state.discarded:
            other = "an interrupted run with other options, sources or version is discarded"
            self.progress.note(f"{other}; this run starts from the beginning")

    def _fingerprint(self) -> str:
        return fingerprint(
            {
                "version": self.job.version,
                "scheme": HASH_SCHEME,
                "kind": type(self.options).__name__,
                "options": {**self.options.to_dict(), "seed": self.options.seed},
                "batch": self.batch_bytes,
                "plan": outline_plan(self.options),
                "parts": [_stamp(one) for part in self.parts for one in part.inner],
            }
        )

    def __enter__(self) -> LocalRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        indexed = getattr(self.options, "index", None) is not None
        stays = self._is_repeatable and _can_resume(value) and (indexed or not self.written)
        if isinstance(value, KeyboardInterrupt) and self.written and self.place is not None:
            unsure = ", but its kept documents may not be in the index; run again with --force" if indexed else ""
            value.add_note(f"{self.place.name} is complete{unsure}")
        elif value is not None and stays and self.state.stages:
            value.add_note(_how_to_resume(self.state.folder, isinstance(value, KeyboardInterrupt)))
        self.threads.close()  # after the notes, since a second Ctrl-C may end the waiting
        self.state.close(keep=stays)
        self._inputs.cleanup()

    @property
    def _is_repeatable(self) -> bool:
        """Whether the same command finds the state and the same sources again; stdin and objects are read once."""
        if self.output is None:
            return False
        scratch = Path(self._inputs.name)
        inner = [one for part in self.parts for one in part.inner]
        return all(one.files or (one.path is not None and scratch not in one.path.parents) for one in inner)

    def timed(self, step: str, since: float) -> None:
        """Record the duration of a step without compilation; with a memory limit, return freed memory to the system."""
        if self.options.memory is not None:
            give_back()
        self.timings[step] = round(time.perf_counter() - since - compile_seconds(since), 3)

    @contextmanager
    def _timing(self, step: str) -> Iterator[None]:
        since = time.perf_counter()
        yield
        self.timed(step, since)

    def outline(self) -> dict[str, Any]:
        """Describe what would be read and planned; only headers and footers are read."""
        return {
            "sources": self.found.describe(),
            "against": [part.describe() for part in self.parts[self.against :]],
            "plan": outline_plan(self.options),
            "options": self.options.to_dict(),
            "threads": self.threads.count,
            "memory": self.budget.total,
        }

    def read(self) -> Corpus:
        """Read, shingle and sketch every document."""
        if self.options.shingle == AUTO:
            with self._timing("lengths"):
                self._choose_shingle()
        with self._timing("read"):
            reading = DocumentReader(
                self.parts, self.against, self.options, self.sketching, self.budget, self.state, self.threads,
                self.progress, batch_bytes=self.batch_bytes, whole=self.job.whole_rows,
                by_length=self.job.whole_rows,  # documents.parquet has them
                needs_ids=self.job.needs_ids,
            )  # fmt: skip
            corpus = reading.corpus()
            warn_of_unreadable(corpus)
            self.budget = self.budget.beside(corpus.documents)
        if isinstance(self.options, DedupOptions) and corpus.border is None:  # early: comparing may take hours
            check_columns(self.options.keep_rules, corpus, self.options.date_format)
        short = None
        if not self.found_lengths:
            fields = (self.parts, corpus, self.options, self.batch_bytes)
            short = find_short_texts(corpus, self.options) or find_short_records(*fields)
        if short is not None:
            self.found_lengths["short_texts"] = short
            self.progress.note(short_texts_note(short, corpus.documents))
        return corpus

    def _choose_shingle(self) -> None:
        """Replace the shingle `auto` by one that fits the texts; a resumed run uses its choice again."""
        done = self.state.recall(LENGTHS)
        if done is None:
            work = self.batch_bytes, self.threads, self.progress
            choice = choose_shingle(measure_parts(self.parts, self.options, *work), self.options.threshold)
            self.state.finish(LENGTHS, choice, {})
        else:
            choice, _ = done
        self.progress.note(choice_note(choice, self.options.threshold))
        self.found_lengths["shingle_auto"] = choice
        self.options = dataclasses.replace(self.options, shingle=choice["shingle"])

    def collapse(self, corpus: Corpus) -> Copies:
        """Group identical contents; refuse too many identical pairs."""
        copies = Copies.of(banded.first_appearances(corpus), corpus.status)
        if corpus.border is None:
            self._refuse_many_identical(copies.identical_pairs)
        return copies

    def _refuse_many_identical(self, identical: int) -> None:
        """Refuse too many pairs of identical documents, unless `--identical link` avoids them."""
        listed = self.options.identical == "all"
        if self.options.item_kind == "vectors" and self.options.top:
            return  # only the nearest of each vector become pairs
        if listed:
            refuse_many_identical(identical, "documents")

    def plan(self, corpus: Corpus, unique: Copies) -> SimilarityJoin:
        """Use the plan by which sets were sketched, or make one from the items in memory."""
        work = Work(self.options, self.budget, self.state, self.threads, self.progress)
        with self._timing("plan"):
            join = join_for(corpus, unique, work, self.sketching)
        if self.sketching is None:
            self.progress.note(f"plan: {join.plan}")
        return join

    def candidates(self, join: SimilarityJoin) -> Candidates:
        """Find pairs that may reach the threshold."""
        with self._timing("candidates"):
            return join.candidates()

    def verify(self, join: SimilarityJoin, candidates: Candidates) -> Spool:
        """Compare candidates exactly."""
        with self._timing("verify"):
            pairs = join.verify(candidates)
        if join.corpus.border is not None:
            self._refuse_many_identical(join.identical_across(pairs))
        return pairs

    def audit(self, join: SimilarityJoin, pairs: Spool, candidates: Candidates) -> AuditResult | None:
        """Compare a sample exactly with all documents, if an audit is wanted."""
        if not join.is_audited:
            return None
        with self._timing("audit"):
            return join.audit(pairs, candidates)

    def cluster(self, join: SimilarityJoin, pairs: Spool, matches: IndexMatches | None) -> Clusters:
        """Cluster the pairs that reach the threshold by the keep policy; pairs below it are only reported."""
        with self._timing("cluster"):
            return cluster.cluster(join, pairs, matches)

    def tables(self, join: SimilarityJoin, matches: IndexMatches | None) -> ResultTables:
        """Prepare ids and scores for the tables."""
        earlier = matches.reaching(self.options.threshold) if matches else None
        return ResultTables(join.corpus, join.copies, join, earlier)

    def write_pairs(
        self, join: SimilarityJoin, pairs: Spool, candidates: Candidates, audit: AuditResult | None
    ) -> Output:
        """Write the pairs of documents to the output file."""
        return result.write_pairs(self, join, pairs, candidates, audit)

    def write_result(
        self, join: SimilarityJoin, tables: ResultTables, pairs: Spool, candidates: Candidates,
        audit: AuditResult | None, clusters: Clusters, matches: IndexMatches | None, index: IndexBeside | None,
    ) -> Output:  # fmt: skip
        """Write clean data and a reason for every removal to the output folder."""
        return result.write_result(self, join, tables, pairs, candidates, audit, clusters, matches, index)

    def open_rows_file(self) -> KeptFile | None:
        """Open the one file of kept rows; None if each source has its own."""
        if self.job.rows_file is None:
            return None
        from twinset.engines.local.write.kept_file import KeptFile  # loads every format: only where needed

        folder = self.room_for_output("rows")
        return KeptFile(self.parts[: self.against], self.job.rows_file.name, folder, self.options.flag)

    def move_result(self, draft: Path) -> None:
        """Move the result to the output."""
        if self.place is not None:
            file = self.place.file
            rows = self.state.folder / "rows" / "kept" / file.name if file else None
            move_to_place(self.place, draft, rows, self.state.folder / "old")
            self.written = True

    def room_for_output(self, name: str) -> Path:
        """Return an empty path in the state folder for unfinished output."""
        path = self.state.folder / name
        if path.is_dir():
            shutil.rmtree(path)
        try:
            if not path.suffix:
                path.mkdir()
        except OSError as error:
            raise cannot_write(path, error) from error
        return path


def _can_resume(error: BaseException | None) -> bool:
    """Whether the same run may succeed later: after Ctrl-C, a full disk, a lack of memory or a busy index."""
    resumable = isinstance(error, (OSError, MemoryError, KeyboardInterrupt))
    return resumable or type(error).__name__ in ("OutputError", "BusyError")


def _how_to_resume(folder: Path, stopped: bool) -> str:
    if stopped:
        return f"run the same command again to resume, or delete {folder} to discard what is done"
    return f"{folder} stays: run the same command again to resume"


def refuse_many_identical(identical: int, items: str) -> None:
    """Refuse more pairs of identical items than a user can want."""
    if identical > MAX_IDENTICAL:
        raise OptionError(
            f"identical {items} alone make {identical:,} pairs, more than {MAX_IDENTICAL:,}; "
            "--identical link pairs each copy with its first occurrence only"
        )


def _stamp(part: Part) -> list[Any]:
    """Return values that change when a part changes."""
    files = getattr(part, "files", None)
    listed = [[file.id, file.size, file.mtime_ns] for file in files] if files else []
    return [
        part.name,
        part.format,
        os.path.abspath(part.path) if part.path else None,
        part.size,
        part.mtime_ns,
        listed,
        None if listed or part.path else os.urandom(16).hex(),  # data in memory is never assumed to be the same
    ]
