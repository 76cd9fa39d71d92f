"""``twinset plan``: show the plan for a threshold and a recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from twinset.cli.screen import curves, plan_of_containment, plan_of_items, show
from twinset.cli.screen import survey as survey_screen
from twinset.cli.support import flags, run
from twinset.errors import OptionError
from twinset.options import ContainmentOptions, TableOptions
from twinset.options.checks import new_file
from twinset.options.items import MEASURED, ItemOptions
from twinset.options.survey import CurveOptions, SurveyOptions
from twinset.plan.choose import band_plan
from twinset.plan.ranking import Curve, Ranked, banded, families, ranked, table_of

if TYPE_CHECKING:
    from twinset.evaluation.survey import Survey
    from twinset.plan import Plan

_POINTS = 200
_TABLE = 60  # minimum width of the table of plans


@click.command("plan", cls=flags.Command, short_help="Show how reliably near-duplicates are found.")
@click.argument("sources", nargs=-1, metavar="[SOURCE...]")
@flags.flags_of(CurveOptions)
@click.option("--plot", cls=flags.Flag, metavar="FILE", help="Write a plot of the curves to a file: .svg or .png.")
@flags.shown
def command(sources: tuple[str, ...], plot: str | None, as_json: bool, **values: Any) -> None:
    """Show the chosen hashes, bands and rows, and the probability of finding a pair.

    A pair of similarity s becomes a candidate with probability 1-(1-s^rows)^bands: the curve "candidates". It is found
    if enough hashes of the two sketches are equal, too: the curve "found". Every pair that is found is then verified
    exactly, so pairs can be missed, but no reported pair is wrong.

    With a SOURCE a sample of it is read to estimate the pairs, candidates, missed pairs and time of a run, and the
    shingle length at which unrelated documents have little in common. {sources}

    With --contained the plan shows under how many shingles each document is filed. It does not depend on a SOURCE.

    With --codes, --vectors or weighted sets the plan is that of their kind. A plan for vectors depends on the vectors:
    the SOURCE is read completely, and the plans of other methods are ranked, too.
    """
    given = flags.given(CurveOptions, values)
    options = CurveOptions.of(**given)
    if not sources:
        _refuse_reading(given, options)
    others = [banded(one) for one in options.compare]
    others += [curve for one in options.family for curve in families(one)]
    if plot:
        from twinset.report.plots import check_figure

        check_figure(plot)
        new_file(plot, options.force)
    if options.contained is not None:
        plan_of_containment.command(sources, options, plot, as_json)
        return
    if options.item_kind in MEASURED:
        plan_of_items.command(sources, given, options, plot, as_json)
        return
    chosen = band_plan(options)
    survey = _survey(sources, given, as_json) if sources else None
    ranking = _ranking(options, survey)
    if plot:
        _plot(plot, chosen, others)
    if as_json:
        show.as_json(_values(chosen, others, ranking, survey))
        return
    click.echo(curves.wrapped(str(chosen), curves.window()))
    _curves(chosen, others, len(options.compare))
    _ranked(ranking, survey)
    if survey is not None:
        survey_screen.print_survey(survey, chosen, options.shingle if options.item_kind == "text" else None)
    if plot:
        click.echo(f"\n{show.count(1 + len(others), 'curve')} in {plot}")


def _refuse_reading(given: dict[str, Any], options: CurveOptions) -> None:
    """Refuse options for reading a source without a source."""
    known = {name for name, _ in ContainmentOptions.specs()} | {"compare", "family", "force"}
    if options.item_kind in MEASURED:
        known |= {name for kind in (ItemOptions, TableOptions) for name, _ in kind.specs()}
    for name, spec in CurveOptions.specs():
        if name in given and flags.typed(name) and name not in known:
            raise OptionError(f"{spec.spellings(name)[0]} cannot be used without a SOURCE; name one, or leave it out")


def _survey(sources: Sequence[str], given: dict[str, Any], quiet: bool) -> Survey:
    known = {name for name, _ in SurveyOptions.specs()}
    with run.watched(quiet) as shown:
        from twinset.evaluation.survey import survey

        return survey(*sources, progress=shown, **{name: value for name, value in given.items() if name in known})


def _ranking(options: CurveOptions, survey: Survey | None) -> list[Ranked]:
    choice = (options.threshold, options.recall, options.n_hashes, options.n_bands, options.rows_per_band)
    if survey is None:
        return ranked(*choice)
    return ranked(*choice, pairs=survey.pairs, shingles=survey.shingles)


def _values(chosen: Plan, others: list[Curve], ranking: list[Ranked], survey: Survey | None) -> dict[str, Any]:
    values = {
        **chosen.to_dict(),
        "curve": [list(point) for point in chosen.curve()],
        "candidates": [[s, one.p_found(s)] for one in _banded(chosen) for s, _ in chosen.curve()],
        "ranked": [one.to_dict() for one in ranking],
        "compared": [curve.to_dict() for curve in others],
    }
    if survey is not None:
        from twinset.evaluation.shingle_length import least_length

        for value, one in zip(values["ranked"], ranking, strict=True):
            value["expected"] = survey.estimate(one.plan).to_dict()
        least = least_length(survey.lengths)
        values["survey"] = {
            **survey.to_dict(),
            "expected": survey.estimate(chosen).to_dict(),
            "least_shingle": least.shingle if least else None,
        }
    return values


def _plot(file: str, chosen: Plan, others: list[Curve]) -> None:
    from twinset.report.plots import curve_figure

    at = [point / _POINTS for point in range(_POINTS + 1)]
    lines = {f"{_name(chosen)}, the plan: found": [(s, chosen.p_found(s)) for s in at]}
    lines |= {f"{one.name}: candidates": [(s, one.p_found(s)) for s in at] for one in (*_banded(chosen), *others)}
    curve_figure(
        lines,
        file,
        x="similarity",
        y="probability",
        title="Candidates by bands, 1-(1-s^r)^b, and pairs found",
        vline={f"threshold {chosen.threshold:g}": chosen.threshold},
    )


def _hashes(chosen: Plan) -> str:
    return f"{chosen.n_hashes} {'hash' if chosen.n_hashes == 1 else 'hashes'}"


def _name(chosen: Plan) -> str:
    return f"{chosen.n_bands}×{chosen.rows_per_band}"


def _banded(chosen: Plan) -> list[Curve]:
    """Return the curve of the candidates of a plan, which an exact one does not have."""
    return [] if chosen.exact else [Curve(_name(chosen), chosen.n_bands, chosen.rows_per_band)]


def _curves(chosen: Plan, others: list[Curve], named: int) -> None:
    """Draw the curves and print their values; of a large family, only some are drawn."""
    width = curves.window()
    candidates = _banded(chosen)
    room = curves.MOST_DRAWN - 1 - len(candidates)
    some = others[:named][:room]
    family = others[named:]
    some += [family[number] for number in curves.spread(len(family), room - len(some))]
    every: list[Plan | Curve] = [chosen, *candidates, *some]
    names = [f"{_name(chosen)} found", *(f"{curve.name} candidates" for curve in candidates)]
    names += [curve.name for curve in some]
    if some:
        names = [f"{curves.letter(number)} {name}" for number, name in enumerate(names)]
    click.echo()
    for line in curves.drawn(every if some else every[:1], width, chosen.threshold):
        click.echo(line)
    click.echo()
    for line in curves.table(names, table_of(every), width):
        click.echo(line)
    if len(some) < len(others):
        text = f"{len(some)} of {len(others)} curves are drawn; --plot FILE draws all, --json has all numbers."
        click.echo(curves.wrapped(text, width))
    text = f"▲ is the threshold. The curves rise near {chosen.step:.2f}. Candidates share a band: 1-(1-s^r)^b"
    text += ", also in the curves to compare with. " if some else ". "
    text += f"A candidate with fewer than {chosen.min_matches} of {_hashes(chosen)} equal is dropped; "
    click.echo("\n" + curves.wrapped(f"{text}every other one is found, and verified exactly.", width))


def _row(one: Ranked, survey: Survey | None, least: float) -> tuple[str, ...]:
    """Return the cells of the row of a plan."""
    plan = one.plan
    mark, cut = "→" if one.chosen else " ", f"{plan.n_bands}×{plan.rows_per_band}"
    head = (mark, str(plan.n_hashes), cut, show.share(plan.reached), f"{plan.step:.2f}")
    if survey is None:
        return (*head, f"{one.missed_above:.2%}", f"{one.met_below:.1%}", f"{one.cost.total / least:.1f}×")
    expected = survey.estimate(plan)
    seconds = sum(expected.seconds.values())
    return (*head, show.about(expected.missed), show.about(expected.candidates), show.duration(seconds))


def _ranked(ranking: list[Ranked], survey: Survey | None) -> None:
    """Print the plans side by side."""
    width, threshold = curves.window(), ranking[0].plan.threshold
    click.echo()
    collection = "this collection" if survey else "a hypothetical collection"
    click.echo(curves.wrapped(f"Plans that reach {ranking[0].plan.recall:g}, by their cost on {collection}:", width))
    last = ("missed", "verified", "time") if survey else ("missed", "false", "cost")
    rows: list[tuple[str, ...]] = [(" ", "hashes", "bands×rows", "P(found)", "step", *last)]
    rows += [_row(one, survey, ranking[0].cost.total) for one in ranking]
    if width < _TABLE:
        marks, hashes, cuts, reached, steps, *others = zip(*rows, strict=True)
        first = [f"{mark} {cut:>10}" for mark, cut in zip(marks, cuts, strict=True)]
        click.echo("\n".join(show.columns(first, [[hashes, reached, steps], others], width)))
    else:
        for row in rows:
            line = f"{row[0]} {row[1]:>6} {row[2]:>10} {row[3]:>8} {row[4]:>4}"
            click.echo(line + "".join(f" {one:>8}" for one in row[5:]))
    text = "→ is chosen. "
    if survey is None:
        text += f"missed: share missed of pairs spread evenly from {threshold:g} to 1. false: share of false "
        text += f"candidates among pairs spread evenly below {threshold:g}. "
        text += "cost: relative to the cheapest plan, reading excluded."
    else:
        text += "missed and verified are numbers of pairs; they and the time are estimates. "
        text += "The choice does not depend on the documents or their order."
    click.echo(curves.wrapped(text, width))
