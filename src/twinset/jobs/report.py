"""Write pages: the report of a result, and the textbook's page of real pairs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import twinset
from twinset.engines.progress import Progress
from twinset.evaluation.real_pairs import SLOTS, compare_all
from twinset.jobs.pairs import PairsResult
from twinset.jobs.result import open_result
from twinset.jobs.trim import TrimResult
from twinset.options.place import result_folder
from twinset.options.results import ReportOptions
from twinset.options.survey import TextbookOptions
from twinset.report.page import write_page
from twinset.report.textbook_page import ComparedPairs, textbook_page
from twinset.results.open_recorded import open_recorded
from twinset.results.stored import read_summary
from twinset.wording import counted


def report(result: Any, path: Any, **options: Any) -> Path:
    """Write one self-contained, searchable HTML page of a result, or the section of a data set card.

    Parameters
    ----------
    result
        A `DedupResult` or `PassagesResult`, or the folder of one; with `card` also a result of `find_pairs` or `trim`.
    path
        A file that ends in .html; with `card` in .md.
    **options
        The options of `twinset report`, as keyword arguments.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> done = twinset.dedup({"a": rose, "b": rose + " hall"}, shingle="word:3")
    >>> twinset.report(done, "roses.html").name
    'roses.html'
    """
    checked = ReportOptions.of(**options)
    if checked.card:
        return write_page(path, checked, lambda: card(result).encode())
    done = result if hasattr(result, "report") else open_result(result)
    return done.report(path, **options)


def card(result: Any) -> str:
    """Return the section Deduplication of a data set card for a result, or the folder of one."""
    if hasattr(result, "card"):
        return str(result.card())
    folder = result_folder(result)
    summary = read_summary(folder, trimmed=True)
    if "words_cut" in summary:
        return TrimResult(summary, folder, {}).card()
    if "removed" in summary or "passages" in summary:
        return open_result(folder).card()
    return PairsResult(summary, open_recorded(folder).plan, None, None).card()


def write_textbook(
    sources: Sequence[object], path: Any, progress: Progress | None = None, *, name: str | None = None, **options: Any
) -> Path:
    """Write a page on which bands, rows and threshold can be moved, with the real pairs of a collection.

    sources: as for `twinset.find_pairs`.
    path: a file that ends in .html.
    name: the name of the collection on the page; by default that of the first source.
    **options: the options of ``twinset textbook``.

    Examples
    --------
    >>> write_textbook([["a rose is a rose", "a rose is a nose"]], "bands.html").name
    'bands.html'
    """
    checked = TextbookOptions.of(**options)

    def make() -> bytes:
        found = compare_all(sources, checked, progress)
        return textbook_page(
            ComparedPairs(
                name=name or _name(sources),
                version=twinset.__version__,
                documents=found.documents,
                empty=found.empty,
                every=found.every,
                ids=found.ids,
                excerpts=found.excerpts,
                pairs=[
                    (left, right, similarity, slots.tobytes())
                    for left, right, similarity, slots in zip(
                        found.lefts.tolist(), found.rights.tolist(), found.similarities.tolist(), found.agreeing,
                        strict=True,
                    )
                ],
                rest=found.rest,
                shingle=found.shingle,
                slots=SLOTS,
            )
        )  # fmt: skip

    return write_page(path, checked, make)


def _name(sources: Sequence[object]) -> str:
    """Name a collection by its first source."""
    first = sources[0]
    named = Path(first).name or str(first) if isinstance(first, (str, os.PathLike)) else "the documents"
    others = f" and {counted(len(sources) - 1, 'other source')}" if len(sources) > 1 else ""
    return f"{named}{others}"
