"""Columns of long values on their way into a Parquet file: from where they were read, page by page.

Arrow would copy a text four times before it is in the file: into a table of the kept rows, into one of a row group,
into a page, into a row group in memory. Texts are most of what there is to copy, so their pages are made here, of the
rows as they were read. All other columns are Arrow's work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .long_kernels import plain_values
from .row_groups import Pieces
from .tables import one_array
from .thrift import I32, STRUCT, Struct, varint, write_struct

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

_PAGE = 2**20  # a page that holds this many bytes is full
_BEFORE = 16  # bytes before the values, for what is said of them all
_LONG = 256  # bytes a value; shorter ones are worth a dictionary and statistics
_PLAIN, _RUNS, _DATA_PAGE = 0, 3, 0
_CODECS = {"UNCOMPRESSED": 0, "SNAPPY": 1, "GZIP": 2, "BROTLI": 4, "ZSTD": 6, "LZ4_RAW": 7}


@dataclass(frozen=True)
class LongColumn:
    """A column of long values: its name, its place among the leaves of the schema, its codec, and if it takes nulls."""

    name: str
    leaf: int
    codec: str
    optional: bool


def long_columns(metadata: Any, schema: Any) -> list[LongColumn]:
    """The columns of a Parquet file that hold long texts or bytes and are not part of another."""
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    leaves = [metadata.schema.column(at) for at in range(metadata.num_columns)]
    paths = [leaf.path for leaf in leaves]
    found = []
    for at, leaf in enumerate(leaves):
        flat = leaf.max_repetition_level == 0 and leaf.max_definition_level <= 1
        if not groups or not flat or paths.count(leaf.path) > 1 or schema.names.count(leaf.path) != 1:
            continue
        if schema.field(leaf.path).type not in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
            continue
        chunks = [group.column(at) for group in groups]
        size, count = (sum(getattr(one, of) for one in chunks) for of in ("total_uncompressed_size", "num_values"))
        if size >= _LONG * max(1, count) and chunks[0].compression in _CODECS:
            found.append(LongColumn(leaf.path, at, chunks[0].compression, leaf.max_definition_level == 1))
    return found


@dataclass
class Stretch:
    """Consecutive rows as they were read."""

    first_row: int
    table: Any
    _values: dict[str, tuple[Numbers, Bytes]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The row after the last."""
        return self.first_row + int(self.table.num_rows)

    def values(self, name: str) -> tuple[Numbers, Bytes]:
        """Where each value of a column begins, and where the last ends; and the bytes."""
        if name not in self._values:
            array = one_array(self.table.column(name))
            wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
            _, offsets, data = array.buffers()
            upto = np.frombuffer(offsets, np.int64 if wide else np.int32, len(array) + 1 + array.offset)[array.offset :]
            self._values[name] = upto.astype(np.int64), np.frombuffer(data or b"", np.uint8)
        return self._values[name]


def taken(stretches: list[Stretch], name: str, rows: Numbers) -> Any:
    """Some rows of a column, copied."""
    parts = []
    for stretch in stretches:
        low, high = np.searchsorted(rows, [stretch.first_row, stretch.end])
        parts.append(stretch.table.column(name).take(pa.array(rows[low:high] - stretch.first_row)))
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)


def has_nulls(stretches: list[Stretch], name: str, rows: Numbers) -> bool:
    """Whether one of some rows has no value."""
    some = [stretch for stretch in stretches if stretch.table.column(name).null_count]
    return bool(some) and taken(some, name, rows).null_count > 0


class LongRows:
    """Some rows, in order, of the long columns; they lie in the stretches given."""

    def __init__(self, columns: list[LongColumn], rows: Numbers, stretches: list[Stretch]) -> None:
        self._columns, self._rows, self._stretches = columns, rows, stretches

    def make(self) -> dict[int, Pieces]:
        """The columns, by their places among the leaves of the schema."""
        return {column.leaf: self._made(column) for column in self._columns}

    def _made(self, column: LongColumn) -> Pieces:
        pages = _Pages(column)
        for stretch in self._stretches:
            low, high = np.searchsorted(self._rows, [stretch.first_row, stretch.end])
            pages.add(*stretch.values(column.name), self._rows[low:high] - stretch.first_row)
        return pages.finish()


class _Pages:
    """Pages in the making. One ends with the value that fills it: by the rows alone, not by how they came."""

    def __init__(self, column: LongColumn) -> None:
        self._column = column
        self._done = Pieces(_CODECS[column.codec])
        self._out = np.empty(_BEFORE + 2 * _PAGE, np.uint8)
        self._size = self._values = 0

    def add(self, upto: Numbers, data: Bytes, rows: Numbers) -> None:
        """Add some rows of a stretch."""
        sizes = np.cumsum(4 + upto[rows + 1] - upto[rows])
        first = before = 0
        while first < len(rows):
            last = min(len(rows), int(np.searchsorted(sizes, before + _PAGE - self._size)) + 1)
            size = int(sizes[last - 1]) - before
            self._make_room(size)
            plain_values(data, upto, rows[first:last], self._out, _BEFORE + self._size)
            self._size += size
            self._values += last - first
            if self._size >= _PAGE:
                self._end()
            first, before = last, int(sizes[last - 1])

    def finish(self) -> Pieces:
        """End the last page."""
        if self._values:
            self._end()
        return self._done

    def _make_room(self, size: int) -> None:
        need = _BEFORE + self._size + size
        if self._out.size < need:
            out = np.empty(need + _PAGE, np.uint8)
            out[: _BEFORE + self._size] = self._out[: _BEFORE + self._size]
            self._out = out

    def _end(self) -> None:
        levels = _levels(self._values) if self._column.optional else b""
        first = _BEFORE - len(levels)
        self._out[first:_BEFORE] = np.frombuffer(levels, np.uint8)
        page = self._out[first : _BEFORE + self._size]
        body = _compressed(page, self._column.codec)
        self._done.add_page(_header(len(page), len(body), self._values), [body], len(page), self._values)
        self._size = self._values = 0


def _levels(count: int) -> bytes:
    """It is said of every value that it is there: a run of ones."""
    run = varint(count << 1) + b"\x01"
    return len(run).to_bytes(4, "little") + run


def _header(unpacked: int, size: int, values: int) -> bytes:
    about: Struct = {1: (I32, values), 2: (I32, _PLAIN), 3: (I32, _RUNS), 4: (I32, _RUNS)}
    return write_struct({1: (I32, _DATA_PAGE), 2: (I32, unpacked), 3: (I32, size), 5: (STRUCT, about)})


def _compressed(data: Bytes, codec: str) -> Any:
    return data.tobytes() if codec == "UNCOMPRESSED" else pa.Codec(codec.lower()).compress(data)
