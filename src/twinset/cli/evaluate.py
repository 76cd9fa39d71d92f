"""``twinset evaluate``: how well near-duplicates are found."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from ..evaluate_options import EvaluateOptions
from ..options import DedupOptions
from . import flags, running, show

# Heading, column, how it is written.
_TABLE = (
    ("threshold", "threshold", "g"),
    ("found", "found_pairs", ",d"),
    ("true", "true_pairs", ",d"),
    ("both", "true_pairs_found", ",d"),
    ("precision", "precision", ".4f"),
    ("recall", "recall", ".4f"),
    ("F1", "f1", ".4f"),
    ("exact sets", "exact_set_accuracy", ".4f"),
    ("ARI", "adjusted_rand", ".4f"),
    ("B³ prec.", "b_cubed_precision", ".4f"),
    ("B³ recall", "b_cubed_recall", ".4f"),
    ("B³ F1", "b_cubed_f1", ".4f"),
)
_SHOWN_IDS = 5
_WIDTH = 100


@click.command("evaluate", cls=flags.Command, short_help="Measure how well near-duplicates are found.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(EvaluateOptions)
@flags.output("Folder for the measures: evaluation.json, measures.csv, shares.csv, definitions.txt and plots.")
@click.option("--quiet", is_flag=True, cls=flags.Flag, help="Print no progress and no table.")
@flags.shown
def command(sources: tuple[str, ...], output: str | None, quiet: bool, as_json: bool, **values: Any) -> None:
    """Measure precision, recall and F1 of pairs, and how well clusters agree with the truth.

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
    lowest = DedupOptions.of(**{**searching, "threshold": options.thresholds[0]})
    with running.followed(lowest, quiet) as progress:
        done = twinset.evaluate(*sources, output=output, progress=progress, **words)
    summary = done.summary
    if as_json:
        show.as_json(summary)
    elif not quiet:
        _print(summary)
        if output:
            click.echo(f"\nwritten to {output}")


def _print(summary: dict[str, Any]) -> None:
    for said in _about(summary["truth"]):
        click.echo(said)
    cells = [[heading for heading, _, _ in _TABLE]]
    cells += [
        ["-" if row[name] is None else format(row[name], form) for _, name, form in _TABLE]
        for row in summary["measures"]
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_TABLE))]
    for line in cells:
        click.echo("  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)))
    best = summary["best"]
    if best is not None and len(summary["measures"]) > 1:
        click.echo(f"\nhighest F1: {best['f1']:.4f} at threshold {best['threshold']:g}")
    click.echo("")
    names = {column: heading for heading, column, _ in _TABLE}
    for name, text in summary["definitions"].items():
        if name in names:
            click.echo(textwrap.fill(f"{names[name]}: {text}", _WIDTH, subsequent_indent="    "))


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
