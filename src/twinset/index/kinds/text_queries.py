"""Queries to answers, of texts and sets: candidates by bands, dropped by sketches, verified by contents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from twinset.index.backend import Backend, Int64s
from twinset.index.kinds import kernels
from twinset.index.kinds.text_entries import SketchedBatch, runs, sets_of
from twinset.index.query import Answers, Limits, Scores, Searcher, Shares, find_candidates
from twinset.index.settings import Settings
from twinset.pairs.sets import Sets, overlaps, scores
from twinset.plan import at_least, matches_needed
from twinset.schema import Numbers
from twinset.system.arrays import ranges

QUERIES = 1024
"""Queries looked up together."""
_MEETINGS = 2**19
"""Rows of `bands` that queries meet together, unless one query alone meets more."""
_SKETCHES = 2**25
"""Bytes of sketches compared together."""
_SHINGLES = 2**20
"""Shingles of documents verified together."""
_WHOLE, _LOW = np.uint32(0xFFFFFFFF), np.uint32(0xFF)
_ERRORS = 3.5
"""Standard errors by which an estimate may be off; the plan allows for as much."""


@dataclass
class _Near:
    """Candidates that nothing rules out yet: query, document, equal slots, and the document's shingles."""

    queries: Int64s
    numbers: Int64s
    matches: Numbers
    sizes: Numbers

    def take(self, rows: Int64s) -> _Near:
        """Some of them."""
        return _Near(self.queries[rows], self.numbers[rows], self.matches[rows], self.sizes[rows])


class TextSearcher(Searcher):
    """Answers queries from an index of texts or sets: similarity, and containment both ways."""

    def __init__(self, backend: Backend, settings: Settings) -> None:
        super().__init__(backend, settings)
        self.plan, self.loss = settings.bands, settings.loss
        self.estimates = settings.options.store == "none"

    def find(self, queries: SketchedBatch, limits: Limits, without: int | None = None) -> list[Answers]:
        """The answers in portions: each query's are in one of them."""
        ends = ((first, min(first + QUERIES, len(queries))) for first in range(0, len(queries), QUERIES))
        return [part for first, last in ends for part in self._find(queries, first, last, limits, without)]

    def recall(self, scores: Scores, limits: Limits) -> Shares:
        """The least probability with which a document this similar to the query is found."""
        one = np.minimum(scores, 1.0) ** self.plan.rows_per_band
        banded: Shares = 1.0 - (1.0 - one) ** self.plan.n_bands
        if not limits.threshold:
            return banded
        if self.estimates:
            values, places = np.unique(scores, return_inverse=True)
            chances = [_reaching(value, limits.threshold, self.plan.n_hashes) for value in values.tolist()]
            return banded * np.array(chances, np.float64)[places]
        return banded * (1.0 - self.loss)

    def _find(
        self, queries: SketchedBatch, first: int, last: int, limits: Limits, without: int | None
    ) -> Iterator[Answers]:
        for asked, numbers in self._candidates(queries, first, last):
            if without is not None:
                other = numbers != without
                asked, numbers = asked[other], numbers[other]
            near = self._likely(queries, asked, numbers, limits)
            found = self._estimated(queries, near) if self.estimates else self._verified(queries, near, limits)
            yield found.best(limits, descending=True)

    def _candidates(self, queries: SketchedBatch, first: int, last: int) -> Iterator[tuple[Int64s, Int64s]]:
        """Pairs of query and document that share a band."""
        rows = first + np.flatnonzero(queries.shingles[first:last])
        return find_candidates(self.backend, rows, queries.keys[rows], _MEETINGS)

    def _likely(self, queries: SketchedBatch, asked: Int64s, numbers: Int64s, limits: Limits) -> _Near:
        """Candidates whose sketches and sizes do not rule them out."""
        kept: list[_Near] = []
        by_threshold = not self.estimates and limits.threshold > 0
        least = matches_needed(self.plan.n_hashes, limits.threshold, self.loss) if by_threshold else 1
        for chosen, places, documents in self.with_sketches(asked, numbers, self.plan.n_hashes, _SKETCHES):
            matches = np.empty(len(chosen), np.uint32)
            mask = _LOW if by_threshold else _WHOLE
            kernels.matches(queries.slots, documents.slots, asked[chosen], places, mask, matches)
            theirs = documents.shingles[places]
            sizes = queries.shingles[asked[chosen]].astype(np.float64), theirs.astype(np.float64)
            near = np.minimum(*sizes) >= limits.threshold * np.maximum(*sizes) * (1.0 - 1e-12)
            stay = np.flatnonzero((matches >= least) & near)
            kept.append(_Near(asked[chosen[stay]], numbers[chosen[stay]], matches[stay], theirs[stay]))
        if not kept:
            return _Near(asked[:0], numbers[:0], np.zeros(0, np.uint32), np.zeros(0, np.uint32))
        found = kept[0]
        if len(kept) > 1:
            names = ("queries", "numbers", "matches", "sizes")
            found = _Near(*(np.concatenate([getattr(one, name) for one in kept]) for name in names))
            found = found.take(np.lexsort((found.numbers, found.queries)))
        if limits.k is None or by_threshold or not len(found.numbers):
            return found
        return self._nearest(found, int(limits.k))

    def _nearest(self, near: _Near, k: int) -> _Near:
        """Those that can be among the k nearest of their query: estimates are off by so much, and no more."""
        order = np.lexsort((-near.matches.astype(np.int64), near.queries))
        asked, matches = near.queries[order], near.matches[order].astype(np.float64)
        starts = np.flatnonzero(np.concatenate([[True], asked[1:] != asked[:-1]]))
        ends = np.concatenate([starts[1:], [len(order)]])
        kth = matches[np.minimum(starts + k, ends) - 1]
        share = kth / self.plan.n_hashes
        slack = 2 * _ERRORS * np.sqrt(np.maximum(share * (1 - share), 1 / self.plan.n_hashes) * self.plan.n_hashes)
        return near.take(np.sort(order[matches >= np.repeat(kth - slack, ends - starts)]))

    def _estimated(self, queries: SketchedBatch, near: _Near) -> Answers:
        similarity = near.matches / self.plan.n_hashes
        ours, theirs = queries.shingles[near.queries].astype(np.float64), near.sizes.astype(np.float64)
        shared = similarity / (1 + similarity) * (ours + theirs)
        contained = np.minimum(shared / ours, 1.0), np.minimum(shared / theirs, 1.0)
        return Answers(near.queries, near.numbers, (similarity, *contained))

    def _verified(self, queries: SketchedBatch, near: _Near, limits: Limits) -> Answers:
        """Exact scores of those pairs that reach the threshold."""
        if queries.sets is None:
            raise ValueError("queries without their shingle sets cannot be verified")
        done: list[Answers] = []
        distinct, places, inverse = np.unique(near.numbers, return_index=True, return_inverse=True)
        for first, last in runs(near.sizes[places], _SHINGLES):
            theirs, which = self._sets(distinct[first:last])
            chosen = np.flatnonzero((inverse >= first) & (inverse < last))
            asked = near.queries[chosen]
            sets, rows = _side_by_side(queries.sets, asked, theirs)
            offset = len(sets.sizes) - len(theirs.sizes)
            left, right = rows.astype(np.uint32), (which[inverse[chosen] - first] + offset).astype(np.uint32)
            shared = overlaps(sets, left, right, limits.threshold)
            some = np.flatnonzero(shared)
            exact = scores(shared[some], sets.sizes[left[some]], sets.sizes[right[some]])
            done.append(Answers(asked[some], near.numbers[chosen[some]], exact))
        return Answers.concat(done, 3)

    def _sets(self, numbers: Int64s) -> tuple[Sets, Int64s]:
        """The shingle sets of documents, those of copies once, and which of the sets is each document's."""
        documents = self.backend.documents(numbers, contents=True)
        if len(documents) != len(numbers):
            raise self.damaged("is not there")
        self.ids.update((one.number, one.id) for one in documents)
        contents: dict[bytes | None, int] = {}
        which = np.array([contents.setdefault(one.content, len(contents)) for one in documents], np.int64)
        return sets_of(list(contents), self.settings), which


@lru_cache(maxsize=4096)
def _reaching(similarity: float, threshold: float, n_hashes: int) -> float:
    """The probability that the estimate of a document this similar is no less than the threshold."""
    needed = math.ceil(threshold * n_hashes)
    return at_least(needed - ((needed - 1) / n_hashes >= threshold), n_hashes, similarity)


def _side_by_side(queries: Sets, asked: Int64s, documents: Sets) -> tuple[Sets, Int64s]:
    """The sets of the queries that were asked and those of the documents, in one; and the place of each asked one."""
    rows, places = np.unique(asked, return_inverse=True)
    lengths = queries.sizes[rows].astype(np.int64)
    ours = queries.hashes[ranges(queries.starts[rows], lengths)]
    starts = np.concatenate([np.cumsum(lengths) - lengths, documents.starts[: len(documents.sizes)] + len(ours)])
    sizes = np.concatenate([queries.sizes[rows], documents.sizes])
    return Sets(np.concatenate([ours, documents.hashes]), starts, sizes), places
