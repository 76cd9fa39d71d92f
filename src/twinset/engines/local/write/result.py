"""Write the output of a run beside its destination, then move it there as a whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinset.documents.frames import one_frame
from twinset.documents.stored_sources import FOLDER, store_all, store_sources
from twinset.engines.base import IndexBeside, Output
from twinset.engines.local.audit.result import AuditResult, write_missed
from twinset.engines.local.budget import give_back
from twinset.engines.local.copies import Copies, expanded
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.joins.base import Candidates, SimilarityJoin
from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.top_pairs import most_similar
from twinset.engines.local.threads import Threads
from twinset.engines.local.write.summary import (
    dedup_summary,
    describe_input,
    kept_files,
    pairs_summary,
    seal_summary,
    write_summary,
)
from twinset.engines.local.write.table_file import copy_as_csv
from twinset.engines.local.write.tables import ResultTables, write_documents, write_kept, write_left_out, write_sources
from twinset.schema import Flags
from twinset.system.memory import temporary_folder
from twinset.system.scratch import Spool

if TYPE_CHECKING:
    from twinset.engines.local.run import LocalRun
    from twinset.engines.local.steps.cluster_beside_index import IndexMatches

PAIRS, HOSTS = "pairs.parquet", "hosts.parquet"
_PARALLEL_MEMORY = 512 * 2**20  # free memory required to write tables and kept rows at the same time


def write_pairs(
    run: LocalRun, join: SimilarityJoin, pairs: Spool, candidates: Candidates, audit: AuditResult | None
) -> Output:
    """Write the pairs of documents to the output file or folder; without one, return them as a table."""
    since = time.perf_counter()
    run.progress.stage("writing", None, "pairs")
    output, tables = run.output, run.tables(join, None)
    in_folder = run.job.pairs_folder
    ending = "" if in_folder else output.suffix if output else ".parquet"
    draft = run.room_for_output(f"out{ending}")
    portions, hosts = _ordered_pairs(run, join, pairs), run.hosts
    if hosts is not None:
        portions = hosts.counting(portions)
    if hosts is not None and output is not None and not in_folder:
        count = sum(map(len, portions))
        hosts.write(draft)
    else:
        count = tables.write_pairs(draft / PAIRS if in_folder else draft, portions)
        if hosts is not None and in_folder:
            hosts.write(draft / HOSTS)
    written = _write_records(run, tables, draft) if in_folder else None
    run.timed("write", since)
    summary = pairs_summary(run, tables, join.plan, count, candidates, audit, written)
    if hosts is not None:
        summary["hosts"] = hosts.about
    if output is None:
        found = {"pairs": pq.read_table(draft), **({} if hosts is None else {"hosts": hosts.table()})}
        return Output(summary, join.plan, None, found)
    if in_folder:
        summary = seal_summary(draft, summary)
        write_summary(draft / "summary.json", summary)
    return Output(summary, join.plan, run.move_result(draft), {}, held=run.held)


def _write_records(run: LocalRun, tables: ResultTables, draft: Path) -> dict[str, Any]:
    """Write what a later reader of the folder needs: every document and every source, and copies of some sources."""
    write_documents(tables.corpus, draft / "documents.parquet", tables.copies.first, tables.verbatim, tables.set_sizes)
    digests = [run.threads.start(part.digest) if part.lasts else None for part in run.parts]
    write_sources(tables.corpus, draft / "sources.parquet", run.against, digests)
    return store_all(run.parts, run.against, describe_input(run), run.options, draft / FOLDER, link=True)


def write_result(
    run: LocalRun, join: SimilarityJoin, tables: ResultTables, pairs: Spool, candidates: Candidates,
    audit: AuditResult | None, clusters: Clusters, matches: IndexMatches | None, index: IndexBeside | None,
) -> Output:  # fmt: skip
    """Write the result folder; without one, return its tables and the kept rows."""
    since = time.perf_counter()
    draft, output = run.room_for_output("out"), run.output
    count, written = _write_tables_and_kept(run, tables, clusters, pairs, draft)
    if matches is not None:
        matches.write(draft / "earlier.parquet", tables.corpus, tables.copies)
    if audit is not None:
        write_missed(draft / "missed.parquet", audit, tables)
    run.timed("write", since)
    about = index.summary(tables.earlier.count(tables.copies)) if index and tables.earlier else None
    summary = dedup_summary(run, tables, join.plan, count, candidates, audit, clusters, about, written)
    if output is None:
        stored = {path.stem: pq.read_table(path, memory_map=False) for path in draft.glob("*.parquet")}
        if one_frame(run.job.sources) is None:  # the caller has the rows of a frame
            stored["kept"] = _read_kept(run, tables, clusters)
        return Output(summary, join.plan, None, stored, *_hold_spooled(run))
    summary = seal_summary(draft, summary)
    write_summary(draft / "summary.json", summary)
    if run.options.details_format == "csv":
        copy_as_csv(draft)
    return Output(summary, join.plan, run.move_result(draft), {}, held=run.held)


def _ordered_pairs(run: LocalRun, join: SimilarityJoin, pairs: Spool) -> Iterator[Rows]:
    """Yield pairs of documents in the order of the output."""
    options, corpus = run.options, join.corpus
    top = options.top
    if options.finds_nearest:  # the join has found the nearest of each document
        return _nearest_first(run, join, pairs)
    link = options.identical == "link"
    all_pairs = document_pairs(run, corpus, join.copies, pairs, link)
    if top is None:
        return all_pairs
    one_sided = corpus.border is not None
    work = (corpus.documents, run.state.scratch, run.budget)
    return most_similar(all_pairs, top, join.similarity, *work, one_sided=one_sided)


def document_pairs(run: LocalRun, corpus: Corpus, copies: Copies, pairs: Spool, link: bool) -> Iterator[Rows]:
    """Yield pairs of documents, sorted by input order."""
    against = corpus.border is not None
    if copies.extra:
        all_pairs = Spool(run.state.scratch / "documents", "<u4", 3)
        for rows in expanded(copies, pairs, link=link, one_sided=against):
            all_pairs.append(rows, run.budget.pairs)
        all_pairs.close()
        pairs = all_pairs
    yield from sorted_portions(pairs, corpus.documents, run.budget.pairs)


def _nearest_first(run: LocalRun, join: SimilarityJoin, pairs: Spool) -> Iterator[Rows]:
    """Yield pairs by their left document, the nearest first, ties in the order of the join."""
    for rows in sorted_portions(pairs, join.corpus.documents, run.budget.pairs):
        ranks = rows[:, 1] if join.ranks is None else join.ranks[rows[:, 1]]
        yield rows[np.lexsort((ranks, -join.similarity(rows), rows[:, 0]))]


def _write_tables_and_kept(
    run: LocalRun, tables: ResultTables, clusters: Clusters, pairs: Spool, draft: Path
) -> tuple[int, dict[str, Any]]:
    """Write the tables and, for a folder, the kept rows and sources; return the number of pairs, and these files."""
    whole = run.output is not None
    digests = [run.threads.start(part.digest) if part.lasts and whole else None for part in run.parts]
    writing = run.threads.start(lambda: _write_tables(run, tables, clusters, pairs, draft))
    if run.budget.free < _PARALLEL_MEMORY:
        writing.result()
        give_back()
    if whole:
        flag, copy = run.options.flag, run.options.copy
        rows = run.open_rows_file()
        write_kept(
            tables, clusters, draft, run.threads, run.progress, own_parts=run.against, flag=flag, copy=copy, rows=rows
        )
    count = writing.result()
    write_sources(tables.corpus, draft / "sources.parquet", run.against, digests)
    if not whole:
        return count, {}
    stored = store_all(run.parts, run.against, describe_input(run), run.options, draft / FOLDER, link=True)
    return count, {"kept": kept_files(run.parts[: run.against], draft), **stored}


def _hold_spooled(run: LocalRun) -> tuple[tuple[object, ...], object]:
    """Return the sources that a result in memory may read again, and the folder of those that were streams."""
    given, names = (*run.job.sources, *run.options.against), describe_input(run)
    roles = ((names["sources"], run.parts[: run.against]), (names["against"], run.parts[run.against :]))
    if not any(some[one.source] is None and one.path for some, parts in roles for part in parts for one in part.inner):
        return given, None
    folder = temporary_folder(run.options.scratch)
    where = Path(folder.name)
    held = [
        one
        for some, parts in roles
        for one in store_sources(some, parts, run.options, where, link=True, spooled_only=True)
    ]
    return tuple(one or source for one, source in zip(held, given, strict=True)), folder


def _read_kept(run: LocalRun, tables: ResultTables, clusters: Clusters) -> pa.Table:
    """Read the kept rows, or with `flag` all rows with its columns."""
    parts = range(run.against)
    if not run.options.flag:
        return join_tables(read_kept_rows(tables.corpus, run.threads, parts, clusters.kept))
    read = clusters.kept | clusters.removed
    return join_tables(
        read_kept_rows(tables.corpus, run.threads, parts, read, lambda span: tables.flags(clusters, span))
    )


def _write_tables(run: LocalRun, tables: ResultTables, clusters: Clusters, pairs: Spool, draft: Path) -> int:
    """Write every table of the result folder except the sources; return the number of pairs."""
    all_pairs = document_pairs(run, tables.corpus, tables.copies, pairs, link=True)
    count = tables.write_pairs(draft / PAIRS, all_pairs)
    tables.write_removed(draft / "removed.parquet", clusters)
    tables.write_clusters(draft / "clusters.parquet", clusters)
    write_left_out(tables.corpus, draft)
    write_documents(tables.corpus, draft / "documents.parquet", tables.copies.first, tables.verbatim, tables.set_sizes)
    return count


def read_kept_rows(
    corpus: Corpus, threads: Threads, parts: Iterable[int], kept: Flags, flags: Callable[[Span], pa.Table] | None = None
) -> list[pa.Table]:
    """Read the kept rows of some parts, as tables; `flags` makes further columns of some rows."""
    tables = []
    for number in parts:
        collector = corpus.parts[number].collector()
        for span, block in corpus.read(threads, lambda span, block: block, whole=True, parts=range(number, number + 1)):
            collector.write(block, kept[span.documents], flags(span) if flags else None)
        tables += collector.tables()
    return tables


def join_tables(tables: list[pa.Table]) -> pa.Table:
    """Concatenate tables; if their columns differ, keep those that all have."""
    if not tables:
        return pa.table({"id": pa.array([], pa.string()), "text": pa.array([], pa.string())})
    if all(table.schema.equals(tables[0].schema) for table in tables):
        return pa.concat_tables(tables)
    common = [name for name in tables[0].column_names if all(name in table.column_names for table in tables)]
    return pa.concat_tables([table.select(common) for table in tables], promote_options="permissive")
