"""Shared passages by definition: maximal runs of equal words, crowded windows, joined runs.

Everything here compares all with all. The search of `twinset.find_passages` finds the same without doing so.
"""

from collections.abc import Sequence
from itertools import combinations

Words = Sequence[str]
Run = tuple[int, int, int, int, int]
"""(left document, right document, first word left, first word right, number of words)"""

PLACES = 10
"""A window at more than this many times `crowd` places is crowded, too."""


def maximal_runs(left: Words, right: Words, least: int) -> list[tuple[int, int, int]]:
    """List (i, j, n) for every run of n ≥ least equal words that can be made longer on neither side.

    Examples
    --------
    >>> maximal_runs("a rose is a rose".split(), "is a rose is".split(), 2)
    [(0, 1, 3), (2, 0, 3)]
    """
    runs = []
    for i in range(len(left)):
        for j in range(len(right)):
            if left[i] != right[j] or (i and j and left[i - 1] == right[j - 1]):
                continue
            n = 0
            while i + n < len(left) and j + n < len(right) and left[i + n] == right[j + n]:
                n += 1
            if n >= least:
                runs.append((i, j, n))
    return runs


def windows(documents: Sequence[Words], least: int) -> dict[tuple[str, ...], list[tuple[int, int]]]:
    """Return the places (document, first word) of every window of `least` words, in input order."""
    places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for number, words in enumerate(documents):
        for at in range(len(words) - least + 1):
            places.setdefault(tuple(words[at : at + least]), []).append((number, at))
    return places


def crowded_windows(documents: Sequence[Words], least: int, crowd: int) -> set[tuple[str, ...]]:
    """Return the windows that occur in more than `crowd` documents, or at more than `PLACES` × crowd places."""
    return {
        window
        for window, places in windows(documents, least).items()
        if len({number for number, _ in places}) > crowd or len(places) > PLACES * crowd
    }


def runs_between(
    documents: Sequence[Words], least: int, crowd: int, border: int | None = None, within: bool = False
) -> set[Run]:
    """Return every maximal run with a window that is not crowded.

    With a `border` only runs between a document before it and one from it on; `within` adds two places of one document:
    a run that overlaps itself is cut to the words between its two beginnings.
    """
    crowded = crowded_windows(documents, least, crowd)
    found = set()

    def add(left: int, right: int, i: int, j: int, n: int) -> None:
        words = documents[left]
        if any(tuple(words[at : at + least]) not in crowded for at in range(i, i + n - least + 1)):
            found.add((left, right, i, j, min(n, j - i) if left == right else n))

    for left, right in combinations(range(len(documents)), 2):
        if border is None or left < border <= right:
            for i, j, n in maximal_runs(documents[left], documents[right], least):
                add(left, right, i, j, n)
    for number, words in enumerate(documents if within and border is None else ()):
        for i, j, n in maximal_runs(words, words, least):
            if i < j and min(n, j - i) >= least:
                add(number, number, i, j, n)
    return found


def ties(
    documents: Sequence[Words], least: int, crowd: int, border: int | None = None, within: bool = False
) -> set[Run]:
    """Tie each crowded window to its first appearance; windows that follow each other on both sides are one run.

    With a `border`, the first appearance is that on the other side. A run inside one of `runs_between` is left out.
    """
    crowded = crowded_windows(documents, least, crowd)
    tied: dict[tuple[int, int, int], set[int]] = {}
    for window, places in windows(documents, least).items():
        if window not in crowded:
            continue
        for number, at in places:
            others = [one for one in places if border is None or (one[0] < border) != (number < border)]
            if not others:
                continue
            first, start = others[0]
            if first == number and not (within and border is None and at - start >= least):
                continue
            left, right = ((first, start), (number, at)) if first <= number else ((number, at), (first, start))
            tied.setdefault((left[0], right[0], right[1] - left[1]), set()).add(left[1])
    found = set()
    for (left_document, right_document, shift), starts in tied.items():
        for i in sorted(starts):
            if i - 1 not in starts:
                n = least
                while i + n - least + 1 in starts:
                    n += 1
                found.add((left_document, right_document, i, i + shift, n))
    if within:
        found = {(a, b, i, j, min(n, j - i) if a == b else n) for a, b, i, j, n in found}
    runs = runs_between(documents, least, crowd, border, within)
    return {one for one in found if not any(_inside(one, run) for run in runs)}


def _inside(one: Run, other: Run) -> bool:
    """Whether a run is a part of another one."""
    same = one[:2] == other[:2] and one[3] - one[2] == other[3] - other[2]
    return same and other[2] <= one[2] and one[2] + one[4] <= other[2] + other[4]


def repeated_words(
    documents: Sequence[Words], least: int, order: Sequence[int], copies: int = 1, everywhere: bool = False
) -> set[tuple[int, int]]:
    """Return the words (document, position) that are in a later copy of a run of at least `least` words.

    `order` lists the documents, the best first. The first `copies` places of a window are kept; a place that overlaps a
    kept one of the same window is no copy. With `everywhere`, all places of a window with a copy are cut.
    """
    rank = {number: at for at, number in enumerate(order)}
    cut = set()
    for places in windows(documents, least).values():
        kept: list[tuple[int, int]] = []
        later: list[tuple[int, int]] = []
        for number, at in sorted(places, key=lambda place: (rank[place[0]], place[1])):
            if any(number == one and abs(at - start) < least for one, start in kept):
                continue
            (kept if len(kept) < copies else later).append((number, at))
        chosen = kept + later if everywhere and len(kept) + len(later) > 1 else later
        cut |= {(number, word) for number, at in chosen for word in range(at, at + least)}
    return cut
