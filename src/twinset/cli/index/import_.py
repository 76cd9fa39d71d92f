"""``twinset index import``: an index out of an exported file."""

from __future__ import annotations

import click

from twinset.cli.index.shared import READING, resumable
from twinset.cli.screen import show
from twinset.cli.support import flags, run


@click.command("import", cls=flags.Command, short_help="Make an index of an exported file.")
@click.argument("file", metavar="FILE.parquet")
@click.argument("index", metavar="INDEX")
@flags.watched
def command(file: str, index: str, quiet: bool, as_json: bool) -> None:
    """Make an index of a file that export has written, in any kind of home.

    INDEX is a new path, or the URL of a PostgreSQL database without an index. Options, seed and sketches are those of
    the index that was exported, and so are all answers. An import that was stopped is simply run again; until it has
    come to its end, nothing else opens the index.
    """
    with resumable(), run.watched(quiet, READING) as progress:
        import twinset

        with twinset.Index.import_from(file, index, progress=progress) as made:
            name, documents = made.name, len(made)
    if as_json:
        show.as_json({"index": name, "documents": documents, "file": file})
    elif not quiet:
        click.echo(f"{name} holds {show.count(documents, 'document')}")
