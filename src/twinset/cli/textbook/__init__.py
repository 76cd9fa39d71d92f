"""``twinset textbook``: write a page on which bands, rows and threshold can be moved."""

from __future__ import annotations

from contextlib import ExitStack
from importlib.resources import as_file, files
from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.errors import OptionError
from twinset.options.checks import shown_size
from twinset.options.steps import ReadOptions
from twinset.options.survey import TextbookOptions

SAMPLE = "sample/articles.jsonl"
THE_SAMPLE = "the bundled sample"


@click.command("textbook", cls=flags.Command, short_help="Write a page to learn from: bands and rows on real pairs.")
@click.argument("sources", nargs=-1, metavar="[SOURCE...]")
@flags.flags_of(TextbookOptions)
@flags.output("File for the page, ending in .html.", required=True)
@flags.watched
def command(sources: tuple[str, ...], output: str, quiet: bool, as_json: bool, **values: Any) -> None:
    """Write an HTML page on which bands, rows and threshold can be moved.

    It shows the S-curve, and which real pairs are found, missed or false candidates: those of a small bundled sample,
    or of the SOURCE. All its documents are compared exactly; of more than --documents, a sample. {sources}

    The page is one file and works offline. It contains the beginnings of the texts unless --no-texts is given.
    """
    given = flags.given(TextbookOptions, values)
    TextbookOptions.of(**given)
    if not sources:
        _refuse_reading(given)
    with ExitStack() as stack:
        progress = stack.enter_context(run.watched(quiet or as_json, "jobs.report"))
        bundled = "twinset.cli"
        files_read = sources or (str(stack.enter_context(as_file(files(bundled) / SAMPLE))),)
        from twinset.jobs.report import write_textbook

        page = write_textbook(files_read, output, progress, name=None if sources else THE_SAMPLE, **given)
    size = page.stat().st_size
    if as_json:
        show.as_json({"page": str(page), "bytes": size})
    elif not quiet:
        click.echo(f"page: {page} ({shown_size(size)})")


def _refuse_reading(given: dict[str, Any]) -> None:
    """Refuse options for reading a source without a source."""
    reading = {name for name, _ in ReadOptions.specs()}
    for name, spec in TextbookOptions.specs():
        if name in given and name in reading and flags.typed(name):
            raise OptionError(f"{spec.spellings(name)[0]} cannot be used without a SOURCE; name one, or leave it out")
