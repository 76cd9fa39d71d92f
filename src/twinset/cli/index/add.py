"""``twinset index add``: documents into an index."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from twinset.cli.index.shared import KINDS, LACKING, READING, resumable
from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.options.index import AddOptions

_NAMED = 5


@click.command("add", cls=flags.Command, short_help="Add documents.")
@click.argument("index", metavar="INDEX")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(AddOptions)
@flags.watched
def command(index: str, sources: tuple[str, ...], quiet: bool, as_json: bool, **values: Any) -> None:
    """Add documents to an index.

    A SOURCE is a folder of text files, a file (.txt, .jsonl, .csv, .tsv, .parquet, .arrow; also compressed),
    a pattern such as 'news/*.jsonl', or - for JSON lines on stdin; what its documents are, the index knows: .npy files
    are vectors, and folders may hold pictures. A document whose id and text are there already
    is left as it is, so that a command that was stopped is simply run again. One whose id is there with another
    text is refused: see update.
    """
    change(index, sources, quiet, as_json, values, replace=False)


def change(
    index: str, sources: tuple[str, ...], quiet: bool, as_json: bool, values: dict[str, Any], *, replace: bool
) -> None:
    """Add documents, or replace them too, and say what was done."""
    words = flags.given(AddOptions, values)
    AddOptions.of(**words)
    with resumable(), run.watched(quiet, READING) as progress:
        import twinset

        with twinset.Index.open(index) as opened:
            work = opened.update if replace else opened.add
            changed = work(sources, progress=progress, **words)
            name, documents, kind = opened.name, len(opened), opened.settings.options.item_kind
    found = dataclasses.asdict(changed)
    if as_json:
        show.as_json({"index": name, "documents": documents, **found})
    elif not quiet:
        _tell(name, documents, kind, found)


def _tell(name: str, documents: int, kind: str, found: dict[str, Any]) -> None:
    rows = [
        (found[key], words)
        for key, words in (
            ("added", "added"),
            ("replaced", f"replaced: their {KINDS.get(kind, 'text')}s had changed"),
            ("unchanged", "there already, unchanged"),
            ("empty", f"of these empty: they hold no {LACKING.get(kind, 'word')}, and are like nothing"),
            ("undecoded", "of these with bytes that are not text (replaced)"),
            ("unreadable", "unreadable, left out"),
        )
        if found[key] or key == "added"
    ]
    width = max(len(f"{count:,}") for count, _ in rows)
    for count, words in rows:
        click.echo(f"  {count:>{width},}  {words}")
    tell_unreadable(found)
    click.echo(f"{name} holds {show.count(documents, 'document')}")


def tell_unreadable(found: dict[str, Any], err: bool = False) -> None:
    """Name the first rows that could not be read, each with the reason."""
    for where, reason in found["named"][:_NAMED]:
        click.echo(f"  left out {show.shortened(where, 60)}: {reason}", err=err)
    if found["unreadable"] > _NAMED:
        click.echo(f"  … and {found['unreadable'] - _NAMED:,} more; --json names the first thousand", err=err)
