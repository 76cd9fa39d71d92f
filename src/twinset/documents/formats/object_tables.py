"""Collect objects as an Arrow table: one column for each key, whatever keys and types the rows have."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa

from twinset.documents.formats.object_values import EscapedRow
from twinset.documents.parts import Block, Mask, RowCollector

if TYPE_CHECKING:
    from twinset.documents.formats.objects import ObjectsPart

_SIMPLE = (pa.null(), pa.bool_(), pa.int64(), pa.float64(), pa.string())
_REFUSED = (pa.ArrowException, OverflowError, UnicodeEncodeError)


class ObjectCollector(RowCollector):
    """Collects the kept objects of a part. The type of a column does not depend on where blocks end."""

    def __init__(self, part: ObjectsPart) -> None:
        super().__init__(part)
        self._objects = part
        self._ids: list[pa.Array] = []

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Add the chosen rows of a whole-read block."""
        self.add(object_columns(self._objects, block, chosen), chosen, flags)
        if block.ids is None and self._part.options.id is None and self._part.options.group is None:
            self._ids.append(self._part.row_ids(block).filter(pa.array(chosen)))

    def tables(self) -> list[Any]:
        """The kept rows, as one table; rows without ids are named after their place."""
        table = join_objects([table for table in self._tables if table.num_rows], self._part.column_names)
        if "id" not in table.column_names and self._ids:
            table = table.add_column(0, "id", pa.chunked_array(self._ids, pa.string()))
        return [table]


def object_columns(part: ObjectsPart, block: Block, chosen: Mask) -> pa.Table:
    """Return the chosen objects with a column for each key; `join_objects` makes the columns of blocks alike."""
    rows = [_valid(part.parse(row)) for row in itertools.compress(block.payload.rows(), chosen.tolist())]
    keys = dict.fromkeys(key for row in rows for key in row)
    return pa.table([_column([row.get(key) for row in rows]) for key in keys], names=list(keys))


def join_objects(tables: list[pa.Table], names: list[str]) -> pa.Table:
    """Concatenate tables of objects; a missing key is null. Without rows, the columns are `names`."""
    if not tables:
        return pa.table({name: pa.array([], pa.string()) for name in names or ("id", "text")})
    keys = dict.fromkeys(name for table in tables for name in table.column_names)
    return pa.table(
        {
            key: _joined([table[key] if key in table.column_names else pa.nulls(table.num_rows) for table in tables])
            for key in keys
        }
    )


def _column(values: list[Any]) -> pa.Array:
    """Return simple values of one type as they are, and all others as JSON, to be joined later."""
    try:
        column = pa.array(values)
        if column.type in _SIMPLE:
            return column
    except _REFUSED:
        pass
    return pa.array([None if value is None else orjson.dumps(value) for value in values], pa.binary())


def _joined(columns: list[Any]) -> pa.ChunkedArray:
    """Join the blocks of a column: of one type if there is one, otherwise as strings, with JSON for other values."""
    kinds = {column.type for column in columns} - {pa.null()}
    if kinds == {pa.int64(), pa.float64()}:
        kinds = {pa.float64()}
    kind = next(iter(kinds), pa.null())
    try:
        if len(kinds) <= 1 and kind in _SIMPLE:
            return pa.chunked_array([chunk for column in columns for chunk in _chunks(column.cast(kind))], kind)
    except pa.ArrowInvalid:
        pass  # a whole number that is not a float
    values = [value for column in columns for value in _values(column)]
    try:
        return pa.chunked_array([pa.array(values)])
    except _REFUSED:
        texts = [value if value is None or isinstance(value, str) else orjson.dumps(value).decode() for value in values]
        return pa.chunked_array([pa.array(texts, pa.string())])


def _chunks(column: Any) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _values(column: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if column.type != pa.binary():
        return values
    return [None if value is None else orjson.loads(value) for value in values]


def _valid(row: Any) -> dict[str, Any]:
    """Return an object with U+FFFD for invalid bytes."""
    if not isinstance(row, EscapedRow):
        return dict(row)
    text = json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return dict(json.loads(text))
