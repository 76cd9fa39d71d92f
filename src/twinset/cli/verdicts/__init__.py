"""``twinset verdicts``: export and import verdicts, list conflicts, and estimate precision from a sample."""

from __future__ import annotations

import click

from twinset.cli.support.lazy_commands import Commands

COMMANDS = ("sample", "precision", "conflicts", "export", "import")


@click.group(
    "verdicts", cls=Commands, names=COMMANDS, package=__name__, short_help="Export, import and use people's verdicts."
)
def command() -> None:
    """Work with the verdicts that people gave in twinset review.

    FILE is a file of verdicts, such as OUT.verdicts beside the result OUT. dedup --verdicts FILE and recut OUT
    --verdicts obey them.
    """
