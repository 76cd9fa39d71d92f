"""``twinset index add``: add documents to an index."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from twinset.cli.index.shared import KINDS, LACKING, READING, notice_swapped, resumable
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

    {sources}

    An index of vectors also reads .npy files, and an index of pictures reads folders of pictures. A document whose id
    and text are already in the index stays unchanged, so an interrupted command resumes when it is run again. A
    document whose id has another text in the index is refused: see update.
    """
    change(index, sources, quiet, as_json, values, replace=False)


def change(
    index: str, sources: tuple[str, ...], quiet: bool, as_json: bool, values: dict[str, Any], *, replace: bool
) -> None:
    """Add documents, or replace them too, and print the counts."""
    given = flags.given(AddOptions, values)
    AddOptions.of(**given)
    with resumable(), notice_swapped(index, sources), run.watched(quiet, READING) as progress:
        import twinset

        with twinset.Index.open(index) as opened:
            work = opened.update if replace else opened.add
            changed = work(sources, progress=progress, **given)
            name, documents, kind = opened.name, len(opened), opened.settings.options.item_kind
    counts = dataclasses.asdict(changed)
    if as_json:
        show.as_json({"index": name, "documents": documents, **counts})
    elif not quiet:
        _print_counts(name, documents, kind, counts)


def _print_counts(name: str, documents: int, kind: str, counts: dict[str, Any]) -> None:
    rows = [
        (counts[key], label)
        for key, label in (
            ("added", "added"),
            ("replaced", f"replaced: their {KINDS.get(kind, 'text')}s have changed"),
            ("unchanged", "unchanged"),
            ("empty", f"of these empty: no {LACKING.get(kind, 'words')}, so no query finds them"),
            ("undecoded", "of these with invalid UTF-8 (replaced)"),
            ("unreadable", "unreadable, skipped"),
        )
        if counts[key] or key == "added"
    ]
    width = max(len(f"{count:,}") for count, _ in rows)
    for count, label in rows:
        click.echo(f"  {count:>{width},}  {label}")
    print_unreadable(counts)
    click.echo(f"{name} holds {show.count(documents, 'document')}")


def print_unreadable(counts: dict[str, Any], err: bool = False) -> None:
    """Print the first unreadable rows, each with the reason."""
    for where, reason in counts["named"][:_NAMED]:
        click.echo(f"  skipped {show.printable(where)}: {reason}", err=err)
    if counts["unreadable"] > _NAMED:
        click.echo(f"  … and {counts['unreadable'] - _NAMED:,} more; --json names the first thousand", err=err)
