"""``twinset index import``: make an index from an exported file."""

from __future__ import annotations

import click

from twinset.cli.index.shared import READING, resumable
from twinset.cli.screen import show
from twinset.cli.support import flags, run


@click.command("import", cls=flags.Command, short_help="Make an index from an exported file.")
@click.argument("file", metavar="FILE.parquet")
@click.argument("index", metavar="INDEX")
@flags.watched
def command(file: str, index: str, quiet: bool, as_json: bool) -> None:
    """Make an index from an exported file, in any back end.

    INDEX is a new path, or the URL of a PostgreSQL database without an index. The new index has the options, the seed,
    the sketches and the answers of the exported one. An interrupted import resumes when it is run again; the index
    cannot be opened until the import is finished.
    """
    with resumable(), run.watched(quiet, READING) as progress:
        import twinset

        with twinset.Index.import_from(file, index, progress=progress) as imported:
            name, documents = imported.name, len(imported)
    if as_json:
        show.as_json({"index": name, "documents": documents, "file": file})
    elif not quiet:
        click.echo(f"{name} holds {show.count(documents, 'document')}")
