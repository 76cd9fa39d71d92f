"""Passages by their parts, without files: anchors, pairs of places, crowds and runs of documents given as words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from hypothesis import strategies as st

from tests import oracles
from twinset.candidates.anchors import AnchorGroups, PlaceRules
from twinset.candidates.crowds import CrowdedPlaces, Crowds
from twinset.pairs.passages import (
    CrowdedWindows,
    LoadedWords,
    diagonal_order,
    maximal_runs,
    union,
    without_parts,
)
from twinset.schema import Numbers
from twinset.sketches.winnowing import Anchors, Winnow, surroundings, window_hashes, winnow
from twinset.system.arrays import offsets_of

Documents = Sequence[Sequence[str]]
Row = tuple[int, ...]


@st.composite
def collections(draw: st.DrawFn, most: int = 6) -> list[list[str]]:
    """Documents of few letters, partly made of the same pieces: repeats, periods and crowds occur."""
    letters = st.sampled_from(draw(st.sampled_from(["ab", "abc", "abcdefgh", "abcdefghijklmnopqrstuvwxyz"])))
    pool = draw(st.lists(st.lists(letters, min_size=1, max_size=25), min_size=1, max_size=3))
    period = draw(st.lists(letters, min_size=1, max_size=3))
    pieces = st.one_of(
        st.sampled_from(pool), st.lists(letters, max_size=12), st.integers(1, 8).map(lambda n: (period * n)[:20])
    )
    document = st.lists(pieces, max_size=4).map(lambda some: [word for piece in some for word in piece])
    return draw(st.lists(document, min_size=1, max_size=most))


lengths = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 20, 50])


@dataclass(frozen=True)
class Search:
    """The steps of a search among documents; `border`, `within` and `crowd` as for `PlaceRules`."""

    documents: Documents
    least: int
    crowd: int = 100
    border: int = 0
    within: bool = False
    rank: Sequence[int] | None = None
    places_per_crowd: int = 10

    @cached_property
    def words(self) -> LoadedWords:
        """The hashes of all words."""
        hashes = np.array([oracles.word_hash(word) for one in self.documents for word in one], np.uint64)
        counts = np.array([len(one) for one in self.documents], np.int64)
        return LoadedWords(hashes, offsets_of(counts)[:-1].copy(), counts.astype(np.uint32))

    @property
    def offsets(self) -> np.ndarray:
        """Where documents begin, and the end of the last."""
        return np.append(self.words.starts, len(self.words.words))

    @property
    def sizes(self) -> Winnow:
        """The lengths of winnowing."""
        return Winnow.of(self.least)

    @property
    def rules(self) -> PlaceRules:
        """Which places are paired."""
        return PlaceRules(self.border, self.within, self.crowd, self.places_per_crowd * self.crowd)

    @cached_property
    def anchors(self) -> Anchors:
        """The anchors of all documents."""
        return winnow(self.words.words, self.offsets, self.sizes)

    @cached_property
    def groups(self) -> AnchorGroups:
        """Anchors with equal hashes."""
        return AnchorGroups(self.anchors.hashes, self.anchors.documents, self.anchors.places, self.rules)

    @property
    def crowded(self) -> tuple[Numbers, Numbers]:
        """Documents and places of all crowded anchors."""
        none = np.zeros(0, np.uint32)
        return next(self.groups.crowded(1 << 40), (none, none))

    @cached_property
    def crowds(self) -> Crowds | None:
        """The windows around crowded anchors."""
        documents, places = self.crowded
        if not len(documents):
            return None
        ends = np.searchsorted(documents, np.arange(len(self.documents)), side="right").astype(np.int64)
        around = surroundings(self.words.words, self.offsets, ends, places, self.sizes)
        order = np.arange(len(self.documents)) if self.rank is None else np.argsort(np.array(self.rank))
        return Crowds(
            CrowdedPlaces(documents, around.first, around.last, around.hashes), order.astype(np.uint32), self.rules,
            self.least,
            lambda numbers, first, last: window_hashes(
                self.words.words, self.words.starts[numbers], first, last, self.least
            ),
        )  # fmt: skip

    def _crowded_windows(self) -> CrowdedWindows:
        documents, places = self.crowded
        ends = np.searchsorted(documents, np.arange(len(self.documents)), side="right").astype(np.int64)
        around = surroundings(self.words.words, self.offsets, ends, places, self.sizes)
        return CrowdedWindows.of(documents, around.first, around.last)

    def runs_and_ties(self) -> tuple[set[Row], set[Row]]:
        """All runs with a window that is no crowd, and the ties of the others."""
        none = np.empty((0, 4), np.uint32)
        hits = np.concatenate([none, *self.groups.pairs(self.sizes.k)])
        if self.crowds is None:
            runs = maximal_runs(hits, self.words, self.least)
            return _rows(runs), set()
        crowded = maximal_runs(np.concatenate([none, *self.crowds.pairs()]), self.words, self.least)
        runs = union(maximal_runs(hits, self.words, self.least, self._crowded_windows()), crowded)
        ties = self.crowds.ties()[:, :5].copy()
        ties[:, 4] += np.uint32(self.least - 1)
        same = ties[:, 0] == ties[:, 1]
        ties[same, 4] = np.minimum(ties[same, 4], ties[same, 3] - ties[same, 2])
        ties = np.ascontiguousarray(ties[diagonal_order(ties)])
        return _rows(runs), _rows(ties[without_parts(ties, runs)])

    def later_copies(self, copies: int, everywhere: bool) -> Numbers:
        """Windows to cut, for a search with a crowd of 0, and within."""
        if self.crowds is None:
            return np.empty((0, 6), np.uint32)
        simple = copies == 1 and not everywhere
        return self.crowds.ties(by_number=False) if simple else self.crowds.later_copies(copies, everywhere)


def _rows(rows: Numbers) -> set[Row]:
    found = {tuple(row) for row in rows.tolist()}
    assert len(found) == len(rows), "a row stands there twice"
    return found
