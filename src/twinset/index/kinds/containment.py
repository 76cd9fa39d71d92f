"""Answer queries for containment: which documents contain a query, and which are contained in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.engines.local.threads import Threads
from twinset.index.backend import Backend, Document, Int64s
from twinset.index.kinds import kernels
from twinset.index.kinds.sample_queries import SampledQuery
from twinset.index.kinds.text_entries import SketchedBatch, runs, sets_of
from twinset.index.query import Answers, Limits, Searcher, Shares
from twinset.index.settings import Settings
from twinset.pairs.sets import Sets, scores
from twinset.schema import Hashes, Numbers, in_order
from twinset.system import batch_sizes
from twinset.system.arrays import ranges
from twinset.system.memory import default_threads


@dataclass(frozen=True)
class _Inverted:
    """The shingles of some queries, inverted: owners[firsts[v]:firsts[v+1]] have the shingle values[v].

    An owner is a position in `rows`, the rows of the queries.
    """

    rows: Int64s
    sizes: Numbers
    values: Hashes
    table: npt.NDArray[np.int32]
    firsts: Int64s
    owners: Int64s

    @classmethod
    def of(cls, sets: Sets, rows: Int64s) -> _Inverted:
        """Invert the sets of some queries."""
        sizes = sets.sizes[rows]
        lengths = sizes.astype(np.int64)
        hashes = sets.hashes[ranges(sets.starts[rows], lengths)]
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        firsts = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]]))
        values = np.ascontiguousarray(hashes[firsts])
        table = np.empty(1 << max(3, (2 * len(values)).bit_length()), np.int32)
        kernels.place_values(values, table)
        owners = np.repeat(np.arange(len(rows)), lengths)[order]
        return cls(rows, sizes, values, table, np.append(firsts, len(hashes)), owners)

    def shared(self, documents: Sets) -> npt.NDArray[np.uint32]:
        """Return the numbers of shared shingles, (documents, queries)."""
        counts = np.empty((len(documents.sizes), len(self.rows)), np.uint32)
        starts = np.ascontiguousarray(documents.starts[: len(documents.sizes)])
        kernels.count_shared(
            documents.hashes, starts, documents.sizes, self.values, self.table, self.firsts, self.owners, counts
        )
        return counts


class ContainmentSearcher(Searcher):
    """Answers queries for containment in an index of texts or sets that stores contents."""

    def __init__(self, backend: Backend, settings: Settings) -> None:
        super().__init__(backend, settings)
        self._slots = settings.bands.n_hashes
        self._sizes = np.zeros(0, np.int64)
        self._sampled: dict[int, SampledQuery] = {}

    def find(self, queries: SketchedBatch, limits: Limits, without: int | None = None) -> list[Answers]:
        """Return the answers, in the order of the queries."""
        if queries.sets is None:
            raise ValueError("queries without their shingle sets cannot be compared")
        rows, many = np.flatnonzero(queries.shingles), batch_sizes.INDEX_QUERIES
        self._sizes, self._sampled = queries.shingles.astype(np.int64), {}
        parts: list[Answers] = []
        if self.settings.options.contained:
            parts = [part for row in rows.tolist() for part in self._by_samples(queries.sets, row, limits, without)]
        scanned = rows[~np.isin(rows, list(self._sampled))]
        for first in range(0, len(scanned), many):
            pages = self.sketch_pages(self._slots, batch_sizes.INDEX_SKETCH_BYTES, without)
            some = ((page.numbers, page.shingles) for page in pages)
            parts.append(self._compare(queries.sets, scanned[first : first + many], some, limits))
        found = Answers.concat(parts, self.measure)
        return [found.take(np.argsort(found.queries, kind="stable"))]

    def _by_samples(self, sets: Sets, row: int, limits: Limits, without: int | None) -> Iterator[Answers]:
        """Compare a query with the documents that share enough samples with it, unless it has too few."""
        first = int(sets.starts[row])
        hashes = sets.hashes[first : first + int(sets.sizes[row])]
        sampled = SampledQuery.of(hashes, limits.threshold, self.settings.options.recall)
        if sampled is None:
            return
        self._sampled[row] = sampled
        hits = sampled.hits(self.backend)
        numbers, sizes = self.backend.shingle_counts(hits.numbers)
        if len(numbers) != len(hits.numbers) or not sizes.all():
            raise self.damaged("is missing", "samples")
        stay = sampled.may_answer(hits, sizes) & (numbers != (without or 0))
        yield self._compare(sets, np.array([row]), [(numbers[stay], sizes[stay])], limits)

    def recall(self, answers: Answers, limits: Limits) -> Shares:
        """Return the minimum probability that a document of each containment is found."""
        chances = np.ones(len(answers.numbers))
        ours = self._sizes[answers.queries]
        shared = np.rint(answers.scores[1] * ours).astype(np.int64)
        theirs = np.rint(shared / answers.scores[2]).astype(np.int64)
        for row, sampled in self._sampled.items():
            places = np.flatnonzero(answers.queries == row)
            if len(places):
                chances[places] = sampled.chances(shared[places], theirs[places])
        return chances

    def _compare(
        self, sets: Sets, rows: Int64s, pages: Iterable[tuple[Int64s, npt.NDArray[Any]]], limits: Limits
    ) -> Answers:
        """Compare queries with the contents of documents, given in pages: numbers and sizes."""
        inverted = _Inverted.of(sets, rows)

        def compare(documents: list[Document]) -> Answers:
            return self._contained(inverted, documents, limits.threshold)

        portions = self._portions(pages, len(rows))
        first, second = next(portions, None), next(portions, None)
        if first is None or second is None:  # a pool of threads takes longer to start than few documents to compare
            parts = [] if first is None else [compare(first)]
        else:
            with closing(Threads(default_threads())) as threads:
                parts = list(threads.map(compare, _chained(first, second, portions)))
        found = Answers.concat(parts, self.measure)
        return found.best(limits, descending=True, by=np.maximum(found.scores[1], found.scores[2]))

    def _portions(self, pages: Iterable[tuple[Int64s, npt.NDArray[Any]]], queries: int) -> Iterator[list[Document]]:
        """Read the contents of documents, up to some shingles and some pairs with queries at a time."""
        many = max(1, batch_sizes.INDEX_COMPARED // queries)
        for numbers, sizes in pages:
            for low, high in runs(sizes, batch_sizes.INDEX_SHINGLES):
                for first in range(low, high, many):
                    wanted = numbers[first : min(first + many, high)]
                    documents = self.backend.documents(wanted, contents=True)
                    if len(documents) != len(wanted):
                        raise self.damaged("is missing", "sketches")
                    yield documents

    def _contained(self, inverted: _Inverted, documents: list[Document], least: float) -> Answers:
        """Return the documents that contain enough of a query, or are contained in it enough, with exact scores."""
        sets = sets_of([one.content for one in documents], self.settings)
        shared = inverted.shared(sets)
        smaller = np.minimum(sets.sizes[:, None], inverted.sizes[None, :])
        places, queries = np.nonzero(shared / np.maximum(smaller, 1) >= least)
        exact = scores(shared[places, queries], inverted.sizes[queries], sets.sizes[places])
        numbers = np.array([one.number for one in documents], np.int64)[places]
        return Answers(inverted.rows[queries], numbers, in_order(exact, self.measure))


def _chained(
    first: list[Document], second: list[Document], others: Iterator[list[Document]]
) -> Iterator[list[Document]]:
    yield first
    yield second
    yield from others
