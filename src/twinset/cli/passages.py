"""``twinset passages``: find every run of words that two documents share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twinset.cli.screen import copied_table, show
from twinset.cli.support import flags, run
from twinset.options.formats import OUTPUT_ENDINGS, check_pairs_name
from twinset.options.passages import PassagesOptions
from twinset.system.memory import temporary_folder
from twinset.wording import either

if TYPE_CHECKING:
    from twinset.jobs.passages import PassagesResult


@click.command("passages", cls=flags.Command, short_help="Find passages that documents share.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@flags.flags_of(PassagesOptions)
@flags.output(f"File for the passages: {either(OUTPUT_ENDINGS)}; or folder for all tables.")
@flags.running
def command(
    sources: tuple[str, ...], output: str | None, dry_run: bool, quiet: bool, as_json: bool, **values: Any
) -> None:
    """Find every passage of at least --least words that two documents share, with its places.

    {sources}

    A passage is a run of words, as long as possible, that is equal in both documents apart from case and punctuation.
    With --gap, runs with a few other words between them are joined. With --against, the documents of the sources are
    compared with those of the other source only.

    Without -o the documents with the most copied words are printed on a terminal, and all passages as CSV otherwise. A
    folder gets passages.parquet, copied.parquet (the copied share of each document), boilerplate.parquet and
    summary.json.
    """
    given = flags.given(PassagesOptions, values)
    options = PassagesOptions.of(**given)
    if output:
        check_pairs_name(output)
    if dry_run:
        from twinset.jobs.passages import outline_passages

        run.dry_run(sources, options, as_json, given, output=output, outline=outline_passages(sources, options))
        return
    if output:
        summary = _find(sources, output, quiet, options, given).summary
        if as_json:
            show.as_json({**summary, "output": output})
        elif not quiet:
            _print_summary(summary, f" in {output}")
        return
    show.need_stdout()
    with temporary_folder(options.scratch) as folder:
        file = Path(folder) / "passages.csv"
        try:
            result = _find(sources, str(file), quiet, options, given)
        except BaseException as error:
            vars(error).pop("__notes__", None)  # the state goes with the folder, so there is nothing to resume
            raise
        if as_json:
            show.as_json({**result.summary, "found": result.passages.to_pylist()})
            return
        if sys.stdout.isatty():
            copied_table.print_copied(result.copied)
        else:
            show.copied(file)
    if not quiet:
        _print_summary(result.summary, err=True)


def _find(
    sources: tuple[str, ...], output: str, quiet: bool, options: PassagesOptions, given: dict[str, Any]
) -> PassagesResult:
    import twinset

    with run.followed(options, quiet, module="jobs.passages") as progress:
        return twinset.find_passages(*sources, output=output, progress=progress, **given)


def _print_summary(summary: dict[str, Any], where: str = "", err: bool = False) -> None:
    """Print how much was found."""
    found, documents = show.count(summary["passages"], "passage"), show.count(summary["documents"], "document")
    show.say(f"{found}{where}; {summary['documents_with_passages']:,} of {documents} share one", err=err)
    words = summary["words"]
    if words:
        share = show.share(summary["copied"] / words)
        show.say(f"{summary['copied']:,} of {show.count(words, 'word')} are in shared passages ({share})", err=err)
    if summary["boilerplate"]:
        texts = show.count(summary["boilerplate"], "boilerplate text")
        show.say(f"{texts}, paired with the first occurrence only (--crowd)", err=err)
    for name, label in (("empty", "without words"), ("unreadable", "unreadable")):
        if summary[name]:
            show.say(f"{show.count(summary[name], 'document')} {label}", err=err)
