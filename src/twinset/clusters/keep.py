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

from twinset.clusters.keep_columns import RuleColumn, Unread, read_column, unread
from twinset.errors import ColumnError
from twinset.options.checks import shown_value
from twinset.options.keep_rules import KEEP_RULES
from twinset.schema import Flags, Numbers

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


def ranking(
    rules: Iterable[tuple[str, str | None]],
    documents: RankedDocuments,
    own_ids: bool,
    date_format: str | None = None,
    missing: dict[str, Unread] | None = None,
    readable: Flags | None = None,
) -> Numbers:
    """Rank the documents by a chain of rules, from 0, the best; `own_ids`: whether ids break the last tie.

    `missing` receives, by column, which `readable` documents have no value that could be read.
    """
    keys = []
    for rule, column in rules:
        if KEEP_RULES[rule].final:
            break
        values = None
        if column is not None:
            of = RuleColumn(rule, column, date_format)
            given = documents.names.column(column)
            values = read_column(given, of)
            if missing is not None:
                all_rows = np.ones(documents.documents, np.bool_)
                missing[column] = unread(given, values, of, all_rows if readable is None else readable)
        keys.append(KEYS[rule](documents, values, column or ""))
    else:
        if own_ids:
            keys.append(by_id(documents.names.all()))
    count = documents.documents
    order = np.lexsort(keys[::-1]) if keys else np.arange(count)
    rank = np.empty(count, np.uint32)
    rank[order] = np.arange(count, dtype=np.uint32)
    return rank


def check_columns(rules: Iterable[tuple[str, str | None]], documents: RankedDocuments, date_format: str | None) -> None:
    """Refuse columns that cannot be ordered, as `ranking` does."""
    for rule, column in rules:
        if column is not None:
            read_column(documents.names.column(column), RuleColumn(rule, column, date_format))


def _by_source(documents: RankedDocuments, values: pa.ChunkedArray | None, _: str) -> Key:
    return documents.sources.astype(np.int64)


def _by_length(documents: RankedDocuments, values: pa.ChunkedArray | None, _: str) -> Key:
    return -documents.lengths.astype(np.int64)


def _highest(_: RankedDocuments, values: pa.ChunkedArray | None, column: str) -> Key:
    return column_keys(values, column, "descending")


def _lowest(_: RankedDocuments, values: pa.ChunkedArray | None, column: str) -> Key:
    return column_keys(values, column, "ascending")


KEYS: dict[str, Callable[[RankedDocuments, pa.ChunkedArray | None, str], Key]] = {
    "longest": _by_length,
    "source": _by_source,
    "newest": _highest,
    "oldest": _lowest,
    "highest": _highest,
    "lowest": _lowest,
}
"""The key of each rule, from the documents, the values of the rule's column and its name; final rules need none."""


def column_keys(values: Any, name: str, order: str) -> Key:
    """Return the keys of the values of a column, lowest for the first in this order; nulls come last."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    try:
        rank = pc.rank(values, sort_keys=order, tiebreaker="dense")  # nulls last, its default
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise ColumnError(
            f"--keep cannot order column {shown_value(name)}, which is of type {values.type}: {error}"
        ) from error
    return np.asarray(rank).astype(np.int64)


def by_id(ids: pa.ChunkedArray) -> Key:
    """Return the keys of ids: their ranks in byte order."""
    order = np.asarray(pc.sort_indices(ids.cast(pa.large_binary())))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places
