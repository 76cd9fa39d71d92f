"""Parquet files: read by row groups in bounded memory, written back with the same schema and codecs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twinset.documents.compressed import reading
from twinset.documents.formats.typed_columns import GROUP_BYTES, ColumnsPart, with_readable_names
from twinset.documents.items.pack import is_text
from twinset.documents.parquet.footer import ColumnChunk, read_row_groups
from twinset.documents.parquet.ranges import column_ranges, is_below
from twinset.documents.parquet.write import ParquetWriter, written_like
from twinset.documents.parts import LEAST_ROW, Block, Chunk, KeptWriter
from twinset.options import ReadOptions
from twinset.wording import counted

if TYPE_CHECKING:
    from twinset.documents.remote.copies import LocalCopy

_BUFFER = 2**20
_LOOKED_AT = 1024  # rows read at a time to measure a dictionary
_KEPT_PIECES = 8  # decoded pieces of a large row group kept for other threads
_SMALL_VALUE = 256  # average bytes of a value; longer ones are rarely dictionary-encoded
_LARGE = 4  # a row group of more than this many batches is streamed


class ParquetPart(ColumnsPart):
    """A Parquet file; of a remote one, `copy` has the footer, and the columns that have been fetched."""

    format = "parquet"

    def __init__(
        self, name: str, source: int, options: ReadOptions, path: Path, copy: LocalCopy | None = None
    ) -> None:
        self.copy = copy
        self.version = None if copy is None else copy.one.version or None
        with reading(name, "Parquet file"), pq.ParquetFile(path) as file:
            self.metadata, schema = file.metadata, with_readable_names(file.schema_arrow)
            self.row_groups = read_row_groups(path)
            rows = sum(group.rows for group in self.row_groups)
            if (len(self.row_groups), rows) != (self.metadata.num_row_groups, self.metadata.num_rows):
                raise pa.ArrowInvalid("the footer is damaged (its number of row groups is wrong)")
        super().__init__(name, source, options, schema, path)

    def open(self, **more: Any) -> Any:
        """Open the file again: a reader is not shared between threads."""
        return pq.ParquetFile(
            self.path,
            metadata=self.metadata,
            pre_buffer=False,
            page_checksum_verification=True,
            **more,
        )

    @property
    def lasts(self) -> bool:
        """Whether a digest identifies it in a later run: not if only some columns were fetched."""
        return self.copy is None or self.copy.is_complete

    def wanted_ranges(self, columns: Sequence[str] | None) -> list[tuple[int, int]]:
        """Return the bytes that some columns need, or all for None."""
        return [(0, self.size)] if columns is None else column_ranges(self.row_groups, columns, self.size)

    def fetch(self, columns: Sequence[str] | None) -> None:
        """Fetch columns of a remote file that are not here yet, or all for None."""
        if self.copy is not None:
            self.copy.fetch(self.wanted_ranges(columns))

    @property
    def coded(self) -> list[str]:
        """Columns of a long table whose dictionary codes are read directly."""
        return [name for name in self.options.item_columns if is_text(self.type_of(name))]

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Yield row groups, small ones together, large ones in pieces."""
        self.fetch(self.needed(texts_only=False))
        first_row = rows = decoded = 0
        groups: list[int] = []
        # Packed lists are larger, and their work is spread over threads by chunks.
        large = 1 if self.options.item_kind == "items" else _LARGE
        for group, about in enumerate(self.row_groups):
            count = about.rows
            size = max(self._decoded_bytes(group, batch_bytes), count * LEAST_ROW)
            if groups and decoded + size > batch_bytes:
                yield GroupsChunk(self, groups, first_row, rows)
                first_row, rows, decoded, groups = first_row + rows, 0, 0, []
            if size > large * batch_bytes and count > 1:
                step = max(1, count * batch_bytes * large // (_LARGE * size))
                yield from self._pieces(group, first_row, count, step)
                first_row += count
            elif count:
                groups.append(group)
                rows, decoded = rows + count, decoded + size
        if groups:
            yield GroupsChunk(self, groups, first_row, rows)

    def _pieces(self, group: int, first_row: int, count: int, step: int) -> Iterator[Chunk]:
        stream = _GroupStream(self, group, step)
        for number, start in enumerate(range(0, count, step)):
            yield PieceChunk(self, stream, number, first_row + start, min(step, count - start))

    def _decoded_bytes(self, group: int, batch_bytes: int) -> int:
        """Decoded bytes of a row group: a dictionary may expand a lot."""
        about = self.row_groups[group]
        total = about.unpacked
        for column in about.columns:
            if self._may_expand(column, batch_bytes):
                total += self._dictionary_bytes(group, column, batch_bytes)
        return total

    def _may_expand(self, column: ColumnChunk, batch_bytes: int) -> bool:
        """Whether a column is dictionary-encoded and suspiciously small: measuring it is expensive."""
        size, count = column.unpacked, column.values
        coded = column.physical_type == "BYTE_ARRAY" and column.has_dictionary
        top_level = column.path in self.column_names
        here = self.copy is None or any(is_below(column.path, name) for name in self.needed(texts_only=False))
        return coded and top_level and here and size < _SMALL_VALUE * count and size * count > batch_bytes

    def _dictionary_bytes(self, group: int, chunk: ColumnChunk, enough: int) -> int:
        """Bytes of the rows that use the column's dictionary; they come first in a row group."""
        name, count = chunk.path, chunk.values
        total, size = 0, -1
        with (
            reading(self.name, "Parquet file"),
            self.open(read_dictionary=[name], buffer_size=_BUFFER) as file,
        ):
            for batch in file.iter_batches(_LOOKED_AT, row_groups=[group], columns=[name], use_threads=False):
                column = batch.column(0)
                if not pa.types.is_dictionary(column.type):
                    break
                if size < 0:
                    size = len(column.dictionary)
                    longest = pc.max(pc.binary_length(column.dictionary)).as_py() or 0
                    if longest * count <= enough:
                        return int(longest * count)
                elif len(column.dictionary) != size:
                    break  # later values are plain and already in the group's size
                total += pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
        return total

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the file of kept rows."""
        # a row group being written takes about three times its size; a quarter of the memory is for them
        room = getattr(self.options, "memory_bytes", 0) // (12 * GROUP_BYTES)
        workers = max(1, min(getattr(self.options, "thread_count", 1), room))
        flags = self.flag_schema if flag else None
        path = out / "kept" / self.kept_name
        return ParquetWriter(path, self.schema, flags, written_like(self.metadata, self.row_groups), workers)

    def describe(self) -> dict[str, Any]:
        """Describe what would be read."""
        return {**super().describe(), "documents": self.metadata.num_rows}


class GroupsChunk(Chunk):
    """One or more whole row groups."""

    def __init__(self, part: ParquetPart, groups: list[int], first_row: int, rows: int) -> None:
        self._part = part
        self._groups = groups
        self.first_row = first_row
        self.rows = rows

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Decode the row groups."""
        part = self._part
        columns = None if whole else part.needed(texts_only)
        coded = {} if whole or part.options.group is None else {"read_dictionary": part.coded}
        part.fetch(columns)
        with reading(part.name, "Parquet file"), part.open(**coded) as file:
            table = file.read_row_groups(self._groups, columns=columns, use_threads=False)
        _check_rows(part, table.num_rows, self.rows)
        return part.block(table, self.first_row, whole, texts_only)


class PieceChunk(Chunk):
    """Some rows of a large row group."""

    def __init__(self, part: ParquetPart, stream: _GroupStream, number: int, first_row: int, rows: int) -> None:
        self._part = part
        self._stream = stream
        self._number = number
        self.first_row = first_row
        self.rows = rows

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Decode up to these rows."""
        part = self._part
        columns = None if whole else part.needed(texts_only)
        part.fetch(columns)
        with reading(part.name, "Parquet file"):
            table = self._stream.piece(self._number, columns)
        _check_rows(part, table.num_rows, self.rows)
        return part.block(table, self.first_row, whole, texts_only)


def _check_rows(part: ParquetPart, actual: int, expected: int) -> None:
    if actual != expected:
        with reading(part.name, "Parquet file"):
            raise pa.ArrowInvalid(f"its footer says {counted(expected, 'row')}, but it has {actual:,}")


class _GroupStream:
    """One large row group, decoded in order; any thread may request any piece, near ones cheaply."""

    def __init__(self, part: ParquetPart, group: int, step: int) -> None:
        self._part = part
        self.group = group
        self.step = step
        self._lock = threading.Lock()
        self._columns: list[str] | None = None
        self._batches: Iterator[Any] | None = None
        self._next = 0
        self._left: list[Any] = []
        self._waiting: dict[int, Any] = {}

    def piece(self, number: int, columns: list[str] | None) -> Any:
        """The rows of a piece, as a table."""
        with self._lock:
            gone = number < self._next and number not in self._waiting
            if self._batches is None or columns != self._columns or gone:
                self._start(columns)
            while self._next <= number:
                self._waiting[self._next] = self._decode()
                self._next += 1
                if len(self._waiting) > _KEPT_PIECES:
                    del self._waiting[min(self._waiting)]
            return self._waiting.pop(number)

    def _start(self, columns: list[str] | None) -> None:
        file = self._part.open(buffer_size=_BUFFER)
        self._columns = columns
        self._batches = file.iter_batches(self.step, row_groups=[self.group], columns=columns, use_threads=False)
        self._next, self._left, self._waiting = 0, [], {}

    def _decode(self) -> Any:
        """The next piece, of exactly `step` rows except at the end; Arrow may return smaller batches."""
        rows = sum(batch.num_rows for batch in self._left)
        while rows < self.step and (batch := next(self._batches or iter(()), None)) is not None:
            self._left.append(batch)
            rows += batch.num_rows
        if not self._left:
            raise pa.ArrowInvalid(f"row group {self.group} has fewer rows than its footer says")
        table = pa.Table.from_batches(self._left)
        self._left = table.slice(self.step).to_batches()
        return table.slice(0, self.step)
