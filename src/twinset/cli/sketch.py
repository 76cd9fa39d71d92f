"""``twinset sketch``: write the sketches of documents to a file."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.options.sketch import SketchOptions

_NAMED = 5


@click.command("sketch", cls=flags.Command, short_help="Write sketches to a file, to merge or compare them later.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(SketchOptions)
@flags.output("File for the sketches: .parquet.", required=True)
@flags.watched
def command(sources: tuple[str, ...], output: str, quiet: bool, as_json: bool, **values: Any) -> None:
    """Sketch documents, and write the sketches to a file.

    {sources} Files of sketches made with the same options can be SOURCEs, too: they are combined into one.

    With --merge, rows with the same id become one sketch, that of the union of their sets. twinset pairs reads such a
    file as a SOURCE, and finds pairs by estimated similarity.

    With --sketch simhash the file has a bit code for each document: twinset pairs FILE --codes code --distance 3.
    """
    given = flags.given(SketchOptions, values)
    SketchOptions.of(**given)
    with run.watched(quiet, "jobs.sketch") as progress:
        import twinset

        result = twinset.sketch(*sources, output=output, progress=progress, **given)
    if as_json:
        show.as_json(result.summary)
    elif not quiet:
        _print_summary(output, result.summary, result.scheme)


def _print_summary(output: str, summary: dict[str, Any], scheme: Any) -> None:
    coded = scheme.sketch == "simhash"
    if coded:
        weights = "unweighted" if scheme.weights == "none" else f"by {scheme.weights}"
        found = f"{show.count(summary['sketches'] - summary['empty'], 'code')} (simhash, {scheme.bits} bits, {weights})"
    else:
        hashes = show.count(scheme.n_hashes, "hash", "hashes")
        found = f"{show.count(summary['sketches'], 'sketch', 'sketches')} ({scheme.sketch}, {hashes})"
    click.echo(f"{output}: {found}")
    empty = "empty, so without a code" if coded else "of these empty, so without pairs"
    rows = [
        (summary["documents"] - summary["unreadable"] - summary["sketches"], "merged into others with the same id"),
        (summary["empty"], empty),
        (summary["replaced"], "with undecodable bytes (replaced)"),
        (summary["unreadable"], "unreadable, skipped"),
    ]
    lines = [(f"{count:,}", label) for count, label in rows if count]
    width = max((len(count) for count, _ in lines), default=0)
    for count, label in lines:
        click.echo(f"  {count:>{width}}  {label}")
    for where, reason in summary["named"]["unreadable"][:_NAMED]:
        click.echo(f"  skipped {show.printable(where)}: {reason}")
    if coded and summary["empty"]:
        names = [show.named(id) for id in summary["named"]["empty"][:_NAMED]]
        click.echo(f"  empty: {', '.join(names)}{', …' if summary['empty'] > len(names) else ''}")
    click.echo(f"next: twinset pairs {output}{' --codes code --distance 3' if coded else ''}")
