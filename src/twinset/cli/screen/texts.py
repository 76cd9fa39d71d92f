"""Print two texts side by side in a terminal: in colour, or with marks if there are no colours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from twinset.cli.screen import show

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from twinset.jobs.result import Explanation, Stretch

NARROW = 56
"""In a narrower window the texts are printed one below the other."""

KEPT, OTHER = "underline bright_blue", "bold dark_goldenrod"
"""Styles of what only the kept text has, and of what only the other one has, as in the report. Most colour-blind people
can tell blue and orange apart, and a line or bold letters say the same."""

MOVED = "italic magenta"
"""Style of words that are elsewhere in the other text."""

_JOINERS = "\u200c\u200d"


def styles(kept_right: bool) -> tuple[str, str]:
    """Return the styles of the left and the right text; without a kept one, the first is styled like it."""
    return (OTHER, KEPT) if kept_right else (KEPT, OTHER)


def print_difference(
    explanation: Explanation, left: str, right: str, context: int | None, kept_right: bool = False
) -> None:
    """Print the words that differ with some equal words around them; long equal runs are folded."""
    from rich.text import Text

    console = show.console()
    hunks = explanation.hunks(context)
    console.print()
    if not any(part.words == 0 for hunk in hunks for part in hunk.parts):
        exactly = explanation.left == explanation.right
        few = {0: "neither has words", 1: "the only word is the same"}
        words = few.get(explanation.left_words, f"all {explanation.left_words:,} words are the same")
        console.print(Text("the texts are the same" if exactly else f"{words}; case, punctuation or spaces differ"))
        return
    both = styles(kept_right)
    columns(console, Text.assemble((left, both[0])), Text.assemble((right, both[1])), both)
    for hunk in hunks:
        if hunk.folded:
            folded = f"… {show.count(hunk.folded, 'equal word')} …"
            console.print(Text(folded, style="dim", justify="center"))
        if hunk.parts:
            ours, theirs = (_side(hunk.parts, side, console, style) for side, style in enumerate(both))
            columns(console, ours, theirs, both)


def print_shingles(
    groups: Iterable[tuple[str, Sequence[str], str]], most: int | None, unit: str = "shingle", kept_right: bool = False
) -> None:
    """Print shingles or elements of sets by group, up to `most` of each."""
    from rich.text import Text

    console = show.console()
    for title, shingles, mark in groups:
        shown = shingles if most is None else shingles[:most]
        console.print()
        console.print(Text(f"{title}: {show.count(len(shingles), unit)}", style="bold"), soft_wrap=True)
        style = dict(zip("-+", styles(kept_right), strict=True)).get(mark, "")
        for one in shown:
            console.print(Text.assemble("  ", (mark, style), " ", clean(one)))
        if len(shingles) > len(shown):
            console.print(Text(f"    … and {len(shingles) - len(shown):,} more; --full shows all", style="dim"))


def clean(text: str) -> str:
    """Replace line breaks and control characters, which could move the cursor or reverse the line.

    Examples
    --------
    >>> clean("a\\n b\\x1b[31mc")
    'a b·[31mc'
    """
    line = re.sub(r"\s+", " ", text)
    return "".join(one if one.isprintable() or one in _JOINERS else "·" for one in line)


def _side(parts: Sequence[Stretch], side: int, console: Console, style: str) -> Text:
    """Return one side of a hunk, with changed words in colour or between marks."""
    from rich.text import Text

    plain = console.no_color or not console.is_terminal
    opening, closing = ("{+", "+}") if side else ("[-", "-]")
    line = Text(overflow="fold")
    for part in parts:
        words = clean(part.right if side else part.left)
        if part.words:
            line.append(words)
        elif words.strip():
            body = words.rstrip()
            if part.moved:  # with its number on both sides
                line.append(f"[~{part.moved} {body}~]" if plain else f"~{part.moved} {body}", style=MOVED)
            else:
                line.append(f"{opening}{body}{closing}" if plain else body, style=style)
            line.append(words[len(body) :])
    line.rstrip()
    return line


def columns(
    console: Console, left: Text, right: Text, both: tuple[str, str], marks: tuple[str, str] = ("- ", "+ ")
) -> None:
    """Print two texts side by side, or one below the other in a narrow window, where marks tell them apart."""
    from rich.box import MINIMAL
    from rich.table import Table
    from rich.text import Text

    if console.width < NARROW:
        for mark, style, text in zip(marks, both, (left, right), strict=True):
            for number, line in enumerate(text.wrap(console, console.width - len(mark), overflow="fold")):
                line.rstrip()
                console.print(Text.assemble(("  " if number else mark, style), line), overflow="fold")
        return
    table = Table(box=MINIMAL, show_header=False, show_edge=False, pad_edge=False, expand=True, border_style="dim")
    for _ in range(2):
        table.add_column(ratio=1, overflow="fold")
    table.add_row(left, right)
    console.print(table)
