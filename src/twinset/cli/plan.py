"""``twinset plan``: the numbers behind a threshold and a recall."""

from __future__ import annotations

from typing import Any

import click

from .. import plan
from ..options import PlanOptions
from . import flags, show

NAMES = ("threshold", "recall", "n_hashes", "n_bands", "rows_per_band")


@click.command("plan", cls=flags.Command, short_help="Show how surely near-duplicates are found.")
@flags.flags_of(PlanOptions)
@flags.shown
def command(as_json: bool, **values: Any) -> None:
    """Show the hashes, bands and rows chosen, and how surely pairs are found.

    A pair of similarity s becomes a candidate with probability 1-(1-s^rows)^bands. Every candidate is then
    verified exactly, so the table tells what may be missed, never what may be wrong.
    """
    words = flags.given(PlanOptions, values)
    PlanOptions.of(**words)
    chosen = plan(**{name: value for name, value in words.items() if name in NAMES})
    if as_json:
        show.as_json({**chosen.to_dict(), "curve": [list(point) for point in chosen.curve()]})
        return
    click.echo(chosen)
    click.echo("\nsimilarity   P(found)")
    for similarity, probability in chosen.curve():
        mark = "  ← threshold" if abs(similarity - chosen.threshold) < 1e-9 else ""
        click.echo(f"{similarity:>10.1f}   {probability:>8.4f}  {show.bar(probability)}{mark}")
    click.echo(
        f"\nThe curve rises near {chosen.step:.2f}. A candidate with fewer than {chosen.min_matches} of "
        f"{chosen.n_hashes} hashes equal is dropped;\nevery other one is verified exactly."
    )
