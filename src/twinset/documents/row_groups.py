"""A Parquet file whose row groups are encoded side by side, by several threads, and stand in the file in order.

Arrow compresses one row group at a time. Here each group is encoded into a small Parquet file of its own in memory;
their bodies are put one after another, and their footers are made one: places in the file are the only thing in them
that changes. A footer is a Thrift structure in the compact protocol, which is read and written here without knowing
what most of its fields mean.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)

Struct = dict[int, tuple[int, Any]]
"""Field number → (type, value)."""

# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData, as numbered by the Parquet format (parquet.thrift).
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 5, 7
_CHUNK_META, _CHUNK_OFFSETS = 3, (2, 4, 6)
_META_OFFSETS = (9, 10, 11, 14)


class RowGroups:
    """The file being written. Rows handed to `write` become one row group."""

    def __init__(self, path: Path, schema: Any, workers: int, words: dict[str, Any]) -> None:
        self._schema, self._words, self._workers = schema, words, workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="twinset-parquet")
        self._waiting: deque[Future[pa.Buffer]] = deque()
        self._spare: list[pa.Buffer] = []
        self._footer: Struct = {}
        self._file = open(path, "wb")  # noqa: SIM115 - closed by close()
        self._file.write(_MAGIC)

    def write(self, table: Any) -> None:
        """Add a row group; what is encoded already goes to the file."""
        if self._workers == 1:
            self._append(self._encoded(table))
            return
        self._waiting.append(self._pool.submit(self._encoded, table))
        while len(self._waiting) > self._workers:
            self._append(self._waiting.popleft().result())

    def _encoded(self, *tables: Any) -> pa.Buffer:
        """A Parquet file of its own, in a buffer that is used again: fresh memory costs more than it seems."""
        room = sum(table.nbytes for table in tables) * 5 // 4 + 2**20
        buffer = self._spare.pop() if self._spare else None
        if buffer is None or buffer.size < room:
            buffer = pa.allocate_buffer(room)
        sink = pa.FixedSizeBufferWriter(buffer)
        try:
            return buffer.slice(0, self._encode(sink, tables))
        except (pa.ArrowInvalid, OSError):  # a codec that makes things larger: let the buffer grow
            sink = pa.BufferOutputStream()
            self._encode(sink, tables)
            return sink.getvalue()

    def _encode(self, sink: Any, tables: tuple[Any, ...]) -> int:
        with pq.ParquetWriter(sink, self._schema, **self._words) as writer:
            for table in tables:
                writer.write_table(table.cast(self._schema), row_group_size=max(1, table.num_rows))
        return int(sink.tell())

    def _append(self, encoded: pa.Buffer) -> None:
        """Put the body of a small file at the end, and its row groups into the footer."""
        whole = memoryview(encoded)
        length = int.from_bytes(whole[-8:-4], "little")
        footer, _ = read_struct(bytes(whole[-8 - length : -8]), 0)
        shift = self._file.tell() - len(_MAGIC)
        self._file.write(whole[len(_MAGIC) : -8 - length])
        if encoded.parent is not None:
            self._spare.append(encoded.parent)
        groups = footer[_FILE_GROUPS][1][1] if _FILE_GROUPS in footer else []
        for group in groups:
            move_group(group, shift)
        if not self._footer:
            self._footer = footer
            return
        self._footer[_FILE_ROWS] = (_I64, self._footer[_FILE_ROWS][1] + footer[_FILE_ROWS][1])
        mine = self._footer[_FILE_GROUPS][1][1]
        for group in groups:
            if _GROUP_ORDINAL in group:
                group[_GROUP_ORDINAL] = (_I16, len(mine))
            mine.append(group)

    def close(self) -> None:
        """Write the footer and make the file last."""
        while self._waiting:
            self._append(self._waiting.popleft().result())
        if not self._footer:
            self._append(self._encoded())
        body = write_struct(self._footer)
        self._file.write(body + len(body).to_bytes(4, "little") + _MAGIC)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._pool.shutdown()

    def abort(self) -> None:
        """Stop and let go of the file."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._file.close()


def move_group(group: Struct, shift: int) -> None:
    """Move every place in the file that a row group speaks of."""
    _move(group, (_GROUP_OFFSET,), shift)
    for chunk in group[_GROUP_COLUMNS][1][1]:
        _move(chunk, _CHUNK_OFFSETS, shift)
        if _CHUNK_META in chunk:
            _move(chunk[_CHUNK_META][1], _META_OFFSETS, shift)


def _move(struct: Struct, fields: tuple[int, ...], shift: int) -> None:
    for field in fields:
        if field in struct and struct[field][1] > 0:
            struct[field] = (struct[field][0], struct[field][1] + shift)


def read_struct(data: bytes, at: int) -> tuple[Struct, int]:
    """Read a structure at a place; returns it and where it ends."""
    struct: Struct = {}
    number = 0
    while True:
        head = data[at]
        at += 1
        kind = head & 15
        if kind == 0:
            return struct, at
        if head >> 4:
            number += head >> 4
        else:
            raw, at = _read_varint(data, at)
            number = _signed(raw)
        value, at = (kind == _TRUE, at) if kind in (_TRUE, _FALSE) else _read_value(data, at, kind)
        struct[number] = (kind, value)


def _read_value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE, _BYTE):  # in lists a truth value is a byte
        return data[at], at + 1
    if kind in (_I16, _I32, _I64):
        raw, at = _read_varint(data, at)
        return _signed(raw), at
    if kind == _DOUBLE:
        return data[at : at + 8], at + 8
    if kind == _BINARY:
        length, at = _read_varint(data, at)
        return data[at : at + length], at + length
    if kind in (_LIST, _SET):
        return _read_list(data, at)
    if kind == _STRUCT:
        return read_struct(data, at)
    raise ValueError(f"a Parquet footer with a field of type {kind}")


def _read_list(data: bytes, at: int) -> tuple[Any, int]:
    size, kind = data[at] >> 4, data[at] & 15
    at += 1
    if size == 15:
        size, at = _read_varint(data, at)
    items = []
    for _ in range(size):
        item, at = _read_value(data, at, kind)
        items.append(item)
    return (kind, items), at


def write_struct(struct: Struct) -> bytes:
    """The reverse of `read_struct`."""
    out, last = bytearray(), 0
    for number, (kind, value) in sorted(struct.items()):
        if kind in (_TRUE, _FALSE):
            kind = _TRUE if value else _FALSE
        if 0 < number - last <= 15:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            out += _varint(_unsigned(number))
        if kind not in (_TRUE, _FALSE):
            out += _value(kind, value)
        last = number
    out.append(0)
    return bytes(out)


def _value(kind: int, value: Any) -> bytes:
    if kind in (_TRUE, _FALSE, _BYTE):
        return bytes([value])
    if kind in (_I16, _I32, _I64):
        return _varint(_unsigned(value))
    if kind == _DOUBLE:
        return bytes(value)
    if kind == _BINARY:
        return _varint(len(value)) + bytes(value)
    if kind in (_LIST, _SET):
        item_kind, items = value
        head = (
            bytes([len(items) << 4 | item_kind]) if len(items) < 15 else bytes([0xF0 | item_kind]) + _varint(len(items))
        )
        return head + b"".join(_value(item_kind, item) for item in items)
    return write_struct(value)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _signed(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _unsigned(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1
