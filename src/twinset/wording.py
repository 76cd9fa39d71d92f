"""Format counts, shares and positions in the same way on the screen, on pages and in messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

__all__ = [
    "DIGITS", "MARGIN", "at_line", "at_row", "counted", "counted_files", "either", "quoted", "reason", "score", "share",
    "with_article",
]  # fmt: skip

DIGITS = 4
"""Digits of a displayed similarity."""

MARGIN = 1e-9
"""Rounding error of a share times a power of ten, as a fraction of the last digit."""

_ROUND = 1000
"""Shares are not rounded up to a multiple of one in this number: thresholds are such numbers."""


def counted(number: int, one: str, more: str | None = None) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> counted(1, "pair"), counted(1200, "pair"), counted(0, "copy", "copies")
    ('1 pair', '1,200 pairs', '0 copies')
    """
    return f"{number:,} {one if number == 1 else one + 's' if more is None else more}"


def counted_files(names: Sequence[str], more: str = "") -> str:
    """Count files and folders, whose names end with a slash; `more` stands before the nouns.

    Examples
    --------
    >>> counted_files(["a.csv", "b.csv"]), counted_files(["old/"], "more "), counted_files(["a.csv", "old/"])
    ('2 files', '1 more folder', '1 file and 1 folder')
    """
    folders = sum(name.endswith("/") for name in names)
    counts = [(len(names) - folders, f"{more}file"), (folders, f"{more}folder")]
    return " and ".join(counted(count, noun) for count, noun in counts if count) or counted(0, f"{more}file")


def either(names: Sequence[str]) -> str:
    """Write alternatives.

    Examples
    --------
    >>> either([".csv"]), either([".csv", ".tsv", ".jsonl"])
    ('.csv', '.csv, .tsv or .jsonl')
    """
    return " or ".join([part for part in (", ".join(names[:-1]), *names[-1:]) if part])


def quoted(id: str) -> str:
    """Quote an id so that a shell reads it as it is; one with control characters is escaped as Python does.

    Examples
    --------
    >>> print(quoted("a7"), quoted("bad\\\\udce9name.txt"), quoted("it's"), quoted("two\\nlines"))
    'a7' 'bad\\udce9name.txt' 'it'"'"'s' 'two\\nlines'
    """
    if not id.isprintable():
        return repr(id)
    escaped = id.replace("'", "'\"'\"'")
    return f"'{escaped}'"


def with_article(noun: str) -> str:
    """Write a noun with its indefinite article, by its first letter.

    Examples
    --------
    >>> with_article("int"), with_article("float")
    ('an int', 'a float')
    """
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


def share(value: float, digits: int = DIGITS, limit: float | None = None) -> str:
    """Write a similarity or another share, rounded.

    A share is not rounded up to a number of up to three digits: so only 1 is written as 1, and what is below 0.8 is not
    written as 0.8. A value below `limit`, such as a threshold of more digits, is not written as `limit` or more.

    Examples
    --------
    >>> share(65 / 75), share(0.99999), share(1.0), share(0.79998), share(2 / 3, 6)
    ('0.8667', '0.9999', '1.0000', '0.7999', '0.666667')
    >>> share(0.66666, limit=0.6667), share(0.57)
    ('0.6666', '0.5700')
    """
    scale = 10**digits
    units, below = math.floor(value * scale + 0.5), math.floor(value * scale + MARGIN)
    crosses = limit is not None and value < limit <= (units + MARGIN) / scale
    if units > below and (crosses or units % max(scale // _ROUND, 1) == 0):
        units = below
    return f"{units / scale:.{digits}f}"


def score(value: Any, shown: str) -> str:
    """Write a value of a score column; `shown` is that of its `ScoreColumn`.

    Examples
    --------
    >>> score(0.99999, "share"), score(1234, "count"), score(12.5, "length"), score(True, "flag")
    ('0.9999', '1,234', '12.5', 'true')
    """
    match shown:
        case "share":
            return share(value)
        case "count":
            return f"{value:,}"
        case "length":
            return f"{value:g}"
        case "flag":
            return "true" if value else "false"
    raise ValueError(f"values cannot be shown as {shown!r}")


def at_line(name: str, line: int) -> str:
    """Name a line of a file, counted from 1.

    Examples
    --------
    >>> at_line("news.jsonl", 4)
    'news.jsonl, line 4'
    """
    return f"{name}, line {line}"


def at_row(name: str, row: int) -> str:
    """Name a row of a file or table, counted from 0 without headers and blank lines, as in the id news.jsonl:3.

    Examples
    --------
    >>> at_row("news.parquet", 3)
    'news.parquet, row 3, counted from 0'
    """
    return f"{name}, row {row}, counted from 0"


def reason(error: BaseException) -> str:
    """Return the first line of the message of an exception; those of Arrow may have several.

    Examples
    --------
    >>> reason(ValueError("Invalid data.\\nDeserializing page header failed.\\n")), reason(EOFError())
    ('Invalid data', 'EOFError')
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
