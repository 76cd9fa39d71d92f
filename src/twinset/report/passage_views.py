"""Choose the pairs of documents that a page of passages shows, and cut their texts where passages begin and end.

Places are code points, and strings in a browser are UTF-16: texts are cut here, and the page only joins the pieces.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.report.numbers import Whole

CONTEXT = 80
"""Maximum characters shown beside a passage, before the text is folded."""

LEAST_FOLD = 60
"""Minimum characters of a fold: a shorter one would not be shorter than its button."""

Document = tuple[str, str]
"""Role and id: with two sources, an id may be in both."""

ReadTexts = Callable[[Sequence[Document]], Sequence[str | None]]
"""Read the texts of documents. It is called once, because each read scans the sources."""

Span = tuple[int, int]


@dataclass(frozen=True)
class PageLimits:
    """Maximum sizes of a page of passages.

    Attributes
    ----------
    rows
        Documents listed.
    documents, partners, passages
        Documents shown with their text, partners of each of them, and passages of a pair.
    longest
        Characters of a text that is shown whole; of longer texts the page has the passages and their context.
    characters
        Characters of all texts.
    """

    rows: int = 20_000
    documents: int = 200
    partners: int = 8
    passages: int = 300
    longest: int = 30_000
    characters: int = 6_000_000


class PassageTables:
    """The tables of a result, with documents as numbers: their rows in `copied`."""

    def __init__(self, passages: pa.Table, copied: pa.Table, crowd: int | None) -> None:
        self.passages, self.copied = passages, copied
        self.ids: list[str] = copied["id"].to_pylist()
        self.roles: list[str] = copied["role"].to_pylist()
        self.against = "against" in self.roles
        left, right = self._numbers("left", "source"), self._numbers("right", "against" if self.against else "source")
        starts = np.asarray(passages["left_start"])
        self.order = np.lexsort((starts, right, left))
        """Rows of passages, by pair and place."""
        left, right = left[self.order], right[self.order]
        new = np.ones(len(left), np.bool_)
        new[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
        self.firsts: Whole = np.append(np.flatnonzero(new), len(left))
        """Where each pair begins in `order`, and the end."""
        self.left, self.right = left[new], right[new]
        self.crowded = np.asarray(passages["documents"]) > crowd if crowd is not None else np.zeros(len(left), np.bool_)
        """Whether each row of passages is boilerplate."""
        self.shared = self._by_pair(np.asarray(passages["shared"]).astype(np.int64))
        self.plain_shared = self._by_pair(np.where(self.crowded, 0, np.asarray(passages["shared"])).astype(np.int64))

    def _numbers(self, column: str, role: str) -> Whole:
        rows = np.flatnonzero(np.array(self.roles) == role)
        among = self.copied["id"].take(pa.array(rows)).combine_chunks()
        places = np.asarray(pc.index_in(self.passages[column], value_set=among))
        numbers: Whole = rows[places.astype(np.int64)]
        return numbers

    def _by_pair(self, values: Whole) -> Whole:
        sums: Whole = np.add.reduceat(values[self.order], self.firsts[:-1]) if len(values) else values
        return sums

    def listed(self) -> Whole:
        """Documents with a passage: those of the sources first, then by descending share."""
        share, words = (np.asarray(self.copied[name]) for name in ("share", "copied"))
        ranked = np.lexsort((-words, -share, np.array(self.roles) == "against"))
        paired = np.isin(ranked, np.concatenate([self.left, self.right]))
        rows: Whole = ranked[paired | (words[ranked] > 0)]
        return rows

    def pairs_of(self, documents: Sequence[int]) -> dict[int, list[int]]:
        """The pairs of each document, those with most shared words first; boilerplate counts last."""
        ends = np.concatenate([self.left, self.right])
        pairs = np.tile(np.arange(len(self.left)), 2)
        order = np.lexsort((-self.shared[pairs], -self.plain_shared[pairs], ends))
        ends, pairs = ends[order], pairs[order]
        return {
            one: list(dict.fromkeys(pairs[slice(*np.searchsorted(ends, [one, one + 1]))].tolist())) for one in documents
        }


@dataclass
class PassagePair:
    """Two documents and their passages; `spans` and `folds` are by side, in code points, then in pieces."""

    sides: Span
    rows: list[dict[str, int]]
    left_out: int
    spans: list[list[Span]] = field(default_factory=list)
    folds: list[list[Span]] = field(default_factory=list)


def page_data(tables: PassageTables, listed: Whole, texts: ReadTexts | None, limits: PageLimits) -> dict[str, Any]:
    """Pairs by listed document, and the texts of the documents in these pairs, cut into pieces."""
    shown = listed[: limits.documents if texts else 0].tolist()
    every = tables.pairs_of(shown)
    chosen = {one: pairs[: limits.partners] for one, pairs in every.items()}
    numbers = list(dict.fromkeys(pair for pairs in chosen.values() for pair in pairs))
    places = {pair: place for place, pair in enumerate(numbers)}
    # Texts are admitted in this order: a document, then its partners.
    used = dict.fromkeys(
        end for one, pairs in chosen.items() for pair in pairs
        for end in (one, int(tables.left[pair]), int(tables.right[pair]))
    )  # fmt: skip
    names = [(tables.roles[one], tables.ids[one]) for one in used]
    read = dict(zip(used, texts(names) if texts and names else (), strict=True))
    pairs = [passage_pair(tables, pair, read, limits.passages) for pair in numbers]
    pieces = list(_pieces(read, pairs, limits))  # it also turns the places of the pairs into pieces
    numbered = {document: place for place, document in enumerate(used)}
    words = tables.copied["words"].take(pa.array(list(used), pa.int64())).to_pylist()
    return {
        "pairs_of": [[places[pair] for pair in chosen[one]] for one in shown],
        "partners": [len(every[one]) for one in shown],
        "texts": [
            {"id": id, "role": role, "words": count, "pieces": text}
            for (role, id), count, text in zip(names, words, pieces, strict=True)
        ],
        "pairs": [_plain_pair(pair, numbered) for pair in pairs],
    }


def passage_pair(tables: PassageTables, number: int, read: dict[int, str | None], most: int) -> PassagePair:
    """Take the longest passages of a pair of documents, in order of their place; `read` has both texts."""
    first, stop = tables.firsts[number : number + 2].tolist()
    places = tables.order[first:stop]
    rows = tables.passages.take(pa.array(places)).to_pylist()
    for row, crowded in zip(rows, tables.crowded[places].tolist(), strict=True):
        row["crowded"] = crowded
    longest = sorted(range(len(rows)), key=lambda row: -rows[row]["shared"])[:most]
    pair = PassagePair(
        (int(tables.left[number]), int(tables.right[number])),
        [rows[row] for row in sorted(longest)],
        len(rows) - len(longest),
    )
    for side, document in zip(("left", "right"), pair.sides, strict=True):
        text = read[document] or ""
        spans = [(min(row[f"{side}_start"], len(text)), min(row[f"{side}_end"], len(text))) for row in pair.rows]
        pair.spans.append(spans)
        pair.folds.append(list(_folds(text, spans)))
    return pair


@dataclass(frozen=True)
class Segment:
    """A stretch of one side: the numbers of its passages, those that begin here, and whether to fold it."""

    text: str
    passages: tuple[int, ...]
    begins: tuple[int, ...]
    folded: bool


def segments(text: str, spans: Sequence[Span], folds: Sequence[Span]) -> list[Segment]:
    """Cut a text where passages and folds begin and end.

    Examples
    --------
    >>> [(one.text, one.passages) for one in segments("a copy here", [(2, 6)], [])]
    [('a ', ()), ('copy', (0,)), (' here', ())]
    """
    cuts = sorted({0, len(text), *(cut for span in (*spans, *folds) for cut in span)})
    return [
        Segment(
            text[first:stop],
            tuple(number for number, (a, b) in enumerate(spans) if a <= first < b),
            tuple(number for number, (a, b) in enumerate(spans) if a == first < b),
            any(a <= first < b for a, b in folds),
        )
        for first, stop in pairwise(cuts)
    ]


def _folds(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Stretches outside the spans that are long enough to fold, without the context that stays visible.

    Examples
    --------
    >>> text = "some words before " * 9 + "HERE" + " and after" * 20
    >>> [(text[:a][-8:], text[b:][:9]) for a, b in _folds(text, [(162, 166)])]
    [('', 'before so'), ('ter and ', '')]
    """
    end = 0
    for start, stop in [*sorted(spans), (len(text), len(text))]:
        if start > end:
            head = end + _head(text[end : min(start, end + CONTEXT)]) if end else 0
            tail = len(text)
            if start < len(text):
                window = text[max(head, start - CONTEXT) : start]
                tail = start - len(window) + _tail(window)
            if tail - head >= LEAST_FOLD:
                yield head, tail
        end = max(end, stop)


def _head(window: str) -> int:
    """Where to cut after a passage: after the last white space, or at the end of a script without spaces."""
    last = re.search(r"\s\S*$", window)
    return last.start() + 1 if last else len(window)


def _tail(window: str) -> int:
    """Where to cut before a passage."""
    first = re.search(r"\s", window)
    return first.end() if first else 0


def _pieces(
    read: dict[int, str | None], pairs: Sequence[PassagePair], limits: PageLimits
) -> Iterator[list[str | int] | None]:
    """Cut each text at all places of its pairs, and make these places numbers of pieces.

    A piece that is not admitted is the number of its characters. A text without room is None.
    """
    uses: dict[int, list[tuple[PassagePair, int]]] = {document: [] for document in read}
    for pair in pairs:
        for side, document in enumerate(pair.sides):
            uses[document].append((pair, side))
    room = limits.characters
    for document, text in read.items():
        spans = [span for pair, side in uses[document] for span in (*pair.spans[side], *pair.folds[side])]
        length = len(text or "")
        cuts = sorted({0, length, *(cut for span in spans for cut in span)})
        for pair, side in uses[document]:
            for kind in (pair.spans, pair.folds):
                kind[side] = [(bisect.bisect_left(cuts, a), bisect.bisect_left(cuts, b)) for a, b in kind[side]]
        pieces: list[str | int] = [(text or "")[a:b] for a, b in pairwise(cuts)]
        if length > min(room, limits.longest):
            hidden = _always_folded([pair.folds[side] for pair, side in uses[document]], len(pieces))
            pieces = [len(str(piece)) if folded else piece for piece, folded in zip(pieces, hidden, strict=True)]
        cost = sum(len(piece) for piece in pieces if isinstance(piece, str))
        if text is None or cost > room:
            yield None
        else:
            room -= cost
            yield pieces


def _always_folded(views: Sequence[Sequence[Span]], pieces: int) -> list[bool]:
    """Whether each piece is folded in all views."""
    depth = np.zeros(pieces + 1, np.int64)
    for first, stop in (span for folds in views for span in folds):
        depth[first] += 1
        depth[stop] -= 1
    folded: list[bool] = (np.cumsum(depth)[:pieces] == len(views)).tolist()
    return folded


def _plain_pair(pair: PassagePair, numbered: dict[int, int]) -> dict[str, Any]:
    """The pair as plain values; a passage is its pieces on both sides, its counts, and whether it is boilerplate."""
    return {
        "sides": [numbered[one] for one in pair.sides],
        "passages": [
            [*left, *right, row["words"], row["shared"], row["documents"], row["crowded"]]
            for row, left, right in zip(pair.rows, *pair.spans, strict=True)
            if left[0] < left[1] and right[0] < right[1]
        ],
        "folds": pair.folds,
        "left_out": pair.left_out,
    }
