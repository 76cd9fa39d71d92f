"""Print the survey of a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from twinset.cli.screen import curves, show
from twinset.options.checks import shown_size

if TYPE_CHECKING:
    from twinset.evaluation.shingle_length import Length
    from twinset.evaluation.survey import RunEstimate, Survey
    from twinset.plan import Plan

_FEW = 20
_AT_MOST = 3.0  # upper 95 % bound of the expected events when a sample has none


def print_survey(survey: Survey, chosen: Plan, shingle: str | None) -> None:
    """Print the expected outcome of a run, its basis, and for texts the advised shingle length."""
    width = curves.window()
    click.echo()
    size = shown_size(survey.text_bytes)
    share = survey.sampled / max(1, survey.documents)
    if survey.stands_for <= 1:
        basis = "All of them were compared, so pairs are counted, not estimated."
    else:
        basis = f"A sample of {survey.sampled:,} ({share:.2g} of all) was read, {survey.contents:,} of them distinct, "
        basis += f"and the near pairs among {survey.compared:,} were counted exactly: {survey.seen:,} at or above "
        basis += f"{survey.threshold:g}, each representing about {show.about(survey.stands_for)}."
    unit, much = ("element", "") if shingle is None else ("shingle", f"about {size} of text, ")
    each = f"{show.count(round(survey.shingles), unit)}{' each' if survey.documents > 1 else ''}"
    text = f"{show.count(survey.documents, 'document')}, {much}{each}. "
    click.echo(curves.wrapped(f"{text}{basis} Identical copies are counted once.", width))
    click.echo("\nExpected results of a run with the chosen plan:")
    show.facts(_expected(survey, survey.estimate(chosen)))
    if doubt := _doubt(survey):
        click.echo(curves.wrapped(doubt, width))
    if shingle is not None:
        _lengths(survey.lengths, shingle, width)


def _expected(survey: Survey, expected: RunEstimate) -> list[tuple[str, object]]:
    read, join, verify = (show.duration(expected.seconds[name]) for name in ("read", "candidates", "verify"))
    return [
        (f"pairs at {survey.threshold:g} and above", show.about(expected.pairs)),
        ("of them missed", show.about(expected.missed)),
        ("candidates to verify", show.about(expected.candidates)),
        (f"of them below {survey.threshold:g}", show.about(expected.in_vain)),
        (f"time, {show.count(survey.threads, 'thread')}", show.duration(sum(expected.seconds.values()))),
        ("  reading and sketching", read),
        ("  finding candidates", join),
        ("  verifying", verify),
        ("  loading and writing", "not included"),
    ]


def _doubt(survey: Survey) -> str:
    """Return a warning about a small sample."""
    if survey.stands_for <= 1 or survey.seen >= _FEW:
        return ""
    if survey.seen:
        return f"Only {show.count(survey.seen, 'pair')} in the sample: these numbers are rough. --sample N reads more."
    most = show.about(_AT_MOST * survey.stands_for)
    return f"No pair in the sample: there may be none, or up to about {most}. --sample N reads more."


def _lengths(lengths: list[Length], shingle: str, width: int) -> None:
    from twinset.evaluation.shingle_length import ENOUGH, least_length

    if not lengths:
        text = "No two documents of the sample are unrelated, so the shingle length cannot be assessed."
        click.echo("\n" + curves.wrapped(text, width))
        return
    click.echo("\nWhat unrelated documents have in common by chance:")
    click.echo(f"  {'shingle':<8} {'mean':>8} {'1 in 100':>9}")
    widest = max(4, min(30, width - 33))
    for one in lengths:
        mark = " ←" if one.shingle == shingle else ""
        row = f"  {one.shingle:<8} {one.chance:>8.2%} {one.highest:>9.2%}  {show.bar(one.chance, widest)}{mark}"
        click.echo(row.rstrip())
    least = least_length(lengths)
    kind, size = shingle.split(":")
    rule = f"the shortest {kind} shingle with {ENOUGH:.0%} or less in common by chance"
    if least is None:
        text = f"{rule} is longer than {lengths[-1].shingle}: these texts are repetitive."
        text = text[0].upper() + text[1:]
    elif int(size) < int(least.shingle.split(":")[1]):
        text = f"{least.shingle} is {rule}; {shingle} is too short."
    else:
        text = f"{least.shingle} is {rule}; {shingle} is long enough."
        text += " Longer shingles separate documents better; shorter ones tolerate more edits."
    click.echo(curves.wrapped(text, width))
