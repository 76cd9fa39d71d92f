"""Where the six nouns meet: the Arrow schemas of the tables and the shapes of the buffers that pass between steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

HASH_SCHEME = 1
"""Version of every value that hashing gives: tokens, shingles, sketches, band keys.

Golden values in the tests hold it fast.
"""

MOST_DIMENSIONS = 1 << 16
"""Numbers in a vector."""

MOST_TOTAL = 1e300
"""The most that the weights of a set may add up to: two such sets together are still a number."""

@dataclass(frozen=True)
class ScoreColumn:
    """A column that a measure has for a pair, with its name in each table that shows it.

    `answer` is its name in what an index answers, where left is the query. `swapped` names the column that takes its
    place when left and right change sides. `equal` is its value for equal items. The first column of a measure is the
    score itself, which ``--flag`` shows, too.
    """

    name: str
    removed: str
    answer: str
    type: pa.DataType
    equal: float
    swapped: str

    def field(self, table: str, *, nullable: bool = False) -> pa.Field:
        """The column in a table: ``"name"`` for pairs, ``"removed"`` or ``"answer"``."""
        return pa.field(getattr(self, table), self.type, nullable=nullable)


def _score(name: str, kind: pa.DataType, equal: float) -> ScoreColumn:
    return ScoreColumn(name, name, name, kind, equal, name)


SCORES: dict[str, tuple[ScoreColumn, ...]] = {
    "jaccard": (
        _score("similarity", pa.float64(), 1),
        ScoreColumn("left_in_right", "in_kept", "query_in_document", pa.float64(), 1, "right_in_left"),
        ScoreColumn("right_in_left", "of_kept", "document_in_query", pa.float64(), 1, "left_in_right"),
    ),
    "cosine": (_score("similarity", pa.float64(), 1),),
    "distance": (_score("distance", pa.float64(), 0),),
    "bits": (_score("distance", pa.int32(), 0),),
    "estimate": (
        _score("similarity", pa.float64(), 1),
        _score("standard_error", pa.float64(), 0),
        _score("estimate", pa.bool_(), False),
    ),
}
"""What is known of a pair under each measure; every table of pairs, removed documents and answers is derived from it.

Pairs of sketches have an estimate, its standard error, and whether it is an estimate at all.
"""

DISTANCES = frozenset(measure for measure, columns in SCORES.items() if columns[0].name == "distance")
"""Measures by which less is nearer."""


CLUSTERS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("cluster", pa.string(), nullable=False),
        pa.field("kept", pa.bool_(), nullable=False),
    ]
)
EMPTY = pa.schema([pa.field("id", pa.string(), nullable=False)])
UNREADABLE = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("reason", pa.string(), nullable=False)])
SOURCES = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("format", pa.string(), nullable=False),
        pa.field("documents", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64()),
        pa.field("sha256", pa.string()),
        pa.field("role", pa.string(), nullable=False),
    ]
)
DOCUMENTS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("part", pa.uint32(), nullable=False),
        pa.field("row", pa.uint64(), nullable=False),
        pa.field("source", pa.uint32(), nullable=False),
        pa.field("status", pa.uint8(), nullable=False),
        pa.field("content", pa.uint32(), nullable=False),
        pa.field("length", pa.uint64(), nullable=False),
        pa.field("shingles", pa.uint32(), nullable=False),
    ]
)
"""Every document by number, those compared against last: where it stands (a row of sources.parquet, and a row there),
of which SOURCE argument it is, what became of it (read, empty or unreadable: 0, 1, 2), the first document of equal
content, its characters, and its shingles, repeated ones counted."""


def pairs_schema(measure: str) -> pa.Schema:
    """The columns of pairs.parquet, and of missed.parquet, under a measure: ids and scores."""
    ids = (pa.field(side, pa.string(), nullable=False) for side in ("left", "right"))
    return pa.schema([*ids, *(column.field("name") for column in SCORES[measure])])


def earlier_schema() -> pa.Schema:
    """The columns of earlier.parquet: `left` is the document of the index, `right` the new one."""
    return pairs_schema("jaccard")


def removed_schema(measure: str) -> pa.Schema:
    """The columns of removed.parquet under a measure: scores of the pair of a removed document and its kept one."""
    ids = (pa.field(name, pa.string(), nullable=False) for name in ("id", "because_of"))
    return pa.schema([*ids, *(column.field("removed") for column in SCORES[measure])])


def answers_schema(measure: str) -> pa.Schema:
    """The columns of what an index answers under a measure.

    `estimate` says whether the scores are estimates, `recall` is the least probability with which a document this
    similar is found.
    """
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            *(column.field("answer") for column in SCORES[measure]),
            pa.field("estimate", pa.bool_(), nullable=False),
            pa.field("recall", pa.float64(), nullable=False),
        ]
    )


def flags_schema(measure: str) -> pa.Schema:
    """The columns that ``--flag`` adds under a measure."""
    score = SCORES[measure][0].field("name", nullable=True)
    return pa.schema([pa.field("cluster", pa.string()), pa.field("duplicate_of", pa.string()), score])


def swap_sides(scores: Scores, measure: str) -> Scores:
    """The scores of pairs whose left and right change places."""
    return {column.name: scores[column.swapped] for column in SCORES[measure]}


def equal_scores(measure: str, count: int) -> Scores:
    """The scores of pairs of equal items."""
    return {one.name: np.full(count, one.equal, one.type.to_pandas_dtype()) for one in SCORES[measure]}


def sketches_schema(slots: int | None) -> pa.Schema:
    """The columns of a file of sketches: so many slots of 32 bits, or hashes of 64 bits, as many as there are.

    Shingles are counted with repeats, and not known (null) of merged sketches.
    """
    sketch = pa.list_(pa.uint64()) if slots is None else pa.list_(pa.uint32(), slots)
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("sketch", sketch, nullable=False),
            pa.field("shingles", pa.uint32()),
        ]
    )


def codes_schema(bits: int) -> pa.Schema:
    """The columns of a file of SimHash codes: a whole number of 64 bits, or the bytes of 128; null of an empty item."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("code", pa.uint64() if bits == 64 else pa.binary(bits // 8)),
            pa.field("shingles", pa.uint32(), nullable=False),
        ]
    )


Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Sketches = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.uint32]
"""Documents by their number: the order in which they were read, from 0."""
Shares = npt.NDArray[np.float64]
Scores = dict[str, npt.NDArray[Any]]
"""Scores of pairs by the name of their column; see `SCORES`."""
Vectors = npt.NDArray[np.float32]
"""(n, d): one vector a row."""
Codes = npt.NDArray[np.uint64]
"""(n, words): one bit code a row, 64 bits a word; shorter codes are filled up with zeros."""


@dataclass(frozen=True)
class Texts:
    """Texts ready to be shingled: text i is data[starts[i]:ends[i]] and belongs to row rows[i] of its batch."""

    data: Bytes
    starts: Places
    ends: Places
    rows: Places
    ascii: bool


@dataclass(frozen=True)
class Shingles:
    """Shingle hashes of some rows of a batch: those of rows[i] are hashes[offsets[i]:offsets[i+1]]."""

    rows: Places
    offsets: Places
    hashes: Hashes


@dataclass(frozen=True)
class WeightedSets:
    """Elements by their hashes, with their weights: those of set i are at offsets[i] to offsets[i+1]."""

    offsets: Places
    hashes: Hashes
    weights: Shares


@dataclass(frozen=True)
class Moves:
    """The keys of some vectors in one hash table, and the moves that lead from there to neighbouring keys.

    keys uint64 (n). costs float32 (n, m): the cheaper a move, the likelier a similar vector made it. turns uint64
    (n, m), or (1, m) where they are the same for all: what the move XORs into the key. groups uint8 (m): of the moves
    of one group only one can be made.
    """

    keys: Hashes
    costs: Vectors
    turns: Hashes
    groups: Bytes
