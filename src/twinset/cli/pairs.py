"""``twinset pairs``: every pair at least as similar as the threshold."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.options import PairsOptions
from twinset.options.formats import OUTPUT_ENDINGS, check_output_name
from twinset.options.sketch import holds_sketches
from twinset.system.memory import temporary_folder
from twinset.wording import either

ROWS = 50


@click.command("pairs", cls=flags.Command, short_help="Find every pair of near-duplicates.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(PairsOptions)
@flags.output(f"File for the pairs: {either(OUTPUT_ENDINGS)}.")
@flags.running
def command(
    sources: tuple[str, ...], output: str | None, dry_run: bool, quiet: bool, as_json: bool, **values: Any
) -> None:
    """Find every pair of documents at least as similar as the threshold.

    {sources} A file that twinset sketch made is a SOURCE too: its pairs are estimates.

    Without -o the pairs are shown as a table on a terminal, and written as CSV elsewhere.
    """
    words = flags.given(PairsOptions, values)
    options = PairsOptions.of(**words)
    if output:
        check_output_name(output)
    if dry_run:
        run.dry_run(sources, options, as_json, words, sketches=any(map(holds_sketches, sources)))
        return
    if output:
        summary = _find(sources, output, quiet, options, words)
        if as_json:
            show.as_json(summary)
        elif not quiet:
            for line in _said(summary, f" in {output}"):
                show.say(line)
        return
    show.need_stdout()
    table = sys.stdout.isatty()
    # Pairs are never all in memory: they go through a file even on their way to the screen.
    with temporary_folder(options.scratch) as folder:
        file = Path(folder) / ("pairs.parquet" if table else "pairs.csv")
        summary = _find(sources, str(file), quiet, options, words)
        if as_json:
            show.as_json(summary)
            return
        if table:
            _print_table(file, summary["pairs"])
        else:
            show.copied(file)
    if not quiet:
        for line in _said(summary):
            show.say(line, err=True)


def _find(
    sources: tuple[str, ...], output: str, quiet: bool, options: PairsOptions, words: dict[str, Any]
) -> dict[str, Any]:
    import twinset

    with run.followed(options, quiet, planned=not any(map(holds_sketches, sources))) as progress:
        return dict(twinset.find_pairs(*sources, output=output, progress=progress, **words).summary)


def _said(summary: dict[str, Any], where: str = "") -> list[str]:
    """What a run found, and what of its documents could not be compared as it stands."""
    lines = [_found(summary, where)]
    for name, words in (
        ("unreadable", "unreadable: left out"),
        ("replaced", "with bytes that are not text: replaced"),
    ):
        if summary.get(name):
            lines.append(f"{summary[name]:,} {words}{_such_as(summary, name)}")
    return [*lines, *show.audit(summary["audit"])]


def _such_as(summary: dict[str, Any], name: str) -> str:
    """The first of what a summary counts, with the reason if there is one."""
    named = summary.get("replaced_in", []) if name == "replaced" else summary.get("named", {}).get(name, [])
    if not named:
        return ""
    id, *reason = [named[0]] if isinstance(named[0], str) else named[0]
    return f", such as {show.named(id, 40)}" + "".join(f" ({one})" for one in reason)


def _found(summary: dict[str, Any], where: str = "") -> str:
    pairs = show.count(summary["pairs"], "pair")
    if summary.get("estimate"):
        sketches = show.count(summary["documents"], "sketch", "sketches")
        return f"{pairs} of {sketches}{where}, by estimate: none was verified"
    return f"{pairs} of {show.count(summary['documents'], 'document')}{where}"


def _print_table(file: Path, total: int) -> None:
    import pyarrow.parquet as pq

    if not total:
        return
    with pq.ParquetFile(file) as pairs:
        show.pairs_table(next(pairs.iter_batches(batch_size=ROWS)).to_pylist(), total)
