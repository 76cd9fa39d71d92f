"""Format numbers, and print tables and summaries."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twinset import wording
from twinset.cli.screen import curves
from twinset.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console

count, share = wording.counted, wording.share

_WIDE = 66  # minimum width of a table of pairs with all its numbers


def need_stdout() -> None:
    """Refuse to print a result if stdout is closed."""
    if sys.stdout is None:
        raise OutputError("standard output is closed; name a file for the result with -o FILE")


def copied(file: Path) -> None:
    """Copy a file to stdout."""
    try:
        with file.open("rb") as written:
            shutil.copyfileobj(written, sys.stdout.buffer)
        sys.stdout.flush()  # before the summary on stderr
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {(error.strerror or str(error)).lower()}") from error


def console(stderr: bool = False) -> Console:
    """Make a rich console; with NO_COLOR it prints no bold and dim text either."""
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        file=None if stderr else sys.stdout, stderr=stderr, highlight=False, markup=False, emoji=False,
        color_system=None if plain else "auto",
    )  # fmt: skip


def say(line: str, err: bool = False) -> None:
    """Print a line, wrapped on a terminal."""
    stream = sys.stderr if err else sys.stdout
    window = stream is not None and stream.isatty()
    click.echo(curves.wrapped(line, curves.window()) if window else line, err=err)


def as_json(values: Mapping[str, Any]) -> None:
    """Print values as JSON."""
    click.echo(json.dumps(values, ensure_ascii=False, indent=2, default=str))


def about(number: float) -> str:
    """Write an estimate with two significant digits.

    Examples
    --------
    >>> about(38437.6), about(18.3), about(3.44), about(0.004), about(0)
    ('38,000', '18', '3', '< 0.1', '0')
    """
    if number < 0.1:
        return "0" if number < 1e-9 else "< 0.1"
    return f"{float(f'{number:.2g}'):,.0f}" if number >= 0.95 else f"{number:.1f}"


def duration(seconds: float) -> str:
    """Write an estimated time.

    Examples
    --------
    >>> duration(0.0042), duration(0.42), duration(42), duration(4200), duration(42000)
    ('< 0.1 s', '0.4 s', '42 s', '70 min', '12 h')
    """
    if seconds < 0.1:
        return "< 0.1 s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 36000 else f"{seconds / 3600:.0f} h"


def shortened(text: str, width: int) -> str:
    """Shorten text in the middle, where ids and paths differ least.

    Examples
    --------
    >>> shortened("news/2024/07/the-river-rose.txt", 15)
    'news/20…ose.txt'
    """
    text = "".join(character if character.isprintable() else "·" for character in text)
    if len(text) <= width:
        return text
    head = width // 2
    return f"{text[:head]}…{text[len(text) - (width - head - 1) :]}"


def named(id: str, width: int) -> str:
    """Shorten an id; quote a blank one.

    Examples
    --------
    >>> named("a7", 40), named("", 40), named("  ", 40)
    ('a7', "''", "'  '")
    """
    return shortened(id, width) if id.strip() else f"'{shortened(id, width)}'"


def bar(share: float, width: int = 30) -> str:
    """Draw a share as a bar.

    Examples
    --------
    >>> bar(0.5, 4), bar(0.0, 4), bar(1.0, 4)
    ('██', '', '████')
    """
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]


def facts(rows: Iterable[tuple[str, object]]) -> None:
    """Print names and values in two columns."""
    listed = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in rows]
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        click.echo(f"  {name:<{width}}  {value}")


def columns(first: Sequence[str], groups: Sequence[Sequence[Sequence[str]]], width: int) -> list[str]:
    """Write columns side by side; if they are too wide, one group below the other, each after the first column.

    Examples
    --------
    >>> print(*columns(["at", "0.8"], [[["found", "3"], ["true", "4"]], [["ARI", "0.5"]]], 14), sep="\\n")
     at  found
    0.8      3
    <BLANKLINE>
     at  true
    0.8     4
    <BLANKLINE>
     at  ARI
    0.8  0.5
    """
    every = [column for group in groups for column in group]
    blocks: list[list[Sequence[str]]] = []
    for group in [every] if _wide([first, *every]) <= width else groups:
        blocks.append([first])
        for column in group:
            if len(blocks[-1]) > 1 and _wide([*blocks[-1], column]) > width:
                blocks.append([first])
            blocks[-1].append(column)
    lines: list[str] = []
    for block in blocks:
        widths = [max(map(len, column)) for column in block]
        rows = zip(*block, strict=True)
        lines += [""] * bool(lines)
        lines += ["  ".join(f"{cell:>{wide}}" for cell, wide in zip(row, widths, strict=True)) for row in rows]
    return lines


def _wide(block: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, column)) for column in block) + 2 * (len(block) - 1)


def outline(values: Mapping[str, Any], depth: int = 1) -> None:
    """Print nested values as an outline."""
    for name, value in values.items():
        label = "  " * depth + str(name).replace("_", " ")
        if isinstance(value, Mapping):
            click.echo(f"{label}:")
            outline(value, depth + 1)
        elif isinstance(value, (list, tuple)) and value:
            click.echo(f"{label}:")
            for one in value:
                shown = ", ".join(f"{k} {v}" for k, v in one.items()) if isinstance(one, Mapping) else one
                click.echo("  " * (depth + 1) + str(shown))
        else:
            nothing = value is None or value == [] or value == ()
            click.echo(f"{label}: {'-' if nothing else f'{value:,}' if type(value) is int else value}")


def audit(
    result: Mapping[str, Any] | None, missed_in: str | None = None, short: Mapping[str, Any] | None = None
) -> list[str]:
    """Return the result of an audit, in up to two lines; `short` are the texts that are short for the shingles.

    Examples
    --------
    >>> seen = {"documents": 200, "pairs": 5, "found": 5, "recall": 1.0, "low": 0.93, "high": 1.0}
    >>> print(*audit(seen))
    audit: 200 distinct documents compared exactly with all others; 5 of their 5 pairs found, recall 1 (95 %: 0.93 to 1)
    >>> print(*audit({"documents": 1, "pairs": 0, "found": 0, "recall": None, "low": None, "high": None}))
    audit: 1 distinct document compared exactly with all others; no pairs to find (identical copies excluded)
    """
    if result is None:
        return []
    first = f"audit: {count(result['documents'], 'distinct document')} compared exactly with all others; "
    if result["recall"] is None:
        lines = [first + "no pairs to find (identical copies excluded)"]
        if short:
            texts = "short texts that differ in one word are no pair"
            lines.append(f"audit: with {short['shingle']} {texts}; try {short['try']}")
        return lines
    recall, low, high = (_short(result[name]) for name in ("recall", "low", "high"))
    within = f"95 %: {low} to {high}" if result["low"] < result["high"] else "all documents were compared"
    lines = [f"{first}{result['found']:,} of their {count(result['pairs'], 'pair')} found, recall {recall} ({within})"]
    missed = result["pairs"] - result["found"]
    if missed:
        first_of = next(iter(result["missed"]))
        where = missed_in or "in the summary (--json)"
        named = ", ".join(repr(shortened(str(first_of[side]), 40)) for side in ("left", "right"))
        near = f"{first_of['distance']:g} apart" if "distance" in first_of else f"at {share(first_of['similarity'])}"
        such = f"such as {named} {near}"
        lines.append(f"audit: {count(missed, 'missed pair')} {where}, {such}")
    return lines


def _short(value: float) -> str:
    """Write a share without trailing zeros."""
    return f"{float(share(value)):g}"


def pairs_table(rows: Sequence[Mapping[str, Any]], total: int) -> None:
    """Print pairs as a table that fits the window."""
    from rich.table import Table
    from rich.text import Text

    shown = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    numbers = [name.replace("_", " ") for name in rows[0] if name not in ("left", "right")]
    narrow = shown.width < _WIDE and len(numbers) > 2
    if narrow:
        del numbers[1:]
    # The two ids share the space that the numbers and gaps leave.
    width = max(4, (shown.width - 2 - sum(len(name) + 2 for name in numbers)) // 2)
    for name in ("left", "right"):
        table.add_column(name, no_wrap=True, max_width=width)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        ids = (Text(named(str(row[name]), width)) for name in ("left", "right"))
        scores = ((name, row[name.replace(" ", "_")]) for name in numbers)
        table.add_row(*ids, *(f"{value:.6g}" if name == "distance" else share(value) for name, value in scores))
    shown.print(table)
    if total > len(rows):
        shown.print(f"… and {total - len(rows):,} more; -o FILE writes all")
    if narrow:
        shown.print("a wider window also shows the containment of each in the other")
