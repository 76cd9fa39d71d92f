"""``twinset report``: write a result as one HTML page."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.options.checks import shown_size
from twinset.options.results import ReportOptions


@click.command("report", cls=flags.Command, short_help="Write a result as one HTML page.")
@click.argument("folder", metavar="OUT")
@flags.flags_of(ReportOptions)
@flags.output("File for the report, ending in .html; with --card in .md, without it the card is printed.")
@flags.shown
def command(folder: str, output: str | None, as_json: bool, **values: Any) -> None:
    """Write a result as one self-contained HTML page. OUT is the result folder, or the file of kept rows beside it.

    It shows the options, the counts, the audit, the similarities of the pairs, the probability of finding a pair, the
    clusters with their differences side by side, and a searchable list of the removed documents. The page works
    offline. It contains texts of the documents unless --no-texts is given.

    With --card it is the section Deduplication of a data set card, as Markdown: counts, clusters, recall, options and
    the command that repeats the run. OUT may then also be a result of pairs or trim.
    """
    given = flags.given(ReportOptions, values)
    checked = ReportOptions.of(**given)
    if output is None and (not checked.card or as_json):
        raise click.UsageError("missing -o: name a file for the report", click.get_current_context())
    run.load(lambda text: click.echo(text, err=True))
    if output is None:
        from twinset.jobs.report import card

        click.echo(card(folder), nl=False)
        return
    import twinset

    page = twinset.report(folder, output, **given)
    size = page.stat().st_size
    if as_json:
        show.as_json({"card" if checked.card else "report": str(page), "bytes": size})
    else:
        click.echo(f"{'card' if checked.card else 'report'}: {page} ({shown_size(size)})")
