"""``twinset index verify``: check an index for damage."""

from __future__ import annotations

import click

from twinset.cli.index.shared import READING
from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.errors import DamagedError

WRONG = 1


@click.command("verify", cls=flags.Command, short_help="Check an index for damage; exit code 1 if there is any.")
@click.argument("index", metavar="INDEX")
@flags.watched
def command(index: str, quiet: bool, as_json: bool) -> None:
    """Check an index, and print one line per problem.

    All pages, documents, sketches and bands are read; nothing is changed. The exit code is 0 without problems, and 1
    with problems.
    """
    name, documents, problems = index, 0, list[str]()
    try:
        with run.watched(quiet, READING) as progress:
            import twinset

            with twinset.Index.open(index, read_only=True) as opened:
                name, documents = opened.name, len(opened)
                problems = opened.verify(progress)
    except DamagedError as error:  # too damaged to be opened
        problems = [str(error)]
    if as_json:
        show.as_json({"index": name, "documents": documents, "problems": problems})
    else:
        for problem in problems:
            click.echo(" ".join(problem.split()))
        if not problems and not quiet:
            click.echo(f"{name}: no problems ({show.count(documents, 'document')})")
    if problems:
        raise click.exceptions.Exit(WRONG)
