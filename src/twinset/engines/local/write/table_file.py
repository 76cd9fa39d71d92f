"""Result tables as files.

Parquet, CSV or JSON lines by the file's ending, the same bytes for any portioning of the rows.
"""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from twinset.documents.parquet.read_back import check_written
from twinset.options.formats import check_output_name
from twinset.system import batch_sizes
from twinset.system.scratch import cannot_write


def check_ending(path: Path) -> None:
    """Refuse a file whose ending does not say how to write it."""
    check_output_name(str(path))


class TableFile:
    """A file being written, whole row groups at a time; `with` closes it, flushed to the disk and read back."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        check_ending(path)
        self.path, self.schema, self.rows = path, schema, 0
        self._groups = 0
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        try:
            self._file = open(path, "wb")  # noqa: SIM115 - closed by close()
            self._writer: Any = None
            if path.suffix == ".parquet":
                # Most values are there once or twice: dictionaries would take twice the time and more room.
                self._writer = pq.ParquetWriter(self._file, schema, compression="snappy", use_dictionary=False)
            elif path.suffix == ".csv":
                self._writer = pa.csv.CSVWriter(self._file, schema)
        except OSError as error:
            raise cannot_write(path, error) from error

    def write(self, table: pa.Table) -> None:
        """Add rows."""
        self.rows += table.num_rows
        self._waiting.append(table)
        self._waiting_rows += table.num_rows
        while self._waiting_rows >= batch_sizes.ROW_GROUP:
            joined = pa.concat_tables(self._waiting)
            self._put(joined.slice(0, batch_sizes.ROW_GROUP))
            self._waiting = [joined.slice(batch_sizes.ROW_GROUP)]
            self._waiting_rows -= batch_sizes.ROW_GROUP

    def _put(self, table: pa.Table) -> None:
        self._groups += 1
        try:
            if self._writer is None:
                for row in table.to_pylist():
                    self._file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            else:
                self._writer.write_table(table, batch_sizes.ROW_GROUP)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def close(self) -> None:
        """Write what is left and make it last."""
        if self._waiting_rows:
            self._put(pa.concat_tables(self._waiting).combine_chunks())
            self._waiting, self._waiting_rows = [], 0
        try:
            if self._writer is not None:
                self._writer.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            raise cannot_write(self.path, error) from error
        if self.path.suffix == ".parquet":
            check_written(self.path, self.schema, self.rows, self._groups)

    def __enter__(self) -> "TableFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        # Both may find the disk full once more, and a writer that is left open would say so when it is collected.
        with suppress(OSError, ValueError):
            if self._writer is not None:
                self._writer.close()
        with suppress(OSError):
            self._file.close()
