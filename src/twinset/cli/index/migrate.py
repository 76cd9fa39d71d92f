"""``twinset index migrate``: convert an index of an older format to the newest."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.index.shared import NO_LAYOUTS, loaded
from twinset.cli.screen import show
from twinset.cli.support import flags
from twinset.options.index import WriteOptions


@click.command("migrate", cls=flags.Command, short_help="Convert an index of an older format to the newest.")
@click.argument("index", metavar="INDEX")
@flags.flags_of(WriteOptions)
@flags.shown
def command(index: str, as_json: bool, **values: Any) -> None:
    """Convert an index of an older format to the newest, in one transaction.

    An index of an older format can be read, but not changed. Older versions of Twinset cannot open it afterwards.
    """
    given = flags.given(WriteOptions, values)
    WriteOptions.of(**given)
    kind = loaded()
    before = kind.migrate(index, **given)
    with kind.open(index, read_only=True) as opened:
        found = opened.stats()
        name, now = found["index"], found["format"]
    if as_json:
        show.as_json({"index": name, "format_before": before, "format": now})
    elif found.get("colour_layouts") is False:
        show.say(f"{name}: format {before} before, {now} now; {NO_LAYOUTS}")
    elif before == now:
        click.echo(f"{name} already has the newest format, {now}")
    else:
        click.echo(f"{name}: format {before} before, {now} now")
