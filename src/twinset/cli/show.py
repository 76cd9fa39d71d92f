"""Numbers and tables, written to be read."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click


def as_json(values: Mapping[str, Any]) -> None:
    """Print values as JSON, alone on stdout."""
    click.echo(json.dumps(values, ensure_ascii=False, indent=2, default=str))


def count(number: int, one: str, more: str | None = None) -> str:
    """Write a count of things.

    Examples
    --------
    >>> count(1, "pair"), count(1200, "pair"), count(0, "copy", "copies")
    ('1 pair', '1,200 pairs', '0 copies')
    """
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def about(number: float) -> str:
    """Write an estimate with the two digits that mean something.

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
    """Shorten text in the middle, where ids and paths say least.

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


def share(value: float) -> str:
    """Write a share of one so that it is never rounded up, least of all to a certainty.

    Examples
    --------
    >>> share(0.99999), share(1.0), share(2 / 3)
    ('0.9999', '1.0000', '0.6666')
    """
    return f"{math.floor(value * 10_000 + 1e-9) / 10_000:.4f}"


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
    """Print names and values in two columns; whole numbers are aligned."""
    listed = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in rows]
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        click.echo(f"  {name:<{width}}  {value}")


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


def audit(found: Mapping[str, Any] | None, missed_in: str | None = None) -> list[str]:
    """Say in a line or two what an audit has found.

    Examples
    --------
    >>> seen = {"documents": 200, "pairs": 5, "found": 5, "recall": 1.0, "low": 0.93, "high": 1.0}
    >>> print(*audit(seen))
    audit: 200 distinct documents compared exactly with all others; 5 of their 5 pairs found, recall 1 (95 %: 0.93 to 1)
    >>> print(*audit({"documents": 1, "pairs": 0, "found": 0, "recall": None, "low": None, "high": None}))
    audit: 1 distinct document compared exactly with all others; there was no pair to find, copies apart
    """
    if found is None:
        return []
    first = f"audit: {count(found['documents'], 'distinct document')} compared exactly with all others; "
    if found["recall"] is None:
        return [first + "there was no pair to find, copies apart"]
    recall, low, high = (_share(found[name]) for name in ("recall", "low", "high"))
    within = f"95 %: {low} to {high}" if found["low"] < found["high"] else "all documents were compared"
    lines = [
        f"{first}{found['found']:,} of their {count(found['pairs'], 'pair')} found, "
        f"recall {recall} ({within})"
    ]
    missed = found["pairs"] - found["found"]
    if missed:
        first_of = next(iter(found["missed"]))
        where = missed_in or "in the summary (--json)"
        named = ", ".join(repr(shortened(str(first_of[side]), 40)) for side in ("left", "right"))
        lines.append(f"audit: {count(missed, 'missed pair')} {where}, such as {named} at {first_of['similarity']:.3f}")
    return lines


def _share(value: float) -> str:
    """Write a share with four digits, never rounded up: what is not all must not look like all."""
    return f"{int(value * 10_000) / 10_000:g}"


def pairs_table(rows: Sequence[Mapping[str, Any]], total: int) -> None:
    """Print pairs as a table that fits the window."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout)
    table = Table(box=None, pad_edge=False, header_style="bold")
    # What the three numbers and the gaps do not need is left for the two ids.
    width = max(8, (console.width - 42) // 2)
    for name in ("left", "right"):
        table.add_column(name, no_wrap=True, max_width=width)
    for name in ("similarity", "left in right", "right in left"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        ids = (Text(shortened(str(row[name]), width)) for name in ("left", "right"))
        numbers = (f"{row[name]:.4f}" for name in ("similarity", "left_in_right", "right_in_left"))
        table.add_row(*ids, *numbers)
    console.print(table)
    if total > len(rows):
        console.print(f"… and {total - len(rows):,} more; -o FILE writes all", highlight=False)
