"""Counts and shares in words: one way of writing them for every screen, page and message."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["DIGITS", "MARGIN", "at_line", "at_row", "counted", "either", "reason", "share"]

DIGITS = 4
"""Digits of a similarity, wherever one is shown."""

MARGIN = 1e-9
"""Of a last digit: what the product of a share and a power of ten may be too small by."""


def counted(number: int, one: str, more: str | None = None) -> str:
    """Write a count of things.

    Examples
    --------
    >>> counted(1, "pair"), counted(1200, "pair"), counted(0, "copy", "copies")
    ('1 pair', '1,200 pairs', '0 copies')
    """
    return f"{number:,} {one if number == 1 else one + 's' if more is None else more}"


def either(names: Sequence[str]) -> str:
    """Write alternatives.

    Examples
    --------
    >>> either([".csv"]), either([".csv", ".tsv", ".jsonl"])
    ('.csv', '.csv, .tsv or .jsonl')
    """
    return " or ".join([part for part in (", ".join(names[:-1]), *names[-1:]) if part])


def share(value: float, digits: int = DIGITS) -> str:
    """Write a similarity, or another share of one, cut after so many digits and never rounded up.

    So nothing but all is written as 1, and what is below a threshold is not written as if it had reached it.

    Examples
    --------
    >>> share(0.99999), share(1.0), share(2 / 3), share(0.57), share(2 / 3, 6)
    ('0.9999', '1.0000', '0.6666', '0.5700', '0.666666')
    """
    return f"{math.floor(value * 10**digits + MARGIN) / 10**digits:.{digits}f}"


def at_line(name: str, line: int) -> str:
    """Name a line of a file, as an editor counts them.

    Examples
    --------
    >>> at_line("news.jsonl", 4)
    'news.jsonl, line 4'
    """
    return f"{name}, line {line}"


def at_row(name: str, row: int) -> str:
    """Name a row of a file or table, as ids such as news.jsonl:3 do: from 0, headers and blank lines left out.

    Examples
    --------
    >>> at_row("news.parquet", 3)
    'news.parquet, row 3, counted from 0'
    """
    return f"{name}, row {row}, counted from 0"


def reason(error: BaseException) -> str:
    """Give the first line of what an exception says: Arrow's may have several, and a message of ours has one.

    Examples
    --------
    >>> reason(ValueError("Invalid data.\\nDeserializing page header failed.\\n")), reason(EOFError())
    ('Invalid data', 'EOFError')
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
