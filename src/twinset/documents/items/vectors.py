"""Pack lists of numbers as vectors of 32-bit floats.

-0.0 becomes 0.0, so that vectors of equal numbers have equal bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from twinset.errors import ColumnError
from twinset.options import ReadOptions
from twinset.schema import MOST_DIMENSIONS, Places
from twinset.wording import with_article

PackedRows = tuple[Any, list[tuple[int, str]]]
_BETWEEN = str.maketrans(",;|", "   ")
FINITE = "allowed: finite numbers that 32-bit floats can hold"
_MOST_MOVED = 1 / 2000  # maximum share of the distance by which rounding may move one vector: a thousandth for two


def holds_vectors(kind: Any) -> bool:
    """Whether values of a type can be vectors: lists of numbers, or lists written as text."""
    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return True
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return False
    return bool(types.is_floating(kind.value_type) or types.is_integer(kind.value_type))


def of_one_column(options: ReadOptions, schema: Any, where: str) -> ReadOptions:
    """Return the options with the column of vectors named, by default the only column of lists of numbers."""
    if options.vectors != "":
        return options
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    names = [one.name for one in schema if holds_vectors(one.type) and not any(is_text(one.type) for is_text in text)]
    if len(names) != 1:
        columns = f"there are {', '.join(map(repr, names[:5]))}" if names else "there are none"
        raise ColumnError(
            f"--vectors without a name is for .npy files and for tables with one column of vectors; here {columns}: "
            "name one with --vectors NAME",
            where=where,
        )
    values = {name: getattr(options, name) for name, _ in options.specs()}
    return type(options).of(**{**values, "vectors": names[0]})


def need_column(options: ReadOptions, where: str) -> None:
    """Refuse a text file without a named column of vectors."""
    if options.vectors == "":
        raise ColumnError("--vectors needs the name of a column here: name one with --vectors NAME", where=where)


def packed_vectors(column: Any, directions: bool, within: float | None = None) -> PackedRows:
    """Pack a column of vectors; with `directions` (for cosines), a zero vector is null.

    `within` is the maximum distance of a match; a vector that rounding moves too much for that is refused.

    Examples
    --------
    >>> rows, bad = packed_vectors(pa.array([[1.0, -0.0], [0.0, 0.0], None, [float("nan"), 1.0]]), directions=True)
    >>> [None if row is None else len(row) for row in rows.to_pylist()]
    [8, None, None, None]
    >>> bad
    [(3, 'the vector holds nan; allowed: finite numbers that 32-bit floats can hold')]
    """
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.large_binary()), []
    values, starts, none, bad = listed_numbers(column)
    packed, more = packed_rows(values, starts, none, directions, within)
    return packed, sorted(bad + more)


def listed_numbers(
    column: Any,
) -> tuple[npt.NDArray[Any], Places, npt.NDArray[np.bool_], list[tuple[int, str]]]:
    """Return lists of numbers as one array, the start of each list, the rows without one, and the bad rows."""
    column, bad = listed(column)
    none = np.asarray(column.is_null()) if column.null_count else np.zeros(len(column), np.bool_)
    starts = column.offsets.to_numpy().astype(np.int64)
    first, last = (int(starts[0]), int(starts[-1])) if len(starts) else (0, 0)
    values = column.values.slice(first, last - first)
    starts = starts - first
    if values.null_count:
        odd = _holding(starts, np.asarray(values.is_null())) & ~none
        bad += [(row, "the list holds null; " + FINITE) for row in np.flatnonzero(odd).tolist()]
        none = none | odd
    return _numbers(values), starts, none, bad


def listed(column: Any) -> PackedRows:
    """Convert a column of any form to lists of numbers; also return its bad rows."""
    bad: list[tuple[int, str]] = []
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.large_list(pa.float64())), bad
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
            or pa.types.is_fixed_size_list(column.type)):  # fmt: skip
        column, bad = _parsed_lists(column)
    if pa.types.is_fixed_size_list(column.type):
        column = column.cast(pa.large_list(column.type.value_type))
    return column, bad


def packed_rows(
    given: npt.NDArray[Any],
    starts: Places,
    none: npt.NDArray[np.bool_],
    directions: bool,
    within: float | None = None,
) -> PackedRows:
    """Pack rows of numbers: row i is given[starts[i]:starts[i+1]]; otherwise as `packed_vectors`."""
    with np.errstate(over="ignore"):
        values = given.astype("<f4") + np.float32(0.0)
    bad: list[tuple[int, str]] = []
    wrong = ~np.isfinite(values)
    if wrong.any():
        rows = _holding(starts, wrong) & ~none
        places = np.flatnonzero(wrong)
        for row in np.flatnonzero(rows).tolist():
            place = places[np.searchsorted(places, starts[row])]
            bad.append((row, f"the vector holds {float(given[place]):g}; {FINITE}"))
        none = none | rows
    wide = np.diff(starts) > MOST_DIMENSIONS
    bad += [
        (row, f"the vector has {int(starts[row + 1] - starts[row])} dimensions; allowed: {MOST_DIMENSIONS} at most")
        for row in np.flatnonzero(wide & ~none).tolist()
    ]
    none = none | wide
    if within and _loses(given.dtype):
        moved = _moved(given, values, starts, none)
        far = moved > within * _MOST_MOVED
        bad += [(row, _too_coarse(moved[row], within)) for row in np.flatnonzero(far).tolist()]
        none = none | far
    if directions:
        none = none | ~_holding(starts, values != 0)
    valid = pa.py_buffer(np.packbits(~none, bitorder="little")) if none.any() else None
    buffers = [valid, pa.py_buffer(np.ascontiguousarray(starts * 4, np.int64)), pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.large_binary(), len(starts) - 1, buffers), bad


def _loses(dtype: np.dtype[Any]) -> bool:
    """Whether 32-bit floats cannot represent every number of a type."""
    return dtype.itemsize > (4 if dtype.kind == "f" else 2)


def _moved(
    given: npt.NDArray[Any], values: npt.NDArray[Any], starts: Places, none: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Upper bound of the distance by which rounding moved each vector."""
    exact = given.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(exact - values)
        if given.dtype.kind in "iu":  # the line above has rounded integers of 64 bits already
            apart += np.where(np.abs(exact) >= 2.0**53, np.abs(exact) * 2.0**-53, 0.0)
        moved = np.zeros(len(starts) - 1)
        rows = np.flatnonzero(np.diff(starts) > 0)
        if len(rows):
            moved[rows] = np.sqrt(np.add.reduceat(apart * apart, starts[:-1][rows]))
    moved[none] = 0.0
    return moved


def _too_coarse(moved: float, within: float) -> str:
    return (
        f"vectors are compared as 32-bit floats, and rounding moves this vector by {moved:.2g}, which is too much "
        f"for the distance {within:g}; allowed: {within * _MOST_MOVED:g} at most: subtract a common offset, such as "
        "the mean, from all vectors, or use a greater distance"
    )


def vector_of(name: str, value: Any) -> list[float]:
    """Convert a vector of a JSON row; a `ValueError` explains why it is not one."""
    if not isinstance(value, list):
        raise ValueError(f"{name!r} must hold a list of numbers")
    if not _all_numbers(value):
        value = [one.item() if isinstance(one, np.generic) else one for one in value]
    if not _all_numbers(value):
        odd = next(one for one in value if type(one) is not float and type(one) is not int)
        shown = repr(odd) if isinstance(odd, (str, bool)) and len(repr(odd)) <= 40 else with_article(type(odd).__name__)
        raise ValueError(f"the list {name!r} must hold only numbers, but holds {'null' if odd is None else shown}")
    try:
        return [float(one) for one in value]
    except OverflowError:
        raise ValueError(f"the list {name!r} holds a number too large for a float") from None


def _all_numbers(value: list[Any]) -> bool:
    return all(type(one) is float or type(one) is int for one in value)


def _numbers(values: Any) -> npt.NDArray[Any]:
    return np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False)) if len(values) else np.zeros(0, np.float32)


def _holding(starts: Places, flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Mask of the rows with a flagged value."""
    reach = np.concatenate([[0], np.cumsum(flags)])
    return np.asarray(reach[starts[1:]] > reach[starts[:-1]])


def _parsed_lists(column: Any) -> PackedRows:
    """Parse vectors written as text: a JSON list, or numbers separated by spaces, commas or semicolons."""
    bad: list[tuple[int, str]] = []
    lists: list[list[float] | None] = []
    for row, value in enumerate(column.cast(pa.large_binary()).to_pylist()):
        try:
            lists.append(None if value is None else read_vector(value.decode("utf-8", "replace")))
        except ValueError as error:
            bad.append((row, str(error)))
            lists.append(None)
    return pa.array(lists, pa.large_list(pa.float64())), bad


def read_vector(text: str) -> list[float]:
    """Parse a vector written as text.

    Examples
    --------
    >>> read_vector("[1, 2.5]"), read_vector("1 2.5"), read_vector("1; 2.5"), read_vector(" ")
    ([1.0, 2.5], [1.0, 2.5], [1.0, 2.5], [])
    """
    shown = text if len(text) <= 40 else text[:39] + "…"
    if text.lstrip().startswith("["):
        try:
            return vector_of("vector", orjson.loads(text))
        except orjson.JSONDecodeError as error:
            raise ValueError(f"a vector that begins with [ must be a JSON list: {error.msg}") from error
    words = text.translate(_BETWEEN).split()
    try:
        return [float(word) for word in words]
    except ValueError:
        raise ValueError(f"the vector is {shown!r}; allowed: numbers separated by spaces or commas") from None
