"""``twinset collapse``: fold near-duplicates in a ranking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.options.formats import OUTPUT_ENDINGS, check_output_name
from twinset.options.jobs import CollapseFileOptions
from twinset.system.memory import temporary_folder
from twinset.wording import either


@click.command("collapse", cls=flags.Command, short_help="Fold near-duplicates in a ranking.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(CollapseFileOptions)
@flags.output(f"File for the shown results: {either(OUTPUT_ENDINGS)}.")
@flags.watched
def command(sources: tuple[str, ...], output: str | None, quiet: bool, as_json: bool, **values: Any) -> None:
    """Fold near-duplicates in a ranking under their first appearance, and count them.

    The SOURCE holds results, best first, such as JSON lines or CSV; several are pages of one ranking. {sources}

    A result is folded under the first shown result that is similar to it. Shown results keep their order and their
    columns, and get two more: count, the size of the group, and folded, the places (from 0) and similarities of the
    results folded under it. Without -o they are printed: CSV for CSV, and JSON lines otherwise.
    """
    given = flags.given(CollapseFileOptions, values)
    options = CollapseFileOptions.of(**given)
    if output:
        check_output_name(output)
    else:
        show.need_stdout()
    with run.watched(quiet or as_json, "jobs.files.collapse") as progress:
        from twinset.jobs.files.collapse import collapse_files

        found = collapse_files(sources, options, output, progress)
    if output:
        found.write(output, options.force)
    summary = found.summary()
    if as_json:
        show.as_json({**summary, **({} if output else {"found": found.rows()}), "options": options.to_dict()})
        return
    if not output:
        with temporary_folder(None) as folder:
            file = Path(folder) / f"shown{found.ending}"
            found.write(file)
            show.copied(file)
    if not quiet:
        where = f" in {output}" if output else ""
        skipped = f", {summary['skipped']:,} unreadable" if summary["skipped"] else ""
        show.say(
            f"{summary['shown']:,} of {show.count(summary['results'], 'result')} shown{where}, "
            f"{summary['folded']:,} folded{skipped}",
            err=not output,
        )
