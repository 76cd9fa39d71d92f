"""Answer queries of texts and sets: candidates by bands, filtered by sketches, verified by contents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from twinset.index.backend import Backend, Int64s
from twinset.index.content_lists import content_lists, ranks_of
from twinset.index.kinds import kernels
from twinset.index.kinds.text_entries import SketchedBatch, runs, sets_of
from twinset.index.query import (
    MOST_SCANNED,
    Answers,
    Limits,
    Searcher,
    Shares,
    find_candidates,
    queries_short_of,
    replace_answers,
)
from twinset.index.settings import Settings
from twinset.pairs.sets import Sets, overlaps, scores
from twinset.plan import at_least, matches_needed
from twinset.schema import SCORES, Numbers, Scores, in_order
from twinset.system import batch_sizes
from twinset.system.arrays import ranges

_WHOLE, _LOW = np.uint32(0xFFFFFFFF), np.uint32(0xFF)
MOST_READ = 10_000
"""Documents of the largest index whose contents are all compared with a query for its k nearest."""
_SURE = 0.99
"""Probability that two sketches share a slot, above which contents need not be read."""
_PAIRS = 1 << 20
"""Pairs of query and document that a scan compares at a time."""
_ERRORS = 3.5
"""Standard errors that an estimate may be off, as in the plan."""


@dataclass
class _Candidates:
    """Candidate pairs: query row, document number, equal slots, and shingles of the document."""

    queries: Int64s
    numbers: Int64s
    matches: Numbers
    sizes: Numbers

    def take(self, rows: Int64s) -> _Candidates:
        """Return some of the candidates."""
        return _Candidates(self.queries[rows], self.numbers[rows], self.matches[rows], self.sizes[rows])


class TextSearcher(Searcher):
    """Answers queries in an index of texts or sets: similarity, and containment both ways."""

    def __init__(self, backend: Backend, settings: Settings) -> None:
        super().__init__(backend, settings)
        self.plan, self.loss = settings.bands, settings.loss
        self.estimates = settings.options.store == "none"
        self._scanned = self._read = np.zeros(0, np.int64)  # queries compared with all sketches, or all contents

    def find(self, queries: SketchedBatch, limits: Limits, without: int | None = None) -> list[Answers]:
        """Return the answers in portions; all answers to a query are in one portion."""
        if limits.k is not None and not limits.threshold and not self.estimates and queries.sets is not None:
            listed = content_lists(self.backend, self.settings)
            if listed.lists is not None:
                self._read = np.flatnonzero(queries.shingles)
                return [listed.nearest(queries.sets, self._read, limits, self.measure, without)]
        many = batch_sizes.INDEX_QUERIES
        ends = ((first, min(first + many, len(queries))) for first in range(0, len(queries), many))
        parts = [part for first, last in ends for part in self._find(queries, first, last, limits, without)]
        return parts if limits.k is None or limits.threshold else self._complete(parts, queries, limits, without)

    def _complete(
        self, parts: list[Answers], queries: SketchedBatch, limits: Limits, without: int | None
    ) -> list[Answers]:
        """Find the k nearest where bands do not: compare with all sketches, and with all contents of a small index."""
        rows = np.flatnonzero(queries.shingles)
        short = queries_short_of(parts, rows, limits.k or 0, self.plan.threshold, descending=True)
        if not len(short) or not self.has_at_most(MOST_SCANNED):
            return parts
        self._scanned = short
        parts = replace_answers(parts, short, list(self._scan(queries, short, limits, without)), self.measure)
        short = queries_short_of(parts, short, limits.k or 0, self._least_sure, descending=True)
        if self.estimates or not len(short) or not self.has_at_most(MOST_READ):
            return parts
        self._read = short
        return replace_answers(parts, short, list(self._read_all(queries, short, limits, without)), self.measure)

    @property
    def _least_sure(self) -> float:
        """The similarity above which a scan of sketches finds a document nearly always."""
        return float(1.0 - (1.0 - _SURE) ** (1.0 / self.plan.n_hashes))

    def _scan(self, queries: SketchedBatch, rows: Int64s, limits: Limits, without: int | None) -> Iterator[Answers]:
        """Compare queries with the sketches of all documents, and verify those that share a slot."""
        kept: list[_Candidates] = []
        for page in self.sketch_pages(self.plan.n_hashes, batch_sizes.INDEX_SKETCH_BYTES, without):
            at_once = max(1, _PAIRS // max(1, len(page.numbers)))
            for start in range(0, len(rows), at_once):
                some = rows[start : start + at_once]
                places = np.tile(np.arange(len(page.numbers)), len(some))
                query_rows = np.repeat(some, len(page.numbers))
                matches = np.empty(len(places), np.uint32)
                kernels.matches(queries.slots, page.slots, query_rows, places, _WHOLE, matches)
                stay = np.flatnonzero(matches)
                theirs = places[stay]
                kept.append(_Candidates(query_rows[stay], page.numbers[theirs], matches[stay], page.shingles[theirs]))
        if not kept:
            return
        found = _concat_candidates(kept)
        if len(found.numbers):
            found = self._nearest(found, int(limits.k or 0))
        answers = self._estimate(queries, found) if self.estimates else self._verify(queries, found, limits)
        yield self._best(answers, limits)

    def _read_all(self, queries: SketchedBatch, rows: Int64s, limits: Limits, without: int | None) -> Iterator[Answers]:
        """Compare queries with the contents of all documents."""
        pages = [
            (page.numbers, page.shingles)
            for page in self.sketch_pages(self.plan.n_hashes, batch_sizes.INDEX_SKETCH_BYTES, without)
        ]
        if not pages:
            return
        numbers, sizes = (np.concatenate(column) for column in zip(*pages, strict=True))
        at_once = max(1, _PAIRS // len(numbers)) if len(numbers) else len(rows)
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            query_rows, every = np.repeat(some, len(numbers)), np.tile(numbers, len(some))
            no_matches = np.zeros(len(every), np.uint32)
            candidates = _Candidates(query_rows, every, no_matches, np.tile(sizes, len(some)))
            yield self._best(self._verify(queries, candidates, limits), limits)

    def recall(self, answers: Answers, limits: Limits) -> Shares:
        """Return the minimum probability that a document of each similarity is found."""
        scores = answers.scores[0]
        one = np.minimum(scores, 1.0) ** self.plan.rows_per_band
        banded: Shares = 1.0 - (1.0 - one) ** self.plan.n_bands
        if not limits.threshold:
            shared: Shares = 1.0 - (1.0 - np.minimum(scores, 1.0)) ** self.plan.n_hashes  # a slot of the sketches
            seen = np.where(np.isin(answers.queries, self._scanned), np.maximum(banded, shared), banded)
            return np.where(np.isin(answers.queries, self._read), 1.0, seen)
        if self.estimates:
            values, places = np.unique(scores, return_inverse=True)
            chances = [_reach_probability(value, limits.threshold, self.plan.n_hashes) for value in values.tolist()]
            return banded * np.array(chances, np.float64)[places]
        return banded * (1.0 - self.loss)

    def _find(
        self, queries: SketchedBatch, first: int, last: int, limits: Limits, without: int | None
    ) -> Iterator[Answers]:
        for query_rows, numbers in self._candidates(queries, first, last):
            if without is not None:
                other = numbers != without
                query_rows, numbers = query_rows[other], numbers[other]
            candidates = self._filter(queries, query_rows, numbers, limits)
            found = self._estimate(queries, candidates) if self.estimates else self._verify(queries, candidates, limits)
            yield self._best(found, limits)

    def _candidates(self, queries: SketchedBatch, first: int, last: int) -> Iterator[tuple[Int64s, Int64s]]:
        """Yield pairs of query and document that share a band."""
        rows = first + np.flatnonzero(queries.shingles[first:last])
        return find_candidates(self.backend, rows, queries.keys[rows], batch_sizes.INDEX_MEETINGS)

    def _filter(self, queries: SketchedBatch, query_rows: Int64s, numbers: Int64s, limits: Limits) -> _Candidates:
        """Drop candidates that their sketches or sizes rule out."""
        kept: list[_Candidates] = []
        by_threshold = not self.estimates and limits.threshold > 0
        least = matches_needed(self.plan.n_hashes, limits.threshold, self.loss) if by_threshold else 1
        most_bytes = batch_sizes.INDEX_SKETCH_BYTES
        for chosen, places, documents in self.with_sketches(numbers, self.plan.n_hashes, most_bytes):
            matches = np.empty(len(chosen), np.uint32)
            mask = _LOW if by_threshold else _WHOLE
            kernels.matches(queries.slots, documents.slots, query_rows[chosen], places, mask, matches)
            theirs = documents.shingles[places]
            near = self._may_reach(queries.shingles[query_rows[chosen]], theirs, limits.threshold)
            stay = np.flatnonzero((matches >= least) & near)
            kept.append(_Candidates(query_rows[chosen[stay]], numbers[chosen[stay]], matches[stay], theirs[stay]))
        if not kept:
            return _Candidates(query_rows[:0], numbers[:0], np.zeros(0, np.uint32), np.zeros(0, np.uint32))
        found = kept[0]
        if len(kept) > 1:
            found = _concat_candidates(kept)
        if limits.k is None or by_threshold or not len(found.numbers):
            return found
        return self._nearest(found, int(limits.k))

    def _may_reach(self, ours: Numbers, theirs: Numbers, threshold: float) -> npt.NDArray[np.bool_]:
        """Return which pairs of sets of these sizes may reach a similarity."""
        least, most = np.minimum(ours, theirs).astype(np.float64), np.maximum(ours, theirs).astype(np.float64)
        near: npt.NDArray[np.bool_] = least >= threshold * most * (1.0 - 1e-12)
        return near

    def _nearest(self, candidates: _Candidates, k: int) -> _Candidates:
        """Keep candidates that can be among the k nearest of their query, given the error of estimates."""
        order = np.lexsort((-candidates.matches.astype(np.int64), candidates.queries))
        query_rows, matches = candidates.queries[order], candidates.matches[order].astype(np.float64)
        starts = np.flatnonzero(np.concatenate([[True], query_rows[1:] != query_rows[:-1]]))
        ends = np.concatenate([starts[1:], [len(order)]])
        kth = matches[np.minimum(starts + k, ends) - 1]
        share = kth / self.plan.n_hashes
        slack = 2 * _ERRORS * np.sqrt(np.maximum(share * (1 - share), 1 / self.plan.n_hashes) * self.plan.n_hashes)
        return candidates.take(np.sort(order[matches >= np.repeat(kth - slack, ends - starts)]))

    def _estimate(self, queries: SketchedBatch, candidates: _Candidates) -> Answers:
        similarity = candidates.matches / self.plan.n_hashes
        ours, theirs = queries.shingles[candidates.queries].astype(np.float64), candidates.sizes.astype(np.float64)
        shared = similarity / (1 + similarity) * (ours + theirs)
        estimates = in_order({**scores(shared, ours, theirs), "similarity": similarity}, self.measure)
        limited = (
            np.minimum(values, 1.0) if column.shown == "share" else values
            for column, values in zip(SCORES[self.measure], estimates, strict=True)
        )
        return Answers(candidates.queries, candidates.numbers, tuple(limited))

    def _verify(self, queries: SketchedBatch, candidates: _Candidates, limits: Limits) -> Answers:
        """Return the exact scores of pairs that reach the threshold."""
        if queries.sets is None:
            raise ValueError("queries without their shingle sets cannot be verified")
        done: list[Answers] = []
        distinct, places, inverse = np.unique(candidates.numbers, return_index=True, return_inverse=True)
        for first, last in runs(candidates.sizes[places], batch_sizes.INDEX_SHINGLES):
            theirs, which = self._sets(distinct[first:last])
            chosen = np.flatnonzero((inverse >= first) & (inverse < last))
            query_rows, places = candidates.queries[chosen], which[inverse[chosen] - first]
            some, exact = self._compare(queries.sets, query_rows, theirs, places, limits.threshold)
            done.append(Answers(query_rows[some], candidates.numbers[chosen[some]], in_order(exact, self.measure)))
        return Answers.concat(done, self.measure)

    def _compare(
        self, queries: Sets, query_rows: Int64s, documents: Sets, places: Int64s, threshold: float
    ) -> tuple[Int64s, Scores]:
        """Compare pairs of a query and a document; return those that reach the threshold, and their scores."""
        sets, rows = _concat_sets(queries, query_rows, documents)
        offset = len(sets.sizes) - len(documents.sizes)
        left, right = rows.astype(np.uint32), (places + offset).astype(np.uint32)
        shared = overlaps(sets, left, right, threshold)
        some = np.flatnonzero(shared)
        return some, scores(shared[some], sets.sizes[left[some]], sets.sizes[right[some]])

    def _best(self, found: Answers, limits: Limits) -> Answers:
        """Apply the limits; ties are in the order of adding, or of the ids."""
        ties = self._id_ranks(found.numbers) if self.settings.ties_by_id and len(found.numbers) else None
        return found.best(limits, descending=True, ties=ties)

    def _id_ranks(self, numbers: Int64s) -> Int64s:
        """Return the place of each document in the order of the ids."""
        distinct, inverse = np.unique(numbers, return_inverse=True)
        unknown = np.array([number for number in distinct.tolist() if number not in self.ids], np.int64)
        self.ids.update((one.number, one.id) for one in self.backend.documents(unknown, contents=False))
        try:
            return ranks_of([self.ids[number] for number in distinct.tolist()])[inverse]
        except KeyError:
            raise self.damaged("is missing") from None

    def _sets(self, numbers: Int64s) -> tuple[Sets, Int64s]:
        """Return the distinct shingle sets of documents, and the row of each document's set."""
        documents = self.backend.documents(numbers, contents=True)
        if len(documents) != len(numbers):
            raise self.damaged("is missing")
        self.ids.update((one.number, one.id) for one in documents)
        contents: dict[bytes | None, int] = {}
        which = np.array([contents.setdefault(one.content, len(contents)) for one in documents], np.int64)
        return sets_of(list(contents), self.settings), which


def _concat_candidates(parts: list[_Candidates]) -> _Candidates:
    """Concatenate candidates, by query and document."""
    names = ("queries", "numbers", "matches", "sizes")
    found = _Candidates(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))
    return found.take(np.lexsort((found.numbers, found.queries)))


@lru_cache(maxsize=4096)
def _reach_probability(similarity: float, threshold: float, n_hashes: int) -> float:
    """Return the probability that the estimate of a document of this similarity reaches the threshold."""
    needed = math.ceil(threshold * n_hashes)
    return at_least(needed - ((needed - 1) / n_hashes >= threshold), n_hashes, similarity)


def _concat_sets(queries: Sets, query_rows: Int64s, documents: Sets) -> tuple[Sets, Int64s]:
    """Concatenate the sets of the queries and documents; return the row of each query's set."""
    rows, places = np.unique(query_rows, return_inverse=True)
    lengths = queries.sizes[rows].astype(np.int64)
    ours = queries.hashes[ranges(queries.starts[rows], lengths)]
    starts = np.concatenate([np.cumsum(lengths) - lengths, documents.starts[: len(documents.sizes)] + len(ours)])
    sizes = np.concatenate([queries.sizes[rows], documents.sizes])
    return Sets(np.concatenate([ours, documents.hashes]), starts, sizes), places
