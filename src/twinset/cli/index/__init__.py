"""``twinset index``: documents kept for years, added, asked for and removed."""

from __future__ import annotations

import click

from twinset.cli.support.lazy_commands import Commands

COMMANDS = (
    *("create", "add", "update", "query", "remove", "stats", "verify", "compact", "export", "import", "migrate"),
)


@click.group(
    "index", cls=Commands, names=COMMANDS, package=__name__, short_help="Keep documents, and ask what is like them."
)
def command() -> None:
    """Keep documents for years: add, ask for those like a text, update, remove.

    INDEX is the path of one file, such as news.twinset, or the URL of a PostgreSQL database (postgresql://…). What a
    command has done is durable when it ends. One program writes at a time, and any number read meanwhile.
    """
