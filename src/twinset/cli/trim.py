"""``twinset trim``: cut repeated passages out of documents."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.errors import OptionError
from twinset.options.formats import ROW_ENDINGS
from twinset.options.passages import TrimOptions
from twinset.options.place import Place, names_in_place
from twinset.wording import either


@click.command("trim", cls=flags.Command, short_help="Cut repeated passages, lines or paragraphs.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(TrimOptions)
@flags.output(f"Folder for the result, or file for the rows: {either(ROW_ENDINGS)}. Needed unless --dry-run.")
@flags.running
def command(
    sources: tuple[str, ...], output: str | None, dry_run: bool, quiet: bool, as_json: bool, **values: Any
) -> None:
    """Cut later copies of passages out of documents; the first copy is kept.

    {sources}

    A word is cut if it is part of a later copy of a run of at least --least words, in another document or in the same
    one. --keep decides which copy is the first one.

    The folder OUT contains kept/ (all rows, in the format of the input), cuts.parquet (each cut, and the copy that
    is kept), left.parquet (documents with few words left) and summary.json. It appears only when complete.
    """
    given = flags.given(TrimOptions, values)
    options = TrimOptions.of(**given)
    Place.of(output)  # refuses a name that is neither that of a folder nor of a file of rows
    if dry_run:
        from twinset.jobs.trim import outline_trim

        run.dry_run(sources, options, as_json, given, output=output, outline=outline_trim(sources, options))
        return
    if not output:
        raise OptionError("missing output; name a folder or a file for the result with -o OUT")
    import twinset

    with run.followed(options, quiet, module="jobs.trim") as progress:
        result = twinset.trim(*sources, output=output, progress=progress, **given)
    if as_json:
        show.as_json(result.summary)
    elif not quiet:
        _print_summary(result.summary, output)


def _print_summary(summary: dict[str, Any], output: str) -> None:
    """Print the counts of a run and the paths of its output."""
    words = summary["words"]
    share = f" ({show.share(summary['words_cut'] / words)})" if words else ""
    rows = [
        ("documents", summary["documents"], ""),
        ("words", words, ""),
        ("words cut", summary["words_cut"], f"{share}, in {show.count(summary['documents_cut'], 'document')}"),
        ("words kept", summary["words_kept"], ""),
        (_few(summary["left_with_few"]), summary["left_with_few"], ", listed in left.parquet"),
        ("unreadable (skipped, listed in unreadable.parquet)", summary["unreadable"], ""),
    ]
    rows = [row for row in rows if row[1] or row[0].startswith("words") or row[0] == "documents"]
    width = max(len(f"{value:,}") for _, value, _ in rows)
    for label, value, more in rows:
        show.say(f"  {value:>{width},}  {label}{more}")
    show.say_replaced(summary)
    file, folder = names_in_place(output)
    click.echo(f"trimmed data: {file or f'{folder}/kept'}")
    click.echo(f"cuts: {folder}/cuts.parquet")


def _few(count: int) -> str:
    return f"{'document' if count == 1 else 'documents'} with few words left"
