"""Print the measures of detected passages."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from twinset.cli.screen import curves, show

_SHOWN_IDS = 5
_MEASURES = ("plagdet", "precision", "recall", "granularity")
_COUNTS = (
    ("cases", "cases"), ("detected cases", "detected_cases"), ("detections", "detections"),
    ("false detections", "false_detections"),
)  # fmt: skip


def print_scores(summary: dict[str, Any], definitions: bool) -> None:
    """Print notes about the truth, the measures and counts, and on request their definitions."""
    width = curves.window()
    for line in _truth_notes(summary["truth"]):
        click.echo(curves.wrapped(line, width))
    measures, elsewhere = summary["measures"], summary["elsewhere"]
    shown = [(name, "-" if measures[name] is None else show.share(measures[name])) for name in _MEASURES]
    show.facts([*shown, *((heading, measures[name]) for heading, name in _COUNTS)])
    if elsewhere["passages"]:
        where = f"{show.count(elsewhere['passages'], 'passage')} in {show.count(elsewhere['pairs'], 'document pair')}"
        click.echo(curves.wrapped(f"elsewhere: {where} that the truth does not name, not counted", width))
    nothing = any(value == "-" for _, value in shown)
    if not definitions:
        click.echo(curves.wrapped("--definitions explains each measure" + " and what - means" * nothing, width))
        return
    click.echo()
    names = [(name, name) for name in _MEASURES]
    for heading, name in (*names, *_COUNTS, *[("elsewhere", "elsewhere")] * bool(elsewhere["passages"])):
        text = f"{heading}: {summary['definitions'][name].replace('Null where', '- where')}"
        click.echo(textwrap.fill(text, width, subsequent_indent="  ", break_on_hyphens=False))


def _truth_notes(truth: dict[str, Any]) -> list[str]:
    """Return a line for each irregularity of the truth."""
    lines = []
    if truth["unknown_ids"]:
        some = ", ".join(_unknown(str(id), truth["similar"]) for id in truth["unknown"][:_SHOWN_IDS])
        more = ", …" if truth["unknown_ids"] > _SHOWN_IDS else ""
        lines.append(
            f"truth: {show.count(truth['unknown_ids'], 'unknown id')} ({some}{more}); "
            f"{show.count(truth['rows_left_out'], 'row')} skipped"
        )
    if truth["repeated"]:
        lines.append(f"truth: {show.count(truth['repeated'], 'repeated passage')}, counted once")
    if truth.get("within_one_side"):
        lines.append(f"truth: {show.count(truth['within_one_side'], 'passage')} within one side, skipped")
    if truth["with_itself"]:
        lines.append(f"truth: {show.count(truth['with_itself'], 'passage')} within a document, skipped (see --within)")
    return lines


def _unknown(id: str, similar: dict[str, str]) -> str:
    """Return an unknown id, with a guess if there is one."""
    guess = similar.get(id)
    return show.shortened(id, 40) + (f", did you mean {show.shortened(guess, 40)}?" if guess else "")
