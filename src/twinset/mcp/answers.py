"""Bound the answers of tools: rows, strings and whole answers; what is left out is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from twinset.errors import OptionError
from twinset.wording import counted

EXCERPT = 300
"""Characters of a string that are shown."""
_LENGTHS = (EXCERPT, 150, 75, 37, 18, 9)
"""Lengths of strings that are tried, one after the other, until an answer fits."""
_NOTES = 4
"""How much longer a note may be."""
_REMARK = 150
"""Room for the remark on rows that are left out."""


@dataclass(frozen=True)
class Bounds:
    """The maximum number of rows of a list, and of characters of an answer."""

    rows: int
    characters: int

    def cut(
        self, rows: Iterable[Mapping[str, Any]], total: int, noun: str, share: float = 0.75
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Return the rows that fit in a share of an answer, and a note on the others if there are any.

        Examples
        --------
        >>> Bounds(rows=2, characters=100).cut([{"id": "a"}, {"id": "b"}, {"id": "c"}], 3, "document")
        ([{'id': 'a'}, {'id': 'b'}], 'the first 2 of 3 documents are shown; the server answers with up to 2 rows')
        >>> Bounds(rows=2, characters=20).cut([{"id": "a"}, {"id": "b"}], 2, "document")[1]
        'the first 1 of 2 documents are shown; the server answers with up to 20 characters'
        """
        shown: list[dict[str, Any]] = []
        left, reason = int(self.characters * share), counted(self.rows, "row")
        for row in rows:
            if len(shown) == self.rows:
                break
            short = {name: shortened(value) for name, value in row.items()}
            left -= _size(short)
            if left < 0:
                reason = counted(self.characters, "character")
                break
            shown.append(short)
        if len(shown) == total:
            return shown, None
        note = f"the first {len(shown):,} of {counted(total, noun)} are shown; the server answers with up to {reason}"
        return shown, note

    def fit(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer that has at most so many characters as JSON.

        Strings are cut, then the ends of the longest lists; if that is not enough, strings are cut again.

        Examples
        --------
        >>> bounds = Bounds(rows=50, characters=300)
        >>> bounds.fit({"id": "a", "members": [{"id": "b" * 60}] * 9, "note": None})["note"]
        'members: only the first 1 of 9 are shown, since an answer has up to 300 characters'
        >>> len(bounds.fit({"id": "a" * 900, "note": None})["id"])
        150
        """
        for most in _LENGTHS:
            short = {
                name: shortened(value, most * _NOTES if name == "note" else most) for name, value in answer.items()
            }
            if _size(short) <= self.characters:
                return short
            lists = {name: value for name, value in short.items() if isinstance(value, list) and value}
            if lists and _size(short | {name: [] for name in lists}) + _REMARK * len(lists) <= self.characters:
                return self._dropped(short, lists)
        raise OptionError(f"the answer has more than {counted(self.characters, 'character')}; ask for less")

    def _dropped(self, answer: dict[str, Any], lists: dict[str, list[Any]]) -> dict[str, Any]:
        """Return the answer without the ends of its longest lists."""
        sizes = {name: [_size(row) + 1 for row in rows] for name, rows in lists.items()}
        excess = _size(answer) + _REMARK * len(lists) - self.characters
        while excess > 0:
            excess -= max(sizes.values(), key=sum).pop()
        kept = {name: rows[: len(sizes[name])] for name, rows in lists.items()}
        remarks = [
            f"{name}: only the first {len(kept[name]):,} of {len(rows):,} are shown, since an answer has up to "
            f"{counted(self.characters, 'character')}"
            for name, rows in lists.items()
            if len(kept[name]) < len(rows)
        ]
        return answer | kept | {"note": joined(answer.get("note"), *remarks)}


def _size(value: Any) -> int:
    return len(orjson.dumps(value).decode())


def joined(*notes: str | None) -> str | None:
    """Join notes; None if there are none.

    Examples
    --------
    >>> joined(None, "one", "two"), joined(None)
    ('one; two', None)
    """
    return "; ".join(note for note in notes if note) or None


def shortened(value: Any, most: int = EXCERPT) -> Any:
    """Return a value with every string cut to a length, also in its lists and objects.

    Examples
    --------
    >>> shortened({"id": "a rose is a rose", "scores": [0.5, None, "a rose"]}, 9)
    {'id': 'a rose i…', 'scores': [0.5, None, 'a rose']}
    """
    if isinstance(value, str):
        return excerpt(value, most)
    if isinstance(value, Mapping):
        return {excerpt(str(name)): shortened(one, most) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [shortened(one, most) for one in value]
    return value


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
