"""What can be judged, as compact arrays: clusters and pairs, each with the pairs of documents that it consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.engines.local.steps.sketch import UNREADABLE
from twinset.report.numbers import Numbers, Shares, Whole
from twinset.report.passage_views import PassageTables
from twinset.results.explain import kept_numbers
from twinset.results.stored import StoredResult
from twinset.results.stored_passages import StoredPassages
from twinset.schema import SCORES, ScoreColumn

Small = npt.NDArray[np.uint8]
Places = npt.NDArray[np.uint32]

UNDECIDED, DUPLICATE, DIFFERENT, UNSURE, FIXED = range(5)
"""The state of a pair: no verdict, one of the three, or none is possible, as of identical contents."""


@dataclass
class ReviewItems:
    """The rows of a list: clusters, or single pairs.

    Item i has the pairs from starts[i] to starts[i + 1]. A pair has a document on each side; in a cluster the left one
    is the kept one. Documents are numbers, until `place_of` makes them places among the documents shown.

    Attributes
    ----------
    name
        ``clusters``, ``pairs`` or ``passages``.
    closeness
        Of each pair, from 0 to 1 and larger for nearer ones: for sorting and bars.
    score
        Of each pair what is compared with the threshold: a similarity, a containment or a distance.
    columns, values
        The score columns of the measure, and their values for each pair.
    loss
        Of each pair the characters of the right document that the left one does not have; None where nothing is known.
    """

    name: str
    starts: Whole
    left: Places
    right: Places
    closeness: Shares
    score: Shares
    columns: tuple[ScoreColumn, ...]
    values: tuple[npt.NDArray[Any], ...]
    rows: Whole
    loss: Shares | None = None
    state: Small = field(default_factory=lambda: np.zeros(0, np.uint8))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def place_documents(self, numbers: Whole) -> None:
        """Replace document numbers by their places in `numbers`, which ascend."""
        self.left = np.searchsorted(numbers, self.left).astype(np.uint32)
        self.right = np.searchsorted(numbers, self.right).astype(np.uint32)
        self.state = np.zeros(len(self.left), np.uint8)

    @property
    def single(self) -> bool:
        """Whether every item is one pair."""
        return self.name != "clusters"

    @cached_property
    def item_of(self) -> Places:
        """The item of each pair."""
        return np.repeat(np.arange(len(self), dtype=np.uint32), np.diff(self.starts))

    @cached_property
    def sizes(self) -> Whole:
        """The number of documents of each item."""
        return np.diff(self.starts) + 1

    @cached_property
    def least(self) -> Shares:
        """The closeness of the least similar pair of each item."""
        return np.minimum.reduceat(self.closeness, self.starts[:-1]) if len(self) else np.zeros(0)

    @cached_property
    def least_pair(self) -> Whole:
        """The least similar pair of each item; the first of equal ones."""
        if not len(self):
            return np.zeros(0, np.int64)
        lowest = np.flatnonzero(self.closeness == self.least[self.item_of])
        _, first = np.unique(self.item_of[lowest], return_index=True)
        return lowest[first]

    @cached_property
    def lost(self) -> Shares | None:
        """The characters that are lost with each item: the sum over its pairs."""
        if self.loss is None:
            return None
        return np.add.reduceat(self.loss, self.starts[:-1]) if len(self) else np.zeros(0)

    def pairs_of(self, item: int) -> range:
        """The pairs of an item."""
        return range(int(self.starts[item]), int(self.starts[item + 1]))


def cluster_items(recorded: StoredResult, numbers: Numbers) -> ReviewItems:
    """The clusters of a result: the kept document with each removed one, in the order of the first removed one."""
    removed = recorded.removed
    order = np.argsort(numbers.cluster_of, kind="stable")
    kept = kept_numbers(recorded, pa.chunked_array([numbers.kept_ids]))[numbers.cluster_of[order]]
    gone = recorded.numbers_of(removed["id"])[order]
    columns = SCORES[recorded.options.measure]
    values = tuple(np.asarray(removed[column.removed])[order] for column in columns)
    loss = None
    if any(column.removed == "in_kept" for column in columns):
        lengths = np.asarray(recorded.documents["length"]).astype(np.float64)
        in_kept = values[[column.removed for column in columns].index("in_kept")]
        loss = (1 - in_kept) * lengths[gone]
    counts = np.bincount(numbers.cluster_of, minlength=numbers.clusters)
    return ReviewItems(
        "clusters", np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), kept, gone,
        numbers.similarity[order], numbers.scores[order], columns, values, order, loss,
    )  # fmt: skip


def pair_items(recorded: StoredResult, numbers: Numbers) -> ReviewItems:
    """The scored pairs of a result, in input order, also those below the threshold."""
    table = recorded.pairs
    columns = SCORES[recorded.options.measure]
    values = tuple(np.asarray(table[column.name]) for column in columns)
    first = recorded.own if recorded.options.against else 0
    left, right = recorded.numbers_of(table["left"]), recorded.numbers_of(table["right"], first)
    scores = numbers.pair_distances if numbers.by_distance else numbers.pair_similarities
    loss = None
    if any(column.name == "right_in_left" for column in columns):
        lengths = np.asarray(recorded.documents["length"]).astype(np.float64)
        loss = (1 - values[[column.name for column in columns].index("right_in_left")]) * lengths[right]
    rows = np.arange(table.num_rows)
    return ReviewItems(
        "pairs", np.arange(table.num_rows + 1), left, right, numbers.closeness(scores), scores.astype(np.float64),
        columns, values, rows, loss,
    )  # fmt: skip


def passage_items(recorded: StoredPassages, tables: PassageTables) -> ReviewItems:
    """The pairs of documents that share passages; the score is the larger of their shares in common."""
    # The table has a row for each document that could be read, in their order.
    numbers = np.flatnonzero(np.asarray(recorded.documents["status"]) != UNREADABLE).astype(np.uint32)
    words = np.maximum(np.asarray(tables.copied["words"]).astype(np.float64), 1)
    share = np.minimum(tables.shared / np.minimum(words[tables.left], words[tables.right]), 1.0)
    rows = np.arange(len(tables.left))
    return ReviewItems(
        "passages", np.arange(len(rows) + 1), numbers[tables.left], numbers[tables.right], share, share, (), (), rows,
    )  # fmt: skip
