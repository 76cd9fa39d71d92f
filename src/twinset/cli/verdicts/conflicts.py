"""``twinset verdicts conflicts``: list verdicts that contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags

if TYPE_CHECKING:
    from twinset.verdicts import Conflict

_LISTED = 12


@click.command("conflicts", cls=flags.Command, short_help="List verdicts that contradict each other.")
@click.argument("file", metavar="FILE")
@flags.shown
def command(file: str, as_json: bool) -> None:
    """List verdicts that contradict each other: A and B are duplicates, B and C are, but A and C are different.

    Two principal documents that are duplicates of each other are listed, too. dedup and recut obey each verdict on the
    pair that it is on, and count the conflicts.
    """
    from twinset.verdicts import VerdictStore

    with VerdictStore(file, read_only=True) as store:
        found = store.conflicts()
    if as_json:
        show.as_json({"verdicts": file, "conflicts": [_plain(one) for one in found]})
        return
    click.echo(show.count(len(found), "conflict") if found else "no conflicts")
    for one in found[:_LISTED]:
        chain = " = ".join(show.named(content.id) for content in one.contents)
        first, last = (show.named(one.contents[at].id) for at in (0, -1))
        people = ", ".join(sorted({show.named(state.who) for state in (*one.chain, *one.against)}))
        end = f"{first} ≠ {last}" if one.kind == "different" else f"{first} and {last} are principal"
        show.say(f"  {chain}, but {end} ({people})")
    if len(found) > _LISTED:
        click.echo(f"  … and {len(found) - _LISTED:,} more; --json lists all")


def _plain(conflict: Conflict) -> dict[str, Any]:
    states = [
        {
            "verdict": one.verdict, "left": one.left.id, "right": one.right.id if one.right else None, "who": one.who,
            "note": one.note,
        }
        for one in (*conflict.chain, *conflict.against)
    ]  # fmt: skip
    return {"kind": conflict.kind, "contents": [one.id for one in conflict.contents], "verdicts": states}
