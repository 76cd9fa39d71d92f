"""``twinset evaluate``: how well near-duplicates are found."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import click

from twinset.cli.screen import curves, show
from twinset.cli.support import flags, run
from twinset.options import DedupOptions
from twinset.options.evaluate import EvaluateOptions

# Heading, column, and whether it counts; the rest are shares.
_PAIRS = (
    ("found", "found_pairs", True),
    ("true", "true_pairs", True),
    ("both", "true_pairs_found", True),
    ("precision", "precision", False),
    ("recall", "recall", False),
    ("F1", "f1", False),
    ("reduction", "reduction_ratio", False),
)
_CLUSTERS = (
    ("exact sets", "exact_set_accuracy", False),
    ("ARI", "adjusted_rand", False),
    ("B³ prec.", "b_cubed_precision", False),
    ("B³ recall", "b_cubed_recall", False),
    ("B³ F1", "b_cubed_f1", False),
)
_SHOWN_IDS = 5


@click.command("evaluate", cls=flags.Command, short_help="Measure how well near-duplicates are found.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(EvaluateOptions)
@flags.output("Folder for the measures: evaluation.json, measures.csv, shares.csv, definitions.txt and plots.")
@click.option("--quiet", is_flag=True, cls=flags.Flag, help="Print no progress and no table.")
@flags.shown
def command(sources: tuple[str, ...], output: str | None, quiet: bool, as_json: bool, **values: Any) -> None:
    """Measure precision, recall and F1 of pairs, and how well clusters agree with the truth.

    {sources}

    The truth is a file of pairs or of clusters (--truth FILE), or what the exact join finds (--exact). One run at the
    lowest threshold finds and scores all pairs; every threshold is then a cut of them. Its plan is made for the lowest
    threshold, so a sweep may find more at a high threshold than a run made for that one.
    """
    words = flags.given(EvaluateOptions, values)
    options = EvaluateOptions.of(**words)
    import twinset

    # The run is that of a dedup at the lowest threshold, and so is its plan.
    known = {name for name, _ in DedupOptions.words()}
    searching = {name: value for name, value in words.items() if name in known}
    alike = options.measure in ("jaccard", "cosine")
    lowest = DedupOptions.of(**{**searching, **({"threshold": options.thresholds[0]} if alike else {})})
    with run.followed(lowest, quiet) as progress:
        done = twinset.evaluate(*sources, output=output, progress=progress, **words)
    summary = done.summary
    if as_json:
        show.as_json(summary)
    elif not quiet:
        _print(summary, "threshold" if alike else "distance")
        if output:
            click.echo(f"\nwritten to {output}")


def _print(summary: dict[str, Any], what: str) -> None:
    width = curves.window()
    for said in (*_about(summary["truth"]), *_looked_at(summary["sampled"])):
        click.echo(curves.wrapped(said, width))
    rows = summary["measures"]
    first = [what, *(f"{row['threshold']:g}" for row in rows)]
    groups = [[_column(rows, *one) for one in group] for group in (_PAIRS, _CLUSTERS)]
    for line in show.columns(first, groups, width):
        click.echo(line)
    best = summary["best"]
    if best is not None and len(rows) > 1:
        click.echo()
        click.echo(curves.wrapped(f"highest F1: {show.share(best['f1'])} at threshold {best['threshold']:g}", width))
    nothing = any("-" in column for group in groups for column in group)
    click.echo()
    for heading, name, _ in (*_PAIRS, *_CLUSTERS):
        said = f"{heading}: {_defined(summary['definitions'][name], nothing)}"
        click.echo(textwrap.fill(said, width, subsequent_indent="  ", break_on_hyphens=False))


def _column(rows: Sequence[dict[str, Any]], heading: str, name: str, counts: bool) -> list[str]:
    """A column of the table; a measure that is not defined is a dash."""
    values = [row[name] for row in rows]
    return [heading, *("-" if one is None else f"{one:,}" if counts else show.share(one) for one in values)]


def _defined(text: str, nothing: bool) -> str:
    """What a measure is; when it is none is said only where some are dashes."""
    what, _, none = text.partition(" Null where ")
    return f"{what} - where {none}" if none and nothing else what


def _looked_at(sampled: dict[str, int]) -> list[str]:
    """Say so where the share found at each similarity is that of some of the true pairs."""
    if sampled["looked_at"] == sampled["true_pairs"]:
        return []
    some, every = (f"{sampled[name]:,}" for name in ("looked_at", "true_pairs"))
    return [f"share found by similarity: measured on {some} of {every} true pairs, at even steps through their list"]


def _about(truth: dict[str, Any]) -> list[str]:
    """What a person should know about the truth before believing the numbers."""
    lines = []
    if truth.get("unknown_ids"):
        some = ", ".join(show.shortened(str(id), 40) for id in truth["unknown"][:_SHOWN_IDS])
        more = ", …" if truth["unknown_ids"] > _SHOWN_IDS else ""
        lines.append(
            f"truth: {show.count(truth['unknown_ids'], 'id')} of no document ({some}{more}); "
            f"{show.count(truth['rows_left_out'], 'row')} left out"
        )
    if truth.get("unnamed_documents"):
        lines.append(f"truth: {show.count(truth['unnamed_documents'], 'document')} not named, taken as alone")
    if truth.get("repeated"):
        lines.append(f"truth: {show.count(truth['repeated'], 'repeated pair')}, counted once")
    if truth.get("with_itself"):
        lines.append(f"truth: {show.count(truth['with_itself'], 'pair')} of a document with itself, left out")
    return lines
