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
@flags.output("File for the report, ending in .html.", required=True)
@flags.shown
def command(folder: str, output: str, as_json: bool, **values: Any) -> None:
    """Write a result as one self-contained HTML page. OUT is the result folder, or the file of kept rows beside it.

    It shows the options, the counts, the audit, the similarities of the pairs, the probability of finding a pair, the
    clusters with their differences side by side, and a searchable list of the removed documents. The page works
    offline. It contains texts of the documents unless --no-texts is given.
    """
    given = flags.given(ReportOptions, values)
    ReportOptions.of(**given)
    import twinset

    run.load(lambda text: click.echo(text, err=True))
    page = twinset.open_result(folder).report(output, **given)
    size = page.stat().st_size
    if as_json:
        show.as_json({"report": str(page), "bytes": size})
    else:
        click.echo(f"report: {page} ({shown_size(size)})")
