"""Read the metadata of row groups from a Parquet footer without Arrow.

Arrow crashes the process (an uncaught C++ exception) when `RowGroupMetaData.column` reads a damaged footer. Its readers
of rows and schemas raise as they should, so only this metadata is read here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from twinset.documents.parquet.thrift import BINARY, I16, I32, I64, LIST, STRUCT, Struct, read_struct

_TAIL = 8  # the length of the footer, and the magic number
_TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_CODECS = ("none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4")  # 5 is LZ4 with Hadoop's framing


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """One column of one row group."""

    path: str
    physical_type: str
    codec: str
    values: int
    unpacked: int
    """Bytes before compression."""
    start: int
    stop: int
    """The bytes of its pages in the file, with that of a dictionary."""
    has_dictionary: bool
    has_statistics: bool


@dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group; `unpacked` counts its bytes before compression."""

    rows: int
    unpacked: int
    columns: tuple[ColumnChunk, ...]


def read_row_groups(path: Path) -> list[RowGroup]:
    """Read the footer's metadata of each row group; `ArrowInvalid` where it is damaged."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        length = int.from_bytes(file.read(_TAIL)[:4], "little")
        if length > size - _TAIL:
            raise pa.ArrowInvalid("the footer is longer than the file")
        file.seek(size - _TAIL - length)
        data = file.read(length)
    try:
        footer, _ = read_struct(data, 0)
        return [_row_group(group) for group in _items(footer, 4, STRUCT)]
    except (LookupError, ValueError, TypeError, RecursionError) as error:
        raise pa.ArrowInvalid(f"the footer is damaged ({type(error).__name__})") from error


def _row_group(group: Struct) -> RowGroup:
    columns = tuple(_column_chunk(chunk) for chunk in _items(group, 1, STRUCT))
    return RowGroup(_size(group, 3), _size(group, 2), columns)


def _column_chunk(chunk: Struct) -> ColumnChunk:
    kind, meta = chunk[3]
    if kind != STRUCT:
        raise ValueError("no metadata of a column")
    start = min(_size(meta, field) for field in (9, 11) if field in meta and (field == 9 or _size(meta, field) > 0))
    return ColumnChunk(
        path=".".join(part.decode() for part in _items(meta, 3, BINARY)),
        physical_type=_TYPES[_size(meta, 1)],
        codec=_CODECS[_size(meta, 4)],
        values=_size(meta, 5),
        unpacked=_size(meta, 6),
        start=start,
        stop=start + _size(meta, 7),
        has_dictionary=11 in meta,
        has_statistics=12 in meta,
    )


def _items(struct: Struct, field: int, kind: int) -> list[Any]:
    """The items of a required list field."""
    kind_found, (item_kind, items) = struct[field]
    if kind_found != LIST or (items and item_kind != kind):
        raise ValueError("a list of something else")
    return list(items)


def _size(struct: Struct, field: int) -> int:
    """A required number that is not negative."""
    kind, value = struct[field]
    if kind not in (I16, I32, I64) or value < 0:
        raise ValueError("no number, or a negative one")
    return int(value)
