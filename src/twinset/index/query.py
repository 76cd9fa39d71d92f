"""What all kinds of documents have in common when an index is asked: who is met, how answers are ordered and told."""

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
from twinset.index.read_batches import NAMED, Batch
from twinset.index.settings import Settings
from twinset.schema import Hashes, answers_schema
from twinset.system.arrays import ranges

Shares = npt.NDArray[np.float64]
Scores = npt.NDArray[Any]


@dataclass(frozen=True)
class Limits:
    """What is asked of each query: the least similarity or the greatest distance, and how many answers at most.

    Of texts, a least similarity of 0 stands for none.
    """

    threshold: float
    k: int | None


@dataclass
class QueryCounts:
    """How many queries there were, how many of them have answers, and how many answers were found.

    `least_similarity` is that of the least similar answer, or `greatest_distance` that of the farthest. Of the queries,
    how many hold no token (`empty`) and so have no answer, and how many held bytes that were no text (`undecoded`).
    Rows that could not be read were left out: `unreadable` counts them, and `named` has the first thousand, each with
    the reason. `skipped` are files that were passed over.
    """

    queries: int = 0
    answered: int = 0
    found: int = 0
    least_similarity: float | None = None
    greatest_distance: float | None = None
    empty: int = 0
    undecoded: int = 0
    unreadable: int = 0
    named: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def count_answers(self, found: pa.Table) -> None:
        """Count answers in."""
        if found.num_rows and "distance" in found.schema.names:
            greatest = pc.max(found.column("distance")).as_py()
            self.greatest_distance = max(greatest, self.greatest_distance or 0)
        elif found.num_rows:
            least = pc.min(found.column("similarity")).as_py()
            self.least_similarity = least if self.least_similarity is None else min(least, self.least_similarity)
        self.found += found.num_rows

    def count(self, batch: Batch, queries: SketchedBatch, found: pa.Table) -> None:
        """Count a batch of queries with its answers in."""
        self.queries += len(queries)
        self.count_answers(found)
        self.answered += pc.count_distinct(found.column("query")).as_py()
        self.empty += int(np.count_nonzero(queries.shingles == 0))
        self.undecoded += batch.undecoded
        self.unreadable += len(batch.unreadable)
        self.named += batch.unreadable[: NAMED - len(self.named)]


@dataclass
class Answers:
    """Answers: query, document, and a score for each column of the table; they are ordered by the first."""

    queries: Int64s
    numbers: Int64s
    scores: tuple[Scores, ...]

    @classmethod
    def concat(cls, parts: list[Answers], columns: int) -> Answers:
        """Several as one; of none, so many columns of nothing."""
        if len(parts) == 1:
            return parts[0]
        none = np.zeros(0, np.int64)
        queries = np.concatenate([none, *(part.queries for part in parts)])
        numbers = np.concatenate([none, *(part.numbers for part in parts)])
        each = zip(*(part.scores for part in parts), strict=True) if parts else [[np.zeros(0)]] * columns
        return cls(queries, numbers, tuple(np.concatenate(column) for column in each))

    def best(self, limits: Limits, *, descending: bool) -> Answers:
        """By query, the nearest first, of equally near ones the one added first; no more than k, none beyond the limit.

        Scores are `descending` where a greater one is nearer.
        """
        first = self.scores[0]
        order = np.lexsort((self.numbers, -first if descending else first, self.queries))
        near = first[order] >= limits.threshold if descending else first[order] <= limits.threshold
        order = order[near]
        if limits.k is not None and len(order):
            asked = self.queries[order]
            starts = np.flatnonzero(np.concatenate([[True], asked[1:] != asked[:-1]]))
            rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.concatenate([starts, [len(order)]])))
            order = order[rank < limits.k]
        return Answers(self.queries[order], self.numbers[order], tuple(one[order] for one in self.scores))


class Searcher(ABC):
    """Answers queries from one backend; within a snapshot of it."""

    estimates = False
    """Whether scores are estimates."""

    def __init__(self, backend: Backend, settings: Settings) -> None:
        self.backend, self.settings = backend, settings
        self.ids: dict[int, str] = {}

    @abstractmethod
    def find(self, queries: SketchedBatch, limits: Limits, without: int | None = None) -> list[Answers]:
        """The answers in portions: each query's are in one of them, the best first."""

    @abstractmethod
    def recall(self, scores: Scores, limits: Limits) -> Shares:
        """The least probability with which a document at each of these scores is found."""

    def answer(
        self, names: list[str] | None, queries: SketchedBatch, limits: Limits, without: int | None = None
    ) -> pa.Table:
        """The answers to some queries as a table, best first; `without` is a document that is not one."""
        self.ids = {}
        schema = answers_schema(self.settings.options.measure)
        found = Answers.concat(self.find(queries, limits, without), len(schema) - 3)
        numbers = found.numbers.tolist()
        missing = sorted({number for number in numbers if number not in self.ids})
        for document in self.backend.documents(np.array(missing, np.int64), contents=False) if missing else ():
            self.ids[document.number] = document.id
        if missing and not all(number in self.ids for number in missing):
            raise self.damaged("is not there")
        columns = [
            pa.array([self.ids[number] for number in numbers], pa.string()),
            *(pa.array(one, schema.field(1 + place).type) for place, one in enumerate(found.scores)),
            pa.array(np.full(len(numbers), self.estimates)),
            pa.array(self.recall(found.scores[0], limits)),
        ]
        if names is None:
            return pa.Table.from_arrays(columns, schema=schema)
        asked = pa.array([names[row] for row in found.queries.tolist()], pa.string())
        return pa.Table.from_arrays([asked, *columns], schema=with_query_column(schema))

    def with_sketches(
        self, asked: Int64s, numbers: Int64s, slots: int, most_bytes: int
    ) -> Iterator[tuple[Int64s, Int64s, SketchRows]]:
        """Candidates, portion by portion, with the sketches of their documents and the place of each there."""
        distinct, inverse = np.unique(numbers, return_inverse=True)
        most = max(1, most_bytes // (4 * slots))
        for first in range(0, len(distinct), most):
            wanted = distinct[first : first + most]
            found = self.backend.sketches(wanted)
            if found.slots.shape != (len(wanted), slots) or not found.shingles.all():
                raise self.damaged("has no sketch, or not one of this plan")
            chosen = np.flatnonzero((inverse >= first) & (inverse < first + most))
            yield chosen, inverse[chosen] - first, found

    def damaged(self, what: str) -> DamagedError:
        """What is said of an index whose tables do not fit each other."""
        return DamagedError(
            f"{self.backend.name} is damaged: a document that its bands lead to {what}; run twinset index verify"
        )


def with_query_column(schema: pa.Schema) -> pa.Schema:
    """The columns of answers to many queries."""
    return schema.insert(0, pa.field("query", pa.string(), nullable=False))


def find_candidates(
    backend: Backend, rows: Int64s, keys: npt.NDArray[Any], most: int
) -> Iterator[tuple[Int64s, Int64s]]:
    """Pairs of query and document that share a key, distinct and in order; those of a query in one portion.

    Queries `rows` look into keys (rows, n). Thousands of queries that meet thousands of copies each would else take
    all the memory there is: at most `most` rows of `bands` are held at a time, unless one query alone meets more.
    """
    flat = keys.astype(np.int64).ravel()
    if len(rows) == 1:  # one query needs no bookkeeping, and should not wait for any
        numbers = np.unique(backend.postings(np.unique(flat))[1])
        yield np.full(len(numbers), rows[0]), numbers
        return
    found, documents = backend.postings(np.unique(flat))
    order = np.argsort(found, kind="stable")
    found, documents = found[order], documents[order]
    starts = np.searchsorted(found, flat, "left")
    counts = np.searchsorted(found, flat, "right") - starts
    width = keys.shape[1]
    held: list[Hashes] = []
    for low, high in runs(counts.reshape(-1, width).sum(axis=1), most):
        part = slice(low * width, high * width)
        met_here = documents[ranges(starts[part], counts[part])].astype(np.uint64)
        asked = np.repeat(np.repeat(rows[low:high].astype(np.uint64), width), counts[part])
        held.append(_distinct((asked << np.uint64(32)) | met_here))
        if high == len(rows) or sum(map(len, held)) >= most:
            packed, held = held[0] if len(held) == 1 else np.concatenate(held), []
            yield (packed >> np.uint64(32)).astype(np.int64), (packed & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _distinct(values: Hashes) -> Hashes:
    """Each value once, ascending. They come as a few ascending runs, which are merged ten times as fast as sorted."""
    values.sort(kind="stable")
    first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return values[first]
