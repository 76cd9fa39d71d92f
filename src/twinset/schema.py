"""The Arrow schemas of the tables, and the types of the buffers that the steps exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

HASH_SCHEME = 1
"""Version of all hash values: tokens, shingles, sketches, band keys. Golden values in the tests fix it."""

MOST_DIMENSIONS = 1 << 16
"""Maximum number of dimensions of a vector."""

MOST_COLUMNS = 1 << 31
"""Maximum number of columns of sparse vectors."""

MOST_TOTAL = 1e300
"""Maximum sum of the weights of a set; the sum of two sets is still finite."""

Shown = Literal["share", "count", "length", "flag"]
"""How the values of a column are shown: a share of 1, rounded, a whole number, a length, or true and false."""


DIGEST_BYTES = 16
"""Bytes of the digest of a content."""


@dataclass(frozen=True)
class ScoreColumn:
    """A score column of a measure, with its name in each table.

    `answer` is its name in the answers of an index, where left is the query. `equal` is its value for equal items, a
    constant. `swapped` is the column that replaces it when left and right change sides. `shown` says how its values are
    shown on the screen, in notebooks and in the report. `caption` is its text in the report: {} is the value and {noun}
    the kind of document. The first column of a measure is the score itself; ``--flag`` adds it to the rows.
    """

    name: str
    removed: str
    answer: str
    type: pa.DataType
    equal: float
    swapped: str
    shown: Shown
    caption: str

    def field(self, table: str, *, nullable: bool = False) -> pa.Field:
        """Return the field of a table: ``"name"`` for pairs, ``"removed"`` or ``"answer"``."""
        return pa.field(getattr(self, table), self.type, nullable=nullable)


def _score(name: str, kind: pa.DataType, equal: float, shown: Shown) -> ScoreColumn:
    """Return a column with the same name in every table."""
    return ScoreColumn(name, name, name, kind, equal, name, shown, f"{name.replace('_', ' ')} {{}}")


_LEFT_IN_RIGHT = ScoreColumn(
    "left_in_right", "in_kept", "query_in_document", pa.float64(), 1, "right_in_left", "share",
    "{} of it is in the kept {noun}",
)  # fmt: skip
_RIGHT_IN_LEFT = ScoreColumn(
    "right_in_left", "of_kept", "document_in_query", pa.float64(), 1, "left_in_right", "share",
    "{} of the kept {noun} is in it",
)  # fmt: skip


SCORES: dict[str, tuple[ScoreColumn, ...]] = {
    "jaccard": (
        _score("similarity", pa.float64(), 1, "share"),
        _LEFT_IN_RIGHT,
        _RIGHT_IN_LEFT,
    ),
    "cosine": (_score("similarity", pa.float64(), 1, "share"),),
    "distance": (_score("distance", pa.float64(), 0, "length"),),
    "bits": (_score("distance", pa.int32(), 0, "length"),),
    "estimate": (
        _score("similarity", pa.float64(), 1, "share"),
        _score("standard_error", pa.float64(), 0, "share"),
        _score("estimate", pa.bool_(), False, "flag"),
    ),
}
"""The score columns of each measure, from which the tables of pairs, removed documents and answers are derived.

Pairs of sketches have an estimate, its standard error, and a flag that marks estimates.
"""

SCORES["containment"] = SCORES["jaccard"]  # pairs are found by containment; the columns are the same

SHOWN: dict[str, Shown] = {
    name: column.shown
    for columns in SCORES.values()
    for column in columns
    for name in (column.name, column.removed, column.answer)
} | {"recall": "share", "share": "share", "pairs": "count"}
SHOWN |= dict.fromkeys(("left_pages", "right_pages", "left_matched", "right_matched"), "count")
"""How the values of each column are shown, by its name in any table."""

DISTANCES = frozenset(measure for measure, columns in SCORES.items() if columns[0].name == "distance")
"""Measures for which smaller is nearer."""


def _required(**columns: pa.DataType) -> list[pa.Field]:
    """Return columns without nulls."""
    return [pa.field(name, kind, nullable=False) for name, kind in columns.items()]


CLUSTERS = pa.schema(_required(id=pa.string(), cluster=pa.string(), kept=pa.bool_()))
EMPTY = pa.schema(_required(id=pa.string()))
UNREADABLE = pa.schema(_required(id=pa.string(), reason=pa.string()))
SOURCES = pa.schema(
    [
        *_required(path=pa.string(), format=pa.string(), documents=pa.int64()),
        *(pa.field("bytes", pa.int64()), pa.field("sha256", pa.string())),
        *_required(role=pa.string()),
        pa.field("version", pa.string()),
    ]
)
DOCUMENTS = pa.schema(
    _required(
        id=pa.string(), part=pa.uint32(), row=pa.uint64(), source=pa.uint32(), status=pa.uint8(), content=pa.uint32(),
        verbatim=pa.uint32(), length=pa.uint64(), shingles=pa.uint32(), digest=pa.binary(DIGEST_BYTES),
    )
)  # fmt: skip
"""Every document by number, those of ``--against`` last: `part` is a row of sources.parquet and `row` a row of that
source, `source` the number of the SOURCE argument, `status` 0 for read, 1 for empty and 2 for unreadable, `content` the
first document of equal content, `verbatim` the first one with the same bytes, `length` the characters, `shingles` the
shingles with repeats, `digest` the content as it is compared, the same in every run that compares in this way: verdicts
are tied to it."""


HOSTS = pa.schema(
    _required(
        left=pa.string(), right=pa.string(), left_pages=pa.int64(), right_pages=pa.int64(), pairs=pa.int64(),
        left_matched=pa.int64(), right_matched=pa.int64(), share=pa.float64(),
    )
)  # fmt: skip
"""Pairs of hosts: the pages of each, the pairs of near-duplicate pages, the pages of each that have a near-duplicate on
the other, and their share, the larger one of both hosts."""
PASSAGES = pa.schema(
    _required(
        left=pa.string(), right=pa.string(), left_start=pa.int64(), left_end=pa.int64(), right_start=pa.int64(),
        right_end=pa.int64(), words=pa.int64(), shared=pa.int64(), documents=pa.int64(),
    )
)  # fmt: skip
"""Passages: places are code points of the original text, the end exclusive; `words` are those of the left side,
`shared` those that both sides have, `documents` the documents that contain the left side."""
COPIED = pa.schema(
    [
        *_required(id=pa.string(), role=pa.string(), words=pa.int64(), copied=pa.int64(), share=pa.float64()),
        *(pa.field("most_in", pa.string()), pa.field("most_words", pa.int64(), nullable=False)),
    ]
)
"""Every readable document: its words, the copied ones, and the document that shares most of them."""
BOILERPLATE = pa.schema(
    _required(text=pa.string(), words=pa.int64(), documents=pa.int64(), first=pa.string(), start=pa.int64(),
              end=pa.int64())
)  # fmt: skip
"""Crowded text: its beginning, its length in words, and the place of its first appearance."""
CUTS = pa.schema(
    _required(
        id=pa.string(), start=pa.int64(), end=pa.int64(), because_of=pa.string(), because_start=pa.int64(),
        because_end=pa.int64(),
    )
)  # fmt: skip
"""Cuts, each with the kept copy that is its reason, in code points of the original texts."""
LEFT = pa.schema(_required(id=pa.string(), words=pa.int64(), left=pa.int64()))
"""Documents that cuts left with few words."""


def pairs_schema(measure: str) -> pa.Schema:
    """Return the columns of pairs.parquet and missed.parquet: ids and scores."""
    ids = _required(left=pa.string(), right=pa.string())
    return pa.schema([*ids, *(column.field("name") for column in SCORES[measure])])


def earlier_schema() -> pa.Schema:
    """Return the columns of earlier.parquet: `left` is the document of the index, `right` the new one."""
    return pairs_schema("jaccard")


def removed_schema(measure: str, *, judged: bool = False) -> pa.Schema:
    """Return the columns of removed.parquet: ids and scores of a removed document and its kept one.

    Where verdicts were obeyed (`judged`), `verdict` is ``duplicate`` for pairs that people judged so, whatever their
    scores, and null for all others.
    """
    ids = _required(id=pa.string(), because_of=pa.string())
    verdict = [pa.field("verdict", pa.string())] if judged else []
    return pa.schema([*ids, *(column.field("removed") for column in SCORES[measure]), *verdict])


def answers_schema(measure: str) -> pa.Schema:
    """Return the columns of the answers of an index.

    `estimate` says whether the scores are estimates. `recall` is the minimum probability of finding a document of this
    similarity.
    """
    scores = (column.field("answer") for column in SCORES[measure])
    return pa.schema([*_required(id=pa.string()), *scores, *_required(estimate=pa.bool_(), recall=pa.float64())])


def flags_schema(measure: str) -> pa.Schema:
    """Return the columns that ``--flag`` adds."""
    score = SCORES[measure][0].field("name", nullable=True)
    return pa.schema([pa.field("cluster", pa.string()), pa.field("duplicate_of", pa.string()), score])


def swap_sides(scores: Scores, measure: str) -> Scores:
    """Return the scores of pairs with left and right swapped."""
    return {column.name: scores[column.swapped] for column in SCORES[measure]}


def equal_scores(measure: str, count: int) -> Scores:
    """Return the scores of pairs of equal items."""
    return {one.name: np.full(count, one.equal, one.type.to_pandas_dtype()) for one in SCORES[measure]}


def limited_score(scores: Scores, measure: str, *, one_sided: bool = False) -> Shares:
    """Return the score that is compared with the threshold; distances are negated, so that larger is nearer.

    For containment it is the larger share of the two. With `one_sided` (one source against another) it is the share of
    the left document, since only that can be removed.

    Examples
    --------
    >>> pairs = {"similarity": np.array([0.5]), "left_in_right": np.array([0.5]), "right_in_left": np.array([1.0])}
    >>> [limited_score(pairs, measure).tolist() for measure in ("jaccard", "containment")]
    [[0.5], [1.0]]
    """
    if measure == "containment":
        left, right = scores["left_in_right"], scores["right_in_left"]
        return left if one_sided else np.maximum(left, right)
    score: Shares = scores[SCORES[measure][0].name].astype(np.float64, copy=False)
    return -score if measure in DISTANCES else score


def limited_columns(measure: str) -> tuple[str, ...]:
    """Return the columns that `limited_score` needs."""
    return ("left_in_right", "right_in_left") if measure == "containment" else (SCORES[measure][0].name,)


def documents_schema(*, ordered_by_size: bool) -> pa.Schema:
    """Return the columns of documents.parquet; with the set sizes where larger sets come first."""
    return DOCUMENTS.append(pa.field("set_size", pa.uint32(), nullable=False)) if ordered_by_size else DOCUMENTS


def in_order(scores: Scores, measure: str) -> tuple[npt.NDArray[Any], ...]:
    """Return the scores of pairs in the order of the columns."""
    return tuple(scores[column.name] for column in SCORES[measure])


def sketches_schema(slots: int | None) -> pa.Schema:
    """Return the columns of a file of sketches: `slots` slots of 32 bits, or for None a list of 64-bit hashes.

    Shingles are counted with repeats, and null for merged sketches.
    """
    sketch = pa.list_(pa.uint64()) if slots is None else pa.list_(pa.uint32(), slots)
    return pa.schema([*_required(id=pa.string(), sketch=sketch), pa.field("shingles", pa.uint32())])


def codes_schema(bits: int) -> pa.Schema:
    """Return the columns of a file of SimHash codes: an integer of 64 bits or 16 bytes; null for an empty item."""
    code = pa.field("code", pa.uint64() if bits == 64 else pa.binary(bits // 8))
    return pa.schema([*_required(id=pa.string()), code, *_required(shingles=pa.uint32())])


Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Sketches = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.uint32]
"""Document numbers, from 0 in the order of reading."""
CandidatePairs = npt.NDArray[np.uint32]
"""(n, 2): two numbers, the smaller first."""
Flags = npt.NDArray[np.bool_]
Shares = npt.NDArray[np.float64]
Scores = dict[str, npt.NDArray[Any]]
"""Scores of pairs by column name; see `SCORES`."""
Vectors = npt.NDArray[np.float32]
"""(n, d): one vector per row."""
Codes = npt.NDArray[np.uint64]
"""(n, words): one bit code per row, 64 bits per word; shorter codes are padded with zeros."""


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
    """Hashes and weights of elements: those of set i are at offsets[i] to offsets[i+1]."""

    offsets: Places
    hashes: Hashes
    weights: Shares


@dataclass(frozen=True)
class SparseVectors:
    """Numbers other than 0 and their columns, ascending in each vector; of vector i at offsets[i] to offsets[i+1]."""

    offsets: Places
    columns: Numbers
    values: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Moves:
    """The keys of some vectors in one hash table, and the moves from them to neighbouring keys.

    keys uint64 (n). costs float32 (n, m): the cheaper a move, the more likely it leads to a similar vector. turns
    uint64 (n, m), or (1, m) if equal for all: the bits that the move XORs into the key. groups uint8 (m): the moves of
    a group exclude each other.
    """

    keys: Hashes
    costs: Vectors
    turns: Hashes
    groups: Bytes
