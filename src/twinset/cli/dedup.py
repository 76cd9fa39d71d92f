"""``twinset dedup``: remove near-duplicates, with a reason for every removal."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.errors import OptionError
from twinset.options import DedupOptions
from twinset.options.formats import ROW_ENDINGS
from twinset.options.place import Place, names_in_place
from twinset.system.addresses import is_address
from twinset.wording import either


@click.command("dedup", cls=flags.Command, short_help="Remove near-duplicates.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(DedupOptions)
@flags.output(f"Folder for the result, or file for the kept rows: {either(ROW_ENDINGS)}. Needed unless --dry-run.")
@flags.running
def command(
    sources: tuple[str, ...], output: str | None, dry_run: bool, quiet: bool, as_json: bool, **values: Any
) -> None:
    """Remove near-duplicates, with a reason for every removal.

    {sources}

    The folder OUT contains kept/ (the clean data, in the format of the input), removed.parquet (each removed document
    with the kept one it resembles), clusters.parquet, pairs.parquet and summary.json. It appears only when complete.
    An interrupted run resumes when the same command is run again.

    If OUT is the name of a file, such as clean.parquet or clean.jsonl.gz, the kept rows of all sources are written to
    this one file, in this format, and everything else to the folder OUT.details.

    With --contained a document is removed if a kept one contains at least this share of it. Larger documents are
    processed first, so that the container is kept; the keep policy orders documents of equal size.

    With --index the documents are also compared with all documents of an index. removed.parquet then names the
    document of the index, and the kept documents are added to the index.
    """
    given = flags.given(DedupOptions, values)
    options = DedupOptions.of(**given)
    Place.of(output)  # refuses a name that is neither that of a folder nor of a file of rows
    if dry_run:
        run.dry_run(sources, options, as_json, given, output=output)
        return
    if not output:
        raise OptionError("missing output; name a folder or a file for the result with -o OUT")
    import twinset

    with run.followed(options, quiet) as progress:
        result = twinset.dedup(*sources, output=output, progress=progress, **given)
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


def _one(label: str) -> str:
    """Return the singular of a label."""
    what, comma, rest = label.partition(",")
    return _ONE.get(what, what) + comma + rest


def _pairs(options: DedupOptions) -> str:
    """Return the label of the pairs; a floor below the threshold is part of it."""
    if options.lowest == options.limit:
        return "pairs"
    return f"pairs, distance up to {options.farthest:g}" if options.by_distance else f"pairs, down to {options.least:g}"


def _copies(summary: dict[str, Any], options: DedupOptions) -> str:
    """Say how many pairs are between identical copies, which are compared once and are not candidates."""
    copies = summary["identical"]
    if not copies or summary["against"] or summary.get("index"):
        return ""
    what = {"images": "equal hashes", "codes": "equal codes", "vectors": "equal vectors", "sparse": "equal vectors"}
    some = "" if copies == summary["pairs"] else f"{copies:,} of them "
    return f", {some}between {what.get(options.item_kind, 'identical copies')}{show.verbatim(summary)}"


def _print_tables(tables: dict[str, str], summary: dict[str, Any], options: DedupOptions) -> None:
    """Print the audit and the tables of a result that is not on this machine."""
    for line in show.audit(summary["audit"], "in the summary", None, options):
        show.say(line)
    click.echo(f"{'all rows, flagged' if options.flag else 'clean data'}: {tables['kept']}")
    click.echo(f"a reason for every {'flag' if options.flag else 'removal'}: {tables['removed']}")


def _print_verdicts(judged: dict[str, Any]) -> None:
    """Print how many verdicts were obeyed, which were not and why, and the conflicts among them."""
    used = ", ".join(f"{judged[kind]:,} {kind}" for kind in ("duplicate", "different", "principal"))
    show.say(f"verdicts of {judged['file']} obeyed: {used}")
    unused = judged["unused"]
    reasons = [
        (unused["absent"], "on contents that are not here"),
        (unused["other_basis"], "on contents that were compared in another way (other items, shingles or seed)"),
        (unused["one_side"], "on two documents of one side, which --against does not compare"),
        (unused["unsure"], "unsure"),
    ]
    if any(count for count, _ in reasons):
        show.say(f"verdicts not used: {', '.join(f'{count:,} {why}' for count, why in reasons if count)}")
    if judged["in_conflict"]:
        chain = " = ".join(map(show.named, judged["conflicts"][0]))
        show.say(
            f"{show.count(judged['in_conflict'], 'conflict')} among the verdicts, such as {chain}; each verdict was "
            f"obeyed on its own pair; twinset verdicts conflicts {judged['file']} lists them"
        )
    if judged["principals_removed"]:
        some = ", ".join(map(show.named, judged["principals_removed"][:_NAMED]))
        show.say(f"principal documents that were removed because of another principal or a duplicate: {some}")


_NAMED = 3


def print_summary(summary: dict[str, Any], output: str, options: DedupOptions) -> None:
    """Print the counts of a run and the paths of its output."""
    marked = "flagged as duplicates" if options.flag else "removed as near-duplicates"
    if options.contained is not None:
        marked = f"{'flagged' if options.flag else 'removed'}, contained in a kept one"
    rows: list[tuple[str, object]] = [
        ("documents", summary["documents"]),
        ("kept", summary["kept"]),
        (marked, summary["removed"]),
    ]
    index = summary.get("index") or {}
    rows += [
        (label, index[name])
        for name, label in (
            ("matched", f"of these because of documents in {index.get('name')}"),
            ("added", f"added to {index.get('name')}"),
            ("there", f"kept, already in {index.get('name')}"),
        )
        if name in index and (index[name] or name != "there")
    ]
    rows += [
        (label, summary[name])
        for name, label in (
            ("left_alone", f"with fewer than {options.least_shingles} shingles (kept)"),
            ("empty", "empty (kept)"),
            ("unreadable", "unreadable (skipped, listed in unreadable.parquet)"),
            ("replaced", "with undecodable bytes (replaced)"),
            ("clusters", "clusters"),
            ("pairs", _pairs(options) + _copies(summary, options)),
        )
        if isinstance(summary.get(name), int) and (summary[name] or name in ("clusters", "pairs"))
    ]
    judged = summary.get("verdicts") or {}
    if judged:
        rows.insert(3, ("of these because of a verdict", judged["removed"]))
    width = max(len(f"{value:,}") for _, value in rows)
    for label, value in rows:
        click.echo(f"  {value:>{width},}  {_one(label) if value == 1 else label}")
    show.say_replaced(summary)
    if judged:
        _print_verdicts(judged)
    tables = summary.get("tables")
    if tables is None and is_address(output):
        file, folder_name = names_in_place(output)
        tables = {"kept": file or f"{folder_name}/kept", "removed": f"{folder_name}/removed.parquet"}
    if tables:
        _print_tables(tables, summary, options)
        return
    place = Place.named(output)
    folder = place.folder
    missed = f"in {folder / 'missed.parquet'}"
    for line in show.audit(
        summary["audit"], missed, summary.get("short_texts"), options, contained=options.contained is not None
    ):
        show.say(line)
    if index:
        click.echo(
            f"index: compared with {show.count(index['documents'], 'document')}; a match at {options.threshold:g} is "
            f"found with a probability of at least {show.share(index['recall'])}"
        )
    written = "all rows, flagged" if options.flag else "clean data"
    if place.file is not None:
        click.echo(f"{written}: {place.file}")
    elif any((folder / "kept").iterdir()):
        click.echo(f"{written}: {folder / 'kept'}")
    if (folder / "kept.txt").exists():
        copy = "" if options.copy or place.file is not None else f" (a list; --copy copies them to {folder / 'kept'})"
        click.echo(f"files to keep: {folder / 'kept.txt'}{copy}")
    click.echo(f"a reason for every {'flag' if options.flag else 'removal'}: {folder / 'removed.parquet'}")
