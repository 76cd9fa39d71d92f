"""Where the six nouns meet: the Arrow schemas of the tables and the shapes of the buffers that pass between steps."""

from dataclasses import dataclass

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

PAIRS = pa.schema(
    [
        pa.field("left", pa.string(), nullable=False),
        pa.field("right", pa.string(), nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("left_in_right", pa.float64(), nullable=False),
        pa.field("right_in_left", pa.float64(), nullable=False),
    ]
)
REMOVED = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("because_of", pa.string(), nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("in_kept", pa.float64(), nullable=False),
        pa.field("of_kept", pa.float64(), nullable=False),
    ]
)
CLUSTERS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("cluster", pa.string(), nullable=False),
        pa.field("kept", pa.bool_(), nullable=False),
    ]
)
ANSWERS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("query_in_document", pa.float64(), nullable=False),
        pa.field("document_in_query", pa.float64(), nullable=False),
        pa.field("estimate", pa.bool_(), nullable=False),
        pa.field("recall", pa.float64(), nullable=False),
    ]
)
"""What an index answers: a document, how similar it is to the query, the share of each that the other has, whether
these are estimates, and the least probability with which a document this similar is found."""
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
FLAGS = pa.schema(
    [
        pa.field("cluster", pa.string()),
        pa.field("duplicate_of", pa.string()),
        pa.field("similarity", pa.float64()),
    ]
)

ESTIMATES = pa.schema(
    [
        pa.field("left", pa.string(), nullable=False),
        pa.field("right", pa.string(), nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("standard_error", pa.float64(), nullable=False),
        pa.field("estimate", pa.bool_(), nullable=False),
    ]
)
"""Pairs of sketches: how similar, by how much that may be off, and whether it is an estimate at all."""
_SCORES = {
    "cosine": pa.field("similarity", pa.float64(), nullable=False),
    "distance": pa.field("distance", pa.float64(), nullable=False),
    "bits": pa.field("distance", pa.int32(), nullable=False),
}


def pairs_schema(measure: str) -> pa.Schema:
    """The columns of pairs under a measure: sets have shares of each other, other kinds one number."""
    if measure == "estimate":
        return ESTIMATES
    return PAIRS if measure == "jaccard" else pa.schema([*list(PAIRS)[:2], _SCORES[measure]])


def answers_schema(measure: str) -> pa.Schema:
    """The columns of what an index answers under a measure: sets have shares of each other, other kinds one number."""
    return ANSWERS if measure == "jaccard" else pa.schema([ANSWERS.field("id"), _SCORES[measure], *list(ANSWERS)[-2:]])


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


def removed_schema(measure: str) -> pa.Schema:
    """The columns of removed documents under a measure."""
    return REMOVED if measure == "jaccard" else pa.schema([*list(REMOVED)[:2], _SCORES[measure]])


def flags_schema(measure: str) -> pa.Schema:
    """The columns that ``--flag`` adds under a measure."""
    if measure == "jaccard":
        return FLAGS
    return pa.schema([*list(FLAGS)[:2], _SCORES[measure].with_nullable(True)])


Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Sketches = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.uint32]
"""Documents by their number: the order in which they were read, from 0."""
Shares = npt.NDArray[np.float64]
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
