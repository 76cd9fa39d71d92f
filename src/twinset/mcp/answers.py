"""Bound the answers of tools: a number of rows, and a number of characters; what is left out is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from twinset.wording import counted

EXCERPT = 300
"""Characters of a text that are shown in a row."""


@dataclass(frozen=True)
class Bounds:
    """The maximum number of rows of an answer, and of characters of all of them."""

    rows: int
    characters: int

    def cut(self, rows: Iterable[Mapping[str, Any]], total: int, noun: str) -> tuple[list[dict[str, Any]], str | None]:
        """Return the rows that fit, and a note on the others if there are any.

        Examples
        --------
        >>> Bounds(rows=2, characters=100).cut([{"id": "a"}, {"id": "b"}, {"id": "c"}], 3, "document")
        ([{'id': 'a'}, {'id': 'b'}], 'the first 2 of 3 documents are shown; the server answers with up to 2 rows')
        >>> Bounds(rows=2, characters=10).cut([{"id": "a"}, {"id": "b"}], 2, "document")[1]
        'the first 1 of 2 documents are shown; the server answers with up to 10 characters'
        """
        shown: list[dict[str, Any]] = []
        left, reason = self.characters, counted(self.rows, "row")
        for row in rows:
            if len(shown) == self.rows:
                break
            left -= len(orjson.dumps(row).decode())
            if left < 0:
                reason = counted(self.characters, "character")
                break
            shown.append(dict(row))
        if len(shown) == total:
            return shown, None
        note = f"the first {len(shown):,} of {counted(total, noun)} are shown; the server answers with up to {reason}"
        return shown, note


def joined(*notes: str | None) -> str | None:
    """Join notes; None if there are none.

    Examples
    --------
    >>> joined(None, "one", "two"), joined(None)
    ('one; two', None)
    """
    return "; ".join(note for note in notes if note) or None


def excerpt(text: str, most: int = EXCERPT) -> str:
    """Return the beginning of a text, with … where it is cut.

    Examples
    --------
    >>> excerpt("a rose is a rose", 9), excerpt("a rose", 9)
    ('a rose i…', 'a rose')
    """
    return readable(text if len(text) <= most else f"{text[: most - 1]}…")


def readable(text: str) -> str:
    """Return a text that can be sent; bytes of a file name that are no text become question marks.

    Examples
    --------
    >>> readable("caf\\udce9.txt")
    'caf?.txt'
    """
    return text.encode("utf-8", "replace").decode()
