"""Rank documents by the keep policy: the best of a cluster is kept.

`KEYS` has the sort key of each rule of `options/keep_rules.py`, under the same name. The last tie goes to the earlier
row where the policy names order or where rows have no ids; otherwise to the smaller id, so that the order of the input
does not matter.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.errors import ColumnError
from twinset.options.keep_rules import KEEP_RULES
from twinset.schema import Numbers

Key = npt.NDArray[np.int64]
"""A number for each document; the lowest is best."""


class _Names(Protocol):
    def all(self) -> pa.ChunkedArray: ...

    def column(self, name: str) -> pa.ChunkedArray: ...


class RankedDocuments(Protocol):
    """What a rule can use, by document number: source, length, id, and any column of the input."""

    @property
    def documents(self) -> int:
        """Number of documents."""

    @property
    def sources(self) -> npt.NDArray[Any]:
        """Number of each document's SOURCE."""

    @property
    def lengths(self) -> npt.NDArray[Any]:
        """Characters, elements or pixels of each document."""

    @property
    def names(self) -> _Names:
        """All ids (`all`), and columns by name (`column`)."""


def ranking(rules: Iterable[tuple[str, str | None]], documents: RankedDocuments, own_ids: bool) -> Numbers:
    """Rank the documents by a chain of rules, from 0, the best; `own_ids`: whether ids break the last tie."""
    keys = []
    for rule, column in rules:
        if KEEP_RULES[rule].final:
            break
        keys.append(KEYS[rule](documents, column or ""))
    else:
        if own_ids:
            keys.append(by_id(documents.names.all()))
    count = documents.documents
    order = np.lexsort(keys[::-1]) if keys else np.arange(count)
    rank = np.empty(count, np.uint32)
    rank[order] = np.arange(count, dtype=np.uint32)
    return rank


def _by_source(documents: RankedDocuments, _: str) -> Key:
    return documents.sources.astype(np.int64)


def _by_length(documents: RankedDocuments, _: str) -> Key:
    return -documents.lengths.astype(np.int64)


def _by_column(documents: RankedDocuments, column: str) -> Key:
    return descending(documents.names.column(column), column)


KEYS: dict[str, Callable[[RankedDocuments, str], Key]] = {
    "longest": _by_length,
    "source": _by_source,
    "newest": _by_column,
    "highest": _by_column,
}
"""The key of each rule, from the documents and the rule's column; final rules need none."""


def descending(column: pa.ChunkedArray, name: str) -> Key:
    """Return the keys of a column, lowest for the highest value; nulls and NaN come last.

    Text is ordered as text, or as numbers if every value is a number: in CSV files every column is text.
    """
    kind = column.type
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64)
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = _numbers(column)
        kind = column.type
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    try:
        rank = pc.rank(column, sort_keys="descending", tiebreaker="dense")  # nulls last, its default
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise ColumnError(f"--keep cannot order column {name!r}, which is of type {kind}: {error}") from error
    return np.asarray(rank).astype(np.int64)


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast a column of text to whole numbers or floats, empty values to nulls; unchanged if a value is not a number."""
    filled = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    for kind in (pa.int64(), pa.float64()):
        try:
            return filled.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column


def by_id(ids: pa.ChunkedArray) -> Key:
    """Return the keys of ids: their ranks in byte order."""
    order = np.asarray(pc.sort_indices(ids.cast(pa.large_binary())))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places
