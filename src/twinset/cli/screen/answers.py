"""Print the answers of an index as a table that fits the window, with notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinset.cli.screen import curves, show

if TYPE_CHECKING:
    from rich.console import Console

ROWS = 50
_LEAST_ID = 16
_GAP = 2
_OTHERS = ("query", "id", "estimate", "recall")
"""The columns of answers that are not scores."""


def fitting(width: int, longest: Sequence[int], recall: bool, scores: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Choose the scores to show, and the maximum width of an id: the first score stays, and ids are cut last.

    Examples
    --------
    >>> scores = ["similarity", "query_in_document", "document_in_query"]
    >>> fitting(80, [5, 5], False, scores), fitting(40, [30], True, scores)
    ((('similarity', 'query_in_document', 'document_in_query'), 23), (('similarity', 'recall'), 20))
    >>> fitting(80, [20, 30], False, scores)
    (('similarity',), 33)
    """
    last = ("recall",) if recall else ()
    first = scores[0]
    for numbers, least in (((*scores, *last), max(longest)), ((first, *last), min(_LEAST_ID, max(longest)))):
        room = _room(width, len(longest), numbers)
        if room >= least:
            return numbers, room
    return (first,), max(4, _room(width, len(longest), (first,)))


def _room(width: int, ids: int, numbers: Sequence[str]) -> int:
    return (width - sum(_GAP + _width(name) for name in numbers) - _GAP * (ids - 1)) // ids


def _width(name: str) -> int:
    return max(map(len, _heading(name).split("\n")))


def _heading(name: str) -> str:
    """Write the name of a column in up to two lines, as narrow as possible.

    Examples
    --------
    >>> _heading("similarity"), _heading("query_in_document"), _heading("document_in_query")
    ('similarity', 'query in\\ndocument', 'document\\nin query')
    """
    words = name.split("_")
    cuts = (" ".join(words[:at]) + "\n" + " ".join(words[at:]) for at in range(1, len(words)))
    return min(cuts, key=lambda lines: max(map(len, lines.split("\n"))), default=name)


def print_table(file: Path, summary: dict[str, Any]) -> None:
    """Print the first answers of a Parquet file."""
    import pyarrow.parquet as pq

    if not summary["found"]:
        return
    with pq.ParquetFile(file) as answers:
        rows = next(answers.iter_batches(batch_size=ROWS)).to_pylist()
    from rich.table import Table
    from rich.text import Text

    from twinset.schema import SHOWN

    console = show.console()
    ids = [name for name in ("query", "id") if name in rows[0]]
    longest = [max(len(name), *(show.columns_of(show.printable(row[name])) for row in rows)) for name in ids]
    scores = [name for name in rows[0] if name not in _OTHERS]
    numbers, width = fitting(console.width, longest, _below_plan(summary), scores)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for name in ids:
        table.add_column(name, no_wrap=True, max_width=width, vertical="bottom")
    for name in numbers:
        table.add_column(_heading(name), justify="right", no_wrap=True, vertical="bottom")
    last = None
    for row in rows:
        # A query is named once, in the row of its first answer.
        names = (Text(show.shortened(row[name], width)) if name == "id" or row[name] != last else "" for name in ids)
        table.add_row(*names, *(show.score(row[name], SHOWN[name]) for name in numbers))
        last = row.get("query")
    console.print(table)
    _say_more(console, summary, len(rows))


def print_passages(file: Path, summary: dict[str, Any]) -> None:
    """Print the first passages of a Parquet file: where they begin in both texts, and how long they are."""
    import pyarrow.parquet as pq

    if not summary["found"]:
        return
    with pq.ParquetFile(file) as passages:
        rows = next(passages.iter_batches(batch_size=ROWS)).to_pylist()
    from rich.table import Table
    from rich.text import Text

    console = show.console()
    names = ("left", "right") if summary["queries"] > 1 else ("right",)
    numbers: tuple[str, ...] = ("words", "left_start", "right_start", "documents")
    while len(numbers) > 1 and _room(console.width, len(names), numbers) < _LEAST_ID // 2:
        numbers = numbers[:-1]
    width = max(4, _room(console.width, len(names), numbers))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for name in names:
        table.add_column({"left": "query", "right": "document"}[name], no_wrap=True, max_width=width, vertical="bottom")
    for name in numbers:
        table.add_column(_heading(name), justify="right", no_wrap=True, vertical="bottom")
    for row in rows:
        ids = (Text(show.shortened(row[name], width)) for name in names)
        table.add_row(*ids, *(f"{row[name]:,}" for name in numbers))
    console.print(table)
    _say_more(console, summary, len(rows))


def _say_more(console: Console, summary: dict[str, Any], printed: int) -> None:
    if summary["found"] > printed:
        console.print(f"… and {summary['found'] - printed:,} more; -o FILE writes all")


def _below_plan(summary: dict[str, Any]) -> bool:
    """Whether the query went beyond the plan of the index, so that answers may be missing."""
    if summary.get("exact") or summary.get("nearest_by") == "all" or "contained" in summary:
        return False
    if "planned_distance" in summary:
        distance, planned = summary["distance"], summary["planned_distance"]
        if distance is not None:
            return bool(distance > planned)
        return bool(summary["found"] < summary["k"] * summary["queries"] or summary["greatest_distance"] > planned)
    planned = summary["planned_threshold"]
    if summary["threshold"] is not None:
        return bool(summary["threshold"] < planned)
    return bool(summary["found"] < summary["k"] * summary["queries"] or summary["least_similarity"] < planned)


def notes(summary: dict[str, Any]) -> Iterator[str]:
    """Yield notes about the answers, in lines that fit the window."""
    width = curves.window()
    if summary["estimates"]:
        yield curves.wrapped("these are estimates: the index stores sketches only (--store none)", width)
    if _below_plan(summary):
        planned = f"{summary.get('planned_threshold', summary.get('planned_distance')):g}"
        text = f"the index was planned for {planned}: some less similar documents may be missing; recall is the "
        yield curves.wrapped(f"{text}probability of finding one", width)
