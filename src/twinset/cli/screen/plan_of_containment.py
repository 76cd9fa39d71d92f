"""The plan of a search for containment, as ``twinset plan`` prints it."""

from __future__ import annotations

from collections.abc import Sequence

import click

from twinset.cli.screen import curves, show
from twinset.errors import OptionError
from twinset.options.survey import CurveOptions
from twinset.plan.choose import containment_plan
from twinset.plan.containment import ContainmentPlan

_POINTS = 200
_RAREST = (1.0, 0.75, 0.5, 0.25, 0.1)
"""Shares of a document's shingles from which those it is filed under may be drawn."""


def command(sources: Sequence[str], options: CurveOptions, plot: str | None, as_json: bool) -> None:
    """Print the plan, how many shingles a document is filed under, and the probability of finding a pair."""
    for given, flag in ((sources, "a SOURCE"), (options.compare, "--compare"), (options.family, "--family")):
        if given:
            raise OptionError(f"{flag} cannot be used with --contained: its plan needs no documents and has no bands")
    chosen = containment_plan(options)
    if plot:
        _plot(plot, chosen)
    if as_json:
        curve = [list(point) for point in chosen.curve()]
        filed = [{"rarest": rarest, "shingles": chosen.draws_from(rarest)} for rarest in _RAREST]
        show.as_json({**chosen.to_dict(), "curve": curve, "filed": filed})
        return
    width = curves.window()
    click.echo(curves.wrapped(str(chosen), width))
    click.echo()
    for line in curves.drawn([chosen], width, chosen.threshold, "containment"):
        click.echo(line)
    text = "Number of shingles under which a large document is filed, drawn from its rarest ones. Drawn from a larger "
    click.echo("\n" + curves.wrapped(text + "share, fewer are enough, but they are more common.", width))
    for rarest in _RAREST:
        draws = chosen.draws_from(rarest)
        if draws is not None:
            click.echo(f"  {draws:>4}  of the rarest {rarest:.0%}")
    text = "▲ is the requested containment. Every document looks up all its shingles, and every candidate is verified "
    click.echo("\n" + curves.wrapped(text + "exactly.", width))
    if plot:
        click.echo(f"\n1 curve in {plot}")


def _plot(file: str, chosen: ContainmentPlan) -> None:
    from twinset.report.plots import curve_figure

    curve_figure(
        {f"{show.count(chosen.draws, 'shingle')}": [(0.0, 0.0), *chosen.curve(_POINTS)]},
        file,
        x="containment",
        y="probability of being found",
        title="How reliably a contained document is found",
        vline={f"containment {chosen.threshold:g}": chosen.threshold},
    )
