"""Write the tables of a search for passages."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinset.documents.stored_sources import FOLDER, store_all
from twinset.engines.base import Output
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.passages.places import sides_in_texts, spans_in_texts
from twinset.engines.local.passages.search import PassageCandidates
from twinset.engines.local.steps.sketch import EMPTY, READ
from twinset.engines.local.write.summary import (
    count_documents,
    describe_input,
    name_excluded,
    run_facts,
    seal_summary,
    write_summary,
)
from twinset.engines.local.write.table_file import TableFile, copy_as_csv, copy_table
from twinset.engines.local.write.tables import write_documents, write_left_out, write_sources
from twinset.pairs.coverage import NONE, count_holders, coverage
from twinset.pairs.passages import Joined
from twinset.schema import BOILERPLATE, COPIED, PASSAGES, Numbers
from twinset.system import batch_sizes

if TYPE_CHECKING:
    from twinset.engines.local.passages.run import FoundPassages, LocalPassageRun, SearchedJob

MAIN = "passages.parquet"
_BEGINNING = 200  # code points of a boilerplate text that are shown


def with_holders(rows: Joined, documents: Numbers, n_documents: int) -> FoundPassages:
    """Count the documents that hold each passage, except those of crowds, which are known.

    A document that holds all of a passage shares its windows that are no crowd, so that no tie is needed to find it.
    """
    from twinset.engines.local.passages.run import FoundPassages

    unknown = documents == 0
    documents[unknown] = count_holders(rows[unknown], n_documents)
    return FoundPassages(rows, documents)


def write_passages(
    run: LocalPassageRun, corpus: Corpus, candidates: PassageCandidates, passages: FoundPassages
) -> Output:
    """Write the tables to a folder, and the passages to the requested file; or return the tables."""
    since = time.perf_counter()
    run.progress.stage("writing", len(passages.rows), "passages")
    draft = run.room_for_output("out")
    _write_rows(run, corpus, passages, draft / MAIN)
    found = coverage(passages.rows, corpus.documents)
    plan = run.sizes.to_dict()
    words = corpus.counts[: corpus.own].sum(dtype=np.int64)
    _write_copied(corpus, found, draft / "copied.parquet")
    _write_boilerplate(run, corpus, candidates, draft / "boilerplate.parquet")
    write_inputs(run, corpus, draft)
    run.timed("write", since)
    summary = {
        **count_documents(run, corpus),
        "named": name_excluded(corpus),
        "passages": len(passages.rows),
        "boilerplate": len(candidates.stretches),
        "words": int(words),
        "copied": int(found.copied[: corpus.own].sum(dtype=np.int64)),
        "documents_with_passages": int(np.count_nonzero(found.copied[: corpus.own])),
        "input": {**describe_input(run), "own_ids": corpus.report.own_ids},
        **run_facts(run, plan),
    }
    summary["timings"]["candidates"] = candidates.count  # with less memory, more pairs of places lead to one passage
    if run.output is None:
        tables = {path.stem: pq.read_table(path, memory_map=False) for path in draft.glob("*.parquet")}
        return Output(summary, plan, None, tables)
    stored = store_all(run.parts, run.against, describe_input(run), run.options, draft / FOLDER, link=True)
    summary["input"] |= stored
    summary = seal_summary(draft, summary)
    write_summary(draft / "summary.json", summary)
    if run.options.details_format == "csv":
        copy_as_csv(draft)
    if run.job.rows_file is not None:
        copy_table(draft / MAIN, run.room_for_output("rows") / "kept" / run.job.rows_file.name)
    return Output(summary, plan, run.move_result(draft), {}, held=run.held)


def _write_rows(run: LocalPassageRun, corpus: Corpus, passages: FoundPassages, path: Path) -> None:
    with TableFile(path, PASSAGES) as file:
        for start in range(0, len(passages.rows), batch_sizes.PLACED_ROWS):
            rows = passages.rows[start : start + batch_sizes.PLACED_ROWS]
            places = sides_in_texts(corpus, run.options, run.threads, rows)
            columns = [
                corpus.take_ids(np.ascontiguousarray(rows[:, 0])), corpus.take_ids(np.ascontiguousarray(rows[:, 1])),
                *places, (rows[:, 3] - rows[:, 2]).astype(np.int64), rows[:, 6].astype(np.int64),
                passages.documents[start : start + len(rows)].astype(np.int64),
            ]  # fmt: skip
            file.write(pa.table([pa.array(one) for one in columns], schema=PASSAGES))
            run.progress.advance(len(rows))


def _write_copied(corpus: Corpus, found: Any, path: Path) -> None:
    """Write the copied share of each readable document."""
    numbers = np.flatnonzero((corpus.status == READ) | (corpus.status == EMPTY)).astype(np.uint32)
    with TableFile(path, COPIED) as file:
        for start in range(0, len(numbers), batch_sizes.TABLE_ROWS):
            some = numbers[start : start + batch_sizes.TABLE_ROWS]
            words, copied, most_in = corpus.counts[some].astype(np.int64), found.copied[some], found.most_in[some]
            known = most_in != NONE
            names = corpus.take_ids(np.where(known, most_in, some).astype(np.uint32))
            roles = np.where(some < corpus.own, "source", "against")
            columns = [
                corpus.take_ids(some), pa.array(roles, pa.string()), words, copied.astype(np.int64),
                copied / np.maximum(words, 1), pa.array(names.to_pylist(), pa.string(), mask=~known),
                found.most[some].astype(np.int64),
            ]  # fmt: skip
            file.write(pa.table([pa.array(one) for one in columns], schema=COPIED))


def _write_boilerplate(run: SearchedJob, corpus: Corpus, candidates: PassageCandidates, path: Path) -> None:
    """Write the texts of crowds, those in most documents first."""
    least = run.sizes.least
    stretches = sorted(candidates.stretches, key=lambda one: (-one.documents, one.document, one.place))
    documents = np.array([one.document for one in stretches], np.uint32)
    first = np.array([one.place for one in stretches], np.uint32)
    words = np.array([one.windows + least - 1 for one in stretches], np.uint32)
    starts, ends = spans_in_texts(corpus, run.options, run.threads, documents, first, first + words)
    texts = read_texts(run, corpus, documents)
    shown = [
        texts[int(number)][int(start) : int(min(end, start + _BEGINNING))]
        for number, start, end in zip(documents, starts, ends, strict=True)
    ]
    counts = np.array([one.documents for one in stretches], np.int64)
    with TableFile(path, BOILERPLATE) as file:
        columns = [shown, words.astype(np.int64), counts, corpus.take_ids(documents), starts, ends]
        file.write(pa.table([pa.array(one) for one in columns], schema=BOILERPLATE))


def read_texts(run: SearchedJob, corpus: Corpus, documents: Numbers) -> dict[int, str]:
    """Read the original texts of some documents; bytes that are not UTF-8 are replaced."""
    wanted = np.zeros(corpus.documents, np.bool_)
    wanted[documents] = True
    texts: dict[int, str] = {}
    for span, found in corpus.read(run.threads, lambda span, block: block.texts, wanted=wanted):
        for row in np.flatnonzero(wanted[span.documents]).tolist():
            value = found[row].as_py()
            texts[span.first + row] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""
    return texts


def write_inputs(run: SearchedJob, corpus: Corpus, draft: Path) -> None:
    """Write documents, sources, and what was left out."""
    digests = [run.threads.start(part.digest) if part.lasts and run.output is not None else None for part in run.parts]
    write_left_out(corpus, draft)
    every = np.arange(corpus.documents, dtype=np.uint32)
    write_documents(corpus, draft / "documents.parquet", every, every)
    write_sources(corpus, draft / "sources.parquet", run.against, digests)
