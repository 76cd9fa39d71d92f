"""Windows around crowded anchors: rare windows are paired, the others linked to their first occurrence.

An anchor that occurs in many documents does not mean that the windows around it do. Places with equal surroundings form
a class; only one place of each class is looked at, so that the work grows with the text and not with the square of a
crowd.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from twinset.candidates import crowds_kernels as kernels
from twinset.candidates.anchors import PlaceRules
from twinset.candidates.anchors_kernels import group_starts
from twinset.schema import Flags, Hashes, Numbers, Places
from twinset.system import batch_sizes
from twinset.system.arrays import offsets_of, pair_words

WindowHashes = Callable[[Numbers, Numbers, Numbers], Hashes]
"""Hashes of the windows of some documents, from a first to a last one each; documents ascend."""


@dataclass(frozen=True)
class CrowdedPlaces:
    """Places of crowded anchors: their documents, the windows `first` to `last` that keep each, and a hash of all words
    of these windows."""

    documents: Numbers
    first: Numbers
    last: Numbers
    hashes: Hashes


@dataclass(frozen=True)
class CrowdedStretch:
    """Crowded windows that follow each other at their first appearance."""

    document: int
    place: int
    windows: int
    documents: int


class Crowds:
    """Groups of equal windows around crowded anchors; `rank` orders documents, the best first."""

    def __init__(
        self, places: CrowdedPlaces, rank: Numbers, rules: PlaceRules, least: int, windows: WindowHashes
    ) -> None:
        self.rules, self.least, self._rank = rules, least, rank
        self._documents, self._first = places.documents, places.first
        best = np.argsort(pair_words(rank[places.documents], places.first))
        order = best[np.argsort(places.hashes[best], kind="stable")]
        self._members: Numbers = order.astype(np.uint32)
        self._class_starts = _starts(places.hashes[order])
        leading = order[self._class_starts[:-1]]
        self._window_starts = offsets_of(places.last[leading].astype(np.int64) - places.first[leading] + 1)
        hashes = self._hashes(places, leading, windows)
        self._order: Places = np.argsort(hashes, kind="stable")
        self._group_starts = _starts(hashes[self._order])
        groups = len(self._group_starts) - 1
        self._group_of: Places = np.empty(len(hashes), np.int64)
        self._group_of[self._order] = np.repeat(np.arange(groups), np.diff(self._group_starts))
        self._class_of: Places = np.repeat(np.arange(len(leading)), np.diff(self._window_starts))
        self._count(rank)

    def _hashes(self, places: CrowdedPlaces, leading: Places, windows: WindowHashes) -> Hashes:
        """Hash the windows of the leading place of each class, class after class."""
        order = np.argsort(places.documents[leading], kind="stable")
        rows = leading[order]
        hashed = windows(places.documents[rows], places.first[rows], places.last[rows])
        counts = np.diff(self._window_starts)
        back = np.argsort(np.repeat(order, counts[order]), kind="stable")
        return hashed[back]

    def _count(self, rank: Numbers) -> None:
        groups, border = len(self._group_starts) - 1, self.rules.border
        firsts = np.empty((len(self._class_starts) - 1, 2), np.int64)
        # Without sides all documents are on the first one.
        limit = border if border else 1 << 40
        kernels.first_members(self._class_starts, self._members, self._documents, limit, firsts)
        self.n_documents: Numbers = np.empty(groups, np.uint32)
        n_places: Numbers = np.empty(groups, np.uint32)
        found = np.empty((groups, 2, 2), np.uint32)
        stamps = np.zeros(len(rank), np.uint32)
        kernels.count_windows(
            self._group_starts, self._order, self._class_of, self._window_starts, self._members, firsts,
            self._class_starts, self._documents, self._first, rank, stamps, self.n_documents, n_places, found,
        )  # fmt: skip
        self._firsts = found
        rules = self.rules
        self.crowded: Flags = (self.n_documents > rules.crowd) | (n_places > rules.most_places)

    def pairs(self) -> Iterator[Numbers]:
        """Yield pairs of places of windows that are no crowd, (n, 4): documents, then places."""
        sizes = np.diff(self._group_starts)
        groups = len(sizes)
        step = max(1, batch_sizes.CANDIDATE_ROWS // max(1, self.rules.most_places))
        for begin in range(0, groups, step):
            about = (
                begin, min(groups, begin + step), self._group_starts, self._order, self._class_of, self._window_starts,
                self._group_of, self.crowded, self._members, self._class_starts, self._documents, self._first,
                self.rules.border, self.rules.within,
            )  # fmt: skip
            count = kernels.pair_windows(*about, np.empty((0, 4), np.uint32))
            if count:
                rows = np.empty((count, 4), np.uint32)
                kernels.pair_windows(*about, rows)
                yield rows

    def ties(self, by_number: bool = True) -> Numbers:
        """Tie crowded windows to their first places.

        Rows (n, 6): left and right document, left and right place, windows, documents of the rarest window. The left
        document is the lesser, or else that of the first place.
        """
        classes = len(self._class_starts) - 1
        about = (
            0, classes, self._window_starts, self._group_of, self.crowded, self.n_documents, self._firsts,
            self._members, self._class_starts, self._documents, self._first, self.rules.border, self.rules.within,
            self.least, by_number,
        )  # fmt: skip
        rows = np.empty((kernels.tie_windows(*about, np.empty((0, 6), np.uint32)), 6), np.uint32)
        if len(rows):
            kernels.tie_windows(*about, rows)
        return merged(rows)

    def later_copies(self, copies: int, everywhere: bool) -> Numbers:
        """List the windows after the first `copies` of each, as rows of `ties`; with `everywhere`, all with a copy."""
        groups = len(self._group_starts) - 1
        sizes = np.add.reduceat(
            np.diff(self._class_starts)[self._class_of[self._order]], self._group_starts[:-1]
        ) if groups else np.zeros(0, np.int64)  # fmt: skip
        by_rank = np.empty(len(self._rank), np.uint32)
        by_rank[self._rank] = np.arange(len(self._rank), dtype=np.uint32)
        places, kept = np.empty(int(sizes.max(initial=0)), np.uint64), np.empty(copies, np.uint64)
        portions = [np.empty((0, 6), np.uint32)]
        step = np.flatnonzero(np.diff(np.cumsum(sizes) // batch_sizes.CANDIDATE_ROWS, prepend=-1))
        for begin, end in pairwise([*step.tolist(), groups]):
            about = (
                begin, end, self._group_starts, self._order, self._class_of, self._window_starts, self._members,
                self._class_starts, self._documents, self._first, self._rank, by_rank, self.least, copies, everywhere,
                places, kept,
            )  # fmt: skip
            rows = np.empty((kernels.later_copies(*about, np.empty((0, 6), np.uint32)), 6), np.uint32)
            if len(rows):
                kernels.later_copies(*about, rows)
                portions.append(merged(rows))
        return merged(np.concatenate(portions))

    def first_places(self) -> tuple[Hashes, Numbers]:
        """Return document and place of the first appearance of each crowded window, and its number of documents."""
        groups = np.flatnonzero(self.crowded)
        firsts = self._firsts[groups, 0]
        known = firsts[:, 0] != kernels.NONE
        groups, firsts = groups[known], firsts[known]
        return pair_words(firsts[:, 0], firsts[:, 1]), self.n_documents[groups]


def stretches(places: Hashes, counts: Numbers) -> Iterator[CrowdedStretch]:
    """Yield crowded windows by their first places, those that follow each other as one.

    Examples
    --------
    >>> import numpy as np
    >>> list(stretches(np.array([8, 7, 3], np.uint64), np.array([4, 5, 6], np.uint32)))[1]
    CrowdedStretch(document=0, place=7, windows=2, documents=5)
    """
    order = np.argsort(places)
    words, counts = places[order], counts[order]
    cuts = np.flatnonzero(np.diff(words) != 1) + 1
    for run, many in zip(np.split(words, cuts), np.split(counts, cuts), strict=True):
        if len(run):
            first = int(run[0])
            yield CrowdedStretch(first >> 32, first & 0xFFFFFFFF, len(run), int(many.max()))


def merged(rows: Numbers) -> Numbers:
    """Sort ties by both documents, right minus left place, and left place; merge those that follow each other."""
    shift = rows[:, 3].astype(np.int64) - rows[:, 2]
    rows = np.ascontiguousarray(rows[np.lexsort((rows[:, 2], shift, pair_words(rows[:, 0], rows[:, 1])))])
    return rows[: kernels.merge_ties(rows)]


def _starts(hashes: Hashes) -> Places:
    starts = np.empty(len(hashes) + 1, np.int64)
    return starts[: group_starts(hashes, starts) + 1].copy()
