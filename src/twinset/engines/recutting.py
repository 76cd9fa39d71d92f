"""Another threshold, another policy: new clusters and clean data out of the pairs that were scored before.

What comes out is what a fresh run with the same plan would give. Texts are read again only where they are needed: for
kept/, for the columns of a keep policy, and for components, whose members need not be pairs of the kept document.
"""

import dataclasses
import math
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.engines import clustering, output
from twinset.engines.budget import Budget, batch_within, peak_bytes
from twinset.engines.clustering import Clusters
from twinset.engines.earlier import Earlier, recall_at
from twinset.engines.earlier import grouped as earlier_grouped
from twinset.engines.expanding import SAME
from twinset.engines.local import STATE_ENDING
from twinset.engines.opening import refuse_to_replace, temporary_folder
from twinset.engines.progress import Progress
from twinset.engines.recalled import Recalled, RecalledResults, kept_rows
from twinset.engines.recorded import SUMMARY, Recorded, sealed
from twinset.engines.reopening import described
from twinset.engines.scored import Scored
from twinset.engines.spool import Spool
from twinset.engines.state import State, fingerprint
from twinset.engines.tables import TableFile
from twinset.engines.threads import Threads
from twinset.engines.verifying import Verifying
from twinset.errors import DuplicateIdError, OptionError
from twinset.machine import default_threads
from twinset.options import DedupOptions
from twinset.options.items import MEASURED
from twinset.options.results import RecutOptions
from twinset.pairs.verify import Shares, scores
from twinset.schema import SOURCES

_AS_BEFORE, _AT_TIMES = ("pairs", "empty", "unreadable", "documents"), ("missed", "earlier")


class Recutting:
    """One cut of a recorded result. Used with `with`."""

    def __init__(self, recorded: Recorded, asked: RecutOptions, place: Path | None, progress: Progress) -> None:
        output.check_place(place, asked.force)
        self.recorded, self.asked, self.place, self.progress = recorded, asked, place, progress
        self.started = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.options = _options_of(recorded, asked)
        self.threads = Threads(asked.thread_count)
        batch = batch_within(asked.batch_bytes, asked.memory_bytes, asked.thread_count)
        self.budget = Budget.of(asked.memory_bytes, asked.thread_count, batch)
        self.corpus = Recalled(recorded, self.threads, batch)
        self.copies = self.corpus.copies()
        self.earlier: Earlier | None = None
        # Last, since from here on there is something to clear away.
        self._folder = temporary_folder(asked.scratch)
        folder = Path(f"{place}{STATE_ENDING}") if place else Path(self._folder.name) / "state"
        mark = fingerprint({"kind": "recut", "from": recorded.summary.get("check"), "options": self.options.to_dict()})
        try:
            self.state = State(folder, mark, Path(asked.scratch) if asked.scratch else None)
        except BaseException:
            self._folder.cleanup()
            raise

    def __enter__(self) -> "Recutting":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.threads.close()
        self.state.close(keep=False)
        self._folder.cleanup()

    def cut(self) -> tuple[Clusters, tuple[Shares, Shares, Shares]]:
        """The clusters, and the scores of each removed document with the one it was removed because of."""
        since = time.perf_counter()
        self.progress.stage("reading pairs", None, "pairs")
        scored = Scored(self.recorded, self.copies, self.state.scratch, self.budget.pairs)
        self._timed("read", since)
        since = time.perf_counter()
        self.progress.stage("clustering", None, "documents")
        own_ids = bool(self.recorded.summary["input"]["own_ids"])
        rank = clustering.ranks(self.corpus, self.options.keep_rules, own_ids)
        every = self._earlier()

        def grouped(threshold: float) -> Clusters:
            near, earlier = scored.near(threshold), every.reaching(threshold) if every else None
            how = rank, self.options.cluster, self.budget, earlier, self.state.scratch
            return earlier_grouped(self.corpus, self.copies, near, *how)

        if self.asked.rows is not None:
            levels = np.unique([self.options.least, *scored.steps.tolist(), 1.0])
            threshold = leaving(self.asked.rows, levels, lambda level: int(np.count_nonzero(grouped(level).kept)))
            self.options = dataclasses.replace(self.options, threshold=threshold)
        clusters = grouped(self.options.threshold)
        self.earlier = every.reaching(self.options.threshold) if every else None
        self._refuse_two_of_a_name(clusters)
        reasons = self._reasons(scored, clusters)
        self._timed("cluster", since)
        return clusters, reasons

    def _earlier(self) -> Earlier | None:
        """What the index of that run had."""
        if not self.recorded.has("earlier"):
            return None
        table = self.recorded.table("earlier")
        return Earlier.of_table(table, self.recorded.numbers_of(table["right"]), self.copies)

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

    def _reasons(self, scored: Scored, clusters: Clusters) -> tuple[Shares, Shares, Shares]:
        """Similarity, share in the kept document and share of it, by number; ones where contents are equal."""
        found = tuple(np.ones(self.corpus.documents) for _ in range(3))
        first = self.copies.first
        apart = np.flatnonzero(clusters.removed & (first[clusters.kept_by] != first)).astype(np.uint32)
        ours, theirs = first[apart], first[clusters.kept_by[apart]]
        places = clusters.shared[apart]
        if self.options.cluster == "components":
            places = scored.places_of(np.minimum(ours, theirs), np.maximum(ours, theirs))
        known = places != SAME
        similarity, forth, back = scored.scores(places[known])
        turned = ours[known] > theirs[known]
        similar, inside, around = found
        similar[apart[known]] = similarity
        inside[apart[known]] = np.where(turned, back, forth)
        around[apart[known]] = np.where(turned, forth, back)
        if not known.all():
            far = apart[~known]
            similar[far], inside[far], around[far] = self._compared(ours[~known], theirs[~known])
        return similar, inside, around

    def _compared(self, ours: Any, theirs: Any) -> tuple[Shares, Shares, Shares]:
        """The scores of contents that are no scored pair, out of their texts."""
        wanted, back = np.unique(np.sort(np.stack([ours, theirs], axis=1), axis=1), axis=0, return_inverse=True)
        asked, out = (Spool(self.state.scratch / name, "<u4", columns) for name, columns in (("apart", 2), ("why", 3)))
        asked.append(wanted.astype(np.uint32))
        corpus = self.corpus.open()
        verifying = Verifying(corpus, self.options, self.budget, self.state.scratch, self.threads, self.progress)
        verifying.verify(asked, 0.0, out)
        rows = out.all()
        shared = rows[np.lexsort((rows[:, 1], rows[:, 0])), 2][back.reshape(-1)]
        return scores(shared, verifying.sizes[ours], verifying.sizes[theirs])

    def write(self, clusters: Clusters, reasons: tuple[Shares, Shares, Shares]) -> tuple[Path, dict[str, Any]]:
        """The new result, in the making; with `finish` it goes to its place."""
        since = time.perf_counter()
        results = RecalledResults(self.corpus, self.copies, reasons, self.earlier)
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
            summary = sealed(made, summary)
            output.write_summary(made / SUMMARY, summary)
        return made, summary

    def _write_kept(self, results: RecalledResults, clusters: Clusters, made: Path) -> None:
        self.recorded.sources.outputs += [self.place] if self.place is not None else []
        corpus, options = self.corpus.open(), self.options
        refuse_to_replace(self.place, corpus.parts)
        for part in corpus.parts[: self.recorded.sources.own_parts]:
            if options.flag:
                part.check_flag()
        output.write_kept(results, clusters, made, self.threads, self.progress, flag=options.flag, copy=options.copy)

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

    def _summary(self, results: RecalledResults, clusters: Clusters) -> dict[str, Any]:
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
                "threshold": recorded.options.threshold,
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
            names, folder = described(sources.places), os.getcwd()
        given = {**was, "sources": names[: sources.against], "against": names[sources.against :]}
        return given, {"folder": folder, "left_out": list(sources.left_out)}

    def finish(self, made: Path) -> None:
        """Put what was made in its place."""
        if self.place is not None:
            output.put_in_place(made, self.place, self.state.folder / "old")

    def _timed(self, step: str, since: float) -> None:
        self.seconds[step] = round(time.perf_counter() - since, 3)


def kept_tables(recorded: Recorded, kept: Any) -> list[Any]:
    """The kept rows, out of the sources, as tables."""
    threads = Threads(default_threads())
    try:
        return kept_rows(Recalled(recorded, threads, DedupOptions.defaults()["batch_bytes"]), threads, kept)
    finally:
        threads.close()


def _options_of(recorded: Recorded, asked: RecutOptions) -> DedupOptions:
    """The options of a fresh run that would give the same."""
    was = recorded.options
    if was.item_kind in MEASURED:
        raise OptionError(
            f"{recorded.folder} is a result of {was.item_flag}: only pairs of texts and sets can be cut again; run "
            "dedup again, which takes little more, for their items are compared in memory"
        )
    threshold = was.threshold if asked.threshold is None else asked.threshold
    if threshold < was.least:
        raise OptionError(
            f"threshold is {threshold:g}, and pairs below {was.least:g}, the floor of {recorded.folder}, were not "
            f"scored; allowed is {was.least:g} up to 1: run dedup again with --floor {threshold:g} for less"
        )
    keep, cluster = asked.keep or was.keep, asked.cluster or was.cluster
    return dataclasses.replace(was, floor=was.least, threshold=threshold, keep=keep, cluster=cluster)


def leaving(rows: int, levels: Shares, left: Any) -> float:
    """The threshold of those given that leaves the number of rows nearest to `rows`, as short a number as will do.

    A higher threshold leaves more rows, but for rare cases in which a cluster falls apart and its members find others.

    Examples
    --------
    >>> import numpy as np
    >>> leaving(70, np.array([0.5, 0.61, 0.7777777, 1.0]), lambda level: int(100 * level))
    0.7
    """
    low, high = 0, len(levels) - 1
    least, most = left(float(levels[low])), left(float(levels[high]))
    if not least <= rows <= most:
        raise OptionError(
            f"rows is {rows:,}, and thresholds from {levels[low]:g} to 1 leave {least:,} to {most:,}; allowed is a "
            "number between these: a lower --floor of dedup leaves fewer"
        )
    counts = {low: least, high: most}
    while high - low > 1:
        middle = (low + high) // 2
        counts[middle] = left(float(levels[middle]))
        low, high = (middle, high) if counts[middle] < rows else (low, middle)
    best = min((low, high), key=lambda at: (abs(counts[at] - rows), at))
    return _short(float(levels[best]), float(levels[best - 1]) if best else None)


def _short(level: float, before: float | None) -> float:
    """The shortest number above `before` and not above `level`: it cuts at the same place."""
    for digits in range(1, 17):
        shorter = float(math.floor(level * 10**digits) / 10**digits)
        if before is not None and before < shorter <= level:
            return shorter
    return level
