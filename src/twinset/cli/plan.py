"""``twinset plan``: the numbers behind a threshold and a recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from twinset.cli.screen import curves, plan_of_items, show
from twinset.cli.screen import survey as surveyed
from twinset.cli.support import flags, run
from twinset.errors import OptionError
from twinset.options import PlanOptions
from twinset.options.checks import new_file
from twinset.options.items import MEASURED, ItemOptions
from twinset.options.survey import CurveOptions, SurveyOptions
from twinset.plan.choose import band_plan
from twinset.plan.ranking import Curve, Ranked, banded, families, ranked, table_of

if TYPE_CHECKING:
    from twinset.evaluation.survey import Survey
    from twinset.plan import Plan

_POINTS = 200
_TABLE = 60  # columns that the table of plans needs


@click.command("plan", cls=flags.Command, short_help="Show how surely near-duplicates are found.")
@click.argument("sources", nargs=-1, metavar="[SOURCE...]")
@flags.flags_of(CurveOptions)
@click.option("--plot", cls=flags.Flag, metavar="FILE", help="Draw the curves into a file: .svg or .png.")
@flags.shown
def command(sources: tuple[str, ...], plot: str | None, as_json: bool, **values: Any) -> None:
    """Show the hashes, bands and rows chosen, and how surely pairs are found.

    A pair of similarity s becomes a candidate with probability 1-(1-s^rows)^bands. Every candidate is then
    verified exactly, so the curve tells what may be missed, never what may be wrong.

    With a SOURCE a sample of it is read, and the run is foreseen: pairs, candidates, misses, time, and how long a
    shingle must be so that unrelated documents have little in common. {sources}

    With --codes, --vectors or weighted sets the plan is that of their kind. Of vectors it depends on the vectors
    themselves: a SOURCE is read whole, and the plans of other methods are ranked beside the one chosen.
    """
    words = flags.given(CurveOptions, values)
    options = CurveOptions.of(**words)
    if not sources:
        _refuse_reading(words, options)
    others = [banded(one) for one in options.compare]
    others += [curve for one in options.family for curve in families(one)]
    if plot:
        from twinset.report.plots import check_figure

        check_figure(plot)
        new_file(plot, options.force)
    if options.item_kind in MEASURED:
        plan_of_items.command(sources, words, options, plot, as_json)
        return
    chosen = band_plan(options)
    found = _survey(sources, words, as_json) if sources else None
    ranking = _ranking(options, found)
    if plot:
        _plot(plot, chosen, others)
    if as_json:
        show.as_json(_values(chosen, others, ranking, found))
        return
    click.echo(curves.wrapped(str(chosen), curves.window()))
    _curves(chosen, others, len(options.compare))
    _ranked(ranking, found)
    if found is not None:
        surveyed.tell(found, chosen, options.shingle if options.item_kind == "text" else None)
    if plot:
        click.echo(f"\n{show.count(1 + len(others), 'curve')} in {plot}")


def _refuse_reading(words: dict[str, Any], options: CurveOptions) -> None:
    """Refuse options that say how a source is read where there is none."""
    known = {name for name, _ in PlanOptions.words()} | {"compare", "family", "force"}
    if options.item_kind in MEASURED:
        known |= {name for name, _ in ItemOptions.words()}
    for name, word in CurveOptions.words():
        if name in words and name not in known:
            raise OptionError(f"{word.spellings(name)[0]} has no meaning without a SOURCE; name one, or leave it out")


def _survey(sources: Sequence[str], words: dict[str, Any], quiet: bool) -> Survey:
    known = {name for name, _ in SurveyOptions.words()}
    with run.watched(quiet) as shown:
        from twinset.evaluation.survey import survey

        return survey(*sources, progress=shown, **{name: value for name, value in words.items() if name in known})


def _ranking(options: CurveOptions, found: Survey | None) -> list[Ranked]:
    words = (options.threshold, options.recall, options.n_hashes, options.n_bands, options.rows_per_band)
    if found is None:
        return ranked(*words)
    return ranked(*words, pairs=found.pairs, shingles=found.shingles)


def _values(chosen: Plan, others: list[Curve], ranking: list[Ranked], found: Survey | None) -> dict[str, Any]:
    values = {
        **chosen.to_dict(),
        "curve": [list(point) for point in chosen.curve()],
        "ranked": [one.to_dict() for one in ranking],
        "compared": [curve.to_dict() for curve in others],
    }
    if found is not None:
        from twinset.evaluation.shingle_length import least_length

        for value, one in zip(values["ranked"], ranking, strict=True):
            value["expected"] = found.estimate(one.plan).to_dict()
        least = least_length(found.lengths)
        values["survey"] = {
            **found.to_dict(),
            "expected": found.estimate(chosen).to_dict(),
            "least_shingle": least.shingle if least else None,
        }
    return values


def _plot(file: str, chosen: Plan, others: list[Curve]) -> None:
    from twinset.report.plots import curve_figure

    at = [point / _POINTS for point in range(_POINTS + 1)]
    lines = {f"{_name(chosen)}, the plan": [(s, chosen.p_found(s)) for s in at]}
    lines |= {curve.name: [(s, curve.p_found(s)) for s in at] for curve in others}
    curve_figure(
        lines,
        file,
        x="similarity",
        y="probability of being found",
        title="How surely pairs are found",
        vline={f"threshold {chosen.threshold:g}": chosen.threshold},
    )


def _hashes(chosen: Plan) -> str:
    return f"{chosen.n_hashes} {'hash' if chosen.n_hashes == 1 else 'hashes'}"


def _name(chosen: Plan) -> str:
    return f"{chosen.n_bands}×{chosen.rows_per_band}"


def _curves(chosen: Plan, others: list[Curve], named: int) -> None:
    """Draw the curves and write them as numbers: those named one by one, and of large families some."""
    width = curves.window()
    some = others[:named][: curves.MOST_DRAWN - 1]
    family = others[named:]
    some += [family[place] for place in curves.spread(len(family), curves.MOST_DRAWN - 1 - len(some))]
    every: list[Plan | Curve] = [chosen, *some]
    names = [_name(chosen), *(curve.name for curve in some)]
    if some:
        names = [f"{curves.letter(number)} {name}" for number, name in enumerate(names)]
    click.echo()
    for line in curves.drawn(every, width, chosen.threshold):
        click.echo(line)
    click.echo()
    for line in curves.table(names, table_of(every), width):
        click.echo(line)
    if len(some) < len(others):
        text = f"{len(some)} of {len(others)} curves are drawn; --plot FILE draws all, --json has all numbers."
        click.echo(curves.wrapped(text, width))
    text = f"▲ is the threshold. The curve rises near {chosen.step:.2f}. "
    text += f"A candidate with fewer than {chosen.min_matches} of {_hashes(chosen)} equal is dropped; "
    click.echo("\n" + curves.wrapped(f"{text}every other one is verified exactly.", width))


def _row(one: Ranked, found: Survey | None, least: float) -> tuple[str, ...]:
    """A plan, as the cells of its row."""
    plan = one.plan
    mark, cut = "→" if one.chosen else " ", f"{plan.n_bands}×{plan.rows_per_band}"
    head = (mark, str(plan.n_hashes), cut, show.share(plan.reached), f"{plan.step:.2f}")
    if found is None:
        return (*head, f"{one.missed_above:.2%}", f"{one.met_below:.1%}", f"{one.cost.total / least:.1f}×")
    expected = found.estimate(plan)
    seconds = sum(expected.seconds.values())
    return (*head, show.about(expected.missed), show.about(expected.candidates), show.duration(seconds))


def _ranked(ranking: list[Ranked], found: Survey | None) -> None:
    """Print the plans side by side."""
    width, threshold = curves.window(), ranking[0].plan.threshold
    click.echo()
    collection = "this collection" if found else "a supposed collection"
    click.echo(curves.wrapped(f"Plans that reach {ranking[0].plan.recall:g}, by their cost on {collection}:", width))
    last = ("missed", "verified", "time") if found else ("missed", "in vain", "cost")
    rows: list[tuple[str, ...]] = [(" ", "hashes", "bands×rows", "P(found)", "step", *last)]
    rows += [_row(one, found, ranking[0].cost.total) for one in ranking]
    if width < _TABLE:
        marks, hashes, cuts, reached, steps, *others = zip(*rows, strict=True)
        first = [f"{mark} {cut:>10}" for mark, cut in zip(marks, cuts, strict=True)]
        click.echo("\n".join(show.columns(first, [[hashes, reached, steps], others], width)))
    else:
        for row in rows:
            line = f"{row[0]} {row[1]:>6} {row[2]:>10} {row[3]:>8} {row[4]:>4}"
            click.echo(line + "".join(f" {one:>8}" for one in row[5:]))
    text = "→ is chosen. "
    if found is None:
        text += f"missed: of pairs spread evenly from {threshold:g} to 1. in vain: of pairs spread evenly below, "
        text += "the share that is verified and refused. cost: against the least, reading apart."
    else:
        text += "missed and verified are pairs; they and the time are estimates. "
        text += "The choice itself does not depend on the documents, so that it never changes with their order."
    click.echo(curves.wrapped(text, width))
