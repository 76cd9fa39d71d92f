"""Columns of long values on their way into a Parquet file: from where they were read, page by page.

Arrow would copy a text four times before it is in the file: into a table of the kept rows, into one of a row group,
into a page, into a row group in memory. Texts are most of what there is to copy, so their pages are made here, of the
rows as they were read. All other columns are Arrow's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.formats.typed_columns import one_array
from twinset.documents.parquet.long_kernels import plain_values
from twinset.documents.parquet.row_groups import Pieces
from twinset.documents.parquet.thrift import I32, STRUCT, Struct, varint, write_struct

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

_PAGE = 2**20  # a page that holds this many bytes is full
_MOST = 2**30
_BEFORE = 16  # bytes before the values, for what is said of them all
_AT_ONCE = 8  # pages that are made one after another
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
        self._columns, self._stretches = columns, stretches
        ends = np.searchsorted(rows, [stretch.end for stretch in stretches])
        cuts = [0, *ends.tolist()]
        self._rows = [rows[low:high] - one.first_row for one, low, high in zip(stretches, cuts, cuts[1:], strict=False)]

    def portions(self) -> dict[int, list[Callable[[], Pieces]]]:
        """What makes each column, some pages at a time, by their places among the leaves of the schema."""
        return {column.leaf: list(self._portions(column)) for column in self._columns}

    def _portions(self, column: LongColumn) -> Iterator[Callable[[], Pieces]]:
        """A page ends with the value that fills it: by the rows alone, not by how they came."""
        values = [stretch.values(column.name) for stretch in self._stretches]
        sizes = [4 + upto[rows + 1] - upto[rows] for (upto, _), rows in zip(values, self._rows, strict=True)]
        filled = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]))
        ends = [0]
        while ends[-1] < len(filled) - 1:
            first, last = ends[-1], min(len(filled) - 1, int(np.searchsorted(filled, filled[ends[-1]] + _PAGE)))
            if filled[last] - filled[first] > _MOST and last > first + 1:
                last -= 1  # an enormous value has a page of its own
            ends.append(last)
        for first in range(0, len(ends) - 1, _AT_ONCE):
            yield partial(self._made, column, ends[first : first + _AT_ONCE + 1], filled)

    def _made(self, column: LongColumn, ends: list[int], filled: Numbers) -> Pieces:
        """Pages that end with given rows."""
        done = Pieces(_CODECS[column.codec])
        page = np.empty(_BEFORE + int(np.diff(filled[ends]).max()), np.uint8)
        for first, last in pairwise(ends):
            at, begin = _BEFORE, 0
            for stretch, rows in zip(self._stretches, self._rows, strict=True):
                some = rows[max(0, first - begin) : max(0, last - begin)]
                upto, data = stretch.values(column.name)
                at = plain_values(data, upto, some, page, at)
                begin += len(rows)
            levels = _levels(last - first) if column.optional else b""
            page[_BEFORE - len(levels) : _BEFORE] = np.frombuffer(levels, np.uint8)
            whole = page[_BEFORE - len(levels) : at]
            body = _compressed(whole, column.codec)
            done.add_page(_header(len(whole), len(body), last - first), [body], len(whole), last - first)
        return done


def _levels(count: int) -> bytes:
    """It is said of every value that it is there: a run of ones."""
    run = varint(count << 1) + b"\x01"
    return len(run).to_bytes(4, "little") + run


def _header(unpacked: int, size: int, values: int) -> bytes:
    about: Struct = {1: (I32, values), 2: (I32, _PLAIN), 3: (I32, _RUNS), 4: (I32, _RUNS)}
    return write_struct({1: (I32, _DATA_PAGE), 2: (I32, unpacked), 3: (I32, size), 5: (STRUCT, about)})


def _compressed(data: Bytes, codec: str) -> Any:
    return data.tobytes() if codec == "UNCOMPRESSED" else pa.Codec(codec.lower()).compress(data)
