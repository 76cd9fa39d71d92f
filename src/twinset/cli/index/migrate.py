"""``twinset index migrate``: an index of an older format, brought up to date."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.index.shared import loaded
from twinset.cli.screen import show
from twinset.cli.support import flags
from twinset.options.index import WriteOptions


@click.command("migrate", cls=flags.Command, short_help="Bring an index of an older format up to date.")
@click.argument("index", metavar="INDEX")
@flags.flags_of(WriteOptions)
@flags.shown
def command(index: str, as_json: bool, **values: Any) -> None:
    """Bring an index of an older format up to date, all at once or not at all.

    Until then it can be read, but not written to. Older versions of Twinset cannot open it afterwards.
    """
    words = flags.given(WriteOptions, values)
    WriteOptions.of(**words)
    kind = loaded()
    before = kind.migrate(index, **words)
    with kind.open(index, read_only=True) as opened:
        name, now = opened.name, opened.stats()["format"]
    if as_json:
        show.as_json({"index": name, "format_before": before, "format": now})
    elif before == now:
        click.echo(f"{name} has format {now}, the newest: nothing was to do")
    else:
        click.echo(f"{name}: format {before} before, {now} now")
