"""The Markdown of the repository, in the form that the generator reads.

Pages are written for readers of the repository, in the Markdown that code hosts show (CommonMark with tables). The
generator's parser differs from it in four points, which are levelled here: what a list item contains is indented by
four spaces, an item after such contents follows a blank line, a line break in a paragraph is two spaces, and `|` in the
code of a table cell has no backslash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_FENCE = re.compile(r"( *)(`{3,})")
_LINK = re.compile(r"(?<=\]\()([^()\s]+)(?=\))")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:", re.IGNORECASE)
_ITEM = re.compile(r" *([-*+]|\d+\.) ")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


def lines_of(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is code: in a fence, or the fence itself."""
    fence = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if fence:
            yield line, True
            if found and found[2] == fence and not line.strip().strip("`"):
                fence = ""
        else:
            fence = found[2] if found else ""
            yield line, bool(found)


def with_links(text: str, lead: Callable[[str], str]) -> str:
    r"""Replace the target of every link and picture that leads to this site, or within the page.

    >>> with_links("[a](b.md#c) `[a](b.md)` [d](https://e.org)", str.upper)
    '[a](B.MD#C) `[a](b.md)` [d](https://e.org)\n'
    """

    def replaced(line: str) -> str:
        covered = _CODE.sub(lambda code: "x" * len(code[0]), line)
        done = []
        end = 0
        for link in _LINK.finditer(covered):
            target = line[link.start() : link.end()]
            if not _ELSEWHERE.match(target):
                done += [line[end : link.start()], lead(target)]
                end = link.end()
        return "".join([*done, line[end:]])

    return "\n".join(line if code else replaced(line) for line, code in lines_of(text)) + "\n"


def levelled(text: str) -> str:
    r"""Return the text as the generator's parser needs it.

    >>> levelled("1. a\n\n   b\\\n   c\n\n| `x\\|y` | z |")
    '1. a\n\n    b  \n    c\n\n| `x|y` | z |\n'
    """
    done: list[str] = []
    moved = 0
    within = False  # in a paragraph or table of a list item, after its first
    for line, code in lines_of(text):
        indent = len(line) - len(line.lstrip(" "))
        if not code:
            if _ITEM.match(line):
                done += [""] if within and not indent else []
                within = False
            elif not done or not done[-1].strip():
                within = indent > 1
            moved = 4 - indent if indent in (2, 3) else 0
            if line.lstrip().startswith("|"):
                line = _CODE.sub(lambda span: span[0].replace(r"\|", "|"), line)
            if line.endswith("\\"):
                line = line[:-1] + "  "
        elif _FENCE.match(line) and indent in (2, 3):
            moved = 4 - indent
        elif not indent and line.startswith("```"):
            moved = 0
        done.append(" " * moved + line if line.strip() else line)
    return "\n".join(done) + "\n"


def slug(heading: str) -> str:
    """Return the anchor that code hosts give to a heading; the site is told to use the same.

    >>> slug("`dedup(*sources, output=None)`"), slug("What can be read")
    ('dedupsources-outputnone', 'what-can-be-read')
    """
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return _NOT_IN_SLUG.sub("", text.strip().lower()).replace(" ", "-")


def headings(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield level, text and anchor of each heading; a repeated anchor gets a number, as on code hosts."""
    times: dict[str, int] = {}
    for line, code in lines_of(text):
        found = None if code else re.match(r"(#{1,6}) +(.+?)(?: +#+)?$", line)
        if found:
            anchor = slug(found[2])
            times[anchor] = times.get(anchor, -1) + 1
            yield len(found[1]), found[2], f"{anchor}-{times[anchor]}" if times[anchor] else anchor
