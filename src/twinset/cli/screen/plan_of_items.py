"""Plan for codes, vectors and weighted sets, as ``twinset plan`` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from twinset.cli.screen import curves, show
from twinset.cli.support import run
from twinset.errors import OptionError
from twinset.options import PairsOptions
from twinset.options.survey import CurveOptions
from twinset.plan.choose import band_plan
from twinset.plan.codes import CodeJoinPlan
from twinset.plan.sparse import SparsePlan

if TYPE_CHECKING:
    from twinset.evaluation.plan_of_items import ItemPlan, Rival
    from twinset.plan.vector_theory import VectorTheory
    from twinset.plan.vectors import VectorPlan

_HYPOTHETICAL: dict[str, Any] = {"dimensions": 128, "vectors": 100_000}
_POINTS = 200


def command(sources: Sequence[str], given: dict[str, Any], options: CurveOptions, plot: str | None, json: bool) -> None:
    """Plan for items with a measure of their own."""
    for name in ("compare", "family"):
        if getattr(options, name):
            raise OptionError(f"--{name} cannot be used with {options.item_flag}: it draws Jaccard curves")
    if plot and options.measure not in ("cosine", "distance"):
        raise OptionError(f"--plot cannot be used with {options.item_flag}: it draws curves of vectors")
    found = _survey(sources, given, json) if sources else None
    chosen: Any = found.plan if found else _hypothetical_plan(options)
    exact = isinstance(chosen, SparsePlan)
    if plot and exact:
        raise OptionError("--plot cannot be used with sparse vectors: every pair is found, so there is no curve")
    vectors = chosen if options.measure in ("cosine", "distance") and not exact else None
    if plot and vectors:
        _plot(plot, vectors)
    if json:
        values = found.to_dict() if found else chosen.to_dict()
        curve = [list(point) for point in vectors.curve()] if vectors else []
        theory = _theory(vectors, found) if vectors else None
        show.as_json({**values, "curve": curve, **({"theory": theory.to_dict()} if theory else {})})
        return
    width = curves.window()
    click.echo(curves.wrapped(str(chosen), width))
    if vectors:
        _print_vectors(vectors, found, width)
    elif found is not None:
        click.echo(f"{show.count(found.items, 'item')} read, {found.distinct:,} of them distinct")
    if plot:
        click.echo(f"\n1 curve in {plot}")


def _hypothetical_plan(options: CurveOptions) -> Any:
    if options.measure == "bits":
        return CodeJoinPlan(64, int(options.reach), int(options.reach) + 1)
    if options.measure == "jaccard":
        return band_plan(options)
    if options.item_kind == "sparse":
        raise OptionError("sparse vectors need no plan: every pair is found; name a source to read them")
    from twinset.plan.vectors import fixed_arguments, vector_plan  # loads NumPy and kernels, which only vectors need

    limit = options.threshold if options.measure == "cosine" else options.reach
    fixed = fixed_arguments(options)
    return vector_plan(limit, options.recall, measure=options.measure, **_HYPOTHETICAL, **fixed)


def _survey(sources: Sequence[str], given: dict[str, Any], quiet: bool) -> ItemPlan:
    known = {name for name, _ in PairsOptions.specs()}
    with run.watched(quiet) as shown:
        from twinset.evaluation.plan_of_items import plan_items

        return plan_items(*sources, progress=shown, **{name: value for name, value in given.items() if name in known})


def _print_vectors(chosen: VectorPlan, found: ItemPlan | None, width: int) -> None:
    """Print the values of the curve, and other plans that reach the recall."""
    at = [point for point, _ in chosen.curve()]
    names = [f"{point:.4g}" for point in at]
    click.echo(f"\nP(found) by {chosen.measure}")
    column = max(6, max(map(len, names)) + 1)
    per_line = max(1, (width - 2) // column)
    shares = ["1" if share >= 1 else f"{min(share, 0.999):.3f}" for _, share in chosen.curve()]
    for start in range(0, len(at), per_line):
        for row in (names, shares):
            click.echo("  " + "".join(f"{cell:>{column}}" for cell in row[start : start + per_line]))
    _print_theory(chosen, found, width)
    if found is None:
        text = f"for {_HYPOTHETICAL['vectors']:,} hypothetical vectors of {_HYPOTHETICAL['dimensions']} dimensions; "
        click.echo("\n" + curves.wrapped(text + "with a SOURCE the plan is made for its vectors", width))
        return
    low, _, middle, _, high = (round(one, 2) + 0.0 for one in found.quantiles() or [0.0] * 5)
    text = f"{show.count(found.items, 'vector')} of {chosen.dimensions} dimensions, {found.distinct:,} of them distinct"
    text += f"; the {chosen.measure} of random pairs is {low:.2f} to {high:.2f}, half of them below {middle:.2f}"
    click.echo("\n" + curves.wrapped(text, width))
    _print_rivals(found.rivals, width)


def _with_tables(chosen: VectorPlan, found: ItemPlan | None) -> VectorPlan | None:
    """The plan, or the cheapest one with hash tables if comparing all with all is cheaper."""
    plans = [chosen, *(one.plan for one in (found.rivals if found else ()))]
    return next((plan for plan in plans if plan.method != "exact"), None)


def _theory(chosen: VectorPlan, found: ItemPlan | None) -> VectorTheory | None:
    """What theory says of hash tables for these vectors; nothing if there are no plans with tables."""
    plan = _with_tables(chosen, found)
    if plan is None:
        return None
    from twinset.plan.vector_theory import VectorTheory  # loads kernels

    return VectorTheory.of(plan, found.distinct if found else _HYPOTHETICAL["vectors"])


def _print_theory(chosen: VectorPlan, found: ItemPlan | None, width: int) -> None:
    """Print near and far, p1, p2 and ρ, and the cost by theory and as expected."""
    theory, plan = _theory(chosen, found), _with_tables(chosen, found)
    if theory is None or plan is None:
        return
    name = {"hyperplane": "bit", "cross-polytope": "cross-polytope", "p-stable": "strip"}[plan.method]
    near, far = f"R = {theory.near:.4g}", f"cR = {theory.far:.4g}"
    if theory.near_cosine is not None:
        near, far = f"{near} (cosine {theory.near_cosine:.4g})", f"{far} (cosine {theory.far_cosine:.4g})"
    text = f"{near}; {far}. One {name} agrees with probability p1 = {theory.p1:.4f} at R and p2 = {theory.p2:.4f}"
    text += f" at cR: ρ = ln(1/p1) / ln(1/p2) = {theory.rho:.3f}"
    click.echo("\n" + curves.wrapped(text, width))
    if theory.functions is not None:
        text = f"theory: n = {theory.vectors:,} vectors need L = n^ρ = {theory.tables:,} tables of k = ln n / ln(1/p2)"
        text += f" = {theory.functions} functions, and a query costs in the order of n^ρ instead of n"
        click.echo(curves.wrapped(text, width))
    cost = plan.expected(theory.vectors, found.background if found else None)
    looked = plan.tables * (1 + plan.probes)
    which = "this plan" if plan is chosen else f"the cheapest plan with tables, {show.count(plan.tables, 'table')}"
    text = f"{which}: a vector looks up {show.count(looked, 'key')}, meets {cost.meetings:,.1f} vectors by chance"
    click.echo(curves.wrapped(f"{text} and is compared with {cost.candidates:,.1f} of them", width))


def _print_rivals(rivals: Sequence[Rival], width: int) -> None:
    if not rivals:
        return
    click.echo("\n" + curves.wrapped(f"Plans that reach {rivals[0].plan.recall:g}, by expected cost:", width))
    click.echo(f"  {'tables':>6} {'probes':>6} {'P(found)':>8} {'cost':>7}  keys")
    least = min(one.cost for one in rivals)
    for one in rivals:
        plan = one.plan
        keys = {"hyperplane": f"{plan.functions} bits", "p-stable": f"{plan.functions} strips", "exact": "all with all"}
        name = keys.get(plan.method, f"{plan.functions} × {plan.width:g} corners")
        mark = "→" if one.chosen else " "
        times = f"{one.cost / least:.1f}×"
        click.echo(f"{mark} {plan.tables:>6} {plan.probes:>6} {show.share(plan.reached):>8} {times:>7}  {name}")


def _plot(file: str, chosen: VectorPlan) -> None:
    from twinset.report.plots import curve_figure

    most = 1.0 if chosen.measure == "cosine" else 2 * chosen.threshold
    points = [most * step / _POINTS for step in range(1, _POINTS + 1)]
    curve_figure(
        {chosen.method: [(point, chosen.p_found(point)) for point in points]},
        file,
        x=chosen.measure,
        y="probability of being found",
        title="How reliably pairs are found",
        vline={f"threshold {chosen.threshold:g}": chosen.threshold},
    )
