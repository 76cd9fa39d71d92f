"""``twinset evaluate``: measure how well near-duplicates are found."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import click

from twinset.cli.screen import curves, passage_scores, show
from twinset.cli.support import flags, run
from twinset.options import DedupOptions
from twinset.options.evaluate import EvaluateOptions

# Heading, column, and whether it is a count; the others are shares.
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
@flags.output(
    "Folder for the measures: evaluation.json, measures.csv, definitions.txt, shares.csv and plots; with --passages "
    "cases.csv, detections.csv and elsewhere.csv instead of shares.csv and plots."
)
@click.option("--definitions", is_flag=True, cls=flags.Flag, help="Also print the definition of each measure.")
@click.option("--quiet", is_flag=True, cls=flags.Flag, help="Print no progress and no table.")
@flags.shown
def command(
    sources: tuple[str, ...], output: str | None, definitions: bool, quiet: bool, as_json: bool, **values: Any
) -> None:
    """Measure precision, recall and F1 of pairs, and the agreement of clusters with the truth.

    {sources}

    The truth is a file of pairs or of clusters (--truth FILE), or the exact join (--exact). One run at the lowest
    threshold finds and scores all pairs; every higher threshold selects from them. The plan is made for the lowest
    threshold, so a sweep may find more pairs at a high threshold than a run at that threshold.

    With --against only pairs between the sources and the other source count, found or true: left of a true pair is an
    id of the sources, right one of the other source. Such pairs make no clusters.

    With --passages FILE passages are searched instead of pairs, and compared with the true ones: precision, recall,
    granularity and plagdet, as at PAN. A document is named by its id, or by its file name with or without ending.
    """
    given = flags.given(EvaluateOptions, values)
    options = EvaluateOptions.of(**given)
    import twinset

    if options.passages is not None:
        with run.watched(quiet, "jobs.evaluate") as progress:
            summary = twinset.evaluate(*sources, output=output, progress=progress, **given).summary
        _show(summary, output, quiet, as_json, lambda: passage_scores.print_scores(summary, definitions))
        return

    # The run and its plan are those of a dedup at the lowest threshold.
    known = {name for name, _ in DedupOptions.specs()}
    searching = {name: value for name, value in given.items() if name in known}
    alike = not options.by_distance
    swept = {"threshold": options.thresholds[0]} if options.measure in ("jaccard", "cosine") else {}
    lowest = DedupOptions.of(**{**searching, **swept})
    with run.followed(lowest, quiet) as progress:
        done = twinset.evaluate(*sources, output=output, progress=progress, **given)
    summary, what = done.summary, "threshold" if alike else "distance"
    if options.contained is not None:
        what = "contained"
    _show(summary, output, quiet, as_json, lambda: _print(summary, what, definitions))


def _show(
    summary: dict[str, Any], output: str | None, quiet: bool, as_json: bool, print_tables: Callable[[], None]
) -> None:
    if as_json:
        show.as_json(summary)
    elif not quiet:
        print_tables()
        if output:
            click.echo(f"\nwritten to {output}")


def _print(summary: dict[str, Any], what: str, definitions: bool) -> None:
    width = curves.window()
    for line in (*_truth_notes(summary["truth"]), *_sample_notes(summary["sampled"])):
        click.echo(curves.wrapped(line, width))
    rows = summary["measures"]
    first = [what, *(f"{row['threshold']:g}" for row in rows)]
    no_clusters = summary["options"]["against"] or summary["options"].get("contained") is not None
    shown = (_PAIRS,) if no_clusters else (_PAIRS, _CLUSTERS)
    groups = [[_column(rows, *one) for one in group] for group in shown]
    for line in show.columns(first, groups, width):
        click.echo(line)
    best = summary["best"]
    if best is not None and len(rows) > 1:
        click.echo()
        click.echo(curves.wrapped(f"highest F1: {show.share(best['f1'])} at threshold {best['threshold']:g}", width))
    nothing = any("-" in column for group in groups for column in group)
    if not definitions:
        click.echo(curves.wrapped("--definitions explains each column" + " and what - means" * nothing, width))
        return
    click.echo()
    for heading, name, _ in (one for group in shown for one in group):
        text = f"{heading}: {_defined(summary['definitions'][name], nothing)}"
        click.echo(textwrap.fill(text, width, subsequent_indent="  ", break_on_hyphens=False))


def _column(rows: Sequence[dict[str, Any]], heading: str, name: str, counts: bool) -> list[str]:
    """Return a column of the table; an undefined measure is a dash."""
    values = [row[name] for row in rows]
    return [heading, *("-" if one is None else f"{one:,}" if counts else show.share(one) for one in values)]


def _defined(text: str, nothing: bool) -> str:
    """Return the definition of a measure; the condition for null only if the table has dashes."""
    what, _, none = text.partition(" Null where ")
    return f"{what} - where {none}" if none and nothing else what


def _sample_notes(sampled: dict[str, int]) -> list[str]:
    """Return a line if the share found by similarity was measured on a sample of the true pairs."""
    if sampled["looked_at"] == sampled["true_pairs"]:
        return []
    some, every = (f"{sampled[name]:,}" for name in ("looked_at", "true_pairs"))
    return [f"share found by similarity: measured on an even sample of {some} of {every} true pairs"]


def _truth_notes(truth: dict[str, Any]) -> list[str]:
    """Return a line for each irregularity of the truth."""
    lines = []
    if truth.get("unknown_ids"):
        some = ", ".join(show.shortened(str(id), 40) for id in truth["unknown"][:_SHOWN_IDS])
        more = ", …" if truth["unknown_ids"] > _SHOWN_IDS else ""
        lines.append(
            f"truth: {show.count(truth['unknown_ids'], 'unknown id')} ({some}{more}); "
            f"{show.count(truth['rows_left_out'], 'row')} skipped"
        )
    if truth.get("unnamed_documents"):
        lines.append(f"truth: {show.count(truth['unnamed_documents'], 'document')} not named, each its own cluster")
    if truth.get("repeated"):
        lines.append(f"truth: {show.count(truth['repeated'], 'repeated pair')}, counted once")
    if truth.get("within_one_side"):
        lines.append(f"truth: {show.count(truth['within_one_side'], 'pair')} within one side, skipped")
    if truth.get("with_itself"):
        lines.append(f"truth: {show.count(truth['with_itself'], 'pair')} of a document with itself, skipped")
    return lines
