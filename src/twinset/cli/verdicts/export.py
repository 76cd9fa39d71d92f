"""``twinset verdicts export``: write all verdicts as CSV or JSON lines."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags
from twinset.options.results import ExportVerdictsOptions


@click.command("export", cls=flags.Command, short_help="Write all verdicts as CSV or JSON lines.")
@click.argument("file", metavar="FILE")
@click.argument("output", metavar="TO")
@flags.flags_of(ExportVerdictsOptions)
@flags.shown
def command(file: str, output: str, as_json: bool, **values: Any) -> None:
    """Write all verdicts as CSV or JSON lines, with their history: who, when, notes, undone ones, and samples.

    TO ends in .csv or .jsonl. import adds them to another file of verdicts, which then has the same history.
    """
    options = ExportVerdictsOptions.of(**flags.given(ExportVerdictsOptions, values))
    from twinset.verdicts import VerdictStore, export_events

    with VerdictStore(file, read_only=True) as store:
        events = export_events(store, output, force=options.force)
    if as_json:
        show.as_json({"verdicts": file, "events": events, "file": output})
    else:
        click.echo(f"{show.count(events, 'event')} of {file} in {output}")
