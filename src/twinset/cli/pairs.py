"""``twinset pairs``: find every pair of documents at least as similar as the threshold."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from twinset.cli.screen import pairs_table, show
from twinset.cli.support import flags, run
from twinset.options import PairsOptions
from twinset.options.formats import OUTPUT_ENDINGS, check_pairs_name
from twinset.options.items import VECTORS
from twinset.options.sketch import holds_sketches
from twinset.system.memory import temporary_folder
from twinset.wording import either


@click.command("pairs", cls=flags.Command, short_help="Find every pair of near-duplicates.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(PairsOptions)
@flags.output(f"File for the pairs: {either(OUTPUT_ENDINGS)}; or a folder, without such an ending.")
@flags.running
def command(
    sources: tuple[str, ...], output: str | None, dry_run: bool, quiet: bool, as_json: bool, **values: Any
) -> None:
    """Find every pair of documents at least as similar as the threshold.

    With --contained, find every pair in which one document contains at least this share of the other.

    {sources} A file made by twinset sketch is also a SOURCE; its pairs have estimated similarities.

    Without -o the pairs are printed as a table on a terminal, and as CSV otherwise; with --json they are the list
    "found" beside the summary. A folder gets pairs.parquet and summary.json; with --hosts also hosts.parquet.
    """
    given = flags.given(PairsOptions, values)
    options = PairsOptions.of(**given)
    if output:
        check_pairs_name(output)
    if dry_run:
        run.dry_run(sources, options, as_json, given, sketches=any(map(holds_sketches, sources)), output=output)
        return
    if output:
        summary = _find(sources, output, quiet, options, given)
        if as_json:
            show.as_json({**summary, "output": output})
        elif not quiet:
            for line in _summary_lines(summary, f" in {output}"):
                show.say(line)
        return
    show.need_stdout()
    table = sys.stdout.isatty() or as_json
    # Pairs go through a file even to the screen, so that they are never all in memory.
    with temporary_folder(options.scratch) as folder:
        file = Path(folder) / ("pairs.parquet" if table else "pairs.csv")
        try:
            summary = _find(sources, str(file), quiet, options, given)
        except BaseException as error:
            vars(error).pop("__notes__", None)  # the state goes with the folder, so there is nothing to resume
            raise
        if as_json:
            _print_json(file, summary)
            return
        if table:
            contained, sort = options.contained is not None, options.top is None and options.hosts is None
            what = "pairs" if options.hosts is None else "pairs of hosts"
            pairs_table.print_pairs(file, _rows(summary), sort=sort, contained=contained, what=what)
        else:
            show.copied(file)
    if not quiet:
        for line in _summary_lines(summary):
            show.say(line, err=True)


def _find(
    sources: tuple[str, ...], output: str, quiet: bool, options: PairsOptions, given: dict[str, Any]
) -> dict[str, Any]:
    import twinset

    with run.followed(options, quiet, planned=not any(map(holds_sketches, sources))) as progress:
        return dict(twinset.find_pairs(*sources, output=output, progress=progress, **given).summary)


def _summary_lines(summary: dict[str, Any], where: str = "") -> list[str]:
    """Return the counts of pairs, of unreadable documents and of replaced bytes, and the audit."""
    lines = [_hosts_line(summary["hosts"])] if "hosts" in summary else []
    lines.append(_pairs_line(summary, where))
    for name, label in (("unreadable", "unreadable: skipped"), ("replaced", "with undecodable bytes: replaced")):
        if summary.get(name):
            remedy = "; --encoding names another encoding" if name == "replaced" else ""
            lines.append(f"{summary[name]:,} {label}{_such_as(summary, name)}{remedy}")
    contained = summary["options"].get("contained") is not None
    return [*lines, *show.audit(summary["audit"], short=summary.get("short_texts"), contained=contained)]


def _such_as(summary: dict[str, Any], name: str) -> str:
    """Return the first document that a summary counts, with the reason if it has one."""
    named = summary.get("replaced_in", []) if name == "replaced" else summary.get("named", {}).get(name, [])
    if not named:
        return ""
    id, *reason = [named[0]] if isinstance(named[0], str) else named[0]
    return f", such as {show.named(id)}" + "".join(f" ({one})" for one in reason)


def _hosts_line(hosts: dict[str, Any]) -> str:
    none = hosts["pages_without_host"]
    others = f"; {show.count(none, 'page')} without a host left out" if none else ""
    return f"{show.count(hosts['pairs'], 'pair')} of {show.count(hosts['hosts'], 'host')}{others}"


def _pairs_line(summary: dict[str, Any], where: str = "") -> str:
    pairs = show.count(summary["pairs"], "pair")
    if summary.get("estimate"):
        sketches = show.count(summary["documents"], "sketch", "sketches")
        return f"{pairs} of {sketches}{where} (estimated, not verified)"
    return f"{pairs} of {show.count(summary['documents'], 'document')}{where}{_copies(summary)}"


def _print_json(file: Path, summary: dict[str, Any]) -> None:
    """Print the summary with the list of pairs; they are never all in memory."""
    import pyarrow.parquet as pq

    head = json.dumps(summary, ensure_ascii=False, indent=2, default=str).removesuffix("\n}")
    click.echo(f'{head},\n  "found": [', nl=False)
    before = "\n    "
    with pq.ParquetFile(file) as pairs:
        for batch in pairs.iter_batches():
            for row in batch.to_pylist():
                click.echo(before + json.dumps(row, ensure_ascii=False), nl=False)
                before = ",\n    "
    click.echo("\n  ]\n}" if _rows(summary) else "]\n}")


def _rows(summary: dict[str, Any]) -> int:
    """Return the number of rows of the output: pairs of documents, or of hosts."""
    return int(summary["hosts"]["pairs"] if "hosts" in summary else summary["pairs"])


def _copies(summary: dict[str, Any]) -> str:
    """Say how identical copies are counted: they are compared once, so there may be more pairs than candidates."""
    copies, options = summary["identical"], PairsOptions.of(**summary["options"])
    if not copies or not summary["pairs"]:
        return ""
    what = {"images": "with an equal hash", "codes": "with an equal code"}
    what.update(dict.fromkeys(VECTORS, "with an equal vector"))
    some = what.get(options.item_kind, "an identical copy" if copies == 1 else "identical copies")
    paired = "with the first one only" if options.identical == "link" else "like the first"
    return f" ({copies:,} {some}{show.verbatim(summary)}: compared once, paired {paired})"
