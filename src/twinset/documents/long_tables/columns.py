"""Read the columns of a long table: the group, the element and the weight of each row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.long_tables.rows import Codes, LongTableRows, renumbered
from twinset.documents.normalize import hash_values
from twinset.options import ReadOptions

ELEMENT_SEED = 0x5E7
"""Seed for the hashes of elements, in lists and in long tables."""

BadRows = dict[int, str]
"""Rows that cannot be used, and why."""


def read_rows(
    options: ReadOptions, columns: Sequence[Any], from_text: bool
) -> tuple[LongTableRows, list[tuple[int, str]]]:
    """Read the columns of the group, the item and, optionally, the weight; return the rows and the bad rows.

    `from_text`: they are fields of a text file, in which an empty field is null.

    Examples
    --------
    >>> columns = [pa.array(["ann", "bob", "ann", None]), pa.array([5, 5, 6, 7])]
    >>> rows, bad = read_rows(ReadOptions.of(group="user", item="movie"), columns, from_text=False)
    >>> rows.codes.tolist(), rows.names.to_pylist(), bad
    ([0, 1, 0, -1], ['ann', 'bob'], [(3, "the group 'user' is null")])
    """
    bad: BadRows = {}
    nothing = "is empty" if from_text else "is null"
    codes, values = coded(columns[0], from_text)
    _refuse(bad, codes, f"the group {options.group!r} {nothing}")
    names, unread = _names(values)
    if len(unread):
        codes = _merged(codes, np.where(np.isin(np.arange(len(values)), unread), -1, np.arange(len(values))))
        _refuse(bad, codes, f"the group {options.group!r} is not UTF-8")
    places, values = coded(columns[1], from_text)
    _refuse(bad, places, f"the item {options.item!r} {nothing}")
    names_of_elements = words(values)
    hashes = hash_values(names_of_elements, ELEMENT_SEED)
    elements = hashes[np.maximum(places, 0)] if len(hashes) else np.zeros(len(places), np.uint64)
    weights = _weights(options, columns[2], bad, nothing) if len(columns) > 2 else None
    codes = np.array(codes, np.int32)
    codes[list(bad)] = -1
    rows = LongTableRows(codes, names, np.zeros(0, np.int64), elements, weights, places, names_of_elements)
    return renumbered(rows), sorted(bad.items())


def coded(column: Any, from_text: bool = False) -> tuple[Codes, Any]:
    """Encode a column as codes and values; codes of nulls are negative. Values may repeat."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, np.int32), pa.array([], pa.string())
    if not pa.types.is_dictionary(column.type):
        if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
            column = column.cast(pa.large_binary())
        column = column.dictionary_encode()
    values = column.dictionary
    if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
        values = values.cast(pa.large_binary())
    codes = pc.fill_null(column.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
    missing = np.asarray(values.is_null()) if values.null_count else np.zeros(len(values), np.bool_)
    if from_text:
        missing = missing | (np.asarray(pc.fill_null(pc.binary_length(values), 0)) == 0)
    if missing.any():
        codes = _merged(codes, np.where(missing, -1, np.arange(len(values))))
    return codes, values


def _merged(codes: Codes, to: npt.NDArray[np.int64]) -> Codes:
    """Replace codes."""
    return np.append(to, -1)[codes].astype(np.int32)


def _refuse(bad: BadRows, codes: Codes, reason: str) -> None:
    for row in np.flatnonzero(codes < 0).tolist():
        bad.setdefault(row, reason)


def _names(values: Any) -> tuple[Any, list[int]]:
    """Values as strings that are equal only if the values are; and those that are not UTF-8."""
    if not _is_bytes(values.type):
        return values.cast(pa.large_string()), []
    raw = values.cast(pa.large_binary())
    try:
        # Arrow does not validate strings; only the cast from bytes does.
        return raw.cast(pa.large_string()), []
    except pa.ArrowInvalid:
        decoded = [_decoded(one) for one in raw.to_pylist()]
        return pa.array(decoded, pa.large_string()), [at for at, one in enumerate(decoded) if one is None]


def _decoded(value: bytes | None) -> str | None:
    try:
        return "" if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def words(values: Any) -> Any:
    """Convert elements to strings; bytes that are not UTF-8 are replaced."""
    if _is_bytes(values.type):
        raw = values.cast(pa.large_binary())
        try:
            return raw.cast(pa.large_string())
        except pa.ArrowInvalid:
            decoded = [None if one is None else one.decode("utf-8", "replace") for one in raw.to_pylist()]
            return pa.array(decoded, pa.large_string())
    return values.cast(pa.large_string())


def _is_bytes(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    )


def _weights(options: ReadOptions, column: Any, bad: BadRows, nothing: str) -> npt.NDArray[np.float64]:
    places, values = coded(column, from_text=nothing == "is empty")
    _refuse(bad, places, f"the weight {options.weight!r} {nothing}")
    numbers = _numbers(values)
    weights = np.append(numbers, 0.0)[places]
    for row in np.flatnonzero(~(np.isfinite(weights) & (weights >= 0))).tolist():
        shown = words(values.slice(int(places[row]), 1))[0].as_py()
        bad.setdefault(row, f"the weight {options.weight!r} is {shown!r}; it must be a number, 0 or more")
    return weights


def _numbers(values: Any) -> npt.NDArray[np.float64]:
    """Convert values to numbers; NaN for those that are not."""
    if _is_bytes(values.type):
        values = pc.utf8_trim_whitespace(words(values))
    try:
        numbers = values.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        numbers = pa.array([_number(one) for one in values], pa.float64())
    return np.asarray(pc.fill_null(numbers, math.nan)).astype(np.float64)


def _number(value: Any) -> float:
    try:
        return float(value.cast(pa.float64()).as_py())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError):
        return math.nan


def row_value(options: ReadOptions, name: str, value: Any) -> str | float:
    """Convert a value of a JSON row for `read_rows`; a `ValueError` explains why it cannot be converted."""
    if name == options.weight:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"the weight {name!r} must be a number")
        try:
            return float(value)
        except OverflowError:
            return math.inf
    what = "group" if name == options.group else "item"
    if isinstance(value, str):
        if what == "item":
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        try:
            return value.encode().decode()
        except UnicodeEncodeError:
            raise ValueError(f"the group {name!r} is not UTF-8") from None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(pa.scalar(value).cast(pa.string()).as_py())
    raise ValueError(f"the {what} {name!r} must be a string or a number")


def row_type(options: ReadOptions, name: str) -> Any:
    """The type of the columns of values of `row_value`."""
    return pa.float64() if name == options.weight else pa.large_string()


def names_elements(kind: Any) -> bool:
    """Whether values of a type can name groups or elements: those that convert to text."""
    if pa.types.is_nested(kind):
        return False
    try:
        pa.nulls(0, kind).cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _is_bytes(kind) or pa.types.is_string_view(kind) or pa.types.is_binary_view(kind)
    return True


def is_weight(kind: Any) -> bool:
    """Whether values of a type can be weights: numbers, or text."""
    types = pa.types
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(number or _is_bytes(kind) or types.is_string_view(kind))
