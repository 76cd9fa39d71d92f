"""``twinset.find_passages``: every run of words that two documents share, with its places."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import twinset
from twinset import pipeline
from twinset.engines.base import Job, Output
from twinset.engines.local.passages.run import LocalPassageRun
from twinset.engines.local.write.place import check_place, local_output, placed
from twinset.engines.progress import ProgressChoice, reporting
from twinset.errors import OptionError
from twinset.options.formats import check_pairs_name
from twinset.options.passages import PassagesOptions
from twinset.options.place import Place
from twinset.options.results import ReportOptions
from twinset.results.stored_passages import StoredPassages
from twinset.system.addresses import is_address
from twinset.wording import counted, quoted


def outline_passages(sources: tuple[object, ...], options: PassagesOptions) -> dict[str, Any]:
    """Describe what `find_passages` would read; only headers and footers are read."""
    with LocalPassageRun(Job(sources, options, twinset.__version__, outlined=True)) as run:
        return run.outline()


@dataclass(frozen=True)
class SharedPassages:
    """The passages of two documents, `left` and `right`, and their texts if they can be read."""

    left: str
    right: str
    passages: pa.Table
    contents: tuple[str | None, str | None]

    def to_dict(self) -> dict[str, Any]:
        """Return the ids and the passages as plain values."""
        return {"left": self.left, "right": self.right, "passages": self.passages.to_pylist()}


class PassagesResult:
    """Shared passages: `.passages`, `.copied`, `.boilerplate` (Arrow tables) and `.summary`."""

    def __init__(self, recorded: StoredPassages) -> None:
        self.summary, self.recorded = recorded.summary, recorded

    @classmethod
    def of(cls, output: Output, given: tuple[object, ...]) -> PassagesResult:
        """Make the result of a run; without a folder, texts are read from the same objects."""
        if output.path is not None:
            recorded = StoredPassages(output.path)
            recorded.held = output.held
            recorded.named = frozenset(filter(is_address, given))
            return cls(recorded)
        return cls(StoredPassages.from_tables(output.summary, output.tables, given))

    @classmethod
    def open(cls, folder: Any, source: Sequence[object] = ()) -> PassagesResult:
        """Open the result of an earlier run, whose sources may have moved."""
        return cls(StoredPassages(folder, source))

    @property
    def path(self) -> Path | None:
        """The folder of the tables; None if they are in memory."""
        return None if self.recorded.in_memory else self.recorded.folder

    @property
    def passages(self) -> pa.Table:
        """Every passage: the two documents, the places in their texts, and the words in common."""
        return self.recorded.table("passages")

    @property
    def copied(self) -> pa.Table:
        """For each document the number of copied words, and the document that shares most of them."""
        return self.recorded.table("copied")

    @property
    def boilerplate(self) -> pa.Table:
        """Text that occurs in more than `crowd` documents."""
        return self.recorded.table("boilerplate")

    def explain(self, id: str, other: str | None = None, *, source: Sequence[object] = ()) -> SharedPassages:
        """Show the passages of two documents.

        Parameters
        ----------
        id
            The id of a document.
        other
            Another one; by default the document that shares most of its words.
        source
            The current sources, in their original order, if they have moved.

        Returns
        -------
        SharedPassages
            With `.passages`, `.left`, `.right` and `.contents`, the two texts.

        Examples
        --------
        >>> import twinset
        >>> found = twinset.find_passages(["a b c d e f", "x b c d e y"], least=4)
        >>> found.explain("1").passages.select(["left", "right", "shared"]).to_pylist()
        [{'left': '1', 'right': '0', 'shared': 4}]
        """
        recorded = self.recorded.but(moved=source)
        number = recorded.find(id)
        if other is None:
            rows = self.copied.filter(pc.field("id") == id)
            other = next((name for name in rows["most_in"].to_pylist() if name is not None), None)
            if other is None:
                raise OptionError(f"{quoted(id)} shares no passage with another document")
        recorded.find(other)
        roles = self._roles(number, id, other)
        contents = recorded.read_texts(list(zip(roles, (id, other), strict=True)))
        return SharedPassages(id, other, recorded.passages_of(id, other), (contents[0], contents[1]))

    def _roles(self, number: int, id: str, other: str) -> tuple[str, str]:
        """Return the sides of two documents: with two sources, a document is compared with the other side."""
        if not self.summary["against"]:
            return "source", "source"
        return ("source", "against") if number < self.recorded.own else ("against", "source")

    def report(self, path: Any, **options: Any) -> Path:
        """Write one self-contained HTML page of the passages; or with `card` what `card` returns.

        Parameters
        ----------
        path
            A file that ends in .html; with `card` in .md.
        **options
            The options of `twinset report`, as keyword arguments: `texts`, `source`, `card`, `force`.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import twinset
        >>> twinset.find_passages(["a b c d e f", "x b c d e y"], least=4).report("shared.html").name
        'shared.html'
        """
        from twinset.report.page import write_page
        from twinset.report.passages_page import PassagesRun, passages_page

        checked = ReportOptions.of(**options)
        if checked.card:
            return write_page(path, checked, lambda: self.card().encode())
        recorded = self.recorded.but(moved=checked.source)
        folder = "" if recorded.in_memory else str(recorded.folder)
        shown = {name: value for name, value in self.summary["options"].items() if value not in (None, [], False)}
        run = PassagesRun(
            recorded.folder.resolve().name if folder else "passages", folder, str(self.summary["version"]),
            recorded.options.crowd, shown,
        )  # fmt: skip
        texts = recorded.read_texts if checked.texts else None
        tables = self.passages, self.copied, self.boilerplate
        return write_page(path, checked, lambda: passages_page(run, *tables, texts))

    def card(self) -> str:
        """Describe the run for the card of a data set: the section Deduplication, as Markdown.

        Returns
        -------
        str
            The counts, the options and the command that repeats the run.

        Examples
        --------
        >>> import twinset
        >>> print(twinset.find_passages(["a b c d e f", "x b c d e y"], least=4).card().splitlines()[0])
        ## Deduplication
        """
        from twinset.report.card.sections import passages_card

        return passages_card(self.summary, self.recorded.options)

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
        A folder for all tables, or a file for the passages, ending in .parquet, .csv or .jsonl, with a folder of the
        same name and ``.details`` beside it; without it the tables are kept in memory.
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
    given = (*sources, *checked.against)
    job = Job(sources, checked, twinset.__version__)
    if output is not None:
        check_pairs_name(os.fsdecode(output))
        place = Place.named(local_output(output, checked.scratch))
        check_place(place, checked.force, given)
        job = replace(job, output=place.folder, rows_file=place.file)
        job = placed(job, output, is_folder=place.file is None)
    with reporting(progress) as reporter, LocalPassageRun(replace(job, progress=reporter)) as run:
        done = pipeline.find_passages(run)
    return PassagesResult.of(done, given)
