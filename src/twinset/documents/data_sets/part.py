"""A Hugging Face `Dataset`: its rows stay where they are, on the disk or in memory, and are read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from twinset.documents.formats.typed_columns import ColumnsPart
from twinset.documents.parquet.write import ParquetWriter
from twinset.documents.parts import LEAST_ROW, Block, Chunk, KeptWriter
from twinset.options import ReadOptions

_BATCH = 2**24  # bytes


class DataSetPart(ColumnsPart):
    """A data set whose rows can be read in any order; rows that were selected or shuffled have their new order."""

    format = "table"

    def __init__(self, name: str, source: int, options: ReadOptions, data: Any) -> None:
        self._data = data.with_format("arrow")
        super().__init__(name, source, options, data.features.arrow_schema)
        self.rows = len(data)
        self.size = self._bytes(self.column_names)
        self.kept_name = PurePosixPath(f"{name}.parquet")

    def _bytes(self, columns: list[str]) -> int:
        """Return the bytes of the rows, as far as the data set can tell: its table may have others, too."""
        table = self._data.data.select(columns)
        return int(table.nbytes * self.rows / max(table.num_rows, 1))

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Runs of rows."""
        size = max(self._bytes(self.whole_columns(self.needed(False))), self.rows * LEAST_ROW, 1)
        step = max(1, self.rows * batch_bytes // size)
        for start in range(0, self.rows, step):
            yield DataSetChunk(self, start, min(step, self.rows - start))

    def read(self, first_row: int, rows: int, columns: list[str] | None = None) -> pa.Table:
        """Read some rows, with all columns or some."""
        names = self.column_names if columns is None else columns
        table = self._data.select_columns(names)[first_row : first_row + rows]
        schema = pa.schema([self.schema.field(name) for name in names], self.schema.metadata)
        return table.select(names).cast(schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows."""
        for chunk in self.chunks(_BATCH):
            yield from self.read(chunk.first_row, chunk.rows).to_batches()

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Write kept rows as Parquet; the metadata of the schema has the features."""
        return ParquetWriter(out / "kept" / self.kept_name, self.schema, self.flag_schema if flag else None, {})


class DataSetChunk(Chunk):
    """Some rows of a data set."""

    def __init__(self, part: DataSetPart, first_row: int, rows: int) -> None:
        self._part = part
        self.first_row = first_row
        self.rows = rows

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Read the rows, and only the columns that are needed unless they are to be written."""
        part = self._part
        columns = None if whole else part.whole_columns(part.needed(texts_only))
        return part.block(part.read(self.first_row, self.rows, columns), self.first_row, whole, texts_only)
