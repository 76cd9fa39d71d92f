"""Draw S-curves with letters and blocks, to fit any window."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import Protocol

MOST_DRAWN = 8
_BLOCKS = " ▁▂▃▄▅▆▇█"
_HEIGHT = 10
_NARROWEST, _WIDEST = 30, 100


class RecallCurve(Protocol):
    """A curve of the probability of finding a pair."""

    def p_found(self, similarity: float) -> float:
        """Return the probability at a similarity."""


def window() -> int:
    """Return the width of the window in columns, within bounds."""
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Wrap a text; words are never cut."""
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def letter(number: int) -> str:
    """Return the letter of a curve."""
    return "abcdefgh"[number % MOST_DRAWN]


def drawn(curves: Sequence[RecallCurve], width: int, threshold: float, measure: str = "similarity") -> list[str]:
    """Draw S-curves: that of a plan as an area, several as lines of letters."""
    columns = max(10, min(72, width - 6))
    at = [(column + 0.5) / columns for column in range(columns)]
    values = [[curve.p_found(similarity) for similarity in at] for curve in curves]
    rows = _area(values[0]) if len(curves) == 1 else _lines(values)
    marks = {0: "1.0", _HEIGHT // 2: "0.5", _HEIGHT - 1: "0.0"}
    labelled = [f"{marks.get(number, ''):>3} {'┤' if number in marks else '│'}{row}" for number, row in enumerate(rows)]
    mark = min(columns - 1, int(threshold * columns))
    axis = "".join("▲" if column == mark else "─" for column in range(columns))
    title = f"P(found) by {measure}" if len(curves) == 1 else f"probability by {measure}"
    return [title, *(line.rstrip() for line in labelled), f"    └{axis}", _scale(columns)]


def _area(values: Sequence[float]) -> list[str]:
    """Fill blocks up to each value, in eighths of a row."""
    eighths = [round(value * _HEIGHT * 8) for value in values]
    return [
        "".join(_BLOCKS[max(0, min(8, reach - 8 * (_HEIGHT - 1 - row)))] for reach in eighths) for row in range(_HEIGHT)
    ]


def _lines(values: Sequence[Sequence[float]]) -> list[str]:
    """Draw each curve with its letter, also in the rows between steep steps; the first curve is on top."""
    grid = [[" "] * len(values[0]) for _ in range(_HEIGHT)]
    for number in reversed(range(len(values))):
        heights = [_HEIGHT - 1 - round(value * (_HEIGHT - 1)) for value in values[number]]
        for column, row in enumerate(heights):
            before = heights[column - 1] if column else row
            for each in range(min(row, before - 1) if before > row else row, max(row + 1, before)):
                grid[each][column] = letter(number)
    return ["".join(row) for row in grid]


def _scale(columns: int) -> str:
    line = [" "] * (columns + 8)
    for tenth in (0, 2, 4, 6, 8, 10):
        start = 5 + min(columns - 1, round(tenth / 10 * columns)) - (1 if tenth else 0)
        line[start : start + 3] = f"{tenth / 10:.1f}"
    return "".join(line).rstrip()


def table(names: Sequence[str], rows: Sequence[Sequence[float]], width: int) -> list[str]:
    """Write the values of each curve at 0.1, 0.2 … 1.0, in blocks of columns that fit the window."""
    first = max(len("similarity"), *(len(name) for name in names))
    at_once = max(1, min(10, (width - first) // 5))
    lines: list[str] = []
    for start in range(0, 10, at_once):
        part = slice(start, start + at_once)
        head = "".join(f"{tenth / 10:>5.1f}" for tenth in range(1, 11)[part])
        lines += [""] * bool(lines) + [f"{'similarity':<{first}}{head}"]
        lines += [f"{name:<{first}}" + "".join(map(_share, row[part])) for name, row in zip(names, rows, strict=True)]
    return lines


def _share(value: float) -> str:
    """Write a probability in five columns, never rounded up to 1."""
    if value >= 1:
        return f"{'1':>5}"
    return f" {f'{min(value, 0.999):.3f}'[1:]}"


def spread(count: int, most: int) -> list[int]:
    """Choose the curves to draw: all, or up to `most` at even steps, with the first and the last.

    Examples
    --------
    >>> spread(3, 7), spread(50, 3), spread(50, 1), spread(50, 0)
    ([0, 1, 2], [0, 24, 49], [0], [])
    """
    if count <= most or most < 2:
        return list(range(min(count, most)))
    return sorted({round(step * (count - 1) / (most - 1)) for step in range(most)})
