"""Queries to answers: candidates by their bands, dropped by their sketches, verified by their contents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.errors import DamagedError
from twinset.index import kernels
from twinset.index.base import Home, Kept, Whole
from twinset.index.entries import Sketched, runs, sets_of
from twinset.index.settings import Settings
from twinset.pairs.verify import Sets, overlaps, scores
from twinset.plan import at_least, matches_needed
from twinset.schema import ANSWERS, Hashes, Numbers

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

MANY = ANSWERS.insert(0, pa.field("query", pa.string(), nullable=False))
"""The same, to many queries."""

Shares = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ask:
    """What is asked of each query: the least similarity (0 for none), and how many answers at most."""

    threshold: float
    k: int | None


@dataclass
class _Scored:
    """Answers: query, document, similarity, containment both ways."""

    queries: Whole
    numbers: Whole
    similarity: Shares
    query_in_document: Shares
    document_in_query: Shares


@dataclass
class _Near:
    """Candidates that nothing rules out yet: query, document, equal slots, and the document's shingles."""

    queries: Whole
    numbers: Whole
    matches: Numbers
    sizes: Numbers

    def take(self, rows: Whole) -> _Near:
        """Some of them."""
        return _Near(self.queries[rows], self.numbers[rows], self.matches[rows], self.sizes[rows])


class Asking:
    """Answers queries from one home; within a snapshot of it."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self.home, self.settings, self.plan = home, settings, settings.plan
        self.loss = settings.loss
        self.ids: dict[int, str] = {}

    def answers(self, names: list[str] | None, queries: Sketched, ask: Ask, without: int | None = None) -> pa.Table:
        """The answers to some queries as a table, best first; `without` is a document that is not one."""
        self.ids = {}
        parts = self.scored(queries, ask, without)
        columns = [
            np.concatenate([getattr(part, name) for part in parts]) if len(parts) != 1 else getattr(parts[0], name)
            for name in ("queries", "numbers", "similarity", "query_in_document", "document_in_query")
        ] if parts else [np.zeros(0)] * 5  # fmt: skip
        return self._table(names, _Scored(*columns), ask)

    def scored(self, queries: Sketched, ask: Ask, without: int | None = None) -> list[_Scored]:
        """The answers in portions: each query's are in one of them."""
        ends = ((first, min(first + QUERIES, len(queries))) for first in range(0, len(queries), QUERIES))
        return [part for first, last in ends for part in self._scored(queries, first, last, ask, without)]

    def _table(self, names: list[str] | None, found: _Scored, ask: Ask) -> pa.Table:
        numbers = found.numbers.tolist()
        missing = sorted({number for number in numbers if number not in self.ids})
        for document in self.home.documents(np.array(missing, np.int64), contents=False) if missing else ():
            self.ids[document.number] = document.id
        if missing and not all(number in self.ids for number in missing):
            raise self._damaged("is not there")
        columns = [
            pa.array([self.ids[number] for number in numbers], pa.string()),
            pa.array(found.similarity),
            pa.array(found.query_in_document),
            pa.array(found.document_in_query),
            pa.array(np.full(len(numbers), self.settings.options.store == "none")),
            pa.array(self._recall(found.similarity, ask)),
        ]
        if names is None:
            return pa.Table.from_arrays(columns, schema=ANSWERS)
        asked = pa.array([names[row] for row in found.queries.tolist()], pa.string())
        return pa.Table.from_arrays([asked, *columns], schema=MANY)

    def _recall(self, similarity: Shares, ask: Ask) -> Shares:
        """The least probability with which a document this similar to the query is found."""
        one = np.minimum(similarity, 1.0) ** self.plan.rows_per_band
        banded: Shares = 1.0 - (1.0 - one) ** self.plan.n_bands
        if not ask.threshold:
            return banded
        if self.settings.options.store == "none":
            values, places = np.unique(similarity, return_inverse=True)
            chances = [_reaching(value, ask.threshold, self.plan.n_hashes) for value in values.tolist()]
            return banded * np.array(chances, np.float64)[places]
        return banded * (1.0 - self.loss)

    def _scored(self, queries: Sketched, first: int, last: int, ask: Ask, without: int | None) -> Iterator[_Scored]:
        estimates = self.settings.options.store == "none"
        for asked, numbers in self._candidates(queries, first, last):
            if without is not None:
                other = numbers != without
                asked, numbers = asked[other], numbers[other]
            near = self._likely(queries, asked, numbers, ask)
            yield _best(self._estimated(queries, near) if estimates else self._verified(queries, near, ask), ask)

    def _candidates(self, queries: Sketched, first: int, last: int) -> Iterator[tuple[Whole, Whole]]:
        """Pairs of query and document that share a band, distinct and in order; those of a query in one portion.

        Thousands of queries that meet thousands of copies each would else take all the memory there is.
        """
        rows = first + np.flatnonzero(queries.shingles[first:last])
        flat = queries.keys[rows].astype(np.int64).ravel()
        if len(rows) == 1:  # one query needs no bookkeeping, and should not wait for any
            numbers = np.unique(self.home.postings(np.unique(flat))[1])
            yield np.full(len(numbers), rows[0]), numbers
            return
        found, documents = self.home.postings(np.unique(flat))
        order = np.argsort(found, kind="stable")
        found, documents = found[order], documents[order]
        starts = np.searchsorted(found, flat, "left")
        counts = np.searchsorted(found, flat, "right") - starts
        bands = self.plan.n_bands
        held: list[Hashes] = []
        for low, high in runs(counts.reshape(-1, bands).sum(axis=1), _MEETINGS):
            part = slice(low * bands, high * bands)
            met = documents[_spread(starts[part], counts[part])].astype(np.uint64)
            asked = np.repeat(np.repeat(rows[low:high].astype(np.uint64), bands), counts[part])
            held.append(_distinct((asked << np.uint64(32)) | met))
            if high == len(rows) or sum(map(len, held)) >= _MEETINGS:
                packed, held = held[0] if len(held) == 1 else np.concatenate(held), []
                yield (packed >> np.uint64(32)).astype(np.int64), (packed & np.uint64(0xFFFFFFFF)).astype(np.int64)

    def _likely(self, queries: Sketched, asked: Whole, numbers: Whole, ask: Ask) -> _Near:
        """Candidates whose sketches and sizes do not rule them out."""
        kept: list[_Near] = []
        by_threshold = self.settings.options.store != "none" and ask.threshold > 0
        least = matches_needed(self.plan.n_hashes, ask.threshold, self.loss) if by_threshold else 1
        for chosen, places, documents in self._with_sketches(asked, numbers):
            matches = np.empty(len(chosen), np.uint32)
            mask = _LOW if by_threshold else _WHOLE
            kernels.matches(queries.slots, documents.slots, asked[chosen], places, mask, matches)
            theirs = documents.shingles[places]
            sizes = queries.shingles[asked[chosen]].astype(np.float64), theirs.astype(np.float64)
            near = np.minimum(*sizes) >= ask.threshold * np.maximum(*sizes) * (1.0 - 1e-12)
            stay = np.flatnonzero((matches >= least) & near)
            kept.append(_Near(asked[chosen[stay]], numbers[chosen[stay]], matches[stay], theirs[stay]))
        if not kept:
            return _Near(asked[:0], numbers[:0], np.zeros(0, np.uint32), np.zeros(0, np.uint32))
        found = kept[0]
        if len(kept) > 1:
            names = ("queries", "numbers", "matches", "sizes")
            found = _Near(*(np.concatenate([getattr(one, name) for one in kept]) for name in names))
            found = found.take(np.lexsort((found.numbers, found.queries)))
        if ask.k is None or by_threshold or not len(found.numbers):
            return found
        return self._nearest(found, int(ask.k))

    def _with_sketches(self, asked: Whole, numbers: Whole) -> Iterator[tuple[Whole, Whole, Kept]]:
        """Candidates, portion by portion, with the sketches of their documents and the place of each there."""
        distinct, inverse = np.unique(numbers, return_inverse=True)
        most = max(1, _SKETCHES // (4 * self.plan.n_hashes))
        for first in range(0, len(distinct), most):
            wanted = distinct[first : first + most]
            found = self.home.sketches(wanted)
            if found.slots.shape != (len(wanted), self.plan.n_hashes) or not found.shingles.all():
                raise self._damaged("has no sketch, or not one of this plan")
            chosen = np.flatnonzero((inverse >= first) & (inverse < first + most))
            yield chosen, inverse[chosen] - first, found

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

    def _estimated(self, queries: Sketched, near: _Near) -> _Scored:
        similarity = near.matches / self.plan.n_hashes
        ours, theirs = queries.shingles[near.queries].astype(np.float64), near.sizes.astype(np.float64)
        shared = similarity / (1 + similarity) * (ours + theirs)
        contained = np.minimum(shared / ours, 1.0), np.minimum(shared / theirs, 1.0)
        return _Scored(near.queries, near.numbers, similarity, *contained)

    def _verified(self, queries: Sketched, near: _Near, ask: Ask) -> _Scored:
        """Exact scores of those pairs that reach the threshold."""
        if queries.sets is None:
            raise ValueError("queries without their shingle sets cannot be verified")
        done: list[tuple[Whole, Whole, Shares, Shares, Shares]] = []
        distinct, places, inverse = np.unique(near.numbers, return_index=True, return_inverse=True)
        for first, last in runs(near.sizes[places], _SHINGLES):
            theirs, which = self._sets(distinct[first:last])
            chosen = np.flatnonzero((inverse >= first) & (inverse < last))
            asked = near.queries[chosen]
            sets, rows = _side_by_side(queries.sets, asked, theirs)
            offset = len(sets.sizes) - len(theirs.sizes)
            left, right = rows.astype(np.uint32), (which[inverse[chosen] - first] + offset).astype(np.uint32)
            shared = overlaps(sets, left, right, ask.threshold)
            some = np.flatnonzero(shared)
            exact = scores(shared[some], sets.sizes[left[some]], sets.sizes[right[some]])
            done.append((asked[some], near.numbers[chosen[some]], *exact))
        if not done:
            return _Scored(near.queries, near.numbers, *(np.zeros(0) for _ in range(3)))
        return _Scored(*(np.concatenate(column) for column in zip(*done, strict=True)))

    def _sets(self, numbers: Whole) -> tuple[Sets, Whole]:
        """The shingle sets of documents, those of copies once, and which of the sets is each document's."""
        documents = self.home.documents(numbers, contents=True)
        if len(documents) != len(numbers):
            raise self._damaged("is not there")
        self.ids.update((one.number, one.id) for one in documents)
        contents: dict[bytes | None, int] = {}
        which = np.array([contents.setdefault(one.content, len(contents)) for one in documents], np.int64)
        return sets_of(list(contents), self.settings), which

    def _damaged(self, what: str) -> DamagedError:
        return DamagedError(
            f"{self.home.name} is damaged: a document that its bands lead to {what}; run twinset index verify"
        )


@lru_cache(maxsize=4096)
def _reaching(similarity: float, threshold: float, n_hashes: int) -> float:
    """The probability that the estimate of a document this similar is no less than the threshold."""
    needed = math.ceil(threshold * n_hashes)
    return at_least(needed - ((needed - 1) / n_hashes >= threshold), n_hashes, similarity)


def _distinct(values: Hashes) -> Hashes:
    """Each value once, ascending. They come as a few ascending runs, which are merged ten times as fast as sorted."""
    values.sort(kind="stable")
    first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return values[first]


def _spread(starts: Whole, counts: Whole) -> Whole:
    """The places starts[i], starts[i] + 1, … counts[i] of them, one after the other."""
    before = np.cumsum(counts) - counts
    places: Whole = np.arange(int(counts.sum())) + np.repeat(starts - before, counts)
    return places


def _side_by_side(queries: Sets, asked: Whole, documents: Sets) -> tuple[Sets, Whole]:
    """The sets of the queries that were asked and those of the documents, in one; and the place of each asked one."""
    rows, places = np.unique(asked, return_inverse=True)
    lengths = queries.sizes[rows].astype(np.int64)
    ours = queries.hashes[_spread(queries.starts[rows], lengths)]
    starts = np.concatenate([np.cumsum(lengths) - lengths, documents.starts[: len(documents.sizes)] + len(ours)])
    sizes = np.concatenate([queries.sizes[rows], documents.sizes])
    return Sets(np.concatenate([ours, documents.hashes]), starts, sizes), places


def _best(found: _Scored, ask: Ask) -> _Scored:
    """By query, the most similar first, of equal ones the one added first; no more than k, none below the threshold."""
    order = np.lexsort((found.numbers, -found.similarity, found.queries))
    order = order[found.similarity[order] >= ask.threshold]
    if ask.k is not None and len(order):
        asked = found.queries[order]
        starts = np.flatnonzero(np.concatenate([[True], asked[1:] != asked[:-1]]))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.concatenate([starts, [len(order)]])))
        order = order[rank < ask.k]
    names = ("queries", "numbers", "similarity", "query_in_document", "document_in_query")
    return _Scored(*(getattr(found, name)[order] for name in names))
