"""``twinset sketch``: sketches of documents, kept in a file."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.options.sketch import SketchOptions

_NAMED = 5


@click.command("sketch", cls=flags.Command, short_help="Make sketches to keep, to merge and to compare later.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(SketchOptions)
@flags.output("File for the sketches: .parquet.", required=True)
@flags.watched
def command(sources: tuple[str, ...], output: str, quiet: bool, as_json: bool, **values: Any) -> None:
    """Sketch documents, and keep the sketches in a file.

    {sources} Or else all of them are files of sketches, made with the same options: these are put together into one.

    With --merge, rows of the same id become one sketch, that of the union of their sets. twinset pairs takes such a
    file as a SOURCE, and gives pairs by estimated similarity.

    With --sketch simhash the file has a bit code of each document: twinset pairs FILE --codes code --distance 3.
    """
    words = flags.given(SketchOptions, values)
    SketchOptions.of(**words)
    with run.watched(quiet, "jobs.sketch") as progress:
        import twinset

        made = twinset.sketch(*sources, output=output, progress=progress, **words)
    if as_json:
        show.as_json(made.summary)
    elif not quiet:
        _tell(output, made.summary, made.scheme)


def _tell(output: str, summary: dict[str, Any], scheme: Any) -> None:
    coded = scheme.sketch == "simhash"
    if coded:
        weights = "unweighted" if scheme.weights == "none" else f"by {scheme.weights}"
        found = f"{show.count(summary['sketches'] - summary['empty'], 'code')} (simhash, {scheme.bits} bits, {weights})"
    else:
        hashes = show.count(scheme.n_hashes, "hash", "hashes")
        found = f"{show.count(summary['sketches'], 'sketch', 'sketches')} ({scheme.sketch}, {hashes})"
    click.echo(f"{output}: {found}")
    empty = "more without a code: empty" if coded else "of these empty: they hold nothing, and are like nothing"
    rows = [
        (summary["documents"] - summary["unreadable"] - summary["sketches"], "merged into others of the same id"),
        (summary["empty"], empty),
        (summary["replaced"], "with bytes that are not text (replaced)"),
        (summary["unreadable"], "unreadable, left out"),
    ]
    told = [(f"{count:,}", words) for count, words in rows if count]
    width = max((len(count) for count, _ in told), default=0)
    for count, words in told:
        click.echo(f"  {count:>{width}}  {words}")
    for where, reason in summary["named"]["unreadable"][:_NAMED]:
        click.echo(f"  left out {show.shortened(where, 60)}: {reason}")
    if coded and summary["empty"]:
        names = [show.shortened(id, 60) for id in summary["named"]["empty"][:_NAMED]]
        click.echo(f"  empty: {', '.join(names)}{', …' if summary['empty'] > len(names) else ''}")
    click.echo(f"next: twinset pairs {output}{' --codes code --distance 3' if coded else ''}")
