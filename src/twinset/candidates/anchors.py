"""Candidates of passages: pairs of places with equal anchors, and the places of crowded ones."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from twinset.candidates import anchors_kernels as kernels
from twinset.schema import Bytes, Flags, Hashes, Numbers, Places
from twinset.system import batch_sizes
from twinset.system.arrays import pair_words

_BITS_PER_ANCHOR = 16
_LEAST_BITS = 16
ONE_SIDE = 27
"""Bits of the filter for a larger side, a table of 16 MB: a text has many anchors, and one that passes by accident
keeps the text in memory."""
NOTHING, FEW, CROWD = range(3)


class Repeats:
    """A filter for anchors that occur at least twice, or on both sides; a few that do not may pass."""

    def __init__(self, anchors: int, most_bytes: int = 1 << 28, least_bits: int = _LEAST_BITS) -> None:
        bits = max(least_bits, (max(1, anchors) * _BITS_PER_ANCHOR - 1).bit_length())
        while bits > 16 and (1 << bits) // 4 > most_bytes:  # two tables
            bits -= 1
        self._mask = np.uint64((1 << bits) - 1)
        self._once, self._twice = np.zeros((2, 1 << (bits - 6)), np.uint64)

    def add(self, hashes: Hashes) -> None:
        """Mark anchors."""
        kernels.mark_seen(hashes, self._mask, self._once, self._twice)

    def repeated(self, hashes: Hashes) -> Flags:
        """Return which anchors were added at least twice."""
        return self._marked(hashes, self._twice)

    def added(self, hashes: Hashes) -> Flags:
        """Return which anchors were added."""
        return self._marked(hashes, self._once)

    def _marked(self, hashes: Hashes, marks: Hashes) -> Flags:
        flags = np.empty(len(hashes), np.bool_)
        kernels.is_marked(hashes, self._mask, marks, flags)
        return flags


@dataclass(frozen=True)
class PlaceRules:
    """Which places are paired: those on two sides of `border` (0: any), of one document too if `within`.

    A group is a crowd in more than `crowd` documents or at more than `most_places` places.
    """

    border: int
    within: bool
    crowd: int
    most_places: int


class AnchorGroups:
    """Anchors with equal hashes, sorted; `kinds` says for each group whether it has few documents or is a crowd."""

    def __init__(self, hashes: Hashes, documents: Numbers, places: Numbers, rules: PlaceRules) -> None:
        order = np.argsort(hashes, kind="stable")  # documents and places stay in order
        hashes, self.documents, self.places = hashes[order], documents[order], places[order]
        starts = np.empty(len(hashes) + 1, np.int64)
        count = kernels.group_starts(hashes, starts)
        self.starts: Places = starts[: count + 1].copy()
        self.kinds: Bytes = np.empty(count, np.uint8)
        self.rules = rules
        kernels.classify(
            self.starts, self.documents, rules.border, rules.within, rules.crowd, rules.most_places, self.kinds
        )

    def _of(self, kind: int) -> Places:
        return np.flatnonzero(np.repeat(self.kinds == kind, np.diff(self.starts)))

    def crowded(self, most: int) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield documents and places of anchors of crowds, sorted: whole crowds, up to `most` anchors at a time."""
        rows = self._of(CROWD)
        ends: Places = np.cumsum(np.diff(self.starts)[self.kinds == CROWD])
        first = 0
        while first < len(rows):
            done, fitting = np.searchsorted(ends, [first, first + most], side="right").tolist()
            last = int(ends[max(fitting, done + 1) - 1])
            some = rows[first:last]
            words = np.sort(pair_words(self.documents[some], self.places[some]))
            yield (words >> np.uint64(32)).astype(np.uint32), words.astype(np.uint32)
            first = last

    def pairs(self, reach: int) -> Iterator[Numbers]:
        """Yield pairs of places of groups with few documents, (n, 4): documents, then places.

        `reach`: anchors up to this number of words apart are parts of one run.
        """
        before, distance = self._anchors_before()
        state = np.zeros(2, np.int64)
        rules = self.rules
        largest = int(np.diff(self.starts)[self.kinds == FEW].max(initial=0))
        while state[0] < len(self.kinds):
            out = np.empty((max(batch_sizes.CANDIDATE_ROWS, largest), 4), np.uint32)
            count = kernels.pair_places(
                self.starts, self.documents, self.places, before, distance, rules.border, rules.within, reach,
                self.kinds, state, out,
            )  # fmt: skip
            yield out[:count].copy()

    def _anchors_before(self) -> tuple[Places, Places]:
        """Return for each place the group of the anchor before it in its document, and the distance to it."""
        before, distance = np.full(len(self.places), -1, np.int64), np.zeros(len(self.places), np.int64)
        rows = self._of(FEW)
        group = np.repeat(np.arange(len(self.kinds)), np.diff(self.starts))[rows]
        words = pair_words(self.documents[rows], self.places[rows])
        order = np.argsort(words)
        rows, words, group = rows[order], words[order], group[order]
        follows = np.flatnonzero((words[1:] >> np.uint64(32)) == (words[:-1] >> np.uint64(32))) + 1
        before[rows[follows]] = group[follows - 1]
        distance[rows[follows]] = (words[follows] - words[follows - 1]).astype(np.int64)
        return before, distance
