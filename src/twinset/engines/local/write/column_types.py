"""The types of columns that come from several sources, or from JSON, whose rows need not agree.

`None` stands for a column without a common type; such a column becomes text. The result does not depend on how rows are
batched: types are inferred from values alone, and merging them is associative.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import NoneType
from typing import Any, TypeAlias

import orjson
import pyarrow as pa
import pyarrow.compute as pc

Type: TypeAlias = Any
"""An Arrow type, or None."""

_LARGEST = 2**63


def type_of_values(values: Sequence[Any]) -> Type:
    """Return the type of JSON values.

    Examples
    --------
    >>> type_of_values([1, None, 2.5]), type_of_values(["a", 1])
    (DataType(double), None)
    """
    kinds = set(map(type, values)) - {NoneType}
    if not kinds:
        return pa.null()
    if kinds == {str}:
        return pa.string()
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        whole = [value for value in values if value is not None]
        return pa.int64() if min(whole) >= -_LARGEST and max(whole) < _LARGEST else None
    if kinds <= {int, float}:
        return pa.float64()
    full = [value for value in values if value is not None]
    if kinds == {list}:
        inner = type_of_values(list(chain.from_iterable(full)))
        return None if inner is None else pa.list_(inner)
    if kinds == {dict}:
        return _struct({name: type_of_values([one.get(name) for one in full]) for name in _names(full)})
    return None


def _names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(rows)))


def _struct(fields: Mapping[str, Type]) -> Type:
    return None if None in fields.values() else pa.struct(list(fields.items()))


def types_of_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, Type]:
    """Return the type of each key of JSON objects, in the order of their appearance."""
    return {name: type_of_values([row.get(name) for row in rows]) for name in _names(rows)}


def merge_types(left: Type, right: Type) -> Type:
    """Return a type that holds the values of both; None if there is none.

    Examples
    --------
    >>> merge_types(pa.int64(), pa.float64()), merge_types(pa.int64(), pa.string())
    (DataType(double), None)
    """
    if left is None or right is None:
        return None
    if left.equals(right) or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if pa.types.is_list(left) and pa.types.is_list(right):
        inner = merge_types(left.value_type, right.value_type)
        return None if inner is None else pa.list_(inner)
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        return _struct(merge_fields(_fields(left), _fields(right)))
    if not _are_alike(left, right):
        return None
    try:
        schemas = [pa.schema([("both", one)]) for one in (left, right)]
        return pa.unify_schemas(schemas, promote_options="permissive").field("both").type
    except pa.ArrowException:
        return None


def _fields(kind: pa.StructType) -> dict[str, Type]:
    return {one.name: one.type for one in (kind.field(at) for at in range(kind.num_fields))}


def _are_alike(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether Arrow may merge two types without a loss: never bytes and text, or numbers with and without a sign."""
    tests = (
        pa.types.is_signed_integer, pa.types.is_unsigned_integer, pa.types.is_floating, pa.types.is_timestamp,
    )  # fmt: skip
    if any(test(left) and test(right) for test in tests):
        return True
    if pa.types.is_floating(left) or pa.types.is_floating(right):
        return bool(pa.types.is_signed_integer(left) or pa.types.is_signed_integer(right))
    return _is_text(left) and _is_text(right)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def merge_fields(fields: Mapping[str, Type], more: Mapping[str, Type]) -> dict[str, Type]:
    """Return the union of two sets of columns, in the order of their appearance."""
    every = dict(fields)
    for name, kind in more.items():
        every[name] = merge_types(every[name], kind) if name in every else kind
    return every


def storable(kind: Type) -> Type:
    """Return a type that every format can store: null becomes text; None for one with objects that have no keys."""
    if kind is None or pa.types.is_null(kind):
        return None if kind is None else pa.string()
    if pa.types.is_list(kind):
        inner = storable(kind.value_type)
        return None if inner is None else pa.list_(inner)
    if pa.types.is_struct(kind):
        fields = {name: storable(one) for name, one in _fields(kind).items()}
        return _struct(fields) if fields else None
    return kind


def array_of_values(values: Sequence[Any], kind: Type) -> pa.Array:
    """Make a column of JSON values; without a type, every value but a string is written as JSON."""
    if kind is None:
        return pa.array([_as_text(value) for value in values], pa.string())
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError):  # whole numbers that a float does not hold exactly
        return pa.array([_rounded(value) for value in values], kind)


def _rounded(value: Any) -> Any:
    if type(value) is int:
        return float(value)
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return {name: _rounded(one) for name, one in value.items()} if isinstance(value, dict) else value


def cast_column(column: pa.ChunkedArray, kind: Type) -> pa.ChunkedArray:
    """Convert a column to a merged type; without a type, every value but a string is written as JSON."""
    if kind is None:
        return pa.chunked_array([array_of_values(column.to_pylist(), None)])
    if column.type.equals(kind):
        return column
    try:
        return column.cast(kind, safe=False)
    except pa.ArrowException:
        return pa.chunked_array([pa.array(column.to_pylist(), kind)])


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return dump_json(value).decode() if isinstance(value, (bool, int, float, list, tuple, dict)) else _plain(value)


def dump_json(value: Any, option: int = 0) -> bytes:
    """Write a value as JSON: bytes as Base64, times by ISO 8601, other objects as their text."""
    return orjson.dumps(value, _plain, option)


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


_IN_CSV = (
    pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_boolean, pa.types.is_string,
    pa.types.is_large_string, pa.types.is_temporal, pa.types.is_decimal128, pa.types.is_null,
)  # fmt: skip


def plain_columns(table: pa.Table) -> pa.Table:
    """Replace columns that CSV cannot hold: lists and objects by JSON, bytes by Base64, others by their text."""
    for at, field in enumerate(table.schema):
        if not any(test(field.type) for test in _IN_CSV):
            table = table.set_column(at, field.name, cast_column(table.column(at), None))
    return table


def decoded(table: pa.Table) -> pa.Table:
    """Replace dictionaries by their values, and the bytes of texts by strings with U+FFFD for invalid ones."""
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(field.type.value_type))
    return table


def decode_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode a column of texts that may be bytes; invalid UTF-8 is replaced."""
    try:
        return column.cast(pa.large_string())
    except pa.ArrowException:
        raw = pc.cast(column, pa.large_binary()).to_pylist()
        return pa.chunked_array([pa.array([None if one is None else one.decode("utf-8", "replace") for one in raw],
                                          pa.large_string())])  # fmt: skip
