"""``twinset index create``: make an empty index."""

from __future__ import annotations

import shlex
from typing import Any

import click

from twinset.cli.index.shared import loaded
from twinset.cli.screen import show
from twinset.cli.support import flags
from twinset.options.index import IndexOptions


@click.command("create", cls=flags.Command, short_help="Make an empty index.")
@click.argument("index", metavar="INDEX")
@flags.flags_of(IndexOptions)
@flags.shown
def command(index: str, as_json: bool, **values: Any) -> None:
    """Make an empty index.

    INDEX is the path of the file to make, such as news.twinset, or the URL of a PostgreSQL database
    (postgresql://USER@HOST/DATABASE). Its options are stored in it and cannot be changed later. Its documents are
    texts, or records with several --text, sets with --items or --group (weighted sets with --weight), bit codes with
    --codes, vectors with --vectors, pictures with --images.
    """
    given = flags.given(IndexOptions, values)
    IndexOptions.of(**given)
    with loaded().create(index, **given) as created:
        if as_json:
            show.as_json(created.stats())
            return
        click.echo(f"{created.name}: an empty index")
        if created.settings.options.shingle != given.get("shingle", created.settings.options.shingle):
            click.echo(f"shingles: {created.settings.options.shingle}, chosen from the lengths of the sample")
        click.echo(f"plan: {created.plan or 'made when the first documents are added'}")
        click.echo(f"next: twinset index add {shlex.quote(created.name)} SOURCE...")
