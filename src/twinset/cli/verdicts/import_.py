"""``twinset verdicts import``: add the verdicts of an export."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags

_LISTED = 12


@click.command("import", cls=flags.Command, short_help="Add the verdicts of an export.")
@click.argument("file", metavar="FILE")
@click.argument("source", metavar="FROM")
@flags.shown
def command(file: str, source: str, as_json: bool) -> None:
    """Add the verdicts of an export to FILE, which is made if it does not exist.

    FROM is a file of twinset verdicts export. What FILE has already is left as it is, so importing twice is harmless.
    Of two verdicts on the same pair the later one stands, wherever it was made, and the history has both. Pairs that
    people judge differently are listed.
    """
    from twinset.verdicts import VerdictStore, import_events

    with VerdictStore(file) as store:
        done = import_events(store, source)
        disputed = [(store.state(one), by) for one, by in done.disputed]
    rows: list[dict[str, Any]] = [
        {
            "left": one.left.id,
            "right": one.right.id if one.right else None,
            "verdicts": by,
            "stands": one.verdict,
        }
        for one, by in disputed
        if one is not None
    ]
    if as_json:
        facts = {"verdicts": file, "added": done.added, "known": done.known, "changed": len(done.changed)}
        show.as_json({**facts, "disputed": rows})
        return
    known = f", {done.known:,} were there already" if done.known else ""
    click.echo(f"{show.count(done.added, 'event')} added to {file}{known}")
    if done.changed:
        click.echo(f"{show.count(len(done.changed), 'verdict')} changed: later ones stand")
    if rows:
        click.echo(f"judged differently by several people: {show.count(len(rows), 'pair')}")
    for row in rows[:_LISTED]:
        names = " and ".join(show.named(str(row[side])) for side in ("left", "right") if row[side] is not None)
        who = ", ".join(f"{show.named(person)} {verdict}" for person, verdict in row["verdicts"].items())
        show.say(f"  {names}: {who}; {row['stands']} stands")
    if len(rows) > _LISTED:
        click.echo(f"  … and {len(rows) - _LISTED:,} more; --json lists all")
