"""What all kinds of documents have in common when an index is asked: who is met, how answers are ordered and told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.errors import DamagedError
from twinset.index.backend import Home, Kept, Whole
from twinset.index.kinds.text_entries import Sketched, runs
from twinset.index.settings import Settings
from twinset.schema import Hashes, answers_schema
from twinset.system.arrays import ranges

Shares = npt.NDArray[np.float64]
Scores = npt.NDArray[Any]


@dataclass(frozen=True)
class Ask:
    """What is asked of each query: the least similarity or the greatest distance, and how many answers at most.

    Of texts, a least similarity of 0 stands for none.
    """

    threshold: float
    k: int | None


@dataclass
class Scored:
    """Answers: query, document, and a score for each column of the table; they are ordered by the first."""

    queries: Whole
    numbers: Whole
    scores: tuple[Scores, ...]

    @classmethod
    def joined(cls, parts: list[Scored], columns: int) -> Scored:
        """Several as one; of none, so many columns of nothing."""
        if len(parts) == 1:
            return parts[0]
        none = np.zeros(0, np.int64)
        queries = np.concatenate([none, *(part.queries for part in parts)])
        numbers = np.concatenate([none, *(part.numbers for part in parts)])
        each = zip(*(part.scores for part in parts), strict=True) if parts else [[np.zeros(0)]] * columns
        return cls(queries, numbers, tuple(np.concatenate(column) for column in each))

    def best(self, ask: Ask, *, falling: bool) -> Scored:
        """By query, the nearest first, of equally near ones the one added first; no more than k, none beyond the limit.

        Scores are `falling` where a greater one is nearer.
        """
        first = self.scores[0]
        order = np.lexsort((self.numbers, -first if falling else first, self.queries))
        near = first[order] >= ask.threshold if falling else first[order] <= ask.threshold
        order = order[near]
        if ask.k is not None and len(order):
            asked = self.queries[order]
            starts = np.flatnonzero(np.concatenate([[True], asked[1:] != asked[:-1]]))
            rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.concatenate([starts, [len(order)]])))
            order = order[rank < ask.k]
        return Scored(self.queries[order], self.numbers[order], tuple(one[order] for one in self.scores))


class Answering(ABC):
    """Answers queries from one home; within a snapshot of it."""

    estimates = False
    """Whether scores are estimates."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self.home, self.settings = home, settings
        self.ids: dict[int, str] = {}

    @abstractmethod
    def scored(self, queries: Sketched, ask: Ask, without: int | None = None) -> list[Scored]:
        """The answers in portions: each query's are in one of them, the best first."""

    @abstractmethod
    def recall(self, scores: Scores, ask: Ask) -> Shares:
        """The least probability with which a document at each of these scores is found."""

    def answers(self, names: list[str] | None, queries: Sketched, ask: Ask, without: int | None = None) -> pa.Table:
        """The answers to some queries as a table, best first; `without` is a document that is not one."""
        self.ids = {}
        schema = answers_schema(self.settings.options.measure)
        found = Scored.joined(self.scored(queries, ask, without), len(schema) - 3)
        numbers = found.numbers.tolist()
        missing = sorted({number for number in numbers if number not in self.ids})
        for document in self.home.documents(np.array(missing, np.int64), contents=False) if missing else ():
            self.ids[document.number] = document.id
        if missing and not all(number in self.ids for number in missing):
            raise self.damaged("is not there")
        columns = [
            pa.array([self.ids[number] for number in numbers], pa.string()),
            *(pa.array(one, schema.field(1 + place).type) for place, one in enumerate(found.scores)),
            pa.array(np.full(len(numbers), self.estimates)),
            pa.array(self.recall(found.scores[0], ask)),
        ]
        if names is None:
            return pa.Table.from_arrays(columns, schema=schema)
        asked = pa.array([names[row] for row in found.queries.tolist()], pa.string())
        return pa.Table.from_arrays([asked, *columns], schema=many(schema))

    def with_sketches(
        self, asked: Whole, numbers: Whole, slots: int, most_bytes: int
    ) -> Iterator[tuple[Whole, Whole, Kept]]:
        """Candidates, portion by portion, with the sketches of their documents and the place of each there."""
        distinct, inverse = np.unique(numbers, return_inverse=True)
        most = max(1, most_bytes // (4 * slots))
        for first in range(0, len(distinct), most):
            wanted = distinct[first : first + most]
            found = self.home.sketches(wanted)
            if found.slots.shape != (len(wanted), slots) or not found.shingles.all():
                raise self.damaged("has no sketch, or not one of this plan")
            chosen = np.flatnonzero((inverse >= first) & (inverse < first + most))
            yield chosen, inverse[chosen] - first, found

    def damaged(self, what: str) -> DamagedError:
        """What is said of an index whose tables do not fit each other."""
        return DamagedError(
            f"{self.home.name} is damaged: a document that its bands lead to {what}; run twinset index verify"
        )


def many(schema: pa.Schema) -> pa.Schema:
    """The columns of answers to many queries."""
    return schema.insert(0, pa.field("query", pa.string(), nullable=False))


def met(home: Home, rows: Whole, keys: npt.NDArray[Any], most: int) -> Iterator[tuple[Whole, Whole]]:
    """Pairs of query and document that share a key, distinct and in order; those of a query in one portion.

    Queries `rows` look into keys (rows, n). Thousands of queries that meet thousands of copies each would else take
    all the memory there is: at most `most` rows of `bands` are held at a time, unless one query alone meets more.
    """
    flat = keys.astype(np.int64).ravel()
    if len(rows) == 1:  # one query needs no bookkeeping, and should not wait for any
        numbers = np.unique(home.postings(np.unique(flat))[1])
        yield np.full(len(numbers), rows[0]), numbers
        return
    found, documents = home.postings(np.unique(flat))
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
