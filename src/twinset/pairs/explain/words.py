"""Where two texts differ, word by word.

Texts are split into words as for shingles; words are compared in the normalised form of a run. Words that occur once in
both texts align the two (patience diff). The stretches between are matched by the shortest edit script (Myers 1986).
A limit bounds the time for hostile texts: stretches beyond it count as changed. Runs of words that were deleted in one
place and added in another are numbered as moved.
"""

import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.compiled.bytes_kernels import SINGLE, WORD
from twinset.options import ShingleOptions
from twinset.pairs.explain.moved import moved_runs
from twinset.unicode import classes

MOST_EDITS = 600
"""Maximum edits of a stretch without a unique word; longer scripts are not searched."""

INCIDENTAL = 3
"""Fewer equal words than this between two larger changes belong to the change: a lone "the" explains nothing."""

Block = tuple[int, int, int]
"""Equal words: start in the left text, start in the right text, and number of words."""

Moved = tuple[int, int, int]
"""Moved words of one text: start, end, and the number that both texts have; 0: these words did not move."""


def normalise(text: str, options: ShingleOptions) -> str:
    """Normalise a text for comparison, with the same library as in a run."""
    if options.nfc:
        text = pc.utf8_normalize(pa.scalar(text, pa.large_string()), form="NFC").as_py()
    return pc.utf8_lower(pa.scalar(text, pa.large_string())).as_py() if options.lowercase else text


class Words:
    """The words of a text: `keys` for comparison, and the positions of the words in the text.

    Examples
    --------
    >>> words = Words("The Fox, again.", ShingleOptions())
    >>> words.keys, words.stretch(1, 2)
    (['the', 'fox', 'again'], 'Fox, ')
    """

    def __init__(self, text: str, options: ShingleOptions) -> None:
        # Lowercasing goes code point by code point, so positions in `form` are positions in the text.
        self.text = normalise(text, _only_nfc(options))
        form = normalise(self.text, options)
        points = np.frombuffer(form.encode("utf-32-le"), np.uint32)
        bits = classes()[points]
        single = (bits & SINGLE).astype(np.bool_) if options.split else np.zeros(len(bits), np.bool_)
        inside = (bits & WORD).astype(np.bool_) & ~single
        before = np.concatenate([[False], inside[:-1]]) if len(inside) else inside
        after = np.concatenate([inside[1:], [False]]) if len(inside) else inside
        starts = np.flatnonzero((inside & ~before) | single).tolist()
        ends = np.flatnonzero((inside & ~after) | single).tolist()
        self.keys = [form[start : end + 1] for start, end in zip(starts, ends, strict=True)]
        self._cuts = [0, *starts[1:], len(self.text)]

    def __len__(self) -> int:
        return len(self.keys)

    def stretch(self, first: int, stop: int) -> str:
        """The text from one word to another, with the separators after each word."""
        return self.text[self._cuts[first] : self._cuts[stop]] if stop > first else ""


def _only_nfc(options: ShingleOptions) -> ShingleOptions:
    return ShingleOptions(lowercase=False, nfc=options.nfc)


@dataclass(frozen=True)
class Stretch:
    """A stretch of both texts: `words` equal words, or a change (0), where one side may be empty.

    `moved` is 0, or the number of a run of words that moved: one stretch has it on the left, and one on the right.
    """

    words: int
    left: str
    right: str
    moved: int = 0


@dataclass(frozen=True)
class Hunk:
    """Stretches after `folded` equal words that are not shown. The last hunk may have no stretches."""

    folded: int
    parts: tuple[Stretch, ...]


class Difference:
    """The word-level difference of two texts.

    Examples
    --------
    >>> found = Difference("The quick brown fox", "the slow brown fox!", ShingleOptions())
    >>> [(part.words, part.left, part.right) for part in found.parts()]
    [(1, 'The ', 'the '), (0, 'quick ', 'slow '), (2, 'brown fox', 'brown fox!')]
    """

    def __init__(self, left: str, right: str, options: ShingleOptions) -> None:
        self.left, self.right = Words(left, options), Words(right, options)

    @cached_property
    def _numbers(self) -> tuple[list[int], list[int]]:
        """The words of both texts as numbers."""
        numbers: dict[str, int] = {}
        ours, theirs = (
            [numbers.setdefault(key, len(numbers)) for key in side.keys] for side in (self.left, self.right)
        )
        return ours, theirs

    @cached_property
    def blocks(self) -> list[Block]:
        """Blocks of equal words, in order."""
        ours, theirs = self._numbers
        return _without_incidental(equal_blocks(ours, theirs), len(ours), len(theirs))

    @cached_property
    def moves(self) -> list[Block]:
        """Blocks of equal words that are deleted in one place and added in another, in the order of the left text."""
        changes = [span[:4] for span in self._spans() if not span[4]]
        return moved_runs(*self._numbers, [(i, j) for i, j, _, _ in changes], [(k, m) for _, _, k, m in changes])

    @property
    def equal_words(self) -> int:
        """Number of equal words."""
        return sum(count for _, _, count in self.blocks)

    def parts(self) -> list[Stretch]:
        """Alternating equal and changed stretches; joined, they are the two texts.

        A change with moved words is several stretches: first those of the left text, then those of the right one.
        """
        return [part for span in self._spans() for part in self._parts(*span)]

    def hunks(self, context: int | None) -> list[Hunk]:
        """The changes, each with up to `context` equal words around it; longer equal stretches are folded."""
        if context is None:
            return [Hunk(0, tuple(self.parts()))]
        hunks: list[Hunk] = []
        parts: list[Stretch] = []
        folded = 0
        spans = list(self._spans())
        for place, (i, j, k, m, equal) in enumerate(spans):
            head = context if place > 0 else 0
            tail = context if place + 1 < len(spans) else 0
            if not equal or j - i <= head + tail + 1:  # folding a single word saves nothing
                parts.extend(self._parts(i, j, k, m, equal))
                continue
            if head:
                parts.append(self._part(i, i + head, k, k + head, True))
            if parts or folded:
                hunks.append(Hunk(folded, tuple(parts)))
            folded = j - i - head - tail
            parts = [self._part(j - tail, j, m - tail, m, True)] if tail else []
        hunks.append(Hunk(folded, tuple(parts)))
        return hunks

    def _parts(self, i: int, j: int, k: int, m: int, equal: bool) -> Iterator[Stretch]:
        """The stretches of a span."""
        ours, theirs = ((), ()) if equal else (self._moved(0, i, j), self._moved(1, k, m))
        if not ours and not theirs:
            yield self._part(i, j, k, m, equal)
            return
        for first, stop, number in _with_gaps(ours, i, j):
            yield Stretch(0, self.left.stretch(first, stop), "", number)
        for first, stop, number in _with_gaps(theirs, k, m):
            yield Stretch(0, "", self.right.stretch(first, stop), number)

    def _moved(self, side: int, first: int, stop: int) -> Sequence[Moved]:
        """The moved words of a span, in order."""
        found = self._moved_by_side[side]
        return found[bisect.bisect_left(found, (first,)) : bisect.bisect_left(found, (stop,))]

    @cached_property
    def _moved_by_side(self) -> tuple[list[Moved], list[Moved]]:
        left, right = (
            sorted((move[side], move[side] + move[2], number) for number, move in enumerate(self.moves, 1))
            for side in (0, 1)
        )
        return left, right

    def _part(self, i: int, j: int, k: int, m: int, equal: bool) -> Stretch:
        # A text without words is one stretch.
        left = self.left.stretch(i, j) if len(self.left) else self.left.text
        right = self.right.stretch(k, m) if len(self.right) else self.right.text
        return Stretch(j - i if equal else 0, left, right)

    def _spans(self) -> Iterator[tuple[int, int, int, int, bool]]:
        i = k = 0
        for left, right, count in self.blocks:
            if left > i or right > k:
                yield i, left, k, right, False
            yield left, left + count, right, right + count, True
            i, k = left + count, right + count
        bare = not self.blocks and (self.left.text or self.right.text)
        if len(self.left) > i or len(self.right) > k or bare:
            yield i, len(self.left), k, len(self.right), False


def _with_gaps(moved: Iterable[Moved], first: int, stop: int) -> Iterator[Moved]:
    """Moved words with their numbers, and what is between them with the number 0."""
    for start, end, number in moved:
        if start > first:
            yield first, start, 0
        yield start, end, number
        first = end
    if stop > first:
        yield first, stop, 0


def equal_blocks(left: Sequence[int], right: Sequence[int]) -> list[Block]:
    """Match two sequences: maximal blocks of equal items, in order in both.

    Examples
    --------
    >>> equal_blocks([1, 2, 3, 4], [1, 9, 3, 4, 5])
    [(0, 0, 1), (2, 2, 2)]
    """
    pairs: list[tuple[int, int]] = []
    regions = [(0, len(left), 0, len(right))]
    while regions:
        i, j, k, m = regions.pop()
        while i < j and k < m and left[i] == right[k]:
            pairs.append((i, k))
            i, k = i + 1, k + 1
        while i < j and k < m and left[j - 1] == right[m - 1]:
            j, m = j - 1, m - 1
            pairs.append((j, m))
        if i == j or k == m:
            continue
        anchors = _anchors(left[i:j], right[k:m], once=True)
        if not anchors:
            script = shortest_script(left[i:j], right[k:m])
            if script is not None:
                pairs += ((i + a, k + b) for a, b in script)
                continue
            anchors = _anchors(left[i:j], right[k:m], once=False)
        last_i, last_k = i, k
        for a, b in anchors:
            pairs.append((i + a, k + b))
            regions.append((last_i, i + a, last_k, k + b))
            last_i, last_k = i + a + 1, k + b + 1
        if anchors:
            regions.append((last_i, j, last_k, m))
    return _joined(sorted(pairs))


def _joined(pairs: Sequence[tuple[int, int]]) -> list[Block]:
    blocks: list[Block] = []
    for i, k in pairs:
        if blocks and (blocks[-1][0] + blocks[-1][2], blocks[-1][1] + blocks[-1][2]) == (i, k):
            blocks[-1] = (*blocks[-1][:2], blocks[-1][2] + 1)
        else:
            blocks.append((i, k, 1))
    return blocks


def _anchors(left: Sequence[int], right: Sequence[int], once: bool) -> list[tuple[int, int]]:
    """Items that occur once in both (or equally often, matched in order), reduced to those in order in both."""
    ours, theirs = Counter(left), Counter(right)
    fit = {item for item, count in ours.items() if theirs[item] == count and (count == 1 or not once)}
    places: dict[int, list[int]] = {}
    for k, item in enumerate(right):
        if item in fit:
            places.setdefault(item, []).append(k)
    for positions in places.values():
        positions.reverse()
    return _rising([(i, places[item].pop()) for i, item in enumerate(left) if item in fit])


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Longest increasing run of pairs in both numbers; the first numbers are increasing already."""
    ends: list[int] = []
    tops: list[int] = []
    below: list[int] = []
    for number, (_, k) in enumerate(pairs):
        pile = bisect.bisect_left(ends, k)
        below.append(tops[pile - 1] if pile else -1)
        if pile == len(ends):
            ends.append(k)
            tops.append(number)
        else:
            ends[pile], tops[pile] = k, number
    chain: list[tuple[int, int]] = []
    at = tops[-1] if tops else -1
    while at >= 0:
        chain.append(pairs[at])
        at = below[at]
    return chain[::-1]


def shortest_script(left: Sequence[int], right: Sequence[int]) -> list[tuple[int, int]] | None:
    """Equal items of the shortest edit script; None if it has more than `MOST_EDITS` edits."""
    n, m = len(left), len(right)
    if not set(left) & set(right):
        return []
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    for edits in range(min(n + m, MOST_EDITS) + 1):
        trail.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            y = x - diagonal
            while x < n and y < m and left[x] == right[y]:
                x, y = x + 1, y + 1
            reach[diagonal] = x
            if x >= n and y >= m:
                return _walked_back(trail, n, m)
    return None


def _walked_back(trail: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    matches: list[tuple[int, int]] = []
    for edits in range(len(trail) - 1, -1, -1):
        reach, diagonal = trail[edits], x - y
        down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
        before = diagonal + 1 if down else diagonal - 1
        start = reach[before]
        while x > max(start, 0) and y > max(start - before, 0):
            x, y = x - 1, y - 1
            matches.append((x, y))
        x, y = start, start - before
    return matches[::-1]


def _without_incidental(blocks: Sequence[Block], n: int, m: int) -> list[Block]:
    """Drop short blocks of equal words between two larger changes."""
    kept: list[Block] = []
    i = k = 0
    for place, (left, right, count) in enumerate(blocks):
        after = blocks[place + 1] if place + 1 < len(blocks) else (n, m, 0)
        change_before = max(left - i, right - k)
        change_after = max(after[0] - left - count, after[1] - right - count)
        if count < INCIDENTAL and min(change_before, change_after) > count:
            continue
        kept.append((left, right, count))
        i, k = left + count, right + count
    return kept
