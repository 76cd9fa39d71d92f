"""The tables of a run, on their way to the result."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from twinset.engines.local.budget import give_back
from twinset.engines.local.copies import Copies, expanded
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.run import Local
from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.read import Found
from twinset.engines.local.steps.top_pairs import most_similar
from twinset.engines.local.write import results as outputs
from twinset.options import DedupOptions
from twinset.system.spool import Spool

_SIDE_BY_SIDE = 512 * 2**20  # free memory from which on tables and kept rows are written at the same time


def document_pairs(run: Local, corpus: Corpus, copies: Copies, pairs: Spool, link: bool) -> Iterator[Rows]:
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


def nearest_first(run: Local, results: outputs.Results, pairs: Spool) -> Iterator[Rows]:
    """Pairs of which each document has its nearest already, in their order."""
    for rows in sorted_portions(pairs, results.corpus.documents, run.budget.pairs):
        yield rows[np.lexsort((rows[:, 1], -results.similarity(rows), rows[:, 0]))]


def top_pairs(run: Local, results: outputs.Results, pairs: Iterator[Rows], top: int) -> Iterator[Rows]:
    """Of each document its most similar ones."""
    corpus = results.corpus
    return most_similar(
        pairs, top, results.similarity, corpus.documents, run.state.scratch, run.budget,
        one_sided=corpus.border is not None,
    )  # fmt: skip


def write_result(
    run: Local, results: outputs.Results, clusters: Clusters, pairs: Spool, found: Found, made: Path
) -> int:
    """The tables that every result has and, for a folder, the kept rows; returns the number of pairs."""
    whole = run.output is not None
    digests = [run.threads.start(part.digest) if part.lasts and whole else None for part in run.parts]
    tables = run.threads.start(lambda: _write_tables(run, results, clusters, pairs, found, made))
    if run.budget.free < _SIDE_BY_SIDE:
        tables.result()
        give_back()
    if whole and isinstance(run.options, DedupOptions):
        flag, copy = run.options.flag, run.options.copy
        outputs.write_kept(
            results, clusters, made, run.threads, run.progress, own_parts=run.against, flag=flag, copy=copy
        )
    count = tables.result()
    outputs.write_sources(results.corpus, made / "sources.parquet", run.against, digests)
    return count


def _write_tables(
    run: Local, results: outputs.Results, clusters: Clusters, pairs: Spool, found: Found, made: Path
) -> int:
    """Every table of the result folder but the sources; returns the number of pairs."""
    every = document_pairs(run, results.corpus, results.copies, pairs, link=True)
    count = results.write_pairs(made / "pairs.parquet", every)
    results.write_removed(made / "removed.parquet", clusters)
    results.write_clusters(made / "clusters.parquet", clusters)
    results.write_left_out(made, found.unreadable)
    results.write_documents(made / "documents.parquet")
    return count
