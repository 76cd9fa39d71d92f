"""Read the columns of a truth from a CSV, JSON lines or Parquet file, as text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from twinset.errors import ColumnError, RowError, SourceError
from twinset.options.formats import TRUTH_ENDINGS, format_by_ending
from twinset.wording import at_line, at_row

Choose: TypeAlias = Callable[[list[str], str], list[str]]
"""Chooses the columns of the truth from all columns of a file, or raises an error; the second argument is its name."""


def read_columns(name: str, choose: Choose, purpose: str) -> pa.Table:
    """Read the chosen columns of a file; `purpose` says which file is expected, for the message if there is none."""
    path = Path(name)
    ending = path.suffix.lower()
    format = format_by_ending(path.name)
    if format is None or ending not in TRUTH_ENDINGS:
        raise SourceError(f"unknown format of the truth; allowed: {', '.join(TRUTH_ENDINGS)}", where=name)
    if not path.exists():
        raise SourceError(f"there is no such file; {purpose}", where=name)
    try:
        if ending == ".parquet":
            with pq.ParquetFile(path) as file:
                return file.read(columns=choose(file.schema_arrow.names, name))
        if format.delimiter is not None:
            table = _separated(path, format.delimiter)
            return table.select(choose(table.column_names, name))
        return _json_lines(path, name, choose)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SourceError(f"the truth cannot be read: {reason}", where=name) from error
    except pa.ArrowException as error:
        kind = ending[1:].upper() if ending != ".parquet" else "Parquet"
        raise SourceError(f"the truth cannot be read as {kind}: {str(error).splitlines()[0]}", where=name) from error


def columns_by_name(names: list[str], known: Collection[str], where: str) -> dict[str, str]:
    """Return the columns of a file by their names in lower case; a known name may appear only once.

    Examples
    --------
    >>> columns_by_name(["Left", " right"], {"left", "right"}, "truth.csv")
    {'left': 'Left', 'right': ' right'}
    """
    lower = [name.strip().lower() for name in names]
    for name in lower:
        if name in known and lower.count(name) > 1:
            raise ColumnError(f"there is more than one column {name!r}; rename one", where=where)
    return dict(zip(lower, names, strict=True))


def text_table(columns: Mapping[str, list[Any]], name: str) -> pa.Table:
    """Make a table of strings; `name` is that of the truth, for messages."""
    return pa.table({key: _strings(values, key, name) for key, values in columns.items()})


def _strings(values: list[Any], column: str, name: str) -> Any:
    """Convert values to strings; only strings and integers are allowed."""
    texts: list[str | None] = []
    for number, value in enumerate(values):
        if value is None or isinstance(value, str):
            texts.append(value)
        elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            texts.append(str(value))
        else:
            raise RowError(
                f"{column} is {str(value)[:60]!r}, a {type(value).__name__}; allowed: strings and whole numbers",
                where=at_row(name, number),
            )
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError as error:
        raise SourceError(f"{column} contains an unpaired surrogate, which UTF-8 cannot encode", where=name) from error


def _separated(path: Path, delimiter: str) -> pa.Table:
    """Read every value as text: ids such as 007 and 1e5 are not numbers."""
    parsing = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    reading = pa.csv.ReadOptions(block_size=1 << 26)
    with pa.csv.open_csv(path, read_options=reading, parse_options=parsing) as opened:
        names = opened.schema.names
    kinds = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.large_string()), strings_can_be_null=True, null_values=[""]
    )
    return pa.csv.read_csv(path, read_options=reading, parse_options=parsing, convert_options=kinds)


def _json_lines(path: Path, name: str, choose: Choose) -> pa.Table:
    columns: dict[str, list[Any]] = {}
    with open(path, "rb") as file:
        rows = 0
        for number, line in enumerate(file, start=1):
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not line.strip():
                continue
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise RowError(f"not JSON: {error.msg}", where=at_line(name, number)) from error
            if not isinstance(row, dict):
                raise RowError('a line must be an object such as {"left": …, "right": …}', where=at_line(name, number))
            for key in row.keys() - columns.keys():
                columns[key] = [None] * rows
            rows += 1
            for key, values in columns.items():
                values.append(row.get(key))
    return text_table({key: columns[key] for key in choose(list(columns), name)}, name)


def as_text(column: Any, label: str, name: str) -> Any:
    """Return a column of strings or whole numbers as one array of strings."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer)
    if not (pa.types.is_null(kind) or any(is_kind(kind) for is_kind in texts)):
        raise ColumnError(f"{label!r} holds {kind}; allowed: strings and whole numbers", where=name)
    if isinstance(column, pa.Array):
        return column.cast(pa.large_string())
    return pa.concat_arrays(
        [chunk.cast(pa.large_string()) for chunk in column.chunks] or [pa.array([], pa.large_string())]
    )
