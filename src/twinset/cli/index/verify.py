"""``twinset index verify``: whether an index keeps its promises."""

from __future__ import annotations

import click

from twinset.cli.index.shared import READING
from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.errors import DamagedError

WRONG = 1


@click.command("verify", cls=flags.Command, short_help="Check everything; exit code 1 if something is wrong.")
@click.argument("index", metavar="INDEX")
@flags.watched
def command(index: str, quiet: bool, as_json: bool) -> None:
    """Check every promise that an index makes, and say what is wrong, one line each.

    Read are all pages, documents, sketches and bands; nothing is changed. The exit code is 0 if all is well, and 1
    if something is wrong.
    """
    name, documents, problems = index, 0, list[str]()
    try:
        with run.watched(quiet, READING) as progress:
            import twinset

            with twinset.Index.open(index, read_only=True) as opened:
                name, documents = opened.name, len(opened)
                problems = opened.verify(progress)
    except DamagedError as error:  # so damaged that it cannot be opened
        problems = [str(error)]
    if as_json:
        show.as_json({"index": name, "documents": documents, "problems": problems})
    else:
        for problem in problems:
            click.echo(" ".join(problem.split()))
        if not problems and not quiet:
            click.echo(f"{name}: all is well ({show.count(documents, 'document')})")
    if problems:
        raise click.exceptions.Exit(WRONG)
