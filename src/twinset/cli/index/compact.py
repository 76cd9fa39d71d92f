"""``twinset index compact``: return unused space to the disk."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.index.shared import loaded
from twinset.cli.screen import show
from twinset.cli.support import flags
from twinset.options.checks import shown_size
from twinset.options.index import WriteOptions


@click.command("compact", cls=flags.Command, short_help="Return the space of removed documents to the disk.")
@click.argument("index", metavar="INDEX")
@flags.flags_of(WriteOptions)
@flags.shown
def command(index: str, as_json: bool, **values: Any) -> None:
    """Return the space of removed documents to the disk.

    The index is rewritten, which needs free space of up to twice its size.
    """
    given = flags.given(WriteOptions, values)
    WriteOptions.of(**given)
    with loaded().open(index) as opened:
        before = opened.stats()["bytes"]["total"]
        opened.compact(**given)
        name, after = opened.name, opened.stats()["bytes"]["total"]
    if as_json:
        show.as_json({"index": name, "bytes_before": before, "bytes": after})
    else:
        click.echo(f"{name}: {shown_size(before)} before, {shown_size(after)} now")
