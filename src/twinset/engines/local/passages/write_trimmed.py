"""Write the trimmed documents in the format of the input, and the cuts with their reasons."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinset.clusters.cuts import Cuts
from twinset.documents.parts import Block, KeptWriter, Part
from twinset.documents.stored_sources import FOLDER, store_all
from twinset.engines.base import Output
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.passages.places import sides_in_texts
from twinset.engines.local.passages.write import write_inputs
from twinset.engines.local.steps.sketch import UNREADABLE
from twinset.engines.local.write.result import join_tables
from twinset.engines.local.write.summary import (
    count_documents,
    describe_input,
    kept_files,
    run_facts,
    seal_summary,
    write_summary,
)
from twinset.engines.local.write.table_file import TableFile, copy_as_csv
from twinset.errors import TwinsetError
from twinset.options.passages import TrimOptions
from twinset.schema import CUTS, LEFT, Numbers, Places
from twinset.system import batch_sizes
from twinset.system.scratch import cannot_write

if TYPE_CHECKING:
    from twinset.engines.local.passages.trim import LocalTrimRun

_LINE_END = re.compile(r"\n|\Z")
_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n[ \t\r\n]*|\Z")


class TrimmedTexts:
    """The texts of documents without what was cut."""

    def __init__(self, cuts: Cuts, starts: Places, ends: Places, options: TrimOptions) -> None:
        self._documents = np.ascontiguousarray(cuts[:, 0])
        self._words, self._starts, self._ends = cuts[:, 1:3], starts, ends
        self._options = options

    def replace(self, part: Part, span: Span, block: Block) -> Block:
        """Return the block with the texts of its documents after the cuts."""
        first, last = np.searchsorted(self._documents, [span.first, span.first + span.rows])
        numbers = np.unique(self._documents[first:last])
        if not len(numbers):
            return block
        rows = numbers.astype(np.int64) - span.first
        both = zip(numbers.tolist(), rows.tolist(), strict=True)
        texts = [self._text(number, _as_text(block.texts[row])) for number, row in both]
        return part.replace_texts(block, rows, texts)

    def _text(self, number: int, text: str) -> str:
        begin, end = np.searchsorted(self._documents, [number, number + 1])
        holes: list[list[int]] = []
        before = -1
        for at in range(begin, end):
            if self._options.unit == "words" and before == int(self._words[at, 0]):
                holes[-1][1] = int(self._ends[at])
            else:
                holes.append([int(self._starts[at]), int(self._ends[at])])
            before = int(self._words[at, 1])
        if self._options.unit == "words":
            return without_spans(text, holes, self._options.mark)
        return without_units(text, holes, paragraphs=self._options.unit == "paragraph")


def without_spans(text: str, holes: Sequence[Sequence[int]], mark: str) -> str:
    """Return a text without some spans; a mark separates the pieces that remain.

    Examples
    --------
    >>> without_spans("one two three four", [[4, 7], [14, 18]], "|")
    'one | three '
    """
    pieces = []
    at = 0
    for start, end in holes:
        pieces.append(text[at:start])
        at = end
    pieces.append(text[at:])
    kept = [piece for piece in pieces if piece.strip()]
    if not kept:
        return "".join(pieces)
    first, last = (pieces.index(kept[0]), len(pieces) - 1 - pieces[::-1].index(kept[-1]))
    inner = mark.join(pieces[first : last + 1])
    return "".join(pieces[:first]) + inner + "".join(pieces[last + 1 :])


def without_units(text: str, holes: Sequence[Sequence[int]], paragraphs: bool) -> str:
    """Return a text without the lines, or the paragraphs, that hold some spans, and without their line breaks.

    Examples
    --------
    >>> without_units("one\\ntwo!\\nthree\\n", [[4, 7]], paragraphs=False)
    'one\\nthree\\n'
    """
    pieces = []
    at = 0
    for start, end in holes:
        begin = at
        if paragraphs:
            for found in _PARAGRAPH_END.finditer(text, at, start):
                begin = found.end() if found.end() < start or text[found.start() : found.end()] else begin
            begin = min(begin, start)
        else:
            begin = max(at, text.rfind("\n", at, start) + 1)
        stop = (_PARAGRAPH_END if paragraphs else _LINE_END).search(text, end)
        pieces.append(text[at:begin])
        at = stop.end() if stop else len(text)
    return "".join([*pieces, text[at:]])


def _as_text(value: Any) -> str:
    """Return the original text of an Arrow value; bytes that are not UTF-8 are replaced."""
    found = value.as_py()
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found or ""


def write_trimmed(run: LocalTrimRun, corpus: Corpus, cuts: Cuts) -> Output:
    """Write the result folder; without one, return the tables and the trimmed rows."""
    since = time.perf_counter()
    draft = run.room_for_output("out")
    length = cuts[:, 2] - cuts[:, 1]
    rows = np.stack([cuts[:, 0], cuts[:, 3], cuts[:, 1], cuts[:, 2], cuts[:, 4], cuts[:, 4] + length], axis=1)
    places = sides_in_texts(corpus, run.options, run.threads, rows)
    _write_cuts(corpus, cuts, places, draft / "cuts.parquet")
    words = _words(corpus, run.options)
    cut_words = np.zeros(corpus.documents, np.int64)
    np.add.at(cut_words, cuts[:, 0], length.astype(np.int64))
    left = _write_left(corpus, words, cut_words, run.options.leave, draft / "left.parquet")
    trimmed = TrimmedTexts(cuts, places[0], places[1], run.options)
    write_inputs(run, corpus, draft)
    kept = None if run.output is not None else _read_trimmed(run, corpus, trimmed)
    if run.output is not None:
        _write_rows(run, corpus, trimmed, draft)
    run.timed("write", since)
    summary = {
        **count_documents(run, corpus),
        **_count_words(words, cut_words),
        "cuts": len(cuts),
        "documents_cut": int(np.count_nonzero(cut_words)),
        "left_with_few": left,
        "input": {**describe_input(run), "own_ids": corpus.report.own_ids},
    }
    if run.output is None:
        tables = {path.stem: pq.read_table(path, memory_map=False) for path in draft.glob("*.parquet")}
        facts = run_facts(run, run.sizes.to_dict())
        return Output({**summary, **facts}, run.sizes.to_dict(), None, {**tables, "kept": kept})
    stored = store_all(run.parts, run.against, describe_input(run), run.options, draft / FOLDER, link=True)
    summary["input"] |= {"kept": kept_files(run.parts, draft), **stored}
    summary = seal_summary(draft, {**summary, **run_facts(run, run.sizes.to_dict())})
    write_summary(draft / "summary.json", summary)
    if run.options.details_format == "csv":
        copy_as_csv(draft)
    return Output(summary, run.sizes.to_dict(), run.move_result(draft), {}, held=run.held)


def _words(corpus: Corpus, options: TrimOptions) -> Places:
    """Return the number of words of each document, without marks."""
    words: Places = corpus.counts.astype(np.int64)
    if options.unit != "words":
        return words  # there are no marks; what is stored besides are the sizes of units
    return words - np.concatenate([np.zeros(0, np.uint8), *corpus.sketches.chunks()]).view(np.uint32)


def _count_words(words: Places, cut_words: Places) -> dict[str, int]:
    """Count words, and check that none was lost."""
    kept = words - cut_words
    counts = {"words": int(words.sum()), "words_kept": int(kept.sum()), "words_cut": int(cut_words.sum())}
    if (cut_words > words).any():
        raise TwinsetError("more words were cut than there are; please report this, and do not use the result")
    return counts


def _write_cuts(corpus: Corpus, cuts: Cuts, places: tuple[Places, Places, Places, Places], path: Path) -> None:
    with TableFile(path, CUTS) as file:
        for start in range(0, len(cuts), batch_sizes.TABLE_ROWS):
            some = slice(start, start + batch_sizes.TABLE_ROWS)
            ids, because = (corpus.take_ids(np.ascontiguousarray(cuts[some, column])) for column in (0, 3))
            columns = [ids, places[0][some], places[1][some], because, places[2][some], places[3][some]]
            file.write(pa.table([pa.array(one) for one in columns], schema=CUTS))


def _write_left(corpus: Corpus, words: Places, cut_words: Places, leave: int, path: Path) -> int:
    """Write the documents that cuts left with no word, or with fewer than `leave`; return their number."""
    rest = words - cut_words
    few = np.flatnonzero((cut_words > 0) & (rest < max(1, leave))).astype(np.uint32)
    with TableFile(path, LEFT) as file:
        for start in range(0, len(few), batch_sizes.TABLE_ROWS):
            some: Numbers = few[start : start + batch_sizes.TABLE_ROWS]
            columns = [corpus.take_ids(some), words[some], rest[some]]
            file.write(pa.table([pa.array(one) for one in columns], schema=LEFT))
    return len(few)


def _write_rows(run: LocalTrimRun, corpus: Corpus, trimmed: TrimmedTexts, draft: Path) -> None:
    """Write every readable row, in the format of its source or all to one file."""
    rows = run.open_rows_file()
    if rows is None:
        (draft / "kept").mkdir()
    run.progress.stage("writing", corpus.own, "documents")
    for number, part in enumerate(corpus.parts):
        writer: KeptWriter = part.open_writer(draft, copy=True) if rows is None else rows.open_writer(part)
        try:
            for span, block in _trimmed_blocks(run, corpus, trimmed, number):
                writer.write(block, corpus.status[span.documents] != UNREADABLE)
                run.progress.advance(span.rows)
            writer.close()
        except OSError as error:
            writer.abort()
            raise cannot_write(draft, error) from error
        except BaseException:
            writer.abort()
            raise
    if rows is not None:
        rows.finish()


def _trimmed_blocks(run: LocalTrimRun, corpus: Corpus, trimmed: TrimmedTexts, number: int) -> Any:
    part = corpus.parts[number]
    return corpus.read(
        run.threads, lambda span, block: trimmed.replace(part, span, block), whole=True, parts=range(number, number + 1)
    )


def _read_trimmed(run: LocalTrimRun, corpus: Corpus, trimmed: TrimmedTexts) -> pa.Table:
    """Return all readable rows as one table."""
    tables = []
    for number, part in enumerate(corpus.parts):
        collector = part.collector()
        for span, block in _trimmed_blocks(run, corpus, trimmed, number):
            collector.write(block, corpus.status[span.documents] != UNREADABLE)
        tables += collector.tables()
    return join_tables(tables)
