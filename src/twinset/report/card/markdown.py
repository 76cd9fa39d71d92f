"""Markdown of a card: names of a data set become code that no renderer reads as anything else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_LONGEST = 100
_PLAIN = re.compile(r"[^\s`|]|[^\s`|][^`|]*[^\s`|]")
_FENCE = re.compile("`+")


def code(value: str) -> str:
    """Write a name as code: an id, a path, the value of an option. Long ones are cut.

    What ends a code span or a cell of a table is written as an HTML entity, what cannot be printed as an escape.

    Examples
    --------
    >>> print(code("train:0"), code("a`b|c"), code("two\\nlines"))
    `train:0` <code>a&#96;b&#124;c</code> `two\\nlines`
    """
    cut = value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"
    shown = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in cut)
    if _PLAIN.fullmatch(shown):
        return f"`{shown}`"
    return f"<code>{''.join(one if one.isalnum() else f'&#{ord(one)};' for one in shown)}</code>"


def block(language: str, text: str) -> str:
    """Write a block of code; its fence is longer than any in the text.

    Examples
    --------
    >>> print(block("sh", "twinset dedup news.jsonl"))
    ```sh
    twinset dedup news.jsonl
    ```
    """
    fence = "`" * max(3, 1 + max((len(one) for one in _FENCE.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers_from: int = 1) -> str:
    """Write a table; columns from `numbers_from` on are aligned to the right.

    Examples
    --------
    >>> print(table(("source", "kept"), [["`a`", "7"]]))
    | source | kept |
    |---|---:|
    | `a` | 7 |
    """
    rule = "|".join("---:" if place >= numbers_from else "---" for place in range(len(heads)))
    return "\n".join([_row(heads), f"|{rule}|", *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
