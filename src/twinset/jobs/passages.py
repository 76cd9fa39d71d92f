"""``twinset.find_passages``: every run of words that two documents share, and where it stands."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import twinset
from twinset import pipeline
from twinset.engines.base import Job
from twinset.engines.local.passages.run import LocalPassageRun
from twinset.engines.local.write.place import check_place, refuse_sources
from twinset.engines.progress import ProgressChoice, reporting
from twinset.options.checks import new_file
from twinset.options.formats import check_pairs_name, is_folder_name
from twinset.options.passages import PassagesOptions
from twinset.options.place import Place
from twinset.wording import counted


def outline_passages(sources: tuple[object, ...], options: PassagesOptions) -> dict[str, Any]:
    """Describe what `find_passages` would read; only headers and footers are read."""
    with LocalPassageRun(Job(sources, options, twinset.__version__)) as run:
        return run.outline()


class PassagesResult:
    """Shared passages: `.passages`, and unless one file was written `.copied` and `.boilerplate`; `.summary`."""

    def __init__(self, summary: dict[str, Any], path: Path | None, tables: dict[str, pa.Table]) -> None:
        self.summary, self.path = summary, path
        self._tables = tables

    def _table(self, name: str) -> pa.Table:
        if name not in self._tables and self.path is not None:
            self._tables[name] = pq.read_table(self.path / f"{name}.parquet")
        return self._tables[name]

    @property
    def passages(self) -> pa.Table:
        """Every passage: the two documents, the places in their texts, and the words in common."""
        return self._table("passages")

    @property
    def copied(self) -> pa.Table:
        """For each document the words that stand elsewhere, and the document that shares most of them."""
        return self._table("copied")

    @property
    def boilerplate(self) -> pa.Table:
        """Text that stands in more than `crowd` documents."""
        return self._table("boilerplate")

    def __repr__(self) -> str:
        found = counted(self.summary["passages"], "passage")
        return f"<PassagesResult: {found} in {counted(self.summary['documents'], 'document')}>"


def find_passages(
    *sources: object, output: Any = None, progress: ProgressChoice = None, **options: Any
) -> PassagesResult:
    """Find every run of words that two documents share.

    Parameters
    ----------
    *sources
        As for `twinset.dedup`; the documents are texts.
    output
        A file for the passages, ending in .parquet, .csv or .jsonl, or a folder for all tables; without it they are
        kept in memory.
    progress
        As for `twinset.dedup`.
    **options
        The options of `twinset passages`, as keyword arguments.

    Returns
    -------
    PassagesResult
        With `.passages`, `.copied`, `.boilerplate` (Arrow tables) and `.summary`.

    Examples
    --------
    >>> import twinset
    >>> texts = {"essay": "I say: to be, or not to be, that is it.", "play": "To be or not to be: that is the question"}
    >>> found = twinset.find_passages(texts, least=6)
    >>> [row] = found.passages.to_pylist()
    >>> texts["essay"][row["left_start"] : row["left_end"]], row["words"]
    ('to be, or not to be, that is', 8)
    """
    checked = PassagesOptions.of(**options)
    path = Path(output) if output is not None else None
    folder = path is not None and is_folder_name(os.fsdecode(output))
    given = (*sources, *checked.against)
    if path is not None and folder:
        check_place(Place(path), checked.force, given)
    elif path is not None:
        check_pairs_name(str(path))
        refuse_sources(path, given)
        new_file(path, checked.force)
    job = Job(sources, checked, twinset.__version__, path, pairs_folder=folder)
    with reporting(progress) as reporter, LocalPassageRun(replace(job, progress=reporter)) as run:
        done = pipeline.find_passages(run)
    return PassagesResult(done.summary, done.path, done.tables)
