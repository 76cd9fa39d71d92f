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

    from twinset.options import DedupOptions

count, share, score = wording.counted, wording.share, wording.score
_NAMED = 3


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


def say_replaced(summary: Mapping[str, Any]) -> None:
    """Name the first documents with bytes that could not be decoded, if there are any."""
    some = [named(id, 60) for id in summary.get("replaced_in", ())[:_NAMED]]
    if some:
        more = ", …" if summary["replaced"] > len(some) else ""
        say(f"undecodable bytes in {', '.join(some)}{more}; --encoding names another encoding, such as cp1252")


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
    text = printable(text)
    if columns_of(text) <= width:
        return text
    head, tail = 0, len(text)
    room = width // 2
    while (room := room - columns_of(text[head])) >= 0:
        head += 1
    room = width - width // 2 - 1
    while (room := room - columns_of(text[tail - 1])) >= 0:
        tail -= 1
    return f"{text[:head]}…{text[tail:]}"


def columns_of(text: str) -> int:
    """Return the columns that a text takes on the screen: letters of some scripts take two, combining marks none.

    Examples
    --------
    >>> columns_of("book"), columns_of("书店")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def printable(text: str) -> str:
    """Replace control characters, which could move the cursor."""
    return "".join(character if character.isprintable() else "·" for character in text)


def padded(text: str, width: int) -> str:
    """Pad a text with spaces to a width on the screen, where a letter of some scripts takes two columns.

    Examples
    --------
    >>> padded("书店", 6), padded("book", 6)
    ('书店  ', 'book  ')
    """
    return text + " " * (width - columns_of(text))


def named(id: str, width: int | None = None) -> str:
    """Write an id: whole, or shortened to the width of a column of a table; quote a blank one.

    Examples
    --------
    >>> named("a7"), named(""), named("  "), named("a-long-id", 7)
    ('a7', "''", "'  '", 'a-l…-id')
    """
    shown = printable(id) if width is None else shortened(id, width)
    return shown if id.strip() else f"'{shown}'"


def terminal_width() -> int | None:
    """Return the columns of the terminal on stdout; None if stdout is a pipe or a file, where nothing is cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


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
    width = max((columns_of(name) for name, _ in listed), default=0)
    for name, value in listed:
        click.echo(f"  {padded(name, width)}  {value}")


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


def verbatim(summary: dict[str, Any]) -> str:
    """Say how many identical copies are equal byte for byte, unless all are.

    >>> verbatim({"identical": 3, "verbatim": 2}), verbatim({"identical": 3, "verbatim": 3})
    (', 2 byte for byte', '')
    """
    same: int = summary["verbatim"]
    return "" if same == summary["identical"] else f", {same:,} byte for byte"


def audit(
    result: Mapping[str, Any] | None, missed_in: str | None = None, short: Mapping[str, Any] | None = None,
    options: DedupOptions | None = None, *, contained: bool = False,
) -> list[str]:  # fmt: skip
    """Return the result of an audit, in up to two lines.

    `short` are the texts that are short for the shingles, `options` those of a run with a floor. `contained` says that
    pairs were found by containment.

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
            texts = f"short texts that differ in one {short.get('changed', 'word')} are not a pair"
            lines.append(f"audit: with {short['shingle']} {texts}; try {short['try']}")
        return lines
    recall, low, high = (_short(result[name]) for name in ("recall", "low", "high"))
    within = f"95 %: {low} to {high}" if result["low"] < result["high"] else "all documents were compared"
    pairs = f"{count(result['pairs'], 'pair')}{_scope(options)}"
    lines = [f"{first}{result['found']:,} of their {pairs} found, recall {recall} ({within})"]
    missed = result["pairs"] - result["found"]
    if missed:
        first_of = next(iter(result["missed"]))
        where = missed_in or "in the summary (--json)"
        named = ", ".join(wording.quoted(str(first_of[side])) for side in ("left", "right"))
        far = "distance" in first_of
        near = f"distance {first_of['distance']:g}" if far else share(
            _limited(first_of, contained), limit=None if options is None else options.threshold
        )
        such = f"such as {named} at {near}{_beyond(first_of, options, contained)}"
        lines.append(f"audit: {count(missed, 'missed pair')} {where}, {such}")
    return lines


def _limited(pair: Mapping[str, Any], contained: bool) -> float:
    """Return the score of a pair that the threshold limits."""
    return float(max(pair["left_in_right"], pair["right_in_left"]) if contained else pair["similarity"])


def _scope(options: DedupOptions | None) -> str:
    """Say how far a run with a floor has searched."""
    if options is None or options.lowest == options.limit:
        return ""
    return f" up to a distance of {options.farthest:g}" if options.by_distance else f" down to {options.least:g}"


def _beyond(pair: Mapping[str, Any], options: DedupOptions | None, contained: bool) -> str:
    """Say that a pair removes nothing: it is between the floor and the threshold."""
    if options is None:
        return ""
    if "distance" in pair:
        return f", beyond the limit of {options.reach:g}" if pair["distance"] > options.reach else ""
    limit = "containment" if contained else "threshold"
    return f", below the {limit} of {options.threshold:g}" if _limited(pair, contained) < options.threshold else ""


def _short(value: float) -> str:
    """Write a share without trailing zeros."""
    return f"{float(share(value)):g}"
