"""``twinset index remove``: documents out of an index."""

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
        """Read the words; what looks like an option may have been meant as an id."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            raise click.UsageError(
                f"there is no option {name!r}; an id that begins with - stands after --, as in: -- {name}", ctx
            ) from error


@click.command("remove", cls=_Removing, short_help="Remove documents by their ids.")
@click.argument("index", metavar="INDEX")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@click.option(
    "--ids", "file", cls=flags.Flag, metavar="FILE", help="File of ids, one a line, in UTF-8; - for stdin.",
    group="Index",
)  # fmt: skip
@flags.flags_of(WriteOptions)
@flags.shown
def command(index: str, ids: tuple[str, ...], file: str | None, as_json: bool, **values: Any) -> None:
    """Remove documents, all of them or, if one of the ids is not there, none.

    IDs that begin with - stand after --, as in: twinset index remove news.twinset -- -7. The space is used again by
    documents added later; compact gives it back to the disk.
    """
    words = flags.given(WriteOptions, values)
    WriteOptions.of(**words)
    if bool(ids) == (file is not None):
        came = "both came" if ids else "neither came"
        raise OptionError(f"the documents to remove are named by ids, or by a file of them with --ids FILE; {came}")
    wanted = list(ids) if file is None else _ids_in(file)
    with loaded().open(index) as opened:
        removed = opened.remove(wanted, **words) if wanted else 0
        name, documents = opened.name, len(opened)
    if as_json:
        show.as_json({"index": name, "documents": documents, "removed": removed})
    else:
        click.echo(f"{show.count(removed, 'document')} removed; {name} holds {show.count(documents, 'document')}")


def _ids_in(name: str) -> list[str]:
    """The lines of a file; what ends a line is no part of an id, and empty lines are none."""
    try:
        with click.open_file(name, "rb") as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        raise SourceError((error.strerror or str(error)).lower(), where=name) from error
    except UnicodeDecodeError as error:
        raise SourceError(f"byte {error.start} is not UTF-8; ids are read as UTF-8", where=name) from error
    return [id for line in text.split("\n") if (id := line.removesuffix("\r"))]
