"""Arrow files (.arrow, .feather), in the file or the stream format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from twinset.documents.compressed import reading, writing
from twinset.documents.fields import without_views
from twinset.documents.formats.typed_columns import ColumnsPart, GroupWriter, with_readable_names
from twinset.documents.parts import LEAST_ROW, Block, Chunk, KeptWriter
from twinset.errors import SourceError
from twinset.options import ReadOptions

_FILE_MAGIC = b"ARROW1"
_FEATHER_1 = b"FEA1"
_LOOKED_AT = 2**20
_PACKED = {b"\x04\x22\x4d\x18": "lz4", b"\x28\xb5\x2f\xfd": "zstd"}


class ArrowPart(ColumnsPart):
    """An Arrow file; `stream` distinguishes its two formats."""

    format = "arrow"

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path) -> None:
        with reading(name, "Arrow file"):
            with open(path, "rb") as file:
                head = file.read(8)
            if head.startswith(_FEATHER_1):
                raise SourceError("this is Feather version 1; write it again as version 2", where=name)
            self.stream = not head.startswith(_FILE_MAGIC)
            with pa.OSFile(str(path)) as file:
                reader = pa.ipc.open_stream(file) if self.stream else pa.ipc.open_file(file)
                schema = with_readable_names(reader.schema)
        super().__init__(name, source, options, schema, path)

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Record batches, large ones in pieces."""
        first_row = 0
        for number, batch in self._batches():
            # `nbytes` follows offsets that are not validated yet and may lead outside their buffers
            size = max(batch.get_total_buffer_size(), batch.num_rows * LEAST_ROW, 1)
            step = max(1, batch.num_rows * batch_bytes // size)
            for start in range(0, batch.num_rows, step):
                rows = min(step, batch.num_rows - start)
                piece = batch.slice(start, rows) if number is None else (number, start)
                yield ArrowChunk(self, piece, first_row + start, rows)
            first_row += batch.num_rows

    def _batches(self) -> Iterator[tuple[int | None, Any]]:
        """Yield batches, with the number by which they can be read again cheaply; None for those to keep in memory."""
        with reading(self.name, "Arrow file"):
            if self.stream:
                with pa.OSFile(str(self.path)) as file, pa.ipc.open_stream(file) as reader:
                    for batch in reader:
                        yield None, checked(batch)
                return
            packed = self._compression() is not None
            opened = pa.OSFile(str(self.path)) if packed else pa.memory_map(str(self.path))
            with opened as file, pa.ipc.open_file(file) as reader:
                for number in range(reader.num_record_batches):
                    batch = reader.get_batch(number)
                    yield (None, checked(batch)) if packed else (number, batch)

    def rows_at(self, number: int, start: int, rows: int, columns: list[str]) -> Any:
        """Copy some rows of a batch: pages of a mapped file count as memory while it is open."""
        with reading(self.name, "Arrow file"), pa.memory_map(str(self.path)) as file:
            batch = pa.ipc.open_file(file).get_batch(number).slice(start, rows).select(columns)
            return copied(pa.Table.from_batches([checked(batch)]))

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the file of kept rows."""
        path = out / "kept" / self.kept_name
        return ArrowWriter(path, self.schema, self.flag_schema if flag else None, self.stream, self._compression())

    def _compression(self) -> str | None:
        """Detect the compression of the buffers: each starts with its length and the codec's magic number."""
        with reading(self.name, "Arrow file"), open(self.path or "", "rb") as file:
            head = file.read(_LOOKED_AT)
        for magic, packer in _PACKED.items():
            at = head.find(magic)
            while at >= 8:
                if at % 8 == 0 and 0 < int.from_bytes(head[at - 8 : at], "little", signed=True) < 2**40:
                    return packer
                at = head.find(magic, at + 1)
        return None


def checked(batch: Any) -> Any:
    """Validate every offset of a batch: a damaged one would lead outside its buffers."""
    for column in batch.columns:
        # Invalid UTF-8 is accepted here: it is replaced and counted later.
        if pa.types.is_string(column.type):
            column = column.view(pa.binary())
        elif pa.types.is_large_string(column.type):
            column = column.view(pa.large_binary())
        column.validate(full=True)
    return batch


def copied(table: Any) -> Any:
    """Copy a table."""
    return without_views(table).take(pa.array(range(table.num_rows), pa.int64()))


class ArrowChunk(Chunk):
    """Rows of one record batch: in memory, or read again by number and start."""

    def __init__(self, part: ArrowPart, piece: Any, first_row: int, rows: int) -> None:
        self._part = part
        self._piece = piece
        self.first_row = first_row
        self.rows = rows

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Select the columns."""
        part = self._part
        if isinstance(self._piece, tuple):
            number, start = self._piece
            columns = part.column_names if whole else part.whole_columns(part.needed(texts_only))
            table = part.rows_at(number, start, self.rows, columns)
        else:
            table = pa.Table.from_batches([self._piece])
        return part.block(table, self.first_row, whole, texts_only)


def _holds_dictionary(kind: Any) -> bool:
    inner = (kind.field(at).type for at in range(kind.num_fields))
    return bool(pa.types.is_dictionary(kind)) or any(map(_holds_dictionary, inner))


class ArrowWriter(GroupWriter):
    """Write kept rows as an Arrow file."""

    def __init__(self, path: Path, schema: Any, flag: Any, stream: bool, compression: str | None) -> None:
        super().__init__(path, schema, flag)
        # In a file, unlike a stream, a dictionary can grow but not change.
        self._grows = not stream and any(_holds_dictionary(kind) for kind in self.schema.types)
        self._last: list[Any] = []
        options = pa.ipc.IpcWriteOptions(compression=compression, use_threads=False, emit_dictionary_deltas=self._grows)
        make = pa.ipc.new_stream if stream else pa.ipc.new_file
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._sink = pa.OSFile(str(path), "wb")
            self._file = make(self._sink, self.schema, options=options)

    def write_group(self, table: Any) -> None:
        """Write one record batch."""
        with writing(self.path):
            if self._grows:
                table = pa.concat_tables([*self._last, table]).unify_dictionaries().combine_chunks()
                self._last = [table.take(pa.array([], pa.int64()))]  # its dictionaries
            self._file.write_table(table.cast(self.schema))

    def close(self) -> None:
        """Write the end of the file."""
        super().close()
        with writing(self.path):
            self._file.close()
            self._sink.close()

    def abort(self) -> None:
        """Close and remove the file."""
        with suppress(OSError, pa.ArrowException):  # closing writes, and the disk may be full
            self._file.close()
        with suppress(OSError, pa.ArrowException):
            self._sink.close()
        super().abort()
