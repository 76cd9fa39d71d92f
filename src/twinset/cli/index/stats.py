"""``twinset index stats``: describe an index."""

from __future__ import annotations

import sys
from typing import Any

import click

from twinset.cli.index.shared import NO_LAYOUTS, loaded
from twinset.cli.screen import show
from twinset.cli.support import flags
from twinset.options.checks import shown_size

_TABLES = ("documents", "shingles", "sketches", "bands", "ids")
_MORE_TABLES = {"contained": "samples", "passages": "anchors"}
"""Tables that are filled only with an option."""
_FLAGS = {name: f"--no-{name}" for name in ("lowercase", "nfc", "squeeze", "spaces", "split")}


@click.command("stats", cls=flags.Command, short_help="Show the contents and the size of an index.")
@click.argument("index", metavar="INDEX")
@click.option("--ids", is_flag=True, cls=flags.Flag, group="Index", help="List the ids instead, in insertion order.")
@flags.shown
def command(index: str, ids: bool, as_json: bool) -> None:
    """Show the number of documents, the size and the options of an index; with --ids, the id of each document."""
    with loaded().open(index, read_only=True) as opened:
        if ids and not as_json:
            screen = sys.stdout.isatty()
            for id in opened:
                click.echo(show.printable(id) if screen else id)
            return
        found, plan = opened.stats(), str(opened.plan or "made when the first documents are added")
        found |= {"ids": list(opened)} if ids else {}
    if as_json:
        show.as_json(found)
    else:
        _print_stats(found, plan)


def _print_stats(found: dict[str, Any], plan: str) -> None:
    sizes, options = found["bytes"], found["options"]
    each = found["bytes_per_document"]
    click.echo(f"{found['index']}")
    rows: list[tuple[str, object]] = [
        ("documents", found["documents"]),
        ("on disk", shown_size(sizes["total"]) + (f", {each:,.0f} bytes per document" if each else "")),
    ]
    tables = [*_TABLES, *(table for option, table in _MORE_TABLES.items() if options.get(option))]
    rows += [(f"  {name}", shown_size(sizes[name])) for name in tables if sizes.get(name)]
    for name, words in (("free", "unused (see compact)"), ("log", "log")):
        if sizes.get(name):
            rows.append((f"  {words}", shown_size(sizes[name])))
    rows += [*_option_rows(found), ("format", f"{found['format']} in {found['backend']}")]
    if versions := found["normalization"]:
        rows.append(("normalisation", f"Arrow {versions['arrow']}, Unicode {versions['unicode']}"))
    show.facts(rows)
    click.echo(f"plan: {plan}")


def _option_rows(found: dict[str, Any]) -> list[tuple[str, object]]:
    """Return the options of the index, depending on its kind of documents."""
    options = found["options"]
    if "images" in options:
        layouts = " and colour layouts" if found["colour_layouts"] else f"; {NO_LAYOUTS}"
        reach = 6 if options["distance"] is None else options["distance"]
        what = f"pictures, by their perceptual hashes{layouts}"
        return [("documents are", what), ("bits", 64), ("distance", f"{reach:g}")]
    if "codes" in options:
        bits = options["bits"] or "those of the first code"
        reach = 3 if options["distance"] is None else options["distance"]
        return [("documents are", f"codes of {options['codes']}"), ("bits", bits), ("distance", f"{reach:g}")]
    if "vectors" in options:
        near = ("threshold", options["threshold"]) if options["distance"] is None else ("distance", options["distance"])
        return [
            ("documents are", f"vectors of {options['vectors'] or '.npy files, or of the only column of vectors'}"),
            ("dimensions", options["dimensions"] or "those of the first vector"),
            (f"{near[0]}, recall", f"{near[1]:g}, {options['recall']:g}"),
            *([("learned codes", f"{options['learned']}, {options['bits']} bits")] if options["learned"] else []),
        ]
    shingles = [*_shingles(options), *(["--bag"] if options.get("bag") else [])]
    shingles += [flag for name, flag in _FLAGS.items() if not options.get(name, True)]
    return [
        ("threshold, recall", f"{options['threshold']:g}, {options['recall']:g}"),
        ("shingles", " ".join(shingles)),
        ("stored", options["store"]),
        *([("passages", f"of {options['passages']} words or more")] if options.get("passages") else []),
    ]


def _shingles(options: dict[str, Any]) -> list[str]:
    """Say what the documents are made of: shingles of a text or of several columns, or elements of columns."""
    text = options.get("text")
    if isinstance(text, list):
        return [f"{' and '.join(map(str, text))}; {options['shingle']} where a column names none"]
    if "items" not in options and "group" not in options:
        return [options["shingle"], *([f"of {text}"] if text else [])]
    columns = options["items"] if "items" in options else f"{options['item']} by {options['group']}"
    return [f"elements of {columns}", *([f"weighted by {options['weight']}"] if "weight" in options else [])]
