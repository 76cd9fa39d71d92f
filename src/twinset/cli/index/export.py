"""``twinset index export``: write an index to a Parquet file."""

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

    The file has ids, texts (or the content stored instead) and sketches, in insertion order. Any program that reads
    Parquet can read it, and import makes an equal index from it, even in another back end. The file contains the seed
    of the index: anyone who knows it can craft documents that all fall into one bucket.
    """
    given = flags.given(ExportOptions, values)
    ExportOptions.of(**given)
    with run.watched(quiet, READING) as progress:
        import twinset

        with twinset.Index.open(index, read_only=True) as opened:
            name, documents = opened.name, opened.export(file, progress=progress, **given)
    size = Path(file).stat().st_size
    if as_json:
        show.as_json({"index": name, "documents": documents, "file": file, "bytes": size})
    elif not quiet:
        click.echo(f"{show.count(documents, 'document')} of {name} in {file} ({shown_size(size)})")
