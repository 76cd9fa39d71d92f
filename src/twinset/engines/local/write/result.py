"""The output of a run, written beside its place and put there whole."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinset.engines.base import IndexBeside, Output
from twinset.engines.local.audit.report import write_missed
from twinset.engines.local.budget import give_back
from twinset.engines.local.copies import Copies, expanded
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.joins.base import Candidates, SimilarityJoin
from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.top_pairs import most_similar
from twinset.engines.local.write.summary import dedup_summary, pairs_summary, seal_summary, write_summary
from twinset.engines.local.write.tables import ResultTables, put_in_place, write_kept, write_sources
from twinset.options import DedupOptions, PairsOptions
from twinset.system.scratch import Spool

if TYPE_CHECKING:
    from twinset.engines.local.audit.run import AuditResult
    from twinset.engines.local.run import LocalRun
    from twinset.engines.local.steps.cluster_beside_index import IndexMatches

_SIDE_BY_SIDE = 512 * 2**20  # free memory from which on tables and kept rows are written at the same time


def write_pairs(
    run: LocalRun, join: SimilarityJoin, pairs: Spool, candidates: Candidates, audit: AuditResult | None
) -> Output:
    """Write the pairs of documents to the output file; without one, hand them over as a table."""
    since = time.perf_counter()
    run.progress.stage("writing", None, "pairs")
    output, tables = run.output, run.tables(join, None)
    made = run.room_for_output(f"out{output.suffix if output else '.parquet'}")
    count = tables.write_pairs(made, _ordered_pairs(run, join, pairs))
    run.timed("write", since)
    summary = pairs_summary(run, tables, join.plan, count, candidates, audit)
    if output is None:
        return Output(summary, join.plan, None, {"pairs": pq.read_table(made)})
    put_in_place(made, output, run.state.folder / "old")
    return Output(summary, join.plan, output, {})


def write_result(
    run: LocalRun, join: SimilarityJoin, tables: ResultTables, pairs: Spool, candidates: Candidates,
    audit: AuditResult | None, clusters: Clusters, matches: IndexMatches | None, index: IndexBeside | None,
) -> Output:  # fmt: skip
    """Write the result folder; without one, hand over its tables and the kept rows."""
    since = time.perf_counter()
    made, output = run.room_for_output("out"), run.output
    count = _write_tables_and_kept(run, tables, clusters, pairs, made)
    if matches is not None:
        matches.write(made / "earlier.parquet", tables.corpus, tables.copies)
    if audit is not None:
        write_missed(made / "missed.parquet", audit, tables)
    run.timed("write", since)
    about = index.summary(tables.earlier.count(tables.copies)) if index and tables.earlier else None
    summary = dedup_summary(run, tables, join.plan, count, candidates, audit, clusters, about)
    if output is None:
        stored = {path.stem: pq.read_table(path, memory_map=False) for path in made.glob("*.parquet")}
        kept = join_tables(kept_tables(run, tables.corpus, clusters))
        return Output(summary, join.plan, None, {**stored, "kept": kept})
    summary = seal_summary(made, summary)
    write_summary(made / "summary.json", summary)
    put_in_place(made, output, run.state.folder / "old")
    return Output(summary, join.plan, output, {})


def _ordered_pairs(run: LocalRun, join: SimilarityJoin, pairs: Spool) -> Iterator[Rows]:
    """Pairs of documents in the order in which they are written."""
    options, corpus = run.options, join.corpus
    top = options.top if isinstance(options, PairsOptions) else None
    if top is not None and options.item_kind == "vectors":  # each document has its nearest already
        return _nearest_first(run, join, pairs)
    link = isinstance(options, PairsOptions) and options.identical == "link"
    every = document_pairs(run, corpus, join.copies, pairs, link)
    if top is None:
        return every
    one_sided = corpus.border is not None
    return most_similar(
        every, top, join.similarity, corpus.documents, run.state.scratch, run.budget, one_sided=one_sided
    )


def document_pairs(run: LocalRun, corpus: Corpus, copies: Copies, pairs: Spool, link: bool) -> Iterator[Rows]:
    """Pairs of documents, sorted by input order."""
    against = corpus.border is not None
    if copies.extra:
        every = Spool(run.state.scratch / "documents", "<u4", 3)
        for rows in expanded(copies, pairs, link=link, one_sided=against):
            every.append(rows)
            if every.nbytes > run.budget.pairs:
                every.forget()
        every.close()
        pairs = every
    yield from sorted_portions(pairs, corpus.documents, run.budget.pairs)


def _nearest_first(run: LocalRun, join: SimilarityJoin, pairs: Spool) -> Iterator[Rows]:
    """Pairs by their left document, the nearest first."""
    for rows in sorted_portions(pairs, join.corpus.documents, run.budget.pairs):
        yield rows[np.lexsort((rows[:, 1], -join.similarity(rows), rows[:, 0]))]


def _write_tables_and_kept(run: LocalRun, tables: ResultTables, clusters: Clusters, pairs: Spool, made: Path) -> int:
    """Write the tables that every result has and, for a folder, the kept rows; returns the number of pairs."""
    whole = run.output is not None
    digests = [run.threads.start(part.digest) if part.lasts and whole else None for part in run.parts]
    writing = run.threads.start(lambda: _write_tables(run, tables, clusters, pairs, made))
    if run.budget.free < _SIDE_BY_SIDE:
        writing.result()
        give_back()
    if whole and isinstance(run.options, DedupOptions):
        flag, copy = run.options.flag, run.options.copy
        write_kept(
            tables, clusters, made, run.threads, run.progress, own_parts=run.against, flag=flag, copy=copy
        )
    count = writing.result()
    write_sources(tables.corpus, made / "sources.parquet", run.against, digests)
    return count


def _write_tables(run: LocalRun, tables: ResultTables, clusters: Clusters, pairs: Spool, made: Path) -> int:
    """Write every table of the result folder but the sources; returns the number of pairs."""
    every = document_pairs(run, tables.corpus, tables.copies, pairs, link=True)
    count = tables.write_pairs(made / "pairs.parquet", every)
    tables.write_removed(made / "removed.parquet", clusters)
    tables.write_clusters(made / "clusters.parquet", clusters)
    tables.write_left_out(made, tables.corpus.report.unreadable)
    tables.write_documents(made / "documents.parquet")
    return count


def kept_tables(run: LocalRun, corpus: Corpus, clusters: Clusters) -> list[pa.Table]:
    """The kept rows of every source, as tables."""
    tables = []
    for number in range(run.against):
        taking = run.parts[number].taking()
        read = corpus.read(run.threads, lambda span, block: block, whole=True, parts=range(number, number + 1))
        for span, block in read:
            taking.write(block, clusters.kept[span.first : span.first + span.rows])
        tables += taking.tables()
    return tables


def join_tables(tables: list[pa.Table]) -> pa.Table:
    """Tables as one: with all columns where they agree, else with those that all have."""
    if not tables:
        return pa.table({"id": pa.array([], pa.string()), "text": pa.array([], pa.string())})
    if all(table.schema.equals(tables[0].schema) for table in tables):
        return pa.concat_tables(tables)
    common = [name for name in tables[0].column_names if all(name in table.column_names for table in tables)]
    return pa.concat_tables([table.select(common) for table in tables], promote_options="permissive")
