"""Write a Parquet file whose row groups are encoded by several threads.

Arrow encodes one row group at a time. So each group is encoded as a small Parquet file in memory, and the bodies and
footers of these files are joined; only the offsets change.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from twinset.documents.parquet.read_back import check_written
from twinset.documents.parquet.thrift import I16, I64, Struct, read_struct, write_struct
from twinset.system.disk import flush

_MAGIC = b"PAR1"
_WORTH_A_START = 2**25  # bytes between two early syncs

# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData, as numbered by the Parquet format (parquet.thrift).
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 5, 7
_CHUNK_OFFSET, _CHUNK_META = 2, 3
_META_OFFSETS = (9, 10, 11, 14)  # data pages, index pages, the dictionary page, the Bloom filter

# A page index is stored after the row groups, so it cannot be moved with one of them.
_PINNED = {"write_page_index": False}


class RowGroups:
    """The file being written. Each table passed to `write` becomes one row group."""

    def __init__(self, path: Path, schema: Any, workers: int, arguments: dict[str, Any]) -> None:
        self._path, self._schema, self._arguments, self._workers = path, schema, {**arguments, **_PINNED}, workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="twinset-parquet")
        self._waiting: deque[Future[pa.Buffer]] = deque()
        self._spare: list[pa.Buffer] = []
        self._footer: Struct = {}
        self._file = open(path, "wb")  # noqa: SIM115 - closed by close()
        self._file.write(_MAGIC)
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="twinset-disk")
        self._lasting: Future[None] | None = None
        self._upto = 0
        self._rows = 0

    def write(self, table: Any) -> None:
        """Add a row group; append the groups encoded so far to the file."""
        self._rows += table.num_rows
        self._waiting.append(self._pool.submit(self._encoded, table))
        while len(self._waiting) > (self._workers if self._workers > 1 else 0):
            self._append(self._waiting.popleft().result())
            self._start_sync()

    def _start_sync(self) -> None:
        """Start syncing while the rest is encoded, so that the last `fsync` has less to wait for."""
        if self._lasting is not None and self._lasting.done():
            self._lasting.result()  # raises the error of a full disk
            self._lasting = None
        if self._lasting is None and self._file.tell() - self._upto >= _WORTH_A_START:
            self._upto = self._file.tell()
            self._lasting = self._disk.submit(flush, self._file.fileno())

    def _encoded(self, *tables: Any) -> pa.Buffer:
        """Encode a Parquet file in memory, in a reused buffer: fresh memory pages are slow."""
        room = sum(table.nbytes for table in tables) * 5 // 4 + 2**20
        buffer = self._spare.pop() if self._spare else None
        if buffer is None or buffer.size < room:
            buffer = pa.allocate_buffer(room)
        sink = pa.FixedSizeBufferWriter(buffer)
        try:
            return buffer.slice(0, self._encode(sink, tables))
        except (pa.ArrowInvalid, OSError):  # the codec makes the data larger: let the buffer grow
            sink = pa.BufferOutputStream()
            self._encode(sink, tables)
            return sink.getvalue()

    def _encode(self, sink: Any, tables: tuple[Any, ...]) -> int:
        with pq.ParquetWriter(sink, self._schema, **self._arguments) as writer:
            for table in tables:
                writer.write_table(table.cast(self._schema), row_group_size=max(1, table.num_rows))
        return int(sink.tell())

    def _append(self, file: pa.Buffer) -> None:
        """Append the body of a small file, and its row groups to the footer."""
        whole = memoryview(file)
        length = int.from_bytes(whole[-8:-4], "little")
        footer, _ = read_struct(bytes(whole[-8 - length : -8]), 0)
        groups = footer[_FILE_GROUPS][1][1] if _FILE_GROUPS in footer else []
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

    def close(self) -> None:
        """Write the footer, sync the file and read it back."""
        while self._waiting:
            self._append(self._waiting.popleft().result())
            self._start_sync()
        if not self._footer:
            self._append(self._pool.submit(self._encoded).result())
        body = write_struct(self._footer)
        self._file.write(body + len(body).to_bytes(4, "little") + _MAGIC)
        self._file.flush()
        if self._lasting is not None:
            self._lasting.result()
        flush(self._file.fileno())
        self._file.close()
        self._pool.shutdown()
        self._disk.shutdown()
        groups = self._footer.get(_FILE_GROUPS, (0, (0, [])))[1][1]
        check_written(self._path, self._schema, self._rows, len(groups))

    def abort(self) -> None:
        """Stop and close the file."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._disk.shutdown(wait=True, cancel_futures=True)
        self._file.close()


def move_group(group: Struct, shift: int) -> None:
    """Shift every offset in the metadata of a row group."""
    _move(group, (_GROUP_OFFSET,), shift)
    for chunk in group[_GROUP_COLUMNS][1][1]:
        _move(chunk, (_CHUNK_OFFSET,), shift)
        if _CHUNK_META in chunk:
            _move(chunk[_CHUNK_META][1], _META_OFFSETS, shift)


def _move(struct: Struct, fields: tuple[int, ...], shift: int) -> None:
    for number in fields:
        if number in struct and struct[number][1] > 0:
            struct[number] = (struct[number][0], struct[number][1] + shift)
