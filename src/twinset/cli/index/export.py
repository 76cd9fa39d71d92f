"""``twinset index export``: an index as a Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from twinset.cli.index.shared import READING
from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.options.checks import shown_size
from twinset.options.index import ExportOptions


@click.command("export", cls=flags.Command, short_help="Write an index to a Parquet file.")
@click.argument("index", metavar="INDEX")
@click.argument("file", metavar="FILE.parquet")
@flags.flags_of(ExportOptions)
@flags.watched
def command(index: str, file: str, quiet: bool, as_json: bool, **values: Any) -> None:
    """Write all documents of an index to a Parquet file.

    It has their ids, texts (or what is stored instead) and sketches, in the order in which they were added. import
    makes an equal index of it, also in another kind of home, and anything else that reads Parquet can read it. The
    file holds the seed of the index: whoever knows it can make documents that crowd one bucket.
    """
    words = flags.given(ExportOptions, values)
    ExportOptions.of(**words)
    with run.watched(quiet, READING) as progress:
        import twinset

        with twinset.Index.open(index, read_only=True) as opened:
            name, documents = opened.name, opened.export(file, progress=progress, **words)
    size = Path(file).stat().st_size
    if as_json:
        show.as_json({"index": name, "documents": documents, "file": file, "bytes": size})
    elif not quiet:
        click.echo(f"{show.count(documents, 'document')} of {name} in {file} ({shown_size(size)})")
