"""Queries to answers: candidates by their bands, dropped by their sketches, verified by their contents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.errors import DamagedError
from twinset.index import kernels
from twinset.index.base import Home, Kept, Whole
from twinset.index.entries import Sketched, sets_of
from twinset.index.settings import Settings
from twinset.pairs.verify import Sets, overlaps, scores
from twinset.plan import matches_needed
from twinset.schema import ANSWERS

QUERIES = 1024
"""Queries looked up together."""
_SKETCHES = 65536
_CONTENTS = 4096
_WHOLE, _LOW = np.uint32(0xFFFFFFFF), np.uint32(0xFF)
_ERRORS = 3.5
"""Standard errors by which an estimate may be off; the plan allows for as much."""

_MANY = ANSWERS.insert(0, pa.field("query", pa.string(), nullable=False))

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


class Asking:
    """Answers queries from one home; within a snapshot of it."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self.home, self.settings, self.plan = home, settings, settings.plan
        self.loss = settings.loss
        self.ids: dict[int, str] = {}

    def answers(self, names: list[str] | None, queries: Sketched, ask: Ask, without: int | None = None) -> pa.Table:
        """The answers to some queries as a table, best first; `without` is a document that is not one."""
        self.ids = {}
        parts = [self._scored(queries, first, ask, without) for first in range(0, len(queries), QUERIES)]
        columns = [
            np.concatenate([getattr(part, name) for part in parts]) if len(parts) != 1 else getattr(parts[0], name)
            for name in ("queries", "numbers", "similarity", "query_in_document", "document_in_query")
        ] if parts else [np.zeros(0)] * 5  # fmt: skip
        return self._table(names, _Scored(*columns), ask)

    def _table(self, names: list[str] | None, found: _Scored, ask: Ask) -> pa.Table:
        numbers = found.numbers.tolist()
        missing = sorted({number for number in numbers if number not in self.ids})
        for document in self.home.documents(np.array(missing, np.int64), contents=False) if missing else ():
            self.ids[document.number] = document.id
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
        return pa.Table.from_arrays([asked, *columns], schema=_MANY)

    def _recall(self, similarity: Shares, ask: Ask) -> Shares:
        """The least probability with which a document this similar to the query is found."""
        one = np.minimum(similarity, 1.0) ** self.plan.rows_per_band
        banded: Shares = 1.0 - (1.0 - one) ** self.plan.n_bands
        return banded * (1.0 - self.loss) if ask.threshold else banded

    def _scored(self, queries: Sketched, first: int, ask: Ask, without: int | None) -> _Scored:
        last = min(first + QUERIES, len(queries))
        asked, numbers = self._candidates(queries, first, last)
        if without is not None:
            other = numbers != without
            asked, numbers = asked[other], numbers[other]
        asked, numbers, matches = self._likely(queries, asked, numbers, ask)
        if self.settings.options.store == "none":
            found = self._estimated(queries, asked, numbers, matches)
        else:
            found = self._verified(queries, asked, numbers, ask)
        return _best(found, ask)

    def _candidates(self, queries: Sketched, first: int, last: int) -> tuple[Whole, Whole]:
        """Pairs of query and document that share a band, distinct and in order."""
        rows = first + np.flatnonzero(queries.shingles[first:last])
        flat = queries.keys[rows].astype(np.int64).ravel()
        if len(rows) == 1:  # one query needs no bookkeeping, and should not wait for any
            numbers = np.unique(self.home.postings(np.unique(flat))[1])
            return np.full(len(numbers), rows[0]), numbers
        order = np.argsort(flat, kind="stable")
        keys, owners = flat[order], rows[order // self.plan.n_bands]
        found, documents = self.home.postings(np.unique(keys))
        starts = np.searchsorted(keys, found, "left")
        counts = np.searchsorted(keys, found, "right") - starts
        asked = owners[_spread(starts, counts)]
        packed = np.unique((asked.astype(np.uint64) << np.uint64(32)) | np.repeat(documents, counts).astype(np.uint64))
        return (packed >> np.uint64(32)).astype(np.int64), (packed & np.uint64(0xFFFFFFFF)).astype(np.int64)

    def _likely(
        self, queries: Sketched, asked: Whole, numbers: Whole, ask: Ask
    ) -> tuple[Whole, Whole, npt.NDArray[np.uint32]]:
        """Candidates whose sketches and sizes do not rule them out, with their equal slots."""
        kept: list[tuple[Whole, Whole, npt.NDArray[np.uint32]]] = []
        by_threshold = self.settings.options.store != "none" and ask.threshold > 0
        least = matches_needed(self.plan.n_hashes, ask.threshold, self.loss) if by_threshold else 1
        for chosen, places, documents in self._with_sketches(asked, numbers):
            matches = np.empty(len(chosen), np.uint32)
            mask = _LOW if by_threshold else _WHOLE
            kernels.matches(queries.slots, documents.slots, asked[chosen], places, mask, matches)
            sizes = queries.shingles[asked[chosen]].astype(np.float64), documents.shingles[places].astype(np.float64)
            near = np.minimum(*sizes) >= ask.threshold * np.maximum(*sizes) * (1.0 - 1e-12)
            stay = np.flatnonzero((matches >= least) & near)
            kept.append((asked[chosen[stay]], numbers[chosen[stay]], matches[stay]))
        if not kept:
            return asked[:0], numbers[:0], np.zeros(0, np.uint32)
        found = kept[0]
        if len(kept) > 1:
            first, second, third = (np.concatenate(column) for column in zip(*kept, strict=True))
            order = np.lexsort((second, first))
            found = first[order], second[order], third[order]
        return self._nearest(*found, ask) if ask.k is not None and not by_threshold else found

    def _with_sketches(self, asked: Whole, numbers: Whole) -> Iterator[tuple[Whole, Whole, Kept]]:
        """Candidates, portion by portion, with the sketches of their documents and the place of each there."""
        distinct, inverse = np.unique(numbers, return_inverse=True)
        for first in range(0, len(distinct), _SKETCHES):
            wanted = distinct[first : first + _SKETCHES]
            found = self.home.sketches(wanted)
            if len(found.numbers) != len(wanted) or found.slots.shape[1] != self.plan.n_hashes:
                raise DamagedError(
                    f"{self.home.name}: documents that the bands lead to have no sketches; run twinset index verify"
                )
            chosen = np.flatnonzero((inverse >= first) & (inverse < first + _SKETCHES))
            yield chosen, inverse[chosen] - first, found

    def _nearest(
        self, asked: Whole, numbers: Whole, matches: npt.NDArray[np.uint32], ask: Ask
    ) -> tuple[Whole, Whole, npt.NDArray[np.uint32]]:
        """Those that can be among the k nearest of their query: estimates are off by so much, and no more."""
        k = int(ask.k or 1)
        order = np.lexsort((-matches.astype(np.int64), asked))
        sorted_asked, sorted_matches = asked[order], matches[order].astype(np.float64)
        starts = np.flatnonzero(np.concatenate([[True], sorted_asked[1:] != sorted_asked[:-1]]))
        ends = np.concatenate([starts[1:], [len(order)]])
        kth = sorted_matches[np.minimum(starts + k, ends) - 1]
        share = kth / self.plan.n_hashes
        slack = 2 * _ERRORS * np.sqrt(np.maximum(share * (1 - share), 1 / self.plan.n_hashes) * self.plan.n_hashes)
        stay = np.sort(order[sorted_matches >= np.repeat(kth - slack, ends - starts)])
        return asked[stay], numbers[stay], matches[stay]

    def _estimated(self, queries: Sketched, asked: Whole, numbers: Whole, matches: npt.NDArray[np.uint32]) -> _Scored:
        similarity = matches / self.plan.n_hashes
        sizes: dict[int, int] = {}
        for first in range(0, len(numbers), _SKETCHES):
            found = self.home.sketches(np.unique(numbers[first : first + _SKETCHES]))
            sizes.update(zip(found.numbers.tolist(), found.shingles.tolist(), strict=True))
        ours = queries.shingles[asked].astype(np.float64)
        theirs = np.array([sizes[number] for number in numbers.tolist()], np.float64)
        shared = similarity / (1 + similarity) * (ours + theirs)
        return _Scored(asked, numbers, similarity, np.minimum(shared / ours, 1.0), np.minimum(shared / theirs, 1.0))

    def _verified(self, queries: Sketched, asked: Whole, numbers: Whole, ask: Ask) -> _Scored:
        """Exact scores of those pairs that reach the threshold."""
        if queries.sets is None:
            raise ValueError("queries without their shingle sets cannot be verified")
        done: list[tuple[Whole, Whole, Shares, Shares, Shares]] = []
        distinct, inverse = np.unique(numbers, return_inverse=True)
        for first in range(0, len(distinct), _CONTENTS):
            documents = self.home.documents(distinct[first : first + _CONTENTS], contents=True)
            self.ids.update((one.number, one.id) for one in documents)
            chosen = np.flatnonzero((inverse >= first) & (inverse < first + _CONTENTS))
            lefts, rights = asked[chosen], inverse[chosen] - first
            theirs = sets_of([one.content or b"" for one in documents], self.settings)
            sets, places = _side_by_side(queries.sets, lefts, theirs)
            offset = len(sets.sizes) - len(documents)
            left, right = places.astype(np.uint32), (rights + offset).astype(np.uint32)
            shared = overlaps(sets, left, right, ask.threshold)
            near = np.flatnonzero(shared)
            exact = scores(shared[near], sets.sizes[left[near]], sets.sizes[right[near]])
            done.append((lefts[near], numbers[chosen[near]], *exact))
        if not done:
            return _Scored(asked[:0], numbers[:0], *(np.zeros(0) for _ in range(3)))
        return _Scored(*(np.concatenate(column) for column in zip(*done, strict=True)))


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
