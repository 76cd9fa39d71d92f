"""Tables of a Python program: objects with Arrow's stream interface, in memory or spooled to a scratch file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from twinset.documents.compressed import reading, writing
from twinset.documents.formats.arrow import ArrowPart
from twinset.documents.formats.typed_columns import ColumnsPart
from twinset.documents.frames import mixed_columns
from twinset.documents.parquet.write import ParquetWriter
from twinset.documents.parts import LEAST_ROW, Block, Chunk, KeptWriter, Mask
from twinset.errors import ColumnError, SourceError
from twinset.options import ReadOptions
from twinset.options.checks import shown_value

# These tables are in memory anyway; other streams may be read only once.
_IN_MEMORY = ("pandas", "polars")


class TablePart(ColumnsPart):
    """A table in memory; `left_out` are columns of its frame that Arrow cannot hold, so that they are not read."""

    format = "table"

    def __init__(
        self,
        name: str,
        source: int,
        options: ReadOptions,
        table: Any,
        unreadable: Mapping[int, str] | None = None,
        left_out: Sequence[str] = (),
    ) -> None:
        self.left_out = list(left_out)
        super().__init__(name, source, options, table.schema)
        self.table = table
        self.size = table.nbytes
        self.unreadable = dict(unreadable or {})
        self.kept_name = PurePosixPath(f"{name}.parquet")

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Runs of rows."""
        rows = self.table.num_rows
        step = max(1, rows * batch_bytes // max(self.table.nbytes, rows * LEAST_ROW, 1))
        for start in range(0, rows, step):
            yield TableChunk(self, start, min(step, rows - start))

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Write kept rows of a table as Parquet."""
        self.check_whole()
        return ParquetWriter(out / "kept" / self.kept_name, self.schema, self.flag_schema if flag else None, {})

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """The kept rows with all their columns."""
        self.check_whole()
        return super().take_rows(block, chosen)

    def check_whole(self) -> None:
        """Refuse a frame with columns that cannot be written."""
        if self.left_out:
            raise ColumnError(mixed_types(self.left_out[0], self.options), where=self.name)

    def no_column(self, name: str, option: str) -> ColumnError:
        """Make the error for a missing column."""
        if name in self.left_out:
            return ColumnError(mixed_types(name, self.options), where=self.name)
        return super().no_column(name, option)

    def check_unchanged(self) -> None:
        """Arrow tables do not change."""

    def digest(self) -> str:
        """SHA-256 of the table as an Arrow stream."""
        digest = hashlib.sha256()
        sink = pa.PythonFile(_DigestSink(digest), "w")
        with pa.ipc.new_stream(sink, self.table.schema) as stream:
            stream.write_table(self.table, max_chunksize=2**16)
        return digest.hexdigest()

    def describe(self) -> dict[str, Any]:
        """Describe what would be read."""
        return {**super().describe(), "documents": self.table.num_rows}


class _DigestSink:
    """A file that only computes a digest of its content."""

    def __init__(self, digest: Any) -> None:
        self._digest = digest
        self.closed = False

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return len(memoryview(data))

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def close(self) -> None:
        self.closed = True


class TableChunk(Chunk):
    """Some rows of a table."""

    def __init__(self, part: TablePart, first_row: int, rows: int) -> None:
        self._part = part
        self.first_row = first_row
        self.rows = rows

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Select the rows without a copy."""
        part = self._part
        table = part.table.slice(self.first_row, self.rows)
        block = part.block(table, self.first_row, whole, texts_only)
        known = {row for row, _ in block.unreadable}
        for row, reason in part.unreadable.items():
            at = row - self.first_row
            if 0 <= at < self.rows and at not in known:
                part.bad_row(block.unreadable, at, row, reason, lines=False)
        return block


class SpooledPart(ArrowPart):
    """A stream that can be read only once, spooled to the scratch folder."""

    format = "table"

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path) -> None:
        super().__init__(name, source, options, path)
        self.kept_name = PurePosixPath(f"{name}.parquet")

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Write kept rows of a table as Parquet."""
        return ParquetWriter(out / "kept" / self.kept_name, self.schema, self.flag_schema if flag else None, {})


def table_part(given: Any, name: str, source: int, options: ReadOptions, spool: Path) -> TablePart | SpooledPart:
    """Make a part of an object with Arrow's stream interface."""
    if isinstance(given, pa.RecordBatch):
        given = pa.Table.from_batches([given])
    if isinstance(given, (pa.ChunkedArray, pa.Array)):
        given = pa.table({_column(options): given})
    if isinstance(given, pa.Table):
        return TablePart(name, source, options, given)
    with reading(name, "Arrow stream"):
        try:
            reader = stream_of(given, options, name)
        except SourceError:
            mixed = mixed_columns(given)
            if not mixed:
                raise
            table = stream_of(given.drop(columns=mixed), options, name).read_all()
            return TablePart(name, source, options, table, left_out=[str(one) for one in mixed])
        if type(given).__module__.split(".")[0] in _IN_MEMORY:
            return TablePart(name, source, options, reader.read_all())
        with writing(spool):
            spool.parent.mkdir(parents=True, exist_ok=True)
            sink = pa.OSFile(str(spool), "wb")
        with reader, sink, pa.ipc.new_stream(sink, reader.schema) as file:
            for batch in reader:
                with writing(spool):
                    file.write_batch(batch)
    return SpooledPart(name, source, options, spool)


def stream_of(given: Any, options: ReadOptions, where: str) -> Any:
    """Read an object with Arrow's stream interface batch by batch; a series has one column."""
    if isinstance(given, pa.RecordBatchReader):
        return given
    try:
        return pa.RecordBatchReader.from_stream(given)
    except (pa.ArrowException, TypeError, ValueError) as error:
        try:
            # A series is a stream of values, not of rows.
            return pa.table({_column(options): pa.chunked_array(given)}).to_reader()
        except (pa.ArrowException, TypeError, ValueError):
            raise SourceError(_why_no_stream(str(error), options), where=where) from error


def _why_no_stream(error: str, options: ReadOptions) -> str:
    """Say why a frame cannot become an Arrow table, and what to do."""
    mixed = re.search(r"Conversion failed for column (.*) with type", error, re.DOTALL)
    if mixed:
        return mixed_types(mixed[1], options)
    if "Duplicate column names" in error:
        twins = shown_value(error.partition(": ")[2])
        return f"two columns have the same name ({twins}); rename one, or {_give_fewer(options)}"
    return f"it cannot be converted to an Arrow table: {shown_value(error)}"


def mixed_types(column: str, options: ReadOptions) -> str:
    """Say that a column cannot be read or written, and what to do."""
    return (
        f"the column {shown_value(column)} has values of several types, which Arrow cannot store; convert it, such as "
        f"with astype(str), or {_give_fewer(options)}"
    )


def _give_fewer(options: ReadOptions) -> str:
    needed = ", ".join(repr(name) for name in options.item_columns)
    return f"give only the columns that are needed, such as frame[[{needed}]], and choose rows with the result's mask"


def _column(options: ReadOptions) -> str:
    """Name of the only column of an array or a series."""
    return options.item_columns[0] if options.item_columns else "vector"
