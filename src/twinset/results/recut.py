"""Recut a result: new clusters and clean data from the scored pairs, at another threshold or policy.

The result equals that of a fresh run with the same plan. Items are read again only for kept/, for the columns of a keep
policy, and for components, whose members may not be pairs of the kept document.
"""

import os
import time
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.own_files import STATE_ENDING
from twinset.engines.local.budget import Budget, batch_within, peak_bytes
from twinset.engines.local.copies import SAME
from twinset.engines.local.joins.base import Work
from twinset.engines.local.joins.choose import join_for
from twinset.engines.local.state import State, fingerprint
from twinset.engines.local.steps import cluster
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.cluster_beside_index import IndexMatches, recall_at
from twinset.engines.local.steps.open import refuse_to_replace, temporary_folder
from twinset.engines.local.threads import Threads
from twinset.engines.local.write import tables as output
from twinset.engines.local.write.result import read_kept_rows
from twinset.engines.local.write.summary import describe_sources, seal_summary, write_summary
from twinset.engines.local.write.table_file import TableFile
from twinset.engines.progress import Progress
from twinset.errors import DuplicateIdError
from twinset.options import DedupOptions
from twinset.options.results import RecutOptions
from twinset.plan import Plan
from twinset.plan.choose import plan_for
from twinset.results import recut_options
from twinset.results.recut_corpus import RemovalScores, StoredCorpus
from twinset.results.recut_pairs import StoredPairs
from twinset.results.stored import SUMMARY, StoredResult
from twinset.schema import SOURCES, Scores, equal_scores, swap_sides
from twinset.system.memory import default_threads

_UNCHANGED, _OPTIONAL = ("pairs", "empty", "unreadable", "documents"), ("missed", "earlier")


class Recut:
    """One recut of a stored result, a context manager."""

    def __init__(
        self, recorded: StoredResult, requested: RecutOptions, target: Path | None, progress: Progress
    ) -> None:
        output.check_output(target, requested.force)
        self.recorded, self.requested, self.target, self.progress = recorded, requested, target, progress
        self.started = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.options = recut_options.options_of(recorded, requested)
        self.threads = Threads(requested.thread_count)
        batch = batch_within(requested.batch_bytes, requested.memory_bytes, requested.thread_count)
        self.budget = Budget.of(requested.memory_bytes, requested.thread_count, batch)
        self.corpus = StoredCorpus(recorded, self.threads, batch)
        self.copies = self.corpus.copies()
        self.earlier: IndexMatches | None = None
        # Last, since the folders below need cleaning up.
        self._folder = temporary_folder(requested.scratch)
        folder = Path(f"{target}{STATE_ENDING}") if target else Path(self._folder.name) / "state"
        mark = fingerprint({"kind": "recut", "from": recorded.summary.get("check"), "options": self.options.to_dict()})
        try:
            self.state = State(folder, mark, Path(requested.scratch) if requested.scratch else None)
        except BaseException:
            self._folder.cleanup()
            raise

    def __enter__(self) -> "Recut":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.threads.close()
        self.state.close(keep=False)
        self._folder.cleanup()

    def cut(self) -> tuple[Clusters, Scores]:
        """Return the clusters, and the scores of each removed document with the one kept in its place."""
        since = time.perf_counter()
        self.progress.stage("reading pairs", None, "pairs")
        scored = StoredPairs(self.recorded, self.copies, self.state.scratch, self.budget.pairs)
        self._record_time("read", since)
        since = time.perf_counter()
        self.progress.stage("clustering", None, "documents")
        own_ids = bool(self.recorded.summary["input"]["own_ids"])
        rank = cluster.ranks(self.corpus, self.options.keep_rules, own_ids)
        matches = self._read_matches()

        def grouped(threshold: float) -> Clusters:
            near, settings = scored.near(threshold), (rank, self.options.cluster, self.budget)
            if matches is None:
                return cluster.grouped(self.corpus, self.copies, near, *settings)
            return matches.reaching(threshold).grouped(self.corpus, self.copies, near, *settings, self.state.scratch)

        if self.requested.rows is not None:
            levels = np.unique([self.options.lowest, *scored.steps.tolist(), 0.0 if self.options.by_distance else 1.0])
            n_kept = lambda level: int(np.count_nonzero(grouped(level).kept))  # noqa: E731
            limit = recut_options.limit_for_rows(self.requested.rows, levels, n_kept)
            self.options = recut_options.at(self.options, limit)
        clusters = grouped(self.options.limit)
        self.earlier = matches.reaching(self.options.threshold) if matches else None
        self._refuse_repeated_ids(clusters)
        reasons = self._reasons(scored, clusters)
        self._record_time("cluster", since)
        return clusters, reasons

    def _read_matches(self) -> IndexMatches | None:
        """Read the matches in the index of that run."""
        if not self.recorded.has("earlier"):
            return None
        table = self.recorded.table("earlier")
        return IndexMatches.of_table(table, self.recorded.numbers_of(table["right"]), self.copies)

    def _refuse_repeated_ids(self, clusters: Clusters) -> None:
        """Refuse to keep a document whose id an index document has; `dedup` never does, but a recut could."""
        if self.earlier is None:
            return
        kept = self.corpus.take_ids(np.flatnonzero(clusters.kept).astype(np.uint32))
        repeated = self.earlier.ids.filter(pc.is_in(self.earlier.ids, value_set=kept))
        if len(repeated):
            raise DuplicateIdError(
                f"the id {repeated[0].as_py()!r} belongs to a document that would be kept and to another one of the "
                f"index {self.options.index}; run dedup again with ids that differ"
            )

    def _reasons(self, scored: StoredPairs, clusters: Clusters) -> Scores:
        """Return the scores of each document with the kept one, by number; the document itself is left."""
        measure, first = self.options.measure, self.copies.first
        reasons = equal_scores(measure, self.corpus.documents)
        distinct = np.flatnonzero(clusters.removed & (first[clusters.kept_by] != first)).astype(np.uint32)
        removed, leaders = first[distinct], first[clusters.kept_by[distinct]]
        rows = clusters.shared[distinct]
        if self.options.cluster == "components":
            rows = scored.rows_of(np.minimum(removed, leaders), np.maximum(removed, leaders))
        known = rows != SAME
        stored = scored.scores(rows[known])
        swapped = swap_sides(stored, measure)
        is_swapped = removed[known] > leaders[known]
        for name, values in reasons.items():
            values[distinct[known]] = np.where(is_swapped, swapped[name], stored[name])
        if not known.all():
            for name, values in self._compare(removed[~known], leaders[~known]).items():
                reasons[name][distinct[~known]] = values
        return reasons

    def _compare(self, removed: Any, leaders: Any) -> Scores:
        """Compute the scores of contents that are not a scored pair."""
        wanted = np.zeros(self.corpus.documents, np.bool_)
        wanted[removed], wanted[leaders] = True, True
        work = Work(self.options, self.budget, self.state, self.threads, self.progress)
        plan = self.recorded.plan if plan_for(self.options) is not None else None
        join = join_for(self.corpus.open(), self.copies, work, cast("Plan | None", plan), wanted)
        return join.scores(removed, leaders, cluster.measure_pairs(join, removed, leaders))

    def write(self, clusters: Clusters, reasons: Scores) -> tuple[Path, dict[str, Any]]:
        """Write a draft of the new result, which `finish` moves to the output; return its path and summary."""
        since = time.perf_counter()
        scores = RemovalScores(reasons, self.options.measure)
        results = output.ResultTables(self.corpus, self.copies, scores, self.earlier)
        draft = self.state.folder / "out"
        draft.mkdir()
        results.write_removed(draft / "removed.parquet", clusters)
        results.write_clusters(draft / "clusters.parquet", clusters)
        if self.target is not None:
            self._write_kept(results, clusters, draft)
            for name in (*_UNCHANGED, *(name for name in _OPTIONAL if self.recorded.has(name))):
                self.recorded.copy(name, draft)
            self._write_sources(draft)
        self._record_time("write", since)
        summary = self._summary(results, clusters)
        if self.target is not None:
            summary = seal_summary(draft, summary)
            write_summary(draft / SUMMARY, summary)
        return draft, summary

    def _write_kept(self, results: output.ResultTables, clusters: Clusters, draft: Path) -> None:
        self.recorded.sources.outputs += [self.target] if self.target is not None else []
        corpus, options = self.corpus.open(), self.options
        refuse_to_replace(self.target, corpus.parts)
        for part in corpus.parts[: self.recorded.sources.own_parts]:
            if options.flag:
                part.check_flag()
        output.write_kept(
            results, clusters, draft, self.threads, self.progress,
            own_parts=self.recorded.sources.own_parts, flag=options.flag, copy=options.copy,
        )  # fmt: skip

    def _write_sources(self, draft: Path) -> None:
        sources = self.recorded.sources
        if sources.places == tuple(sources.names) and not self.recorded.in_memory:
            self.recorded.copy("sources", draft)
            return
        rows = [{**before, "path": part.name} for before, part in zip(sources.listed, sources.parts, strict=True)]
        for row, part in zip(rows, sources.parts, strict=True):
            if row["sha256"] is None and part.lasts:  # a result in memory has no digests
                row.update(bytes=part.size, sha256=part.digest())
        with TableFile(draft / "sources.parquet", SOURCES) as file:
            file.write(pa.Table.from_pylist(rows, schema=SOURCES))

    def _summary(self, results: output.ResultTables, clusters: Clusters) -> dict[str, Any]:
        """Make the summary of a fresh run; the timings say which result was recut."""
        before, recorded = self.recorded.summary, self.recorded
        summary = {
            **before,
            "kept": int(np.count_nonzero(clusters.kept)),
            "removed": int(np.count_nonzero(clusters.removed)),
            "clusters": results.clusters(clusters),
            "options": self.options.to_dict(),
        }
        if self.earlier is not None:
            # A recut adds nothing to the index, and does not know its present documents.
            index_facts = {name: before["index"][name] for name in ("name", "documents")}
            matched, recall = self.earlier.count(self.copies), recall_at(recorded.sketched, self.options.threshold)
            summary["index"] = {**index_facts, "matched": matched, "recall": recall}
        run = {"folder": before["timings"].get("folder"), "left_out": before["timings"].get("left_out", [])}
        if self.target is not None:
            summary["input"], run = self._input(before["input"])
        self.seconds["total"] = round(time.perf_counter() - self.started, 3)
        summary["timings"] = {
            "seconds": self.seconds,
            "threads": self.threads.count,
            "memory": self.budget.total,
            "peak_resident": peak_bytes(),
            "resumed": [],
            **run,
            "cut_from": {
                "folder": str(recorded.folder) if recorded.folder.name else None,
                **recut_options.limit_by_name(recorded.options),
                "keep": recorded.options.keep,
                "cluster": recorded.options.cluster,
                "check": before.get("check"),
                "rows": self.requested.rows,
            },
        }
        return summary

    def _input(self, before: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Describe the present sources, and the folder of relative paths."""
        sources = self.recorded.sources
        names, folder = sources.names, sources.folder
        if sources.places != tuple(names):
            names, folder = describe_sources(sources.places), os.getcwd()
        described = {**before, "sources": names[: sources.against], "against": names[sources.against :]}
        return described, {"folder": folder, "left_out": list(sources.left_out)}

    def finish(self, draft: Path) -> None:
        """Move the draft to the output."""
        if self.target is not None:
            output.move_to_output(draft, self.target, self.state.folder / "old")

    def _record_time(self, step: str, since: float) -> None:
        self.seconds[step] = round(time.perf_counter() - since, 3)


def kept_tables(recorded: StoredResult, kept: Any) -> list[Any]:
    """Read the kept rows from the sources, as tables."""
    with closing(Threads(default_threads())) as threads:
        corpus = StoredCorpus(recorded, threads, DedupOptions.defaults()["batch_bytes"]).open()
        parts = sorted({span.part for span in corpus.spans if span.first < corpus.own})
        return read_kept_rows(corpus, threads, parts, kept)
