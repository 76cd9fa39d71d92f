"""``twinset index query``: find documents that are similar to a text, or to each of many."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twinset.cli.index.add import print_unreadable
from twinset.cli.index.shared import LACKING, NO_LAYOUTS, READING, notice_swapped
from twinset.cli.screen import answers, show
from twinset.cli.support import flags, run
from twinset.errors import OptionError, SourceError
from twinset.options.formats import OUTPUT_ENDINGS, check_output_name
from twinset.options.index import QueryCommandOptions, SourceOptions
from twinset.system.memory import temporary_folder
from twinset.wording import either

if TYPE_CHECKING:
    import twinset
    from twinset.cli.support.progress import Display


@click.command("query", cls=flags.Command, short_help="Find documents similar to a text, or to each of many.")
@click.argument("index", metavar="INDEX")
@click.argument("sources", nargs=-1, metavar="[SOURCE...]")
@click.option(
    "--string", "strings", multiple=True, metavar="TEXT", cls=flags.Flag, group="Query",
    help="Find documents similar to this text, code (hexadecimal digits), vector (comma-separated numbers), record or "
    "weighted set (JSON objects).",
)  # fmt: skip
@click.option(
    "--similar-to", "similar", multiple=True, metavar="ID", cls=flags.Flag, group="Query",
    help="Find documents similar to this document of the index.",
)  # fmt: skip
@flags.flags_of(QueryCommandOptions)
@flags.output(f"File for the answers: {either(OUTPUT_ENDINGS)}.")
@flags.watched
def command(
    index: str,
    sources: tuple[str, ...],
    strings: tuple[str, ...],
    similar: tuple[str, ...],
    output: str | None,
    quiet: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Find documents of an index that are similar to a text, or to each document of a SOURCE.

    {sources}

    The answers are all documents that reach the threshold of the index, or are within its distance; with -k, the K most
    similar documents; with --contained, those that contain the query or are contained in it. The best come first. With
    --passages, the answers are the passages that documents share with the query, and their places.

    Without -o the answers are printed as a table on a terminal, and as CSV otherwise; with --json they are part of the
    summary.
    """
    given = flags.given(QueryCommandOptions, values)
    options = QueryCommandOptions.of(**given)
    _refuse_mixed(sources, strings, similar, given)
    if output:
        check_output_name(output)
    if not output:
        show.need_stdout()
    table = not output and not as_json and sys.stdout.isatty()
    ending = "jsonl" if as_json else "parquet" if table else "csv"
    # Answers go through a file even to the screen, so that they are never all in memory.
    with temporary_folder(options.scratch) as folder:
        file = Path(output or Path(folder) / f"answers.{ending}")
        with notice_swapped(index, sources), run.watched(quiet, READING) as progress:
            import twinset

            with twinset.Index.open(index, read_only=True) as opened:
                found = _run_query(opened, sources, strings, similar, file, options, progress)
                summary = _summary(opened, options, found, output)
                nothing = not summary["found"] and next(iter(opened), None) is None
                kind = opened.settings.options.item_kind
        if as_json:
            _print_json(summary, None if output else file)
            return
        if table:
            (answers.print_passages if options.passages else answers.print_table)(file, summary)
        elif output:
            if not quiet:
                click.echo(f"{_counted(summary)} in {output}")
        else:
            show.copied(file)
    if not quiet:
        _print_notes(summary, kind, counted=bool(output), nothing=nothing)


def _refuse_mixed(
    sources: tuple[str, ...], strings: tuple[str, ...], similar: tuple[str, ...], given: dict[str, Any]
) -> None:
    """Refuse several kinds of queries, and source options without a source."""
    if bool(sources) + len(strings) + len(similar) != 1:
        kinds = [f"{show.count(len(sources), 'source')}" if sources else "", "--string" if strings else ""]
        kinds = [one for one in [*kinds, "--similar-to" if similar else ""] if one]
        raise OptionError(
            f"give sources, one --string TEXT or one --similar-to ID; given: {' and '.join(kinds) or 'none'}"
            + (", more than once" if len(strings) > 1 or len(similar) > 1 else "")
        )
    known = dict(SourceOptions.specs())
    wrong = next((name for name in given if name in known), None)
    if wrong and not sources:
        query, flag = "--string" if strings else "--similar-to", known[wrong].spellings(wrong)[0]
        raise OptionError(f"{flag} says how to read a source, and {query} is not a source; leave one of them out")


def _run_query(
    opened: twinset.Index,
    sources: tuple[str, ...],
    strings: tuple[str, ...],
    similar: tuple[str, ...],
    file: Path,
    options: QueryCommandOptions,
    progress: Display,
) -> dict[str, Any]:
    from twinset.jobs import query_files

    if sources:
        try:
            return dataclasses.asdict(query_files.query_to_file(opened, sources, file, options, progress))
        except SourceError as error:
            if error.where in sources and not os.path.exists(error.where):
                error.add_note("to query with a text itself, give it with --string")
            raise
    text, id = next(iter(strings), None), next(iter(similar), None)
    return dataclasses.asdict(query_files.query_one_to_file(opened, file, options, text=text, id=id))


def _summary(
    opened: twinset.Index, options: QueryCommandOptions, found: dict[str, Any], output: str | None
) -> dict[str, Any]:
    ours = opened.settings.options
    if options.passages:
        found = {name: value for name, value in found.items() if name not in ("least_similarity", "greatest_distance")}
        least = options.least or ours.passages
        return {"index": opened.name, "least": least, "crowd": options.crowd, "output": output, **found}
    if options.contained is not None:
        found.pop("greatest_distance")
        limits = {"contained": options.contained, "k": options.k, "contained_by": opened.contained_by()}
        shingle = {"shingle": ours.shingle} if ours.item_kind == "text" else {}
        return {"index": opened.name, **limits, **shingle, "estimates": False, "output": output, **found}
    far = ours.measure in ("bits", "distance")
    name, other = ("distance", "least_similarity") if far else ("threshold", "greatest_distance")
    planned, limit = ours.reach if far else ours.threshold, getattr(options, name)
    found.pop(other)
    return {
        "index": opened.name,
        name: planned if limit is None and options.k is None else limit,
        "k": options.k,
        **({} if options.k is None or limit is not None else {"nearest_by": opened.nearest_by()}),
        f"planned_{name}": planned,
        **({"shingle": ours.shingle} if ours.item_kind == "text" else {}),
        "estimates": ours.store == "none",
        "output": output,
        **({"exact": True} if ours.measure == "bits" else {}),
        **({"compared_by": _compared_by(opened, options)} if ours.item_kind == "images" else {}),
        **found,
    }


def _compared_by(opened: twinset.Index, options: QueryCommandOptions) -> str:
    """Say which sketch of pictures was compared."""
    by_layout = opened.settings.has_layouts and options.k is not None and options.distance is None
    return "colour layout" if by_layout else "perceptual hash"


def _print_json(summary: dict[str, Any], file: Path | None) -> None:
    """Print the summary and the answers of a file, line by line."""
    if file is None:
        show.as_json(summary)
        return
    head = json.dumps(summary, ensure_ascii=False, indent=2).removesuffix("\n}")
    click.echo(f'{head},\n  "answers": [', nl=False)
    with file.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines):
            click.echo(("," if number else "") + "\n    " + line.rstrip("\n"), nl=False)
    click.echo("\n  ]\n}" if summary["found"] else "]\n}")


def _nothing_near(summary: dict[str, Any]) -> str:
    """Say why there is no nearest document."""
    shared = {"all": "a shingle", "sketches": "a slot of its sketch", "bands": "a band of its sketch"}
    by = summary.get("nearest_by")
    if by not in shared:
        return "no document can be compared with the query"
    note = f"no document shares {shared[by]} with the query"
    if by == "all":
        return f"{note}: nothing is near"
    planned = f"the index was planned for {summary['planned_threshold']:g}"
    return f"{note}: less similar documents cannot be found ({planned}, and is too large to compare every document)"


def _too_short(summary: dict[str, Any]) -> str:
    """Say that queries are too short to match longer documents, or to have passages."""
    short, every = summary["short"], summary["queries"]
    if "crowd" in summary:
        which = "the query has" if every == 1 else f"{short:,} of {every:,} queries have"
        return f"{which} fewer than {show.count(summary['least'], 'word')}, so no passages"
    unit, _, size = summary["shingle"].partition(":")
    length = show.count(int(size), {"char": "character"}.get(unit, unit))
    which, only = ("the query", "it") if every == 1 else (f"{short:,} of {every:,} queries", "such a query")
    which += " is" if short == 1 else " are"
    return (
        f"{which} shorter than one shingle of the index ({length}) and cannot match longer documents: {only} finds "
        "only documents with exactly its words"
    )


def _counted(summary: dict[str, Any]) -> str:
    answers = show.count(summary["found"], "passage" if "crowd" in summary else "answer")
    if summary["queries"] == 1:
        return answers
    return f"{answers} to {summary['answered']:,} of {show.count(summary['queries'], 'query', 'queries')}"


def _print_notes(summary: dict[str, Any], kind: str, *, counted: bool, nothing: bool) -> None:
    """Print the number of answers, unless `counted` already, and notes about them."""
    if not counted:
        click.echo(_counted(summary), err=True)
    short = summary["short"]
    if summary.get("compared_by") == "perceptual hash" and "nearest_by" in summary:
        show.say(f"compared by perceptual hash: {summary['index']} was {NO_LAYOUTS}", err=True)
    if nothing:
        click.echo(f"{summary['index']} holds no documents", err=True)
    elif short and not summary["found"] and summary["queries"] == 1:
        show.say(_too_short(summary), err=True)
        short = 0
    elif not summary["found"] and "contained" in summary:
        share = f"a containment of {summary['contained']:g} or more"
        click.echo(f"no document with {share}; a lower --contained finds more", err=True)
    elif not summary["found"] and "crowd" in summary:
        words = show.count(summary["least"], "word")
        click.echo(f"no document shares a passage of {words} or more", err=True)
    elif not summary["found"] and summary["k"] is None:
        far, limit = "distance" in summary, summary.get("distance", summary.get("threshold"))
        limit = f"within a distance of {limit:g}" if far else f"with a similarity of {limit:g} or more"
        click.echo(f"no document {limit}; -k N finds the nearest", err=True)
    elif not summary["found"] and not summary["empty"]:
        click.echo(_nothing_near(summary), err=True)
    if summary["empty"]:
        queries, verb = show.count(summary["empty"], "query", "queries"), "has" if summary["empty"] == 1 else "have"
        click.echo(f"{queries} {verb} no {LACKING.get(kind, 'words')}, so no answers", err=True)
    if short and not nothing:
        show.say(_too_short(summary), err=True)
    print_unreadable(summary, err=True)
    if summary.get("contained_by") == "all" and not nothing:
        show.say("every document was compared; an index made with index create --contained answers faster", err=True)
    if summary["found"] and "crowd" not in summary:
        for line in answers.notes(summary):
            click.echo(line, err=True)
