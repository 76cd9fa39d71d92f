"""``twinset recut``: apply another threshold, distance or policy to the pairs that a run has scored."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.options import DedupOptions
from twinset.options.results import RecutOptions


@click.command("recut", cls=flags.Command, short_help="Apply another threshold to a result.")
@click.argument("folder", metavar="OUT")
@flags.flags_of(RecutOptions)
@flags.output("Folder for the new result, or file for the kept rows, as for dedup.", required=True)
@click.option("--quiet", is_flag=True, cls=flags.Flag, help="Print no progress and no summary.")
@flags.shown
def command(folder: str, output: str, quiet: bool, as_json: bool, **values: Any) -> None:
    """Apply another threshold to a result of dedup, without comparing documents again.

    OUT is the result folder, or the file of kept rows beside it. The result has every scored pair down to its floor
    (dedup --floor), or up to it if items have a distance. The new result equals that of a new run with the same plan.
    The kept rows are read from the sources of that run: changed sources are refused, and --source gives the path of a
    moved one.
    """
    from twinset.cli.dedup import print_summary

    given = flags.given(RecutOptions, values)
    RecutOptions.of(**given)
    with run.watched(quiet) as progress:
        from twinset.jobs.result import open_dedup

        result = open_dedup(folder).rethreshold(output=output, progress=progress, **given)
    if as_json:
        show.as_json(result.summary)
    elif not quiet:
        options = DedupOptions.of(**result.summary["options"])
        if values.get("rows") is not None:
            limit = _plain(options.reach) if options.by_distance else repr(options.threshold)
            click.echo(f"{options.limit_name}: {limit}")
        print_summary(result.summary, output, options)


def _plain(distance: float) -> str:
    """Write a distance as an exact value for --distance."""
    return f"{distance:.0f}" if distance % 1 == 0 else repr(distance)
