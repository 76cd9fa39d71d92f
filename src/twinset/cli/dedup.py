"""``twinset dedup``: the clean collection, and a reason for every document removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.errors import OptionError
from twinset.options import DedupOptions


@click.command("dedup", cls=flags.Command)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(DedupOptions)
@flags.output("Folder for the result; needed unless --dry-run.")
@flags.running
def command(
    sources: tuple[str, ...], output: str | None, dry_run: bool, quiet: bool, as_json: bool, **values: Any
) -> None:
    """Remove near-duplicates, and say why for each.

    {sources}

    The folder OUT holds kept/ (the clean data, in the format of the input), removed.parquet (each removed
    document with the kept one it resembles), clusters.parquet, pairs.parquet and summary.json. It appears
    whole or not at all. A run that was stopped goes on where it was when started again with the same words.

    With --index the documents are new arrivals: they are compared with all documents of the index too,
    removed.parquet names the earlier document, and what is kept is added to the index.
    """
    words = flags.given(DedupOptions, values)
    options = DedupOptions.of(**words)
    if dry_run:
        run.dry_run(sources, options, as_json, words)
        return
    if not output:
        raise OptionError("there is no output; name a folder for the result with -o OUT")
    import twinset

    with run.followed(options, quiet) as progress:
        result = twinset.dedup(*sources, output=output, progress=progress, **words)
    if as_json:
        show.as_json(result.summary)
    elif not quiet:
        print_summary(result.summary, output, DedupOptions.of(**result.summary["options"]))


_ONE = {
    "documents": "document",
    "clusters": "cluster",
    "pairs": "pair",
    "removed as near-duplicates": "removed as a near-duplicate",
    "flagged as duplicates": "flagged as a duplicate",
}


def _one(words: str) -> str:
    """The words for one where they stand for many."""
    what, comma, rest = words.partition(",")
    return _ONE.get(what, what) + comma + rest


def _pairs(options: DedupOptions) -> str:
    """What the pairs are called: those that remove nothing are told."""
    if options.lowest == options.limit:
        return "pairs"
    return f"pairs, up to {options.farthest:g} apart" if options.by_distance else f"pairs, down to {options.least:g}"


def print_summary(summary: dict[str, Any], output: str, options: DedupOptions) -> None:
    """Print what a run found and where it lies."""
    marked = "flagged as duplicates" if options.flag else "removed as near-duplicates"
    rows: list[tuple[str, object]] = [
        ("documents", summary["documents"]),
        ("kept", summary["kept"]),
        (marked, summary["removed"]),
    ]
    index = summary.get("index") or {}
    rows += [
        (words, index[name])
        for name, words in (
            ("matched", f"of these because of documents in {index.get('name')}"),
            ("added", f"added to {index.get('name')}"),
            ("there", f"kept that {index.get('name')} had already"),
        )
        if name in index and (index[name] or name != "there")
    ]
    rows += [
        (words, summary[name])
        for name, words in (
            ("empty", "empty (kept)"),
            ("unreadable", "unreadable (left out, named in unreadable.parquet)"),
            ("replaced", "with bytes that are not text (replaced)"),
            ("clusters", "clusters"),
            ("pairs", _pairs(options)),
        )
        if isinstance(summary.get(name), int) and (summary[name] or name in ("clusters", "pairs"))
    ]
    width = max(len(f"{value:,}") for _, value in rows)
    for words, value in rows:
        click.echo(f"  {value:>{width},}  {_one(words) if value == 1 else words}")
    for line in show.audit(summary["audit"], f"in {Path(output) / 'missed.parquet'}"):
        show.say(line)
    if index:
        click.echo(
            f"index: {show.count(index['documents'], 'earlier document')} asked; one at {options.threshold:g} is found "
            f"with probability {show.share(index['recall'])}"
        )
    folder = Path(output)
    if any((folder / "kept").iterdir()):
        click.echo(f"{'all rows, flagged' if options.flag else 'clean data'}: {folder / 'kept'}")
    if (folder / "kept.txt").exists():
        click.echo(f"the files to keep: {folder / 'kept.txt'}")
    click.echo(f"a reason for every {'flag' if options.flag else 'removal'}: {folder / 'removed.parquet'}")
