"""Vectors and codes that a Python program holds: NumPy arrays, lists, mappings from id to a vector or a code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.items.codes import code_of
from twinset.errors import SourceError
from twinset.options import ReadOptions
from twinset.schema import MOST_DIMENSIONS


def held_table(items: Sequence[Any], ids: list[str], name: str, options: ReadOptions) -> tuple[Any, ReadOptions]:
    """A table of ids and vectors, or ids and codes, and the options that name its columns."""
    kind = options.item_kind
    column = (options.vectors or "vector") if kind == "vectors" else str(options.codes)
    if column == "id":
        column = f"{kind} of {name}"
    if kind == "vectors":
        values = _matrix(items, name) if isinstance(items, np.ndarray) else _vectors(items, ids, name)
    else:
        values = _codes(items, ids, name)
    words = {word: getattr(options, word) for word, _ in options.words()}
    table = pa.table({"id": pa.array(ids, pa.string()), column: values})
    return table, type(options).of(**{**words, "id": "id", kind: column})


def check_array(array: Any, name: str, options: ReadOptions) -> None:
    """Refuse an array that holds neither vectors nor codes."""
    if options.item_kind == "vectors":
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
            f"an array of {array.ndim} dimensions of type {array.dtype} is no list of {options.item_kind}; an array "
            "can hold vectors (vectors=True), one a row, or codes (codes=...), one whole number each",
            where=name,
        )


def _matrix(array: Any, name: str) -> Any:
    flat = _native(np.ascontiguousarray(array)).reshape(-1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), array.shape[1])


def _native(array: Any) -> Any:
    """The same numbers in this machine's order of bytes, the only one that Arrow takes."""
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
            raise SourceError(f"a vector must be a list of numbers, this is {shown}", where=f"{name}[{id!r}]")
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
            pass  # one of them is said to be too large below
    codes = []
    for id, item in zip(ids, items, strict=True):
        try:
            codes.append(None if item is None else code_of(item))
        except ValueError as error:
            raise SourceError(str(error), where=f"{name}[{id!r}]") from error
    return pa.array(codes, pa.large_binary())
