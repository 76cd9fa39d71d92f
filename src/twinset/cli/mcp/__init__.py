"""``twinset mcp``: tools for agents."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.support import flags
from twinset.options.web.mcp import McpOptions


@click.command("mcp", cls=flags.Command, short_help="Serve indexes and results to agents.")
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER...")
@flags.flags_of(McpOptions)
def command(folders: tuple[str, ...], **values: Any) -> None:
    """Serve the indexes and results in some folders to agents: an MCP server on standard input and output.

    Its tools find near-duplicates of a text in an index, compare two texts, find shared passages, explain a removal and
    summarise a result. Only files in a FOLDER are read, and nothing is written. The server is started by its client,
    and ends with it.
    """
    options = McpOptions.of(**flags.given(McpOptions, values))
    from twinset.mcp.server import serve_folders

    serve_folders(folders, options, lambda text: click.echo(text, err=True))
