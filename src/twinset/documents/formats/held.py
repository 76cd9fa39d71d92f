"""Sets and records that a Python program holds, as columns of a table: numbers stay numbers, and strings strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.items.pack import held_values, json_type
from twinset.errors import SourceError
from twinset.options import ReadOptions

_PLAIN = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


def held_columns(items: Sequence[Any], ids: Sequence[str], name: str, options: ReadOptions) -> dict[str, Any]:
    """The columns of sets, or of records, by their names.

    Examples
    --------
    >>> columns = held_columns([[1, 2], {3}], ["a", "b"], "list", ReadOptions.of(items="tags"))
    >>> columns["tags"].to_pylist()
    [[1, 2], [3]]
    """
    names = options.item_columns
    values: list[list[Any]] = [[] for _ in names]
    for row, item in enumerate(items):
        found = held_values(options, item)
        if isinstance(found, str):
            raise SourceError(found, where=f"{name}[{ids[row]!r}]")
        for column, value in zip(values, found, strict=True):
            column.append(value)
    made = {column: pa.array(held, json_type(options, column)) for column, held in zip(names, values, strict=True)}
    if options.item_kind == "records":
        return {column: _strings(held) for column, held in made.items()}
    typed = _typed(items)
    return made if typed is None else {**made, names[0]: typed}


def _strings(column: Any) -> Any:
    """A column of texts as strings, unless there are bytes among them that are none."""
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return column


def _typed(items: Sequence[Any]) -> Any | None:
    """The elements of all sets as numbers, where all of them are of one type; None where they are not."""
    lists = [None if item is None else [_plain(one) for one in item] for item in items]
    kinds = {type(one) for row in lists if row is not None for one in row if one is not None}
    kind = _PLAIN.get(kinds.pop()) if len(kinds) == 1 else None
    if kind is None:
        return None
    try:
        return pa.array(lists, pa.large_list(kind))
    except (OverflowError, pa.ArrowInvalid):  # a whole number of more than 64 bits, which can be written only
        return None


def _plain(one: Any) -> Any:
    return one.item() if isinstance(one, np.generic) else one
