"""A Parquet file whose row groups are encoded side by side, by several threads, and stand in the file in order.

Arrow compresses one row group at a time. Here each group is encoded into a small Parquet file of its own in memory;
their bodies are put one after another, and their footers are made one: places in the file are the only thing in them
that changes. Columns that are compressed already take the places of empty ones.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from twinset.documents.parquet.thrift import I16, I32, I64, LIST, STRUCT, Struct, read_struct, write_struct

_MAGIC = b"PAR1"
_WORTH_A_START = 2**25  # bytes that the disk is told of at once

# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData, as numbered by the Parquet format (parquet.thrift).
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_UNPACKED, _GROUP_OFFSET, _GROUP_SIZE, _GROUP_ORDINAL = 1, 2, 5, 6, 7
_CHUNK_META, _CHUNK_OFFSETS = 3, (2, 4, 6)
_META_TYPE, _META_ENCODINGS, _META_PATH, _META_CODEC, _META_VALUES, _META_UNPACKED, _META_SIZE = range(1, 8)
_META_DATA, _META_DICTIONARY, _META_PAGES = 9, 11, 13
_META_OFFSETS = (_META_DATA, 10, _META_DICTIONARY, 14)
_PLAIN, _RUNS, _DATA_PAGE = 0, 3, 0


@dataclass
class Pieces:
    """A column of a row group that is compressed already, in pages of plain values: its codec, its bytes in order."""

    codec: int
    pieces: list[Any] = field(default_factory=list)
    size: int = 0
    unpacked: int = 0
    pages: int = 0
    values: int = 0

    def add_page(self, head: bytes, body: list[Any], unpacked: int, values: int) -> None:
        """Add a page: its header and the parts of its body."""
        self.pieces += [head, *body]
        self.size += len(head) + sum(map(len, body))
        self.unpacked += len(head) + unpacked
        self.pages += 1
        self.values += values

    def extend(self, other: Pieces) -> None:
        """Add what follows."""
        self.pieces += other.pieces
        self.size += other.size
        self.unpacked += other.unpacked
        self.pages += other.pages
        self.values += other.values

    def described(self, meta: Struct, place: int) -> Struct:
        """The metadata of the column, where it was written to a place instead of the one that `meta` is of."""
        count: Struct = {1: (I32, _DATA_PAGE), 2: (I32, _PLAIN), 3: (I32, self.pages)}
        return {
            _META_TYPE: meta[_META_TYPE],
            _META_ENCODINGS: (LIST, (I32, [_PLAIN, _RUNS])),
            _META_PATH: meta[_META_PATH],
            _META_CODEC: (I32, self.codec),
            _META_VALUES: (I64, self.values),
            _META_UNPACKED: (I64, self.unpacked),
            _META_SIZE: (I64, self.size),
            _META_DATA: (I64, place),
            _META_PAGES: (LIST, (STRUCT, [count])),
        }


class Ready(Protocol):
    """Columns of a row group that are compressed elsewhere, in portions that do not wait for each other."""

    def portions(self) -> dict[int, list[Callable[[], Pieces]]]:
        """What makes each column, by their places among the leaves of the schema."""
        ...


@dataclass
class _Encoded:
    """A row group on its way to the file."""

    file: Future[pa.Buffer]
    columns: dict[int, list[Future[Pieces]]] = field(default_factory=dict)

    def column(self, leaf: int) -> Pieces:
        """All portions of a column."""
        first, *others = (one.result() for one in self.columns[leaf])
        for other in others:
            first.extend(other)
        return first


class RowGroups:
    """The file being written. Rows handed to `write` become one row group."""

    def __init__(self, path: Path, schema: Any, workers: int, words: dict[str, Any]) -> None:
        self._schema, self._words, self._workers = schema, words, workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="twinset-parquet")
        self._waiting: deque[_Encoded] = deque()
        self._spare: list[pa.Buffer] = []
        self._footer: Struct = {}
        self._file = open(path, "wb")  # noqa: SIM115 - closed by close()
        self._file.write(_MAGIC)
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="twinset-disk")
        self._lasting: Future[None] | None = None
        self._upto = 0

    def write(self, table: Any, ready: Ready | None = None) -> None:
        """Add a row group; what is encoded already goes to the file.

        Columns that are `ready` may be anything in the table that has as many rows and takes no place.
        """
        portions = {} if ready is None else ready.portions()
        columns = {leaf: [self._pool.submit(make) for make in makes] for leaf, makes in portions.items()}
        self._waiting.append(_Encoded(self._pool.submit(self._encoded, table), columns))
        while len(self._waiting) > (self._workers if self._workers > 1 else 0):
            self._append(self._waiting.popleft())
            self._tell_the_disk()

    def _tell_the_disk(self) -> None:
        """Let the disk begin with what is there, while the rest is made: at the end there is less to wait for."""
        if self._lasting is not None and self._lasting.done():
            self._lasting.result()  # a disk that is full says so once
            self._lasting = None
        if self._lasting is None and self._file.tell() - self._upto >= _WORTH_A_START:
            self._upto = self._file.tell()
            self._lasting = self._disk.submit(os.fsync, self._file.fileno())

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

    def _append(self, encoded: _Encoded) -> None:
        """Put the body of a small file at the end, and its row groups into the footer."""
        file = encoded.file.result()
        whole = memoryview(file)
        length = int.from_bytes(whole[-8:-4], "little")
        footer, _ = read_struct(bytes(whole[-8 - length : -8]), 0)
        groups = footer[_FILE_GROUPS][1][1] if _FILE_GROUPS in footer else []
        if encoded.columns:
            for group in groups:
                self._append_columns(group, whole, encoded)
        else:
            shift = self._file.tell() - len(_MAGIC)
            self._file.write(whole[len(_MAGIC) : -8 - length])
            for group in groups:
                move_group(group, shift)
        if file.parent is not None:
            self._spare.append(file.parent)
        if not self._footer:
            self._footer = footer
            return
        self._footer[_FILE_ROWS] = (I64, self._footer[_FILE_ROWS][1] + footer[_FILE_ROWS][1])
        mine = self._footer[_FILE_GROUPS][1][1]
        for group in groups:
            if _GROUP_ORDINAL in group:
                group[_GROUP_ORDINAL] = (I16, len(mine))
            mine.append(group)

    def _append_columns(self, group: Struct, whole: memoryview, encoded: _Encoded) -> None:
        """Write a row group column by column, and its metadata as it is then."""
        group[_GROUP_OFFSET] = (I64, self._file.tell())
        size = unpacked = 0
        for at, chunk in enumerate(group[_GROUP_COLUMNS][1][1]):
            place, meta = self._file.tell(), chunk[_CHUNK_META][1]
            if at in encoded.columns:
                column = encoded.column(at)
                for piece in column.pieces:
                    self._file.write(piece)
                meta = column.described(meta, place)
                chunk[_CHUNK_META] = (STRUCT, meta)
            else:
                begin = min(meta[number][1] for number in (_META_DATA, _META_DICTIONARY) if number in meta)
                self._file.write(whole[begin : begin + meta[_META_SIZE][1]])
                _move_chunk(chunk, place - begin)
            size += meta[_META_SIZE][1]
            unpacked += meta[_META_UNPACKED][1]
        group[_GROUP_SIZE] = (I64, size)
        group[_GROUP_UNPACKED] = (I64, unpacked)

    def close(self) -> None:
        """Write the footer and make the file last."""
        while self._waiting:
            self._append(self._waiting.popleft())
            self._tell_the_disk()
        if not self._footer:
            self._append(_Encoded(self._pool.submit(self._encoded)))
        body = write_struct(self._footer)
        self._file.write(body + len(body).to_bytes(4, "little") + _MAGIC)
        self._file.flush()
        if self._lasting is not None:
            self._lasting.result()
        os.fsync(self._file.fileno())
        self._file.close()
        self._pool.shutdown()
        self._disk.shutdown()

    def abort(self) -> None:
        """Stop and let go of the file."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._disk.shutdown(wait=True, cancel_futures=True)
        self._file.close()


def move_group(group: Struct, shift: int) -> None:
    """Move every place in the file that a row group speaks of."""
    _move(group, (_GROUP_OFFSET,), shift)
    for chunk in group[_GROUP_COLUMNS][1][1]:
        _move_chunk(chunk, shift)


def _move_chunk(chunk: Struct, shift: int) -> None:
    _move(chunk, _CHUNK_OFFSETS, shift)
    if _CHUNK_META in chunk:
        _move(chunk[_CHUNK_META][1], _META_OFFSETS, shift)


def _move(struct: Struct, fields: tuple[int, ...], shift: int) -> None:
    for number in fields:
        if number in struct and struct[number][1] > 0:
            struct[number] = (struct[number][0], struct[number][1] + shift)
