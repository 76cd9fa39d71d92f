"""``twinset index remove``: remove documents from an index."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.index.shared import loaded
from twinset.cli.screen import show
from twinset.cli.support import flags
from twinset.errors import OptionError, SourceError
from twinset.options.index import WriteOptions


class _Removing(flags.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; an unknown option may be an id."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            raise click.UsageError(
                f"unknown option {name!r}; write an id that begins with - after --, as in: -- {name}", ctx
            ) from error


@click.command("remove", cls=_Removing, short_help="Remove documents by their ids.")
@click.argument("index", metavar="INDEX")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@click.option(
    "--ids", "file", cls=flags.Flag, metavar="FILE", help="File of ids, one per line, in UTF-8; - for stdin.",
    group="Index",
)  # fmt: skip
@flags.flags_of(WriteOptions)
@flags.shown
def command(index: str, ids: tuple[str, ...], file: str | None, as_json: bool, **values: Any) -> None:
    """Remove documents; if an id is unknown, none is removed.

    Write IDs that begin with - after --, as in: twinset index remove news.twinset -- -7. The space is reused for new
    documents; compact returns it to the disk.
    """
    given = flags.given(WriteOptions, values)
    WriteOptions.of(**given)
    if bool(ids) == (file is not None):
        given_now = "both are given" if ids else "neither is given"
        raise OptionError(f"name the documents to remove by ids, or by a file of ids with --ids FILE; {given_now}")
    wanted = list(ids) if file is None else _ids_in(file)
    with loaded().open(index) as opened:
        removed = opened.remove(wanted, **given) if wanted else 0
        name, documents = opened.name, len(opened)
    if as_json:
        show.as_json({"index": name, "documents": documents, "removed": removed})
    else:
        click.echo(f"{show.count(removed, 'document')} removed; {name} holds {show.count(documents, 'document')}")


def _ids_in(name: str) -> list[str]:
    """Read the ids of a file, one per line; empty lines are skipped."""
    try:
        with click.open_file(name, "rb") as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        raise SourceError((error.strerror or str(error)).lower(), where=name) from error
    except UnicodeDecodeError as error:
        raise SourceError(f"byte {error.start} is not UTF-8; ids are read as UTF-8", where=name) from error
    return [id for line in text.split("\n") if (id := line.removesuffix("\r"))]
