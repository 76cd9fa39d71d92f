"""Print the passages that two documents share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from twinset.cli.screen import show, texts

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.text import Text

ENDS = 25
"""Words shown at each end of a long passage."""

LETTERS = 12
"""Maximum characters of context, for each word of context: scripts without spaces have very long words."""

_SIDES, _MARKS = ("left", "right"), ("< ", "> ")


def print_passages(
    passages: pa.Table, contents: tuple[str | None, str | None], names: tuple[str, str], context: int | None
) -> None:
    """Print the passages of two documents, each with its places and some words around it.

    Parameters
    ----------
    passages
        Rows of the table of passages, all of these two documents.
    contents
        Both texts; None: the places are printed without text.
    names
        Both ids.
    context
        Words around each passage; None prints long passages whole.
    """
    from rich.text import Text

    console = show.console()
    rows = passages.sort_by([("left_start", "ascending"), ("right_start", "ascending")]).to_pylist()
    both = ("bold", "bold")
    console.print(Text(show.count(len(rows), "shared passage")))
    if not rows:
        return
    console.print()
    left, right = (Text(show.named(name), style="bold") for name in names)
    texts.columns(console, left, right, both, _MARKS)
    for number, row in enumerate(rows, 1):
        console.print()
        console.print(Text(f"{number}  {_counts(row)}", style="bold"), soft_wrap=True)
        left, right = (_side(console, row, side, text, context) for side, text in zip(_SIDES, contents, strict=True))
        texts.columns(console, left, right, both, _MARKS)


def _counts(row: dict[str, Any]) -> str:
    """The size of a passage.

    Examples
    --------
    >>> _counts({"words": 12, "shared": 12, "documents": 2}), _counts({"words": 12, "shared": 10, "documents": 5})
    ('12 words', '12 words, 10 in common, in 5 documents')
    """
    counts = [show.count(row["words"], "word")]
    if row["shared"] != row["words"]:
        counts.append(f"{row['shared']:,} in common")
    if row["documents"] > len(_SIDES):
        counts.append(f"in {show.count(row['documents'], 'document')}")
    return ", ".join(counts)


def _side(console: Console, row: dict[str, Any], side: str, text: str | None, context: int | None) -> Text:
    """One side of a passage: its place, and its text between a few words of context."""
    from rich.text import Text

    start, end = row[f"{side}_start"], row[f"{side}_end"]
    line = Text(f"characters {start:,} to {end:,}", style="dim", overflow="fold")
    if text is None:
        return line
    words = 0 if context is None else context
    before = _last_words(text[max(0, start - LETTERS * words) : start], words)
    after = _last_words(text[end : end + LETTERS * words][::-1], words)[::-1]
    passage = text[start:end].strip() if context is None else _ends(text[start:end].strip())
    plain = console.no_color or not console.is_terminal
    shown = Text(overflow="fold")
    shown.append(("… " if len(before) < start else "") + texts.clean(before), style="dim")
    shown.append(f"[={texts.clean(passage)}=]" if plain else texts.clean(passage), style="not dim bold")
    shown.append(texts.clean(after) + (" …" if end + len(after) < len(text) else ""), style="dim")
    return Text("\n").join([line, shown])


def _last_words(text: str, words: int) -> str:
    """The last words of a text, with the white space after them.

    Examples
    --------
    >>> _last_words("one two, three ", 2), _last_words("one", 2), _last_words("one two", 0)
    ('two, three ', 'one', '')
    """
    return "".join(re.findall(r"\S+\s*", text)[-words:]) if words else ""


def _ends(passage: str) -> str:
    """Both ends of a long passage.

    Examples
    --------
    >>> _ends("a few words")
    'a few words'
    >>> _ends("w " * 200)[:3], " … 150 words … " in _ends("w " * 200)
    ('w w', True)
    """
    words = passage.split()
    if len(words) <= 2 * ENDS + 1:  # folding a single word saves nothing
        return passage
    left_out = show.count(len(words) - 2 * ENDS, "word")
    return f"{' '.join(words[:ENDS])} … {left_out} … {' '.join(words[-ENDS:])}"
