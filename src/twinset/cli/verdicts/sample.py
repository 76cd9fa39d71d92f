"""``twinset verdicts sample``: draw a random sample of pairs to label."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import curves, show
from twinset.cli.support import flags, run
from twinset.options.place import verdicts_beside
from twinset.options.results import SampleVerdictsOptions


@click.command("sample", cls=flags.Command, short_help="Draw a random sample of pairs to label.")
@click.argument("folder", metavar="OUT")
@flags.flags_of(SampleVerdictsOptions)
@flags.shown
def command(folder: str, as_json: bool, **values: Any) -> None:
    """Draw a random sample of the scored pairs of a result of dedup, stratified by similarity.

    Label its pairs with twinset review; then twinset verdicts precision estimates the precision at each threshold.
    Only a random sample can do this: verdicts on pairs that people looked for say nothing about the others. Each range
    of similarity gets its share of the pairs, and each pair is stored with the number of pairs that it stands for.
    The same contents and seed give the same sample.
    """
    given = flags.given(SampleVerdictsOptions, values)
    options = SampleVerdictsOptions.of(**given)
    run.load(lambda text: click.echo(text, err=True), module="jobs.result")
    from twinset.jobs.result import open_dedup
    from twinset.verdicts import limit_of

    drawn = open_dedup(folder).sample(**given)
    file = options.verdicts or str(verdicts_beside(folder))
    strata = [{"from": limit_of(drawn, one.low), "pairs": one.population, "drawn": one.drawn} for one in drawn.strata]
    if as_json:
        pairs = [
            {"left": one.left.id, "right": one.right.id, "score": limit_of(drawn, one.score), "weight": one.weight}
            for one in drawn.pairs
        ]
        show.as_json({"verdicts": file, "population": drawn.population, "strata": strata, "pairs": pairs})
        return
    click.echo(f"{show.count(len(drawn.pairs), 'pair')} of {drawn.population:,} drawn, in {file}")
    limit = "distance up to" if drawn.by_distance else "threshold"
    first = [limit, *(f"{one['from']:g}" for one in strata)]
    numbers = [[name, *(f"{one[name]:,}" for one in strata)] for name in ("pairs", "drawn")]
    click.echo("\n".join(show.columns(first, [numbers], curves.window())))
    click.echo("label them with twinset review, in the order of the sample")
