"""Items of a Python program as tables: lists, mappings from id to item, NumPy arrays.

Texts, sets, records, vectors and codes each become columns of a table; numbers stay numbers, and strings strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.formats.memory_tables import TablePart
from twinset.documents.items.chat import chat_text
from twinset.documents.items.codes import code_of
from twinset.documents.items.pack import column_values, json_type
from twinset.errors import SourceError
from twinset.options import ReadOptions
from twinset.options.items import VECTORS
from twinset.schema import MOST_DIMENSIONS

_PLAIN = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


def items_part(
    items: Sequence[Any], ids: Sequence[str] | None, name: str, source: int, options: ReadOptions
) -> TablePart:
    """Make a part of items in memory; without `ids` they are ``name:row``."""
    known = list(ids) if ids is not None else [f"{name}:{row}" for row in range(len(items))]
    columns: dict[str, Any] = {"id": "id", "no_id": False}
    unreadable: dict[int, str] = {}
    if options.item_kind in (*VECTORS, "codes"):
        column = _column_name(name, options)
        columns["codes" if options.item_kind == "codes" else "vectors"] = column
        values = {column: _vectors_or_codes(items, known, name, options)}
    elif options.item_kind == "text":
        places = known if ids is not None else list(range(len(items)))
        texts, unreadable = _texts(items, places, name)
        columns["text"] = "text"
        values = {"text": texts}
    else:
        values = set_columns(items, known, name, options)
    table = pa.table({"id": pa.array(known, pa.string()), **values})
    given = {word: getattr(options, word) for word, _ in options.specs()}
    return TablePart(name, source, type(options).of(**{**given, **columns}), table, unreadable)


def _column_name(name: str, options: ReadOptions) -> str:
    """Name of the column of vectors or codes, other than ``id``."""
    column = (options.vectors or "vector") if options.item_kind in VECTORS else str(options.codes)
    return f"{options.item_kind} of {name}" if column == "id" else column


def _vectors_or_codes(items: Sequence[Any], ids: list[str], name: str, options: ReadOptions) -> Any:
    if options.item_kind == "codes":
        return _codes(items, ids, name)
    return _matrix(items) if isinstance(items, np.ndarray) else _vectors(items, ids, name)


def _texts(texts: Sequence[Any], places: Sequence[object], name: str) -> tuple[Any, dict[int, str]]:
    """The texts as a column, and the rows that cannot be encoded as UTF-8."""
    values: list[str | bytes | None] = []
    unreadable: dict[int, str] = {}
    for row, text in enumerate(texts):
        text = plain_text(text, f"{name}[{places[row]!r}]")
        values.append(text)
        if isinstance(text, str) and not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                unreadable[row] = "an unpaired surrogate, which UTF-8 cannot encode"
                values[row] = None
    if any(isinstance(text, bytes) for text in values):
        encoded = [text.encode() if isinstance(text, str) else text for text in values]
        return pa.array(encoded, pa.large_binary()), unreadable
    return pa.array(values, pa.large_string()), unreadable


def plain_text(text: Any, where: str) -> str | bytes | None:
    """Return a text of a list or iterator; a list of messages is the text of a chat."""
    if text is None or isinstance(text, (str, bytes)):
        return text
    try:
        if isinstance(text, list):
            return chat_text(text)
    except ValueError:
        pass  # reported below
    raise SourceError(f"a list or mapping of texts must hold strings, not {type(text).__name__}", where=where)


def set_columns(items: Sequence[Any], ids: Sequence[str], name: str, options: ReadOptions) -> dict[str, Any]:
    """The columns of sets, or of records, by their names.

    Examples
    --------
    >>> columns = set_columns([[1, 2], {3}], ["a", "b"], "list", ReadOptions.of(items="tags"))
    >>> columns["tags"].to_pylist()
    [[1, 2], [3]]
    """
    names = options.item_columns
    values: list[list[Any]] = [[] for _ in names]
    for row, item in enumerate(items):
        row_values = column_values(options, item)
        if isinstance(row_values, str):
            raise SourceError(row_values, where=f"{name}[{ids[row]!r}]")
        for column, value in zip(values, row_values, strict=True):
            column.append(value)
    columns = {column: pa.array(each, json_type(options, column)) for column, each in zip(names, values, strict=True)}
    if options.item_kind == "records":
        return {column: _strings(array) for column, array in columns.items()}
    typed = _typed(items)
    return columns if typed is None else {**columns, names[0]: typed}


def _strings(column: Any) -> Any:
    """A column of texts as strings, unless it holds invalid bytes."""
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return column


def _typed(items: Sequence[Any]) -> Any | None:
    """The elements of all sets as numbers, if all are of one type; otherwise None."""
    lists = [None if item is None else [_plain(one) for one in item] for item in items]
    kinds = {type(one) for row in lists if row is not None for one in row if one is not None}
    kind = _PLAIN.get(kinds.pop()) if len(kinds) == 1 else None
    if kind is None:
        return None
    try:
        return pa.array(lists, pa.large_list(kind))
    except (OverflowError, pa.ArrowInvalid):  # an integer of more than 64 bits, which is hashed as text
        return None


def _plain(one: Any) -> Any:
    return one.item() if isinstance(one, np.generic) else one


def check_array(array: Any, name: str, options: ReadOptions) -> None:
    """Refuse an array that holds neither vectors nor codes; one of texts is read as a list."""
    if options.item_kind in VECTORS:
        dimensions = array.ndim == 2 and 1 <= array.shape[1] <= MOST_DIMENSIONS
        if not dimensions or array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
            shape = " × ".join(map(str, array.shape)) or "a single value"
            raise SourceError(
                f"the array is {shape} of type {array.dtype}; vectors are rows of numbers, at most "
                f"{MOST_DIMENSIONS} wide, of a type up to 64 bits",
                where=name,
            )
    elif options.item_kind != "codes" or array.ndim != 1 or array.dtype.kind not in "iu":
        raise SourceError(
            f"an array of {array.ndim} dimensions of type {array.dtype} is not a list of {options.item_kind}; an array "
            "can hold vectors (vectors=True), one per row, codes (codes=...), one whole number each, or a row of texts",
            where=name,
        )


def _matrix(array: Any) -> Any:
    flat = _native(np.ascontiguousarray(array)).reshape(-1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), array.shape[1])


def _native(array: Any) -> Any:
    """The same numbers in native byte order, which Arrow requires."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _vectors(items: Sequence[Any], ids: list[str], name: str) -> Any:
    lists = []
    for id, item in zip(ids, items, strict=True):
        try:
            vector = None if item is None else np.asarray(item, np.float64)
        except (TypeError, ValueError):
            vector = np.zeros((0, 0))
        if vector is not None and (vector.ndim != 1 or isinstance(item, (str, bytes))):
            shown = type(item).__name__
            raise SourceError(f"a vector must be a list of numbers, not {shown}", where=f"{name}[{id!r}]")
        lists.append(vector)
    return pa.array(lists, pa.large_list(pa.float64()))


def _codes(items: Sequence[Any], ids: list[str], name: str) -> Any:
    if isinstance(items, np.ndarray):
        return pa.array(_native(items))
    if items and all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in items):
        kind = pa.uint64() if min(items) >= 0 else pa.int64()
        try:
            return pa.array(items, kind)
        except OverflowError:
            pass  # reported as too large below
    codes = []
    for id, item in zip(ids, items, strict=True):
        try:
            codes.append(None if item is None else code_of(item))
        except ValueError as error:
            raise SourceError(str(error), where=f"{name}[{id!r}]") from error
    return pa.array(codes, pa.large_binary())
