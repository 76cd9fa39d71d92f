"""``twinset verdicts precision``: estimate the precision at each threshold from the labels of a sample."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import curves, show
from twinset.cli.support import flags
from twinset.options.results import PrecisionOptions


@click.command("precision", cls=flags.Command, short_help="Estimate the precision at each threshold.")
@click.argument("file", metavar="FILE")
@flags.flags_of(PrecisionOptions)
@flags.shown
def command(file: str, as_json: bool, **values: Any) -> None:
    """Estimate the precision at each threshold: the share of the pairs at or above it that are duplicates.

    The estimate uses the labels of a random sample (twinset verdicts sample) and no other verdicts. Pairs judged
    unsure count as wrong for the lower end of the interval, and as right for the upper end.
    """
    options = PrecisionOptions.of(**flags.given(PrecisionOptions, values))
    from twinset.verdicts import VerdictStore, estimate_precision

    with VerdictStore(file, read_only=True) as store:
        found = estimate_precision(store, options.sample)
    least = None if options.precision is None else found.least_limit(options.precision)
    name = "distance" if found.sample.by_distance else "threshold"
    counts = {"sampled": found.sampled, "duplicate": found.right, "different": found.wrong, "unsure": found.unsure,
              "to_label": found.left_out}  # fmt: skip
    if as_json:
        rows = [
            {name: one.limit, "pairs": one.pairs, "judged": one.judged, "precision": one.precision, "low": one.low,
             "high": one.high}
            for one in found.rows
        ]  # fmt: skip
        asked = {} if options.precision is None else {"asked": options.precision, name: least and least.limit}
        show.as_json({"verdicts": file, **counts, "rows": rows, **({"least": asked} if asked else {})})
        return
    click.echo(
        f"{show.count(found.sampled, 'pair')} sampled of {found.sample.population:,}: {found.right:,} duplicate, "
        f"{found.wrong:,} different, {found.unsure:,} unsure, {found.left_out:,} to label"
    )
    shares = ["unknown" if one.precision is None else show.share(one.precision) for one in found.rows]
    columns = [
        ["pairs", *(f"{one.pairs:,}" for one in found.rows)],
        ["judged", *(f"{one.judged:,}" for one in found.rows)],
        ["precision", *shares],
        ["95 % interval", *(f"{show.share(one.low)} to {show.share(one.high)}" for one in found.rows)],
    ]
    first = [name, *(f"{one.limit:g}" for one in found.rows)]
    click.echo("\n".join(show.columns(first, [columns], curves.window())))
    if options.precision is not None:
        _print_least(least, options.precision, name)


def _print_least(least: Any, precision: float, name: str) -> None:
    """Print the threshold that keeps a precision."""
    first = "highest distance" if name == "distance" else "lowest threshold"
    if least is None:
        click.echo(f"no {name} has a precision of at least {precision:g} for sure; label more pairs")
    else:
        click.echo(f"{first} with a precision of at least {precision:g}: {least.limit:g}")
