"""Find, order and count the answers to queries: what all kinds of documents share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.errors import DamagedError
from twinset.index.backend import Backend, Int64s, SketchRows
from twinset.index.kinds.text_entries import SketchedBatch, runs
from twinset.index.read_batches import Batch
from twinset.index.settings import Settings
from twinset.schema import Hashes, Numbers, answers_schema, equal_scores, in_order
from twinset.system import batch_sizes
from twinset.system.arrays import ranges

Shares = npt.NDArray[np.float64]
Scores = npt.NDArray[Any]


MOST_SCANNED = 200_000
"""Documents of the largest index whose sketches or vectors are all compared with a query for its k nearest.

Reading that many sketches takes about a second.
"""


@dataclass(frozen=True)
class Limits:
    """The limits of a query: minimum similarity or maximum distance, and the maximum number of answers.

    For texts, a minimum similarity of 0 means no limit. With `contained`, the threshold is the minimum containment.
    With `by_layout`, pictures are compared by their colour layouts, not by their hashes; with `any_orientation`, in all
    orientations of the query.
    """

    threshold: float
    k: int | None
    contained: bool = False
    by_layout: bool = False
    any_orientation: bool = False


@dataclass
class QueryCounts:
    """Counts of queries, of queries with answers (`answered`), and of answers (`found`).

    `least_similarity` or `greatest_distance` is that of the worst answer. `empty` counts queries without a token, which
    have no answers; `short` counts those with fewer tokens than a shingle of the index, which match only documents with
    the same tokens, or with fewer words than a passage, which share none; `undecoded` counts those with invalid UTF-8.
    `unreadable` counts rows that were skipped, and `named` has the first thousand of them, each with the reason.
    `skipped` are files that were not read.
    """

    queries: int = 0
    answered: int = 0
    found: int = 0
    least_similarity: float | None = None
    greatest_distance: float | None = None
    empty: int = 0
    short: int = 0
    undecoded: int = 0
    unreadable: int = 0
    named: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def count_answers(self, answers: pa.Table) -> None:
        """Add answers to the counts."""
        if answers.num_rows and "distance" in answers.schema.names:
            greatest = pc.max(answers.column("distance")).as_py()
            self.greatest_distance = max(greatest, self.greatest_distance or 0)
        elif answers.num_rows:
            least = pc.min(answers.column("similarity")).as_py()
            self.least_similarity = least if self.least_similarity is None else min(least, self.least_similarity)
        self.found += answers.num_rows

    def count(self, batch: Batch, queries: SketchedBatch, answers: pa.Table) -> None:
        """Add a batch of queries and its answers to the counts."""
        self.queries += len(queries)
        self.count_answers(answers)
        self.answered += pc.count_distinct(answers.column("query")).as_py()
        self.empty += int(np.count_nonzero(queries.shingles == 0))
        self.short += queries.short
        self._count_rows(batch)

    def count_passages(self, batch: Batch, lengths: Numbers, least: int, passages: pa.Table) -> None:
        """Add a batch of queries with these numbers of words, and its passages, to the counts."""
        self.queries += len(lengths)
        self.found += passages.num_rows
        self.answered += pc.count_distinct(passages.column("left")).as_py()
        self.empty += int(np.count_nonzero(lengths == 0))
        self.short += int(np.count_nonzero((lengths > 0) & (lengths < least)))
        self._count_rows(batch)

    def _count_rows(self, batch: Batch) -> None:
        self.undecoded += batch.undecoded
        self.unreadable += len(batch.unreadable)
        self.named += batch.unreadable[: batch_sizes.NAMED - len(self.named)]


@dataclass
class Answers:
    """Answers: query rows, document numbers, and the scores, of which the first decides the order."""

    queries: Int64s
    numbers: Int64s
    scores: tuple[Scores, ...]

    @classmethod
    def concat(cls, parts: list[Answers], measure: str) -> Answers:
        """Concatenate answers; without any, return empty ones with the scores of the measure."""
        if len(parts) == 1:
            return parts[0]
        none = np.zeros(0, np.int64)
        if not parts:
            return cls(none, none, in_order(equal_scores(measure, 0), measure))
        queries, numbers = (np.concatenate([getattr(part, name) for part in parts]) for name in ("queries", "numbers"))
        columns = zip(*(part.scores for part in parts), strict=True)
        return cls(queries, numbers, tuple(np.concatenate(column) for column in columns))

    def best(
        self, limits: Limits, *, descending: bool, by: Scores | None = None, ties: Int64s | None = None
    ) -> Answers:
        """Apply the limits, and order answers by query, score and document number.

        With `descending`, a higher score is better. With `by`, these values order the answers before the first score
        does, and the limits apply to them instead. `ties` order answers of equal score instead of the numbers.
        """
        first = self.scores[0]
        keys = [self.numbers if ties is None else ties, -first if descending else first]
        if by is not None:
            first = by
            keys.append(-by if descending else by)
        order = np.lexsort((*keys, self.queries))
        inside = first[order] >= limits.threshold if descending else first[order] <= limits.threshold
        order = order[inside]
        if limits.k is not None and len(order):
            queries = self.queries[order]
            starts = np.flatnonzero(np.concatenate([[True], queries[1:] != queries[:-1]]))
            rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.concatenate([starts, [len(order)]])))
            order = order[rank < limits.k]
        return self.take(order)

    def take(self, rows: Int64s) -> Answers:
        """Return some of the answers."""
        return Answers(self.queries[rows], self.numbers[rows], tuple(one[rows] for one in self.scores))


def queries_short_of(parts: list[Answers], rows: Int64s, k: int, least: float, *, descending: bool) -> Int64s:
    """Return the queries that have fewer than k answers of at least (or at most) a score: others may be nearer."""
    if not len(rows):
        return rows
    sure = np.zeros(max(int(one.max()) for one in (rows, *(part.queries for part in parts)) if len(one)) + 1, np.int64)
    for part in parts:
        first = part.scores[0]
        np.add.at(sure, part.queries[first >= least if descending else first <= least], 1)
    return rows[sure[rows] < k]


def replace_answers(parts: list[Answers], rows: Int64s, better: list[Answers], measure: str) -> list[Answers]:
    """Replace all answers to some queries."""
    kept = []
    for part in parts:
        stay = ~np.isin(part.queries, rows)
        kept.append(Answers(part.queries[stay], part.numbers[stay], tuple(one[stay] for one in part.scores)))
    whole = Answers.concat([*kept, *better], measure)
    order = np.argsort(whole.queries, kind="stable")
    return [Answers(whole.queries[order], whole.numbers[order], tuple(one[order] for one in whole.scores))]


class Searcher(ABC):
    """Finds the answers to queries in one back end, within a snapshot."""

    estimates = False
    """Whether scores are estimates."""

    def __init__(self, backend: Backend, settings: Settings) -> None:
        self.backend, self.settings, self.measure = backend, settings, settings.options.measure
        self.ids: dict[int, str] = {}

    @abstractmethod
    def find(self, queries: SketchedBatch, limits: Limits, without: int | None = None) -> list[Answers]:
        """Return the answers in portions, best first; all answers to a query are in one portion."""

    @abstractmethod
    def recall(self, answers: Answers, limits: Limits) -> Shares:
        """Return the minimum probability that a document with the score of each answer is found."""

    def answer(
        self, names: list[str] | None, queries: SketchedBatch, limits: Limits, without: int | None = None
    ) -> pa.Table:
        """Return the answers to queries as a table, best first, excluding the document `without`."""
        self.ids = {}
        schema = answers_schema(self.measure)
        found = Answers.concat(self.find(queries, limits, without), self.measure)
        numbers = found.numbers.tolist()
        missing = sorted({number for number in numbers if number not in self.ids})
        for document in self.backend.documents(np.array(missing, np.int64), contents=False) if missing else ():
            self.ids[document.number] = document.id
        if missing and not all(number in self.ids for number in missing):
            raise self.damaged("is missing")
        columns = [
            pa.array([self.ids[number] for number in numbers], pa.string()),
            *(pa.array(one, schema.field(1 + place).type) for place, one in enumerate(found.scores)),
            pa.array(np.full(len(numbers), self.estimates)),
            pa.array(self.recall(found, limits)),
        ]
        if names is None:
            return pa.Table.from_arrays(columns, schema=schema)
        query_ids = pa.array([names[row] for row in found.queries.tolist()], pa.string())
        return pa.Table.from_arrays([query_ids, *columns], schema=with_query_column(schema))

    def has_at_most(self, documents: int) -> bool:
        """Whether the index has up to this number of documents; counting them all takes longer than a look-up."""
        return self.backend.last_number() <= documents or self.backend.count() <= documents

    def sketch_pages(self, slots: int, most_bytes: int, without: int | None) -> Iterator[SketchRows]:
        """Yield the sketches of all documents that are not empty, excluding the document `without`."""
        after, most = 0, max(1, most_bytes // (4 * max(1, slots)))
        while len((page := self.backend.sketch_page(after, most).padded_to(slots)).numbers):
            if page.slots.shape[1] != slots:
                raise self.damaged("has no sketch, or a sketch of another plan")
            after = int(page.numbers[-1])
            stay = (page.shingles > 0) & (page.numbers != (without or 0))
            yield page if stay.all() else SketchRows(page.numbers[stay], page.shingles[stay], page.slots[stay])

    def with_sketches(
        self, numbers: Int64s, slots: int, most_bytes: int
    ) -> Iterator[tuple[Int64s, Int64s, SketchRows]]:
        """Yield candidates in portions: their rows, the row of each one's sketch, and the sketches."""
        distinct, inverse = np.unique(numbers, return_inverse=True)
        most = max(1, most_bytes // (4 * slots))
        for first in range(0, len(distinct), most):
            wanted = distinct[first : first + most]
            sketches = self.backend.sketches(wanted)
            if sketches.slots.shape != (len(wanted), slots) or not sketches.shingles.all():
                raise self.damaged("has no sketch, or a sketch of another plan")
            chosen = np.flatnonzero((inverse >= first) & (inverse < first + most))
            yield chosen, inverse[chosen] - first, sketches

    def damaged(self, what: str, table: str = "bands") -> DamagedError:
        """Return the error for an index whose tables contradict each other."""
        problem = f"a document in its {table} {what}"
        return DamagedError(f"{self.backend.name} is damaged: {problem}; run twinset index verify")


def with_query_column(schema: pa.Schema) -> pa.Schema:
    """Return the schema of the answers to many queries."""
    return schema.insert(0, pa.field("query", pa.string(), nullable=False))


def find_candidates(
    backend: Backend, rows: Int64s, keys: npt.NDArray[Any], most: int
) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield distinct pairs of query and document that share a key, sorted; all pairs of a query are in one portion.

    `keys` are those of the queries `rows`, (rows, n). Memory is bounded: up to `most` rows of `bands` are kept at a
    time, unless a single query has more.
    """
    flat = keys.astype(np.int64).ravel()
    if len(rows) == 1:  # a single query is answered faster without grouping
        numbers = np.unique(backend.postings(np.unique(flat))[1])
        yield np.full(len(numbers), rows[0]), numbers
        return
    found, documents = backend.postings(np.unique(flat))
    order = np.argsort(found, kind="stable")
    found, documents = found[order], documents[order]
    starts = np.searchsorted(found, flat, "left")
    counts = np.searchsorted(found, flat, "right") - starts
    width = keys.shape[1]
    parts: list[Hashes] = []
    for low, high in runs(counts.reshape(-1, width).sum(axis=1), most):
        part = slice(low * width, high * width)
        matches = documents[ranges(starts[part], counts[part])].astype(np.uint64)
        query_rows = np.repeat(np.repeat(rows[low:high].astype(np.uint64), width), counts[part])
        parts.append(_distinct((query_rows << np.uint64(32)) | matches))
        if high == len(rows) or sum(map(len, parts)) >= most:
            packed, parts = parts[0] if len(parts) == 1 else np.concatenate(parts), []
            yield (packed >> np.uint64(32)).astype(np.int64), (packed & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _distinct(values: Hashes) -> Hashes:
    """Return distinct values, ascending. A stable sort merges the few ascending runs of the input quickly."""
    values.sort(kind="stable")
    first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return values[first]
