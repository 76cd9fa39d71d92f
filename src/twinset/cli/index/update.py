"""``twinset index update``: add documents to an index, or replace them."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.index.add import change
from twinset.cli.support import flags
from twinset.options.index import AddOptions


@click.command("update", cls=flags.Command, short_help="Add documents, and replace changed ones.")
@click.argument("index", metavar="INDEX")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(AddOptions)
@flags.watched
def command(index: str, sources: tuple[str, ...], quiet: bool, as_json: bool, **values: Any) -> None:
    """Add documents to an index, and replace those that have another text under the same id.

    {sources}

    An id that appears twice with different texts is refused.
    """
    change(index, sources, quiet, as_json, values, replace=True)
