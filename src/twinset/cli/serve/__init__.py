"""``twinset serve``: answer questions about indexes over HTTP."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.support import flags, run
from twinset.options.web import ServeOptions


@click.command("serve", cls=flags.Command, short_help="Serve indexes over HTTP.")
@click.argument("indexes", nargs=-1, required=True, metavar="INDEX...")
@flags.flags_of(ServeOptions)
def command(indexes: tuple[str, ...], **values: Any) -> None:
    """Serve one or more indexes over HTTP: add, query, read and remove documents, compare texts, fold rankings.

    An INDEX is a file or the URL of a PostgreSQL database (postgresql://...). Requests name it by its file without the
    ending, or by its schema. Every request needs a token, and the server answers on this machine only, unless --host
    says otherwise. The routes are described at /openapi.json. SIGTERM and Ctrl-C end the server when the requests that
    it works on are answered.
    """
    options = ServeOptions.of(**flags.given(ServeOptions, values))
    run.load(lambda text: click.echo(text, err=True), "web.api.run")
    from twinset.web.api.run import serve_indexes

    serve_indexes(indexes, options, announce=lambda url: click.echo(f"serving at {url}"))
