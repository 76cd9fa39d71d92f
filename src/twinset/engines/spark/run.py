"""A run on Spark. The steps return data frames; what is stored between them, and for how long, is decided here."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from twinset.engines.base import Engine, IndexBeside, Job, Output, Run
from twinset.engines.local.run import refuse_many_identical
from twinset.engines.local.steps.shingle_length import short_texts_note
from twinset.engines.spark import write
from twinset.engines.spark.corpus import Contents, Counted, RunRows
from twinset.engines.spark.frames import open_frame
from twinset.engines.spark.refuse import refuse_unsupported
from twinset.engines.spark.session import DataFrame, SparkSession, functions, open_session, settled, translated
from twinset.engines.spark.steps import audit, candidates, cluster, rank, read, tables, verify
from twinset.engines.spark.store import Store
from twinset.engines.spark.tasks.settings import ID, settings_of
from twinset.errors import OptionError, TwinsetError
from twinset.options import DedupOptions, PairsOptions
from twinset.options.formats import is_folder_name
from twinset.options.spoken import spoken
from twinset.plan import Plan
from twinset.plan.choose import band_plan, outline_plan
from twinset.schema import HASH_SCHEME
from twinset.wording import counted

__all__ = ["SparkEngine", "SparkRun"]

F = functions


@dataclass(frozen=True)
class SparkEngine(Engine):
    """Opens runs in a session of Spark."""

    session: SparkSession

    @classmethod
    def of(cls, options: PairsOptions | DedupOptions) -> SparkEngine:
        """Open the session that the options name."""
        refuse_unsupported(options)
        return cls(open_session(options.master, options.connect))

    def place_pairs(self, job: Job, output: Any) -> Job:
        """Return the job with its output, a folder for pairs."""
        if not is_folder_name(os.fsdecode(output)):
            raise OptionError("a run on Spark writes its pairs to a folder; name one with -o OUT")
        return self.place_result(job, output)

    def place_result(self, job: Job, output: Any) -> Job:
        """Return the job with its output, a folder for the tables of the result."""
        address = os.fspath(output).rstrip("/")
        write.check_output(self.session, address, job.options.force)
        return dataclasses.replace(job, address=address)

    def open(self, job: Job) -> SparkRun:
        """Open the sources of a job; no text is read yet."""
        options = job.options
        if not isinstance(options, (PairsOptions, DedupOptions)):
            raise OptionError("only pairs and dedup can run on Spark")
        refuse_unsupported(options)
        return SparkRun(job, options, self.session)


@dataclass(frozen=True)
class Planned:
    """The distinct contents of a run, and the plan by which they are joined."""

    corpus: RunRows
    contents: Contents
    plan: Plan


class SparkRun(Run):
    """A run on Spark, over one data frame."""

    options: PairsOptions | DedupOptions

    def __init__(self, job: Job, options: PairsOptions | DedupOptions, session: SparkSession) -> None:
        self.job, self.session, self.options = job, session, options
        self.frame = open_frame(session, job.sources, options)
        self.id = read.id_column(self.frame, options)
        self.sketching = band_plan(self.options)
        self.settings = settings_of(self.options)
        self.started = time.perf_counter()
        self.timings: dict[str, float] = {}
        self.found: dict[str, Any] | None = None
        folder = self.options.scratch or (None if job.address is None else f"{job.address}/_steps")
        self.store = Store(session, folder)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(settled(self.session))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        address = self.job.address
        if value is not None and address is not None and self.store.wrote:
            left = f"{address} is not a result, since it has no summary; run again with --force, or remove it"
            value.add_note(spoken(left))
        if kind is not None or address is not None:
            try:
                self.release()
            except TwinsetError:
                if kind is None:  # else the session may have ended with the run, and the first error says why
                    raise

    @property
    def _dedup_options(self) -> DedupOptions:
        if not isinstance(self.options, DedupOptions):
            raise OptionError("only dedup clusters pairs")
        return self.options

    def release(self) -> None:
        """Give back what is stored on the cluster."""
        self.store.clear()

    def _counted(self, stored: DataFrame) -> Counted:
        with translated():
            return Counted(stored, stored.count())

    def _kept(self, frame: DataFrame, name: str) -> Counted:
        return self._counted(self.store.keep(frame, name))

    @contextmanager
    def _timing(self, step: str) -> Iterator[None]:
        since = time.perf_counter()
        self.job.progress.stage(step, None, "")
        yield
        self.timings[step] = round(time.perf_counter() - since, 3)

    def outline(self) -> dict[str, Any]:
        """Describe what would be read and planned."""
        return {
            "sources": {"parts": [{"name": str(one)} for one in self.job.sources], "columns": self.frame.columns},
            "against": [],
            "plan": outline_plan(self.options),
            "options": self.options.to_dict(),
            "work": f"Apache Spark {self.session.version}",
        }

    def read(self) -> RunRows:
        """Read, shingle and sketch every row."""
        with self._timing("read"), translated():
            ranks = rank.rank_columns(self.frame, self.options)
            missing = rank.missing_values(self.options)
            corpus = read.read(self.frame, self._rows(ranks), self.options, self.settings, self.store, missing)
            self.found = read.find_short_texts(corpus, self.options)
        if self.found is not None:
            self.job.progress.note(short_texts_note(self.found, corpus.counts["documents"]))
        if self.options.on_error == "stop" and corpus.counts["replaced"]:
            raise TwinsetError(f"{counted(corpus.counts['replaced'], 'row')} with bytes that are not UTF-8")
        return corpus

    def _rows(self, ranks: list[Any]) -> DataFrame:
        """Return the ids, ranks and items of the rows; the rows of a long table are grouped."""
        frame, options = self.frame, self.options
        if options.item_kind == "groups":
            if ranks or options.by is not None:
                raise OptionError("a column of --keep or --by has many values in a group of rows; leave it out")
            return read.grouped(frame, options)
        names = [*options.item_columns, *([options.by] if options.by else [])]
        items = [read.column(frame, name).alias(name) for name in dict.fromkeys(names)]
        id = read.column(frame, self.id).cast("string").alias(ID)
        return frame.select(id, *ranks, *items)

    def collapse(self, corpus: RunRows) -> Contents:
        """Group identical contents; refuse too many identical pairs."""
        with self._timing("collapse"), translated():
            contents = read.collapse(corpus, rank.best_rank(self.options), self.store)
        if self.options.identical == "all":
            refuse_many_identical(contents.counts["identical_pairs"], "documents")
        return contents

    def plan(self, corpus: RunRows, unique: Contents) -> Planned:
        """Use the plan by which the rows were sketched."""
        return Planned(corpus, unique, self.sketching)

    def candidates(self, join: Planned) -> Counted:
        """Find pairs of contents that share a band."""
        with self._timing("candidates"):
            return self._counted(candidates.find_candidates(join.contents, self.settings, self.store))

    def verify(self, join: Planned, candidates: Counted) -> Counted:
        """Compare candidates exactly."""
        with self._timing("verify"):
            work = (self.options.least, self.settings, self.store)
            return self._counted(verify.verify_pairs(join.corpus, join.contents, candidates, *work))

    def audit(self, join: Planned, pairs: Counted, candidates: Counted) -> dict[str, Any] | None:
        """Compare a sample exactly with all rows, if an audit is wanted."""
        if self.options.audit == 0:
            return None
        with self._timing("audit"):
            work = (pairs.table, candidates.count, self.options, self.settings, self.store)
            return audit.audit_pairs(join.corpus, join.contents, *work)

    def cluster(self, join: Planned, pairs: Counted, matches: None) -> Counted:
        """Return the leader of each content that is removed."""
        with self._timing("cluster"):
            near, options = pairs.table, self._dedup_options
            if options.least < options.threshold:
                near = near.where(F.col("similarity") >= options.threshold)
            method = options.cluster
            return self._counted(cluster.find_leaders(join.contents, near, method, self.settings, self.store))

    def tables(self, join: Planned, matches: None) -> None:
        """Do nothing: tables are made when they are written."""

    def write_pairs(self, join: Planned, pairs: Counted, candidates: Counted, audit: dict[str, Any] | None) -> Output:
        """Return the pairs of rows, written to the output if there is one."""
        with self._timing("write"):
            link = self.options.identical == "link"
            found = self._kept(tables.document_pairs(join.corpus, join.contents, pairs.table, link), "pairs-of-rows")
            made = self._written({"pairs": found})
        counts = {"pairs": found.count, "candidates": candidates.count, "audit": audit}
        return self._finished(join, {**self._counts(join), **counts}, made)

    def write_result(
        self, join: Planned, tables: None, pairs: Counted, candidates: Counted, audit: dict[str, Any] | None,
        clusters: Counted, matches: None, index: IndexBeside | None,
    ) -> Output:  # fmt: skip
        """Return clean rows and a reason for every removal, written to the output if there is one."""
        with self._timing("write"):
            made, counts = self._dedup_tables(join, pairs, clusters)
            written = self._written(made)
        whole = self._counts(join)
        counts = {"documents": whole["documents"], **counts, **whole}
        extra = {"candidates": candidates.count, "index": None, "audit": audit}
        return self._finished(join, {**counts, "pairs": made["pairs"].count, **extra}, written)

    def _dedup_tables(
        self, join: Planned, pairs: Counted, clusters: Counted
    ) -> tuple[dict[str, Counted], dict[str, int]]:
        corpus, contents = join.corpus, join.contents
        scored = pairs.table
        if self._dedup_options.cluster == "components":  # a chain may join contents that are not a pair
            ends = clusters.table.select(
                F.least("digest", "leader").alias("left_digest"), F.greatest("digest", "leader").alias("right_digest")
            )
            measured = Counted(ends, clusters.count)
            scored = verify.verify_pairs(corpus, contents, measured, 0.0, self.settings, self.store)
        removed = self._kept(tables.removed_documents(corpus, contents, clusters.table, scored), "removed-rows")
        with translated():
            leading = removed.table.select("because_of").distinct().count()
        linked = self._kept(tables.document_pairs(corpus, contents, pairs.table, True), "pairs-of-rows")
        readable = corpus.counts["documents"] - corpus.counts["unreadable"]
        kept = readable - removed.count
        flag = self.options.flag
        rows = (tables.flagged_rows if flag else tables.kept_rows)(corpus, removed, self.id)
        made = {
            "kept": Counted(rows, None if self.options.item_kind == "groups" else readable if flag else kept),
            "removed": removed,
            "clusters": Counted(tables.clusters_of(corpus, removed.table), readable),
            "pairs": linked,
        }
        return made, {"kept": kept, "removed": removed.count, "clusters": leading}

    def _written(self, made: dict[str, Counted]) -> dict[str, DataFrame]:
        """Write tables to the output, if there is one, and return them."""
        output = self.job.address
        if output is None:
            return {name: one.table for name, one in made.items()}
        return {name: write.write_table(one.table, f"{output}/{name}", one.count) for name, one in made.items()}

    def _counts(self, join: Planned) -> dict[str, Any]:
        """Count rows by outcome, as the local engine does."""
        counts = join.corpus.counts
        return {
            "documents": counts["documents"],
            "empty": counts["empty"],
            "unreadable": counts["unreadable"],
            "identical": join.contents.counts["identical"],
            "verbatim": join.contents.counts["verbatim"],
            "replaced": counts["replaced"],
            "skipped": [],
            "against": 0,
            "text_bytes": counts["text_bytes"],
            **({"unranked": counts["unranked"]} if counts["unranked"] else {}),
            **({"rows": self._count_rows()} if self.options.item_kind == "groups" else {}),
        }

    def _count_rows(self) -> int:
        """Count the rows of a long table."""
        with translated():
            return self.frame.count()

    def _finished(self, join: Planned, counts: dict[str, Any], made: dict[str, DataFrame]) -> Output:
        """Make the summary, and write it last."""
        self.timings["total"] = round(time.perf_counter() - self.started, 3)
        summary = {
            **counts,
            **({} if self.found is None else {"short_texts": self.found}),
            "order_by": self.options.order_by,
            "tables": {} if self.job.address is None else {name: f"{self.job.address}/{name}" for name in made},
            "options": self.options.to_dict(),
            "plan": join.plan.to_dict(),
            "timings": {"seconds": self.timings, "engine": "spark", "spark": self.session.version},
            "version": self.job.version,
            "hash_scheme": HASH_SCHEME,
        }
        if self.job.address is not None:
            write.write_summary(self.session, self.job.address, summary)
        return Output(summary, join.plan, None, made, held=self, recorded=False)
