"""Another threshold, another policy: new clusters and clean data out of the pairs that were scored before.

What comes out is what a fresh run with the same plan would give. Items are read again only where they are needed: for
kept/, for the columns of a keep policy, and for components, whose members need not be pairs of the kept document.
"""

import os
import time
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
from twinset.engines.local.write.summary import describe_sources, seal_summary, write_summary
from twinset.engines.local.write.table_file import TableFile
from twinset.engines.progress import Progress
from twinset.errors import DuplicateIdError
from twinset.options import DedupOptions
from twinset.options.results import RecutOptions
from twinset.plan import Plan
from twinset.plan.choose import plan_for
from twinset.results import recut_options
from twinset.results.recut_corpus import RemovalScores, StoredCorpus, kept_rows
from twinset.results.recut_pairs import StoredPairs
from twinset.results.stored import SUMMARY, StoredResult
from twinset.schema import SOURCES, Scores, equal_scores, swap_sides
from twinset.system.memory import default_threads
from twinset.system.scratch import Spool

_AS_BEFORE, _AT_TIMES = ("pairs", "empty", "unreadable", "documents"), ("missed", "earlier")


class Recut:
    """One cut of a recorded result. Used with `with`."""

    def __init__(self, recorded: StoredResult, asked: RecutOptions, place: Path | None, progress: Progress) -> None:
        output.check_output(place, asked.force)
        self.recorded, self.asked, self.place, self.progress = recorded, asked, place, progress
        self.started = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.options = recut_options.options_of(recorded, asked)
        self.threads = Threads(asked.thread_count)
        batch = batch_within(asked.batch_bytes, asked.memory_bytes, asked.thread_count)
        self.budget = Budget.of(asked.memory_bytes, asked.thread_count, batch)
        self.corpus = StoredCorpus(recorded, self.threads, batch)
        self.copies = self.corpus.copies()
        self.earlier: IndexMatches | None = None
        # Last, since from here on there is something to clear away.
        self._folder = temporary_folder(asked.scratch)
        folder = Path(f"{place}{STATE_ENDING}") if place else Path(self._folder.name) / "state"
        mark = fingerprint({"kind": "recut", "from": recorded.summary.get("check"), "options": self.options.to_dict()})
        try:
            self.state = State(folder, mark, Path(asked.scratch) if asked.scratch else None)
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
        """The clusters, and the scores of each removed document with the one it was removed because of."""
        since = time.perf_counter()
        self.progress.stage("reading pairs", None, "pairs")
        scored = StoredPairs(self.recorded, self.copies, self.state.scratch, self.budget.pairs)
        self._timed("read", since)
        since = time.perf_counter()
        self.progress.stage("clustering", None, "documents")
        own_ids = bool(self.recorded.summary["input"]["own_ids"])
        rank = cluster.ranks(self.corpus, self.options.keep_rules, own_ids)
        every = self._earlier()

        def grouped(threshold: float) -> Clusters:
            near, how = scored.near(threshold), (rank, self.options.cluster, self.budget)
            if every is None:
                return cluster.grouped(self.corpus, self.copies, near, *how)
            return every.reaching(threshold).grouped(self.corpus, self.copies, near, *how, self.state.scratch)

        if self.asked.rows is not None:
            levels = np.unique([self.options.lowest, *scored.steps.tolist(), 0.0 if self.options.by_distance else 1.0])
            n_kept = lambda level: int(np.count_nonzero(grouped(level).kept))  # noqa: E731
            limit = recut_options.leaving(self.asked.rows, levels, n_kept)
            self.options = recut_options.at(self.options, limit)
        clusters = grouped(self.options.limit)
        self.earlier = every.reaching(self.options.threshold) if every else None
        self._refuse_two_of_a_name(clusters)
        reasons = self._reasons(scored, clusters)
        self._timed("cluster", since)
        return clusters, reasons

    def _earlier(self) -> IndexMatches | None:
        """What the index of that run had."""
        if not self.recorded.has("earlier"):
            return None
        table = self.recorded.table("earlier")
        return IndexMatches.of_table(table, self.recorded.numbers_of(table["right"]), self.copies)

    def _refuse_two_of_a_name(self, clusters: Clusters) -> None:
        """An earlier document may have had the id of one of the run; `dedup` keeps no such one, another cut could."""
        if self.earlier is None:
            return
        kept = self.corpus.take_ids(np.flatnonzero(clusters.kept).astype(np.uint32))
        both = self.earlier.ids.filter(pc.is_in(self.earlier.ids, value_set=kept))
        if len(both):
            raise DuplicateIdError(
                f"the id {both[0].as_py()!r} stands for a document that would be kept and for another one of the "
                f"index {self.options.index}; run dedup again with ids that differ"
            )

    def _reasons(self, scored: StoredPairs, clusters: Clusters) -> Scores:
        """The scores of each document with the kept one, by number; the document itself is left."""
        measure, first = self.options.measure, self.copies.first
        reasons = equal_scores(measure, self.corpus.documents)
        distinct = np.flatnonzero(clusters.removed & (first[clusters.kept_by] != first)).astype(np.uint32)
        ours, theirs = first[distinct], first[clusters.kept_by[distinct]]
        places = clusters.shared[distinct]
        if self.options.cluster == "components":
            places = scored.places_of(np.minimum(ours, theirs), np.maximum(ours, theirs))
        known = places != SAME
        stored = scored.scores(places[known])
        turned = swap_sides(stored, measure)
        is_turned = ours[known] > theirs[known]
        for name, values in reasons.items():
            values[distinct[known]] = np.where(is_turned, turned[name], stored[name])
        if not known.all():
            for name, values in self._compare(ours[~known], theirs[~known]).items():
                reasons[name][distinct[~known]] = values
        return reasons

    def _compare(self, ours: Any, theirs: Any) -> Scores:
        """The scores of contents that are no scored pair, out of the items."""
        wanted = np.zeros(self.corpus.documents, np.bool_)
        wanted[ours], wanted[theirs] = True, True
        work = Work(self.options, self.budget, self.state, self.threads, self.progress)
        plan = self.recorded.plan if plan_for(self.options) is not None else None
        join = join_for(self.corpus.open(), self.copies, work, cast("Plan | None", plan), wanted)
        rows, back = np.unique(np.sort(np.stack([ours, theirs], axis=1), axis=1), axis=0, return_inverse=True)
        asked, out = (Spool(self.state.scratch / name, "<u4", columns) for name, columns in (("apart", 2), ("why", 3)))
        asked.append(rows.astype(np.uint32))
        join.measure_all(asked, out)
        measured = out.all()
        codes = measured[np.lexsort((measured[:, 1], measured[:, 0])), 2][back.reshape(-1)]
        return join.scores(ours, theirs, codes)

    def write(self, clusters: Clusters, reasons: Scores) -> tuple[Path, dict[str, Any]]:
        """The new result, in the making; with `finish` it goes to its place."""
        since = time.perf_counter()
        results = output.ResultTables(
            self.corpus, self.copies, RemovalScores(reasons, self.options.measure), self.earlier
        )
        made = self.state.folder / "out"
        made.mkdir()
        results.write_removed(made / "removed.parquet", clusters)
        results.write_clusters(made / "clusters.parquet", clusters)
        if self.place is not None:
            self._write_kept(results, clusters, made)
            for name in (*_AS_BEFORE, *(name for name in _AT_TIMES if self.recorded.has(name))):
                self.recorded.copy(name, made)
            self._write_sources(made)
        self._timed("write", since)
        summary = self._summary(results, clusters)
        if self.place is not None:
            summary = seal_summary(made, summary)
            write_summary(made / SUMMARY, summary)
        return made, summary

    def _write_kept(self, results: output.ResultTables, clusters: Clusters, made: Path) -> None:
        self.recorded.sources.outputs += [self.place] if self.place is not None else []
        corpus, options = self.corpus.open(), self.options
        refuse_to_replace(self.place, corpus.parts)
        for part in corpus.parts[: self.recorded.sources.own_parts]:
            if options.flag:
                part.check_flag()
        output.write_kept(
            results, clusters, made, self.threads, self.progress,
            own_parts=self.recorded.sources.own_parts, flag=options.flag, copy=options.copy,
        )  # fmt: skip

    def _write_sources(self, made: Path) -> None:
        sources = self.recorded.sources
        if sources.places == tuple(sources.names) and not self.recorded.in_memory:
            self.recorded.copy("sources", made)
            return
        rows = [{**was, "path": part.name} for was, part in zip(sources.listed, sources.parts, strict=True)]
        for row, part in zip(rows, sources.parts, strict=True):
            if row["sha256"] is None and part.lasts:  # a result in memory took no digests
                row.update(bytes=part.size, sha256=part.digest())
        with TableFile(made / "sources.parquet", SOURCES) as file:
            file.write(pa.Table.from_pylist(rows, schema=SOURCES))

    def _summary(self, results: output.ResultTables, clusters: Clusters) -> dict[str, Any]:
        """That of a fresh run; what it was cut from stands with the timings, which say how it was made."""
        was, recorded = self.recorded.summary, self.recorded
        summary = {
            **was,
            "kept": int(np.count_nonzero(clusters.kept)),
            "removed": int(np.count_nonzero(clusters.removed)),
            "clusters": results.clusters(clusters),
            "options": self.options.to_dict(),
        }
        if self.earlier is not None:
            # A cut adds nothing to the index, and does not know what it has by now.
            was_there = {name: was["index"][name] for name in ("name", "documents")}
            matched, recall = self.earlier.count(self.copies), recall_at(recorded.sketched, self.options.threshold)
            summary["index"] = {**was_there, "matched": matched, "recall": recall}
        run = {"folder": was["timings"].get("folder"), "left_out": was["timings"].get("left_out", [])}
        if self.place is not None:
            summary["input"], run = self._input(was["input"])
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
                **recut_options.told(recorded.options),
                "keep": recorded.options.keep,
                "cluster": recorded.options.cluster,
                "check": was.get("check"),
                "rows": self.asked.rows,
            },
        }
        return summary

    def _input(self, was: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Where the sources are, for whoever opens the new result, and from where to look for them."""
        sources = self.recorded.sources
        names, folder = sources.names, sources.folder
        if sources.places != tuple(names):
            names, folder = describe_sources(sources.places), os.getcwd()
        given = {**was, "sources": names[: sources.against], "against": names[sources.against :]}
        return given, {"folder": folder, "left_out": list(sources.left_out)}

    def finish(self, made: Path) -> None:
        """Put what was made in its place."""
        if self.place is not None:
            output.move_to_output(made, self.place, self.state.folder / "old")

    def _timed(self, step: str, since: float) -> None:
        self.seconds[step] = round(time.perf_counter() - since, 3)


def kept_tables(recorded: StoredResult, kept: Any) -> list[Any]:
    """The kept rows, out of the sources, as tables."""
    threads = Threads(default_threads())
    try:
        return kept_rows(StoredCorpus(recorded, threads, DedupOptions.defaults()["batch_bytes"]), threads, kept)
    finally:
        threads.close()
