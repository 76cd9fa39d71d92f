"""Numbers and tables, written to be read."""

from __future__ import annotations

import json
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
