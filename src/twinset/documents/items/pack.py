"""Pack the columns of an item into one binary value per row, for every kind of item.

A set is the 64-bit hashes of its elements, eight bytes each; a record is the texts of its columns, each after its
length. So code that reads, spills or copies texts handles every kind. Elements are equal when their text is: 5 in a
Parquet file equals "5" in a CSV file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.items.chat import chat_text, holds_chats
from twinset.documents.items.codes import code_of, holds_codes, packed_codes
from twinset.documents.items.records import packed_records
from twinset.documents.items.sparse_vectors import sparse_of
from twinset.documents.items.vectors import holds_vectors, listed_numbers, packed_vectors, vector_of
from twinset.documents.items.weighted import added_weights, holds_weights, packed_weighted, paired
from twinset.documents.long_tables.columns import (
    ELEMENT_SEED,
    is_weight,
    names_elements,
    read_rows,
    row_type,
    row_value,
)
from twinset.documents.normalize import hash_values
from twinset.errors import ColumnError
from twinset.options import ReadOptions
from twinset.options.items import VECTORS
from twinset.schema import Hashes, Places
from twinset.wording import with_article

PackedRows = tuple[Any, list[tuple[int, str]]]
"""The packed rows, null where a row is bad, and the bad rows with reasons."""

_SEPARATORS = ("|", ";", ",")


def packed(options: ReadOptions, columns: Sequence[Any], from_text: bool = False) -> PackedRows:
    """Pack the columns of an item, in the order of `options.item_columns`; `from_text`: they are fields of a text file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows, bad = packed(ReadOptions.of(items="tags"), [pa.array([["a", "b"], [], None])])
    >>> [None if row is None else len(row) for row in rows.to_pylist()], bad
    ([16, 0, None], [])
    """
    if options.group is not None:
        return read_rows(options, columns, from_text)
    if options.item_kind == "records":
        return packed_records(columns), []
    if options.item_kind == "codes":
        return packed_codes(columns[0], from_text)
    if options.item_kind in VECTORS:
        within = options.reach if options.measure == "distance" else None
        rows, bad = packed_vectors(columns[0], directions=options.measure == "cosine", within=within)
        return (sparse_of(rows) if options.sparse else rows), bad
    lists, bad = _lists(columns[0])
    if options.item_kind != "weighted":
        return (written_lists(lists) if options.lists_as_text else _hashed(lists)), bad
    weights, worse = paired(lists, columns[1])
    rows, bad = packed_weighted((_hashed(lists), bad), weights, worse)
    return (written_weights(lists, weights, rows) if options.lists_as_text else rows), bad


def check_type(options: ReadOptions, name: str, kind: Any, where: str) -> None:
    """Raise `ColumnError` when a column of this type does not fit the option."""
    values = value_type(kind)
    if pa.types.is_null(values):
        return
    needed, fits = _NEEDED.get(options.item_kind, ("", None))
    if options.items is not None and name == options.weight:
        needed, fits = "lists of numbers", holds_weights
    if options.group is not None:
        needed, fits = ("numbers", is_weight) if name == options.weight else ("strings or numbers", names_elements)
    if fits is not None and not fits(values):
        raise ColumnError(
            f"the column {name!r} must hold {needed}, not {kind}; name another with {options.flag_of(name)} NAME",
            where=where,
        )


def _is_list(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _holds_elements(kind: Any) -> bool:
    """Whether values of a type can be sets: lists of values with a text form, or lists written as text."""
    if not _is_list(kind):
        return is_text(kind)
    try:
        _words(pa.nulls(0, value_type(kind.value_type)))
    except pa.ArrowException:
        return False
    return not pa.types.is_nested(value_type(kind.value_type))


def value_type(kind: Any) -> Any:
    """Type of the values of an extension or a dictionary type."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind):
            kind = kind.value_type
        else:
            return kind


def is_text(kind: Any) -> bool:
    """Whether a type is one of Arrow's string and binary types."""
    types = pa.types
    return any(
        is_kind(kind)
        for is_kind in (
            types.is_string,
            types.is_large_string,
            types.is_string_view,
            types.is_binary,
            types.is_large_binary,
            types.is_binary_view,
        )
    )


def _holds_texts(kind: Any) -> bool:
    return is_text(kind) or holds_chats(kind)


_NEEDED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "text": ("text", _holds_texts),
    "records": ("text", _holds_texts),
    "items": ("lists of strings or numbers", _holds_elements),
    "weighted": ("lists of strings or numbers", _holds_elements),
    "codes": ("whole numbers, bytes or hexadecimal digits", holds_codes),
    **dict.fromkeys(VECTORS, ("lists of numbers", holds_vectors)),
}


def json_value(options: ReadOptions, name: str, value: Any) -> Any:
    """Convert a value of a JSON row for `packed`; a `ValueError` explains why it cannot be converted."""
    if value is None:
        return None
    if options.group is not None:
        return row_value(options, name, value)
    if options.item_kind == "records":
        try:
            text = value if isinstance(value, str) else chat_text(value)
        except ValueError as error:
            raise ValueError(f"the text {name!r} must be a string") from error
        return text.encode("utf-8", "surrogateescape")
    if options.item_kind == "codes":
        return code_of(value)
    if options.item_kind in VECTORS or name == options.weight:
        return vector_of(name, value)
    if not isinstance(value, list):
        raise ValueError(f"{name!r} must hold a list, which --items names")
    weighted = options.weight is not None  # then a null keeps its weight's position
    return [None if one is None else _element(name, one) for one in value if weighted or one is not None]


def _element(name: str, value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(pa.scalar(value).cast(pa.string()).as_py()) if isinstance(value, float) else str(value)
    raise ValueError(f"the list {name!r} must hold strings or numbers, but holds {with_article(type(value).__name__)}")


def column_values(options: ReadOptions, item: Any) -> list[Any] | str:
    """Return the column values of an item in memory, or the reason why there are none."""
    if options.item_kind == "records":
        if not isinstance(item, Mapping):
            return f"a record must be a mapping from column to text, not {type(item).__name__}"
        values = [item.get(name) for name in options.item_columns]
    elif options.item_kind == "weighted":
        if item is not None and not isinstance(item, Mapping):
            return f"a weighted set must be a mapping from element to weight, not {type(item).__name__}"
        values = [None, None] if item is None else [list(item), list(item.values())]
    else:
        if isinstance(item, np.ndarray) and item.ndim == 1:
            item = item.tolist()
        if item is not None and not isinstance(item, (list, tuple, Set)):
            return f"an item must be a list, a tuple or a set of elements, not {type(item).__name__}"
        values = [None if item is None else list(item)]
    try:
        return [json_value(options, name, value) for name, value in zip(options.item_columns, values, strict=True)]
    except ValueError as error:
        return str(error)


def json_type(options: ReadOptions, name: str = "") -> Any:
    """The type of the column `name` of values of `json_value`."""
    if options.group is not None:
        return row_type(options, name)
    if options.item_kind in VECTORS or name == options.weight:
        return pa.large_list(pa.float64())
    return pa.large_binary() if options.item_kind in ("records", "codes") else pa.large_list(pa.large_string())


def element_sets(column: Any) -> PackedRows:
    """Convert each list to the hashes of its elements."""
    lists, bad = _lists(column)
    return _hashed(lists), bad


def _lists(column: Any) -> PackedRows:
    """Convert a column of lists, of fixed-size lists or of text to lists."""
    bad: list[tuple[int, str]] = []
    if is_text(column.type):
        column, bad = _split(column)
    if pa.types.is_null(column.type):
        column = pa.nulls(len(column), pa.large_list(pa.large_string()))
    if pa.types.is_fixed_size_list(column.type):
        column = column.cast(pa.large_list(column.type.value_type))
    return column, bad


def _hashed(column: Any) -> Any:
    starts = column.offsets.to_numpy().astype(np.int64)
    first, last = (int(starts[0]), int(starts[-1])) if len(starts) else (0, 0)
    values = column.values.slice(first, last - first)
    starts = starts - first
    if pa.types.is_dictionary(values.type) and values.dictionary.null_count:
        values = values.cast(values.type.value_type)
    hashes = _element_hashes(values)
    if values.null_count:
        valid = np.asarray(values.is_valid())
        hashes = hashes[valid]
        starts = np.concatenate([[0], np.cumsum(valid)])[starts]
    if column.null_count:
        # A null list may still have elements in the values array.
        none = np.asarray(column.is_null())
        hashes, starts = _without(hashes, starts, none)
        return _binary(hashes, starts, none)
    return _binary(hashes, starts, None)


def _element_hashes(values: Any) -> Hashes:
    """Hash each element; numbers are formatted once each, since that takes longest."""
    if is_text(values.type) or pa.types.is_null(values.type):
        return hash_values(_words(values), ELEMENT_SEED)
    if pa.types.is_integer(values.type) and (number_hashes := _number_hashes(values)) is not None:
        return number_hashes
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    hashes = hash_values(_words(coded.dictionary), ELEMENT_SEED)
    indices = pc.fill_null(coded.indices, 0) if coded.indices.null_count else coded.indices
    places = indices.to_numpy(zero_copy_only=False)
    return hashes[places] if len(hashes) else np.zeros(len(values), np.uint64)


def _number_hashes(values: Any) -> Hashes | None:
    """Hash integers by a table over their range; None where the table would be too large."""
    ends = pc.min_max(values).as_py()
    low, span = ends["min"], 0 if ends["min"] is None else ends["max"] - ends["min"] + 1
    if not 0 < span <= 2 * len(values) or ends["max"] >= 2**63:
        return None
    whole = pc.fill_null(values, low) if values.null_count else values
    places = whole.to_numpy(zero_copy_only=False).astype(np.int64) - low
    named = np.zeros(span, np.bool_)
    named[places] = True
    distinct = np.flatnonzero(named)
    table = np.zeros(span, np.uint64)
    table[distinct] = hash_values(_words(pa.array(distinct + low, pa.int64())), ELEMENT_SEED)
    hashes: Hashes = table[places]
    return hashes


def written_lists(column: Any) -> Any:
    """Write each list as JSON, its elements in the form that is hashed."""
    starts = column.offsets.to_pylist()
    first, last = (starts[0], starts[-1]) if starts else (0, 0)
    values = column.values.slice(first, last - first)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    words, starts = _words(values).to_pylist(), [start - first for start in starts]
    texts = [
        orjson.dumps([word for word in words[begin:end] if word is not None]).decode() if valid else None
        for begin, end, valid in zip(starts[:-1], starts[1:], column.is_valid().to_pylist(), strict=True)
    ]
    return pa.array(texts, pa.large_string())


def written_weights(column: Any, weights: Any, rows: Any) -> Any:
    """Write each weighted set as a JSON object: weights of repeated elements add up, and zeros are dropped.

    `rows` are the packed sets; those that are null there are null here.
    """
    names = written_lists(column)
    values, starts, _, _ = listed_numbers(weights)
    objects: list[str | None] = []
    for row, (text, valid) in enumerate(zip(names.to_pylist(), rows.is_valid().to_pylist(), strict=True)):
        if text is None or not valid:
            objects.append(None)
            continue
        every: dict[str, list[float]] = {}
        mine = values[starts[row] : starts[row + 1]].tolist()
        for name, weight in zip(orjson.loads(text), mine, strict=True):
            every.setdefault(name, []).append(float(weight))
        sums = {name: added_weights(many) for name, many in every.items()}
        objects.append(orjson.dumps({name: total for name, total in sums.items() if total > 0}).decode())
    return pa.array(objects, pa.large_string())


def _words(values: Any) -> Any:
    """Convert elements to strings."""
    if is_text(values.type) or pa.types.is_fixed_size_binary(values.type):
        try:
            return values.cast(pa.large_string())
        except pa.ArrowInvalid:
            words = values.cast(pa.large_binary()).to_pylist()
            replaced = [None if one is None else one.decode("utf-8", "replace") for one in words]
            return pa.array(replaced, pa.large_string())
    return values.cast(pa.large_string())


def _without(hashes: Hashes, starts: Places, none: npt.NDArray[np.bool_]) -> tuple[Hashes, Places]:
    counts = np.diff(starts)
    valid = np.repeat(~none, counts)
    return hashes[valid], np.concatenate([[0], np.cumsum(np.where(none, 0, counts))])


def _binary(hashes: Hashes, starts: Places, none: npt.NDArray[np.bool_] | None) -> Any:
    offsets = pa.py_buffer(np.ascontiguousarray(starts * 8, np.int64))
    valid = None if none is None else pa.py_buffer(np.packbits(~none, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(hashes, "<u8"))
    return pa.Array.from_buffers(pa.large_binary(), len(starts) - 1, [valid, offsets, data])


def _split(column: Any) -> PackedRows:
    """Parse lists in text: a JSON list, or words separated by | or ; or ,."""
    bad: list[tuple[int, str]] = []
    lists: list[list[str | None] | None] = []
    for row, value in enumerate(_words(column).to_pylist()):
        try:
            lists.append(None if value is None else _split_list(value))
        except ValueError as error:
            bad.append((row, str(error)))
            lists.append(None)
    return pa.array(lists, pa.large_list(pa.large_string())), bad


def _split_list(text: str) -> list[str | None]:
    """Parse a list written as text: as JSON, or with separators."""
    if text.lstrip().startswith("["):
        try:
            elements = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise ValueError(f"a list that begins with [ must be JSON: {error.msg}") from error
        return [None if one is None else _element("list", one) for one in elements]
    separator = next((one for one in _SEPARATORS if one in text), ",")
    return [word for word in (one.strip() for one in text.split(separator)) if word]
