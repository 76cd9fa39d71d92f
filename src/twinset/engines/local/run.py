"""The engine of one machine: threads, a memory budget, scratch files, and state from which a killed run resumes."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinset.clusters.keep import check_columns
from twinset.documents.frames import one_frame
from twinset.engines.base import Engine, IndexBeside, Job, Output, Run
from twinset.engines.local.audit.result import AuditResult
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.joins.base import Candidates, SimilarityJoin, Work
from twinset.engines.local.joins.choose import join_for
from twinset.engines.local.opened import OpenedJob
from twinset.engines.local.steps import candidates as banded
from twinset.engines.local.steps import cluster
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.cluster_beside_index import IndexMatches
from twinset.engines.local.steps.open import compared_sparsely, sketch_pictures, warn_of_unreadable
from twinset.engines.local.steps.read import DocumentReader
from twinset.engines.local.steps.shingle_length import (
    choice_note,
    choose_shingle,
    find_short_texts,
    measure_parts,
    short_texts_note,
)
from twinset.engines.local.steps.short_fields import find_short_records
from twinset.engines.local.write import result
from twinset.engines.local.write.hosts import HostTable
from twinset.engines.local.write.place import check_place, local_output, placed, refuse_sources
from twinset.engines.local.write.tables import ResultTables
from twinset.errors import OptionError
from twinset.options import DedupOptions, PairsOptions
from twinset.options.checks import AUTO, new_file
from twinset.options.formats import check_pairs_name, is_folder_name
from twinset.options.place import Place
from twinset.plan import Plan
from twinset.plan.choose import outline_plan, plan_for
from twinset.system.scratch import Spool

if TYPE_CHECKING:
    from twinset.verdicts.judged import Judgements

MAX_IDENTICAL = 100_000_000
LENGTHS = "lengths"
"""The stage that measures texts, in the state of a run."""


class LocalEngine(Engine):
    """Opens runs on this machine."""

    def place_pairs(self, job: Job, output: Any) -> Job:
        """Return the job with its output, a file or a folder for pairs, which must not replace anything else."""
        address, output = output, local_output(output, job.options.scratch)
        path, folder = Path(output), is_folder_name(os.fsdecode(output))
        given, force = (*job.sources, *job.options.against), job.options.force
        if folder:
            check_place(Place(path), force, given)
        else:
            check_pairs_name(str(path))
            refuse_sources(path, given)
            new_file(path, force)
        return placed(dataclasses.replace(job, output=path, pairs_folder=folder), address, is_folder=folder)

    def place_result(self, job: Job, output: Any) -> Job:
        """Return the job with its output, the place of a result, which must not replace anything else."""
        address, output = output, local_output(output, job.options.scratch)
        place, options = Place.named(output), job.options
        if place.file is not None and getattr(options, "copy", False):
            raise OptionError(f"copy cannot be used with the file {place.file}: kept files are copied into a folder")
        check_place(place, options.force, (*job.sources, *options.against))
        job = dataclasses.replace(job, output=place.folder, rows_file=place.file)
        return placed(job, address, is_folder=place.file is None)

    def open(self, job: Job) -> LocalRun:
        """Open the sources of a job; nothing is read yet."""
        return LocalRun(job)


class LocalRun(OpenedJob, Run):
    """A run on this machine."""

    options: PairsOptions | DedupOptions

    def __init__(self, job: Job) -> None:
        options: Any = job.options
        if options.nearest_sets:
            options.refuse_sketching()
        self.sketching: Plan | None = plan_for(options)
        self.judgements = read_judgements(options)  # early: comparing may take hours
        self.hosts: HostTable | None = None
        super().__init__(job)

    @property
    def writes_rows(self) -> bool:
        """Whether the rows of the sources are written."""
        return isinstance(self.options, DedupOptions)

    def _check_items(self) -> None:
        self.options = compared_sparsely(self.parts, self.options)
        sketch_pictures(self.parts, self.options)
        if self.options.codes is not None:
            from twinset.engines.local.sketch_files.code_files import refuse_unlike  # loads kernels: only where needed

            refuse_unlike(self.parts, self.options)

    def _facts(self) -> dict[str, Any]:
        return {"seed": self.options.seed, "plan": outline_plan(self.options)}

    def outline(self) -> dict[str, Any]:
        """Describe what would be read and planned; only headers and footers are read."""
        return {
            **self.outline_sources(),
            "plan": outline_plan(self.options),
            "options": self.options.to_dict(),
            "threads": self.threads.count,
            "memory": self.budget.total,
        }

    def read(self) -> Corpus:
        """Read, shingle and sketch every document."""
        self.fetch()
        if self.options.shingle == AUTO:
            with self._timing("lengths"):
                self._choose_shingle()
        with self._timing("read"):
            reading = DocumentReader(
                self.parts, self.against, self.options, self.sketching, self.budget, self.state, self.threads,
                self.progress, batch_bytes=self.batch_bytes, whole=self.job.whole_rows and not self._rows_stay,
                by_length=self.job.whole_rows or self.job.pairs_folder,  # documents.parquet has them
                needs_ids=self.job.needs_ids,
            )  # fmt: skip
            corpus = reading.corpus()
            warn_of_unreadable(corpus)
            self.budget = self.budget.beside(corpus.documents)
        if isinstance(self.options, PairsOptions) and self.options.hosts is not None:  # early: comparing may take hours
            self.hosts = HostTable(corpus, self.options.hosts)
        if isinstance(self.options, DedupOptions) and corpus.border is None:  # the same
            check_columns(self.options.keep_rules, corpus, self.options.date_format)
        short = None
        if not self.found_lengths:
            fields = (self.parts, corpus, self.options, self.batch_bytes)
            short = find_short_texts(corpus, self.options) or find_short_records(*fields)
        if short is not None:
            self.found_lengths["short_texts"] = short
            self.progress.note(short_texts_note(short, corpus.documents))
        return corpus

    @property
    def _rows_stay(self) -> bool:
        """Whether the caller has the rows, and none are written."""
        return self.output is None and one_frame(self.job.sources) is not None

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
        self.options = self.options.but(shingle=choice["shingle"])

    def collapse(self, corpus: Corpus) -> Copies:
        """Group identical contents; refuse too many identical pairs."""
        copies = Copies.of(banded.first_appearances(corpus), corpus.status)
        if corpus.border is None:
            self._refuse_many_identical(copies.identical_pairs)
        return copies

    def _refuse_many_identical(self, identical: int) -> None:
        """Refuse too many pairs of identical documents, unless `--identical link` avoids them."""
        listed = self.options.identical == "all"
        if self.options.finds_nearest:
            return
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
        if join.corpus.border is not None and not self.options.finds_nearest:
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
            return cluster.cluster(join, pairs, matches, self.judgements)

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


def read_judgements(options: PairsOptions | DedupOptions) -> Judgements | None:
    """Read the verdicts that a run obeys, as they are now."""
    path = getattr(options, "verdicts", None)
    if path is None:
        return None
    from twinset.verdicts.judged import Judgements  # loads a database: only where needed

    return Judgements.read(path)


def refuse_many_identical(identical: int, items: str) -> None:
    """Refuse more pairs of identical items than a user can want."""
    if identical > MAX_IDENTICAL:
        raise OptionError(
            f"identical {items} alone make {identical:,} pairs, more than {MAX_IDENTICAL:,}; "
            "--identical link pairs each copy with its first occurrence only"
        )
