"""``twinset recut``: another threshold, distance or policy, out of the pairs that a run has scored."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.options import DedupOptions
from twinset.options.results import RecutOptions


@click.command("recut", cls=flags.Command, short_help="Cut a result anew, at another threshold.")
@click.argument("folder", metavar="OUT")
@flags.flags_of(RecutOptions)
@flags.output("Folder for the new result.", required=True)
@click.option("--quiet", is_flag=True, cls=flags.Flag, help="Print no progress and no summary.")
@flags.shown
def command(folder: str, output: str, quiet: bool, as_json: bool, **values: Any) -> None:
    """Cut a result of dedup anew: another threshold, without comparing anything again.

    OUT has every scored pair down to its floor (dedup --floor), or up to it where items have a distance. The new
    folder is what a fresh run with the same plan would give. The rows of kept/ are read from the sources of that
    run; a source that was changed since is refused, and --source says where one has moved.
    """
    from twinset.cli.dedup import print_summary

    words = flags.given(RecutOptions, values)
    RecutOptions.of(**words)
    with run.watched(quiet) as progress:
        from twinset.jobs.result import open_result

        result = open_result(folder).rethreshold(output=output, progress=progress, **words)
    if as_json:
        show.as_json(result.summary)
    elif not quiet:
        options = DedupOptions.of(**result.summary["options"])
        if values.get("rows") is not None:
            found = f"distance: {_plain(options.reach)}" if options.by_distance else f"threshold: {options.threshold!r}"
            click.echo(found)
        print_summary(result.summary, output, options)


def _plain(distance: float) -> str:
    """A distance as it can be given again."""
    return f"{distance:.0f}" if distance % 1 == 0 else repr(distance)
