"""``twinset report``: a result as one page to look at, to print and to hand on."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.options.checks import shown_size
from twinset.options.results import ReportOptions


@click.command("report", cls=flags.Command)
@click.argument("folder", metavar="OUT")
@flags.flags_of(ReportOptions)
@flags.output("File for the report, ending in .html.", required=True)
@flags.shown
def command(folder: str, output: str, as_json: bool, **values: Any) -> None:
    """Make one self-contained HTML page of a result folder.

    It shows what was done and with which options, counts, the audit, how similar the pairs are, how surely a pair
    is found, the clusters with the words that differ side by side, and every removed document, to search in. The
    page opens offline and loads nothing. It holds words of the documents unless --no-texts is given.
    """
    words = flags.given(ReportOptions, values)
    ReportOptions.of(**words)
    import twinset

    run.load(lambda text: click.echo(text, err=True))
    made = twinset.open_result(folder).report(output, **words)
    size = made.stat().st_size
    if as_json:
        show.as_json({"report": str(made), "bytes": size})
    else:
        click.echo(f"report: {made} ({shown_size(size)})")
