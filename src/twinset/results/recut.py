"""Recut a result: new clusters and clean data from the scored pairs, at another threshold or policy.

The result equals that of a fresh run with the same plan. Items are read again only for kept/, for the columns of a keep
policy, and for components, whose members may not be pairs of the kept document.
"""

import os
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.stored_sources import FOLDER, store_all
from twinset.engines.local.budget import Budget, batch_within, peak_bytes
from twinset.engines.local.copies import SAME
from twinset.engines.local.joins.base import Work
from twinset.engines.local.joins.choose import join_for
from twinset.engines.local.opened import WITHOUT_COLUMNS
from twinset.engines.local.run import read_judgements
from twinset.engines.local.state import RunState, fingerprint
from twinset.engines.local.steps import cluster
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.cluster_beside_index import IndexMatches, recall_at
from twinset.engines.local.steps.open import refuse_to_replace
from twinset.engines.local.steps.shingle_length import find_short_texts
from twinset.engines.local.steps.sketch import READ
from twinset.engines.local.threads import Threads
from twinset.engines.local.write import tables as output
from twinset.engines.local.write.place import check_place, local_output, move_to_place, state_folder
from twinset.engines.local.write.summary import (
    describe_sources,
    kept_files,
    seal_summary,
    verdict_facts,
    write_summary,
)
from twinset.engines.local.write.table_file import TableFile, copy_as_csv
from twinset.engines.progress import Progress
from twinset.errors import DuplicateIdError
from twinset.options.place import Place
from twinset.options.results import RecutOptions
from twinset.plan import Plan
from twinset.plan.choose import plan_for
from twinset.results.recut_limits import at_limit, limit_for_rows, options_of
from twinset.results.stored import SUMMARY, StoredResult
from twinset.results.stored_corpus import RemovalScores, StoredCorpus, StoredPairs
from twinset.schema import SOURCES, Scores, equal_scores, swap_sides
from twinset.system.addresses import is_address
from twinset.system.memory import temporary_folder
from twinset.system.scratch import Spool
from twinset.verdicts.basis import basis_of

if TYPE_CHECKING:
    from twinset.engines.local.write.remote import RemoteOutput
    from twinset.verdicts.judged import Links

_OF_CLUSTERS = ("short_texts", "unranked", "verdicts")
_UNCHANGED, _OPTIONAL = ("pairs", "empty", "unreadable", "documents"), ("missed", "earlier")


class Recut:
    """One recut of a stored result, a context manager."""

    def __init__(self, recorded: StoredResult, requested: RecutOptions, given: Any, progress: Progress) -> None:
        place = Place.of(local_output(given, requested.scratch))
        if place is not None:
            check_place(place, requested.force)
        self.upload = None if place is None else _remote_output(given, place, recorded, requested, progress)
        self.recorded, self.requested, self.place, self.progress = recorded, requested, place, progress
        self.target = place.folder if place else None
        self.started = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.options = options_of(recorded, requested)
        judgements = read_judgements(self.options)
        self.threads = Threads(requested.thread_count)
        batch = batch_within(requested.batch_bytes, requested.memory_bytes, requested.thread_count)
        self.budget = Budget.of(requested.memory_bytes, requested.thread_count, batch)
        self.corpus = StoredCorpus(recorded, self.threads, batch)
        self.copies = self.corpus.copies()
        self.links: Links | None = None
        if judgements is not None:
            readable = self.corpus.status == READ
            digests, border = self.corpus.content_digests(), self.corpus.border
            self.links = judgements.find(basis_of(self.options), digests, self.copies.first, readable, border)
        self.earlier: IndexMatches | None = None
        self._rows: Path | None = None
        # Last, since the folders below need cleaning up.
        self._folder = temporary_folder(requested.scratch)
        folder = state_folder(place) if place else Path(self._folder.name) / "state"
        folder = self.upload.state if self.upload else folder
        mark = fingerprint({"kind": "recut", "from": recorded.summary.get("check"), "options": self.options.to_dict()})
        try:
            self.state = RunState(folder, mark, Path(requested.scratch) if requested.scratch else None)
        except BaseException:
            self._folder.cleanup()
            raise

    def __enter__(self) -> "Recut":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.threads.close()
        if value is not None and self.upload is not None and self.upload.begun:
            value.add_note(f"an unfinished upload is below {self.upload.address}: run again with --force")
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
        rank = cluster.ranks(self.corpus, self.options, own_ids, self.progress)
        if self.options.measure == "containment":
            sizes = np.asarray(self.recorded.documents["set_size"])
            rank = cluster.larger_first(rank, sizes, self.corpus.border is not None)
        matches, links, border = self._read_matches(), self.links, self.corpus.border
        rows = np.zeros(0, np.uint32) if links is None else scored.rows_of(*links.duplicates.T)

        def grouped(threshold: float) -> Clusters:
            near, settings = scored.near(threshold), (rank, self.options.cluster, self.budget)
            if links is not None:
                judged = Spool(self.state.scratch / "judged", "<u4", 3)
                near = cluster.obeying(links, near, rows, border, judged, self.budget.pairs)
                return cluster.grouped(self.corpus, self.copies, near, *settings, links)
            if matches is None:
                return cluster.grouped(self.corpus, self.copies, near, *settings)
            return matches.reaching(threshold).grouped(self.corpus, self.copies, near, *settings, self.state.scratch)

        if self.requested.rows is not None:
            steps = scored.steps[scored.steps >= self.options.lowest]  # with one side, the other share may be less
            levels = np.unique([self.options.lowest, *steps.tolist(), 0.0 if self.options.by_distance else 1.0])
            n_kept = lambda level: int(np.count_nonzero(grouped(level).kept))  # noqa: E731
            limit = limit_for_rows(self.requested.rows, levels, n_kept)
            # Distances are negated in `levels`.
            self.options = at_limit(self.options, abs(limit))
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
        summary = self._summary(results, clusters, draft)
        if self.target is not None:
            summary = seal_summary(draft, summary)
            write_summary(draft / SUMMARY, summary)
            if self.requested.details_format == "csv":
                copy_as_csv(draft)
        return draft, summary

    def _write_kept(self, results: output.ResultTables, clusters: Clusters, draft: Path) -> None:
        if self.place is None:
            return
        self.recorded.sources.outputs += self.place.paths
        corpus, options, file = self.corpus.open(), self.options, self.place.file
        for path in self.place.paths:
            refuse_to_replace(path, corpus.parts)
        own_parts = self.recorded.sources.own_parts
        for number, part in enumerate(corpus.parts[:own_parts]):
            self.recorded.sources.trusted(number)  # a source that was changed is refused before anything is written
            if options.flag and (file is None or part.format not in WITHOUT_COLUMNS):
                part.check_flag()
        rows = None
        if file is not None:
            from twinset.engines.local.write.kept_file import KeptFile  # loads every format: only where needed

            folder = self.state.folder / "rows"
            folder.mkdir()
            rows = KeptFile(corpus.parts[:own_parts], file.name, folder, options.flag)
            self._rows = rows.path
        output.write_kept(
            results, clusters, draft, self.threads, self.progress,
            own_parts=own_parts, flag=options.flag, copy=options.copy, rows=rows,
        )  # fmt: skip

    def _write_sources(self, draft: Path) -> None:
        sources = self.recorded.sources
        if sources.unmoved and not self.recorded.in_memory:
            self.recorded.copy("sources", draft)
            return
        rows = [{**before, "path": part.name} for before, part in zip(sources.listed, sources.parts, strict=True)]
        for row, part in zip(rows, sources.parts, strict=True):
            if row["sha256"] is None and part.lasts:  # a result in memory has no digests
                row.update(bytes=part.size, sha256=part.digest())
        with TableFile(draft / "sources.parquet", SOURCES) as file:
            file.write(pa.Table.from_pylist(rows, schema=SOURCES))

    def _summary(self, results: output.ResultTables, clusters: Clusters, draft: Path) -> dict[str, Any]:
        """Make the summary of a fresh run; the timings say which result was recut."""
        before, recorded, cut = self.recorded.summary, self.recorded, self.recorded.options
        unranked = self.corpus.report.unranked
        short = find_short_texts(self.corpus, self.options) if "shingle_auto" not in before else None
        if self.options.item_kind == "records":  # their fields were measured as they were read
            short = before.get("short_texts")
        summary = {
            **{name: value for name, value in before.items() if name not in _OF_CLUSTERS},
            **({"short_texts": short} if short else {}),
            **({"unranked": unranked} if unranked else {}),
            "kept": int(np.count_nonzero(clusters.kept)),
            "removed": int(np.count_nonzero(clusters.removed)),
            "clusters": results.clusters(clusters),
            "options": self.options.to_dict(),
            **verdict_facts(self.corpus, self.copies.first, clusters),
        }
        if self.earlier is not None:
            # A recut adds nothing to the index, and does not know its present documents.
            index_facts = {name: before["index"][name] for name in ("name", "documents")}
            matched, recall = self.earlier.count(self.copies), recall_at(recorded.sketched, self.options.threshold)
            summary["index"] = {**index_facts, "matched": matched, "recall": recall}
        run = {"folder": before["timings"].get("folder"), "left_out": before["timings"].get("left_out", [])}
        if self.target is not None:
            summary["input"], run = self._input(before["input"], draft)
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
                cut.limit_name: cut.reach if cut.by_distance else cut.threshold,
                "keep": cut.keep,
                "cluster": cut.cluster,
                "check": before.get("check"),
                "rows": self.requested.rows,
            },
        }
        return summary

    def _input(self, before: dict[str, Any], draft: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        """Describe the present sources, and the folder of relative paths."""
        sources = self.recorded.sources
        names, folder = sources.names, sources.folder
        if not sources.unmoved:
            names, folder = describe_sources(sources.places), os.getcwd()
        described = {**before, "sources": names[: sources.against], "against": names[sources.against :]}
        described.pop("stored", None)
        described |= store_all(sources.parts, sources.own_parts, described, self.options, draft / FOLDER)
        described["kept"] = kept_files(sources.parts[: sources.own_parts], draft)
        return described, {"folder": folder, "left_out": list(sources.left_out)}

    def finish(self, draft: Path) -> tuple[Path | None, object]:
        """Move the draft to the output; return where it can be read, and what must live as long as it is read."""
        if self.upload is not None:
            return self.upload.place(draft, self._rows)
        if self.place is not None:
            move_to_place(self.place, draft, self._rows, self.state.folder / "old")
        return self.target, None

    def _record_time(self, step: str, since: float) -> None:
        self.seconds[step] = round(time.perf_counter() - since, 3)


def _remote_output(
    given: Any, place: Place, recorded: StoredResult, requested: RecutOptions, progress: Progress
) -> "RemoteOutput | None":
    """Return the remote output of a recut, after checking what is there; None for one on this machine."""
    if not is_address(given):
        return None
    from twinset.engines.local.write.remote import RemoteOutput  # not for outputs on this machine

    upload = RemoteOutput(given, place, requested.force, progress)
    upload.check((*recorded.sources.names, *requested.source), is_folder=place.file is None)
    return upload
