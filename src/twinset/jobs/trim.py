"""``twinset.trim``: documents without later copies of passages, lines or paragraphs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import twinset
from twinset import pipeline
from twinset.engines.base import Job
from twinset.engines.local.passages.trim import LocalTrimRun
from twinset.engines.local.write.place import check_place, local_output, placed
from twinset.engines.progress import ProgressChoice, reporting
from twinset.errors import OptionError
from twinset.options.passages import TrimOptions
from twinset.options.place import Place
from twinset.wording import counted


class TrimResult:
    """Trimmed documents: `.kept` (rows, unless written to `.path`), `.cuts`, `.left` and `.summary`."""

    def __init__(
        self, summary: dict[str, Any], path: Path | None, tables: dict[str, pa.Table], held: object = None
    ) -> None:
        self.summary, self.path, self._held = summary, path, held
        self._tables = tables

    def _table(self, name: str) -> pa.Table:
        if name not in self._tables and self.path is not None:
            self._tables[name] = pq.read_table(self.path / f"{name}.parquet")
        return self._tables[name]

    @property
    def cuts(self) -> pa.Table:
        """What was cut, and the copy because of which it was cut."""
        return self._table("cuts")

    @property
    def left(self) -> pa.Table:
        """Documents that were left with no word, or with fewer than `leave`."""
        return self._table("left")

    @property
    def kept(self) -> pa.Table:
        """All rows, with the texts after the cuts; written rows are in the output."""
        if self.path is not None:
            raise OptionError(f"the rows were written to {self.path}; without output they are kept in memory")
        return self._tables["kept"]

    def card(self) -> str:
        """Describe the run for the card of a data set: the section Deduplication, as Markdown.

        Returns
        -------
        str
            The counts, the options and the command that repeats the run.

        Examples
        --------
        >>> import twinset
        >>> print(twinset.trim(["All rights reserved."] * 2, least=3).card().splitlines()[2])
        Of 6 words in 2 documents, 3 were cut: later copies of repeated passages. All documents are kept.
        """
        from twinset.report.card.sections import options_of, trim_card

        return trim_card(self.summary, options_of(TrimOptions, self.summary))

    def __repr__(self) -> str:
        cut, words = self.summary["words_cut"], counted(self.summary["words"], "word")
        return f"<TrimResult: {cut:,} of {words} cut, in {counted(self.summary['documents_cut'], 'document')}>"


def trim(*sources: object, output: Any = None, progress: ProgressChoice = None, **options: Any) -> TrimResult:
    """Cut later copies of passages out of documents; the first copy is kept.

    Parameters
    ----------
    *sources
        As for `twinset.dedup`; the documents are texts.
    output
        A folder for the result, or a file for the rows, as for `twinset.dedup`; without it they are kept in memory.
    progress
        As for `twinset.dedup`.
    **options
        The options of `twinset trim`, as keyword arguments.

    Returns
    -------
    TrimResult
        With `.kept`, `.cuts`, `.left` and `.summary`.

    Examples
    --------
    >>> import twinset
    >>> texts = {"a": "All rights reserved. The harbour froze.", "b": "All rights reserved. The bakery burned."}
    >>> done = twinset.trim(texts, least=3)
    >>> done.kept["text"].to_pylist()
    ['All rights reserved. The harbour froze.', ' bakery burned.']
    >>> done.summary["words_cut"]
    4
    """
    checked = TrimOptions.of(**options)
    place = Place.of(local_output(output, checked.scratch))
    job = Job(sources, checked, twinset.__version__, whole_rows=True)
    if place is not None:
        check_place(place, checked.force, sources)
        job = replace(job, output=place.folder, rows_file=place.file)
        job = placed(job, output, is_folder=place.file is None)
    with reporting(progress) as reporter, LocalTrimRun(replace(job, progress=reporter)) as run:
        done = pipeline.trim(run)
    return TrimResult(done.summary, done.path, done.tables, done.held)


def outline_trim(sources: tuple[object, ...], options: TrimOptions) -> dict[str, Any]:
    """Describe what `trim` would read; only headers and footers are read."""
    with LocalTrimRun(Job(sources, options, twinset.__version__, outlined=True)) as run:
        return run.outline()
