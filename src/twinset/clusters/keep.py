"""Which document of a cluster is kept: the order in which documents are considered, best first.

Rules in a chain: `source` (earlier sources win), `longest` (in characters), `newest:COLUMN` and `highest:COLUMN` (nulls
last), `first` (input order). The last tie goes to the earlier row where the policy names order, or where rows have no
ids of their own; else to the lesser id, so that shuffling the input changes nothing.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.errors import ColumnError
from twinset.schema import Numbers

Key = npt.NDArray[np.int64]


def ranking(
    rules: Sequence[tuple[str, str | None]],
    documents: int,
    key_of: Callable[[str, str | None], Key],
    id_order: Callable[[], Key] | None,
) -> Numbers:
    """The rank of each document.

    `key_of(rule, column)` gives numbers of which the least is best; `id_order` breaks the last tie.
    """
    keys = []
    for rule, column in rules:
        if rule == "first":
            break  # no tie is left after it
        keys.append(key_of(rule, column))
    else:
        if id_order is not None:
            keys.append(id_order())
    order = np.lexsort(keys[::-1]) if keys else np.arange(documents)
    rank = np.empty(documents, np.uint32)
    rank[order] = np.arange(documents, dtype=np.uint32)
    return rank


def descending(column: pa.ChunkedArray, name: str) -> Key:
    """Numbers of which the least stands for the highest value of a column; nulls and NaN come last.

    Text is ordered as text, but as numbers where every value is one: in CSV files all is text.
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
    """A column of text as whole numbers or as floats, empty values as nulls; as it is if some value is no number."""
    filled = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    for kind in (pa.int64(), pa.float64()):
        try:
            return filled.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column


def by_id(ids: pa.ChunkedArray) -> Key:
    """The place of each id in the order of their bytes."""
    order = np.asarray(pc.sort_indices(ids.cast(pa.large_binary())))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places
