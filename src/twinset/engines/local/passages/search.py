"""Find pairs of places with equal anchors, and link crowded windows to their first occurrence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from twinset.candidates.anchors import AnchorGroups, PlaceRules, Repeats
from twinset.candidates.crowds import CrowdedPlaces, CrowdedStretch, Crowds, merged, stretches
from twinset.documents.parts import Block
from twinset.engines.local.budget import Budget, give_back
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.passages.words import BlockWords, PassageWork, block_words
from twinset.engines.local.threads import Threads
from twinset.pairs.passages import CrowdedWindows
from twinset.schema import Flags, Hashes, Numbers
from twinset.sketches.winnowing import Surroundings, Winnow, surroundings, window_hashes
from twinset.system.arrays import pair_words
from twinset.system.scratch import Spool

_ANCHOR_BYTES = 16
_Out = TypeVar("_Out")
_IN_HAND = 8  # memory used for grouping, as a multiple of the anchors


_NO_PLACES, _NO_NUMBERS = np.zeros(0, np.uint64), np.zeros(0, np.uint32)


@dataclass(frozen=True)
class CrowdPortion:
    """What some crowds have: windows that their anchors keep, ties, and first places with numbers of documents."""

    documents: Numbers
    first: Numbers
    last: Numbers
    ties: Numbers
    first_places: Hashes
    counts: Numbers

    @classmethod
    def none(cls) -> CrowdPortion:
        """No crowd."""
        ties = np.empty((0, 6), np.uint32)
        return cls(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, ties, _NO_PLACES, _NO_NUMBERS)

    def columns(self) -> tuple[Any, ...]:
        """Return all arrays."""
        return self.documents, self.first, self.last, self.ties, self.first_places, self.counts


@dataclass(frozen=True)
class PassageCandidates:
    """Pairs of places: of few documents, and of rare windows among crowds; ties of crowded windows."""

    pairs: Spool
    crowd_pairs: Spool
    crowds: CrowdedWindows
    ties: Numbers
    stretches: list[CrowdedStretch]

    @property
    def count(self) -> int:
        """The number of pairs of places."""
        return len(self.pairs) + len(self.crowd_pairs)


class AnchorSearch:
    """Searches the anchors of a corpus, in portions that fit in memory."""

    def __init__(
        self, corpus: Corpus, options: PassageWork, budget: Budget, scratch: Path, threads: Threads
    ) -> None:
        self.corpus, self.options, self.budget = corpus, options, budget
        self.scratch, self.threads = scratch, threads

    def groups(self, anchors: Spool, rules: PlaceRules) -> Iterator[AnchorGroups]:
        """Yield groups of anchors that repeat; those with equal hashes are in one portion."""
        n_anchors = anchors.nbytes // _ANCHOR_BYTES
        repeats = Repeats(n_anchors, max(1 << 20, self.budget.free // 8))
        for record in anchors.chunks():
            repeats.add(anchor_rows(record)[:, 0].copy())
        chosen = [repeats.repeated(anchor_rows(record)[:, 0].copy()) for record in anchors.chunks()]
        total = sum(int(np.count_nonzero(one)) for one in chosen)
        portions = 1
        while total * _ANCHOR_BYTES * _IN_HAND > portions * self.budget.sketches and portions < 4096:
            portions *= 2
        for portion in range(portions):
            found = self._portion(anchors, chosen, portion, portions, rules)
            give_back()
            yield found

    def _portion(
        self, anchors: Spool, chosen: list[Flags], portion: int, portions: int, rules: PlaceRules
    ) -> AnchorGroups:
        """Group the chosen anchors whose hashes are in one of `portions` equal ranges."""
        shift = np.uint64(64 - (portions.bit_length() - 1))
        hashes, documents, places = [_NO_PLACES], [_NO_NUMBERS], [_NO_NUMBERS]
        for span, mask, record in zip(self.corpus.spans, chosen, anchors.chunks(), strict=True):
            rows = anchor_rows(record)[mask]
            if portions > 1:
                rows = rows[(rows[:, 0] >> shift) == np.uint64(portion)]
            hashes.append(rows[:, 0].copy())
            documents.append((rows[:, 1] >> np.uint64(32)).astype(np.uint32) + np.uint32(span.first))
            places.append(rows[:, 1].astype(np.uint32))
        return AnchorGroups(np.concatenate(hashes), np.concatenate(documents), np.concatenate(places), rules)

    def candidates(self, sizes: Winnow, rules: PlaceRules, rank: Numbers, by_number: bool = True) -> PassageCandidates:
        """Search anchors for runs of at least `sizes.least` words."""
        return self._candidates(sizes, rules, rank, lambda crowds: crowds.ties(by_number))

    def copies(self, sizes: Winnow, rank: Numbers, copies: int, everywhere: bool) -> PassageCandidates:
        """Search for later copies only: every repeated window is tied to the first place."""
        rules = PlaceRules(border=0, within=True, crowd=0, most_places=0)

        def ties(crowds: Crowds) -> Numbers:
            simple = copies == 1 and not everywhere
            return crowds.ties(by_number=False) if simple else crowds.later_copies(copies, everywhere)

        return self._candidates(sizes, rules, rank, ties)

    def _candidates(
        self, sizes: Winnow, rules: PlaceRules, rank: Numbers, ties: Callable[[Crowds], Numbers]
    ) -> PassageCandidates:
        pairs, crowd_pairs = (Spool(self.scratch / name, "<u4", 4) for name in ("places", "crowd-places"))
        found = [CrowdPortion.none()]
        # A window takes about 80 bytes while equal ones are grouped, and an anchor keeps half of w of them.
        most = max(1, self.budget.sketches // (_ANCHOR_BYTES * _IN_HAND + 40 * (sizes.w + 1)))
        for groups in self.groups(self.corpus.keys, rules):
            for rows in groups.pairs(sizes.k):
                pairs.append(rows, self.budget.pairs)
            for around in self._crowded_places(groups, most, sizes):
                found.append(self._crowd(around, sizes.least, rules, rank, ties, crowd_pairs))
                give_back()
        pairs.close()
        crowd_pairs.close()
        every = CrowdPortion(*(np.concatenate(parts) for parts in zip(*(one.columns() for one in found), strict=True)))
        order = np.argsort(pair_words(every.documents, every.first))
        kept = CrowdedWindows.of(every.documents[order], every.first[order], every.last[order])
        listed = list(stretches(every.first_places, every.counts))
        return PassageCandidates(pairs, crowd_pairs, kept, merged(every.ties), listed)

    def _crowded_places(self, groups: AnchorGroups, most: int, sizes: Winnow) -> Iterator[CrowdedPlaces]:
        """Yield the windows around crowded anchors, of up to `most` anchors at a time; equal windows together."""
        every = next(groups.crowded(len(groups.places)), None)
        if every is None:
            return
        around, words = self._surroundings(*every, sizes), pair_words(*every)
        for documents, places in groups.crowded(most):
            rows = np.searchsorted(words, pair_words(documents, places))
            yield CrowdedPlaces(documents, around.first[rows], around.last[rows], around.hashes[rows])

    def _crowd(
        self, around: CrowdedPlaces, least: int, rules: PlaceRules, rank: Numbers, ties: Callable[[Crowds], Numbers],
        pairs: Spool,
    ) -> CrowdPortion:  # fmt: skip
        """Search the windows around some crowded anchors."""
        crowds = Crowds(around, rank, rules, least, self._window_hashes(least))
        for rows in crowds.pairs():
            pairs.append(rows, self.budget.pairs)
        first_places, counts = crowds.first_places() if rules.crowd else (_NO_PLACES, _NO_NUMBERS)
        return CrowdPortion(around.documents, around.first, around.last, ties(crowds), first_places, counts)

    def run_pairs(self, sizes: Winnow, rules: PlaceRules) -> Spool:
        """Search the anchors of short runs, for runs that are joined; crowds of them are left out."""
        pairs = Spool(self.scratch / "run-places", "<u4", 4)
        for groups in self.groups(self.corpus.sketches, rules):
            for rows in groups.pairs(sizes.k):
                pairs.append(rows, self.budget.pairs)
        pairs.close()
        return pairs

    def _surroundings(self, documents: Numbers, places: Numbers, sizes: Winnow) -> CrowdedPlaces:
        """Find the windows that keep each crowded anchor; sorted by document and place."""
        wanted = np.zeros(self.corpus.documents, np.bool_)
        wanted[documents] = True

        def work(span: Span, found: BlockWords) -> Surroundings:
            first, last = np.searchsorted(documents, [span.first, span.first + span.rows])
            ends = np.searchsorted(documents[first:last], found.rows + span.first, side="right").astype(np.int64)
            return surroundings(found.hashes, found.offsets, ends, places[first:last], sizes)

        done = list(self.each(wanted, work))
        first, last, hashes = (
            np.concatenate([getattr(one, name) for one in done]) for name in ("first", "last", "hashes")
        )
        return CrowdedPlaces(documents, first, last, hashes)

    def _window_hashes(self, least: int) -> Callable[[Numbers, Numbers, Numbers], Hashes]:
        def hashes_of(documents: Numbers, first: Numbers, last: Numbers) -> Hashes:
            wanted = np.zeros(self.corpus.documents, np.bool_)
            wanted[documents] = True

            def work(span: Span, found: BlockWords) -> Hashes:
                begin, end = np.searchsorted(documents, [span.first, span.first + span.rows])
                rows = np.searchsorted(found.rows, documents[begin:end].astype(np.int64) - span.first)
                return window_hashes(found.hashes, found.offsets[rows], first[begin:end], last[begin:end], least)

            return np.concatenate([np.zeros(0, np.uint64), *self.each(wanted, work)])

        return hashes_of

    def each(self, wanted: Flags, work: Callable[[Span, BlockWords], _Out]) -> Iterator[_Out]:
        """Yield work(span, words) for each block with wanted documents, in order."""

        def run(span: Span, block: Block) -> _Out:
            return work(span, block_words(block, self.options, span.part, wanted[span.documents]))

        texts_only = self.options.by is None  # words of other groups differ
        for _, done in self.corpus.read(self.threads, run, wanted=wanted, texts_only=texts_only):
            yield done


def anchor_rows(record: npt.NDArray[Any]) -> Hashes:
    """Return a record of anchors as rows of two words: the hash, and the row of the document with the place."""
    rows: Hashes = record.reshape(-1).view(np.uint64).reshape(-1, 2)
    return rows
