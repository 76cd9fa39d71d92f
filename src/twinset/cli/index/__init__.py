"""``twinset index``: make, change and query an index."""

from __future__ import annotations

import click

from twinset.cli.support.lazy_commands import Commands

COMMANDS = (
    *("create", "add", "update", "query", "remove", "stats", "verify", "compact", "export", "import", "migrate"),
)


@click.group(
    "index", cls=Commands, names=COMMANDS, package=__name__, short_help="Keep documents, and find similar ones."
)
def command() -> None:
    """Keep documents in an index: add, query, update, remove.

    INDEX is the path of one file, such as news.twinset, or the URL of a PostgreSQL database (postgresql://…). The
    changes of a command are durable when it ends. One process writes at a time; any number of processes read.
    """
