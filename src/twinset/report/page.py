"""Write the report as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

from twinset.errors import OptionError
from twinset.options.checks import new_file
from twinset.options.results import ReportOptions
from twinset.options.survey import TextbookOptions
from twinset.report import sections
from twinset.report.card.sections import dedup_card
from twinset.report.excerpts import lists
from twinset.report.html_file import PageFrame, html_file
from twinset.report.numbers import Numbers
from twinset.results.stored import StoredResult
from twinset.system.atomic_files import replace_atomically
from twinset.system.scratch import cannot_write

ENDINGS = (".html", ".htm")
CARD_ENDINGS = (".md", ".markdown")


def write_report(recorded: StoredResult, path: Path | str, options: ReportOptions) -> Path:
    """Write the report of a result atomically, or the section of its card."""
    if options.card:
        return write_page(path, options, lambda: dedup_card(recorded).encode())
    return write_page(path, options, lambda: render(recorded, options))


def write_page(path: Path | str, options: ReportOptions | TextbookOptions, make: Callable[[], bytes]) -> Path:
    """Write a page atomically; it is made once the name is known to be free."""
    output = Path(path)
    what, endings = ("card", CARD_ENDINGS) if getattr(options, "card", False) else ("report", ENDINGS)
    if output.suffix.lower() not in endings:
        raise OptionError(f"the {what} is {str(output)!r}; allowed: a name that ends in {' or '.join(endings)}")
    new_file(output, options.force)
    page = make()
    with replace_atomically(output) as new:
        try:
            new.write_bytes(page)
        except OSError as error:
            raise cannot_write(output, error) from error
    return output


def render(recorded: StoredResult, options: ReportOptions) -> bytes:
    """Render the page."""
    numbers = Numbers(recorded)
    data = {
        "folder": str(recorded.folder),
        "threshold": recorded.options.threshold,
        "unit": "bit" if numbers.measure == "bits" else "",
        "noun": numbers.noun,
        **lists(numbers, options),
    }
    frame = PageFrame(
        kind="report",
        name=escape(_name(recorded)),
        version=escape(str(numbers.summary["version"])),
        lead=sections.lead(numbers),
        figures=sections.figures(numbers),
        nav={
            "sure": "How sure",
            "similarity": numbers.score.capitalize(),
            "clusters": "Clusters",
            "removed": "Removed",
            "done": "What was done",
        },
        keys={"/": "search", "j k": "next and previous row", "Enter": "open", "[ ]": "pages"},
        scripted=f"The lists of clusters and {numbers.noun}s need",
    )
    return html_file(
        "page",
        frame,
        {
            "sure": sections.sure(numbers),
            "similarity": sections.similarity(numbers),
            "score": numbers.score,
            "Score": numbers.score.capitalize(),
            "noun": numbers.noun,
            "sought": sections.sought(numbers, options),
            "clusters": sections.clusters(numbers, options),
            "removed_title": f"{'Flagged' if recorded.options.flag else 'Removed'} {numbers.noun}s",
            "removed": sections.removed(numbers, options),
            "done": sections.done(numbers),
        },
        data,
        pictures="pictures" in data,
    )


def _name(recorded: StoredResult) -> str:
    return recorded.folder.resolve().name or str(recorded.folder)
