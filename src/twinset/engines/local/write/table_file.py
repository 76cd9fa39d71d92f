"""Write result tables: Parquet, CSV or JSON lines by the file's ending, the same bytes however rows are batched."""

from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from twinset.documents.parquet.read_back import check_written
from twinset.options.formats import check_output_name, format_by_ending
from twinset.system import batch_sizes
from twinset.system.disk import flush
from twinset.system.scratch import cannot_write


class TableFile:
    """Writes whole row groups to a file; leaving the `with` block flushes it to the disk and reads it back.

    With `group_rows`, the file is Parquet whatever its ending, with row groups of that size and page checksums.
    """

    def __init__(self, path: Path, schema: pa.Schema, group_rows: int | None = None) -> None:
        if group_rows is None:
            check_output_name(str(path))
        self.path, self.schema, self.rows = path, schema, 0
        self._format = path.suffix if group_rows is None else ".parquet"
        self._group_rows = group_rows or batch_sizes.ROW_GROUP
        self._groups = 0
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        try:
            self._file = open(path, "wb")  # noqa: SIM115 - closed by close()
            self._writer: Any = None
            if self._format == ".parquet":
                # Few values repeat: dictionaries would take twice the time and more space.
                self._writer = pq.ParquetWriter(
                    self._file, schema, compression="snappy", use_dictionary=False,
                    write_page_checksum=group_rows is not None,
                )  # fmt: skip
            elif (known := format_by_ending(path.name)) is not None and known.delimiter is not None:
                options = pa.csv.WriteOptions(delimiter=known.delimiter)
                self._writer = pa.csv.CSVWriter(self._file, schema, write_options=options)
        except OSError as error:
            raise cannot_write(path, error) from error

    def write(self, table: pa.Table) -> None:
        """Add rows."""
        self.rows += table.num_rows
        self._waiting.append(table)
        self._waiting_rows += table.num_rows
        step = self._group_rows
        if self._waiting_rows >= step:
            joined = pa.concat_tables(self._waiting)
            whole = joined.num_rows // step * step
            for start in range(0, whole, step):
                self._write_group(joined.slice(start, step))
            self._waiting, self._waiting_rows = [joined.slice(whole)], joined.num_rows - whole

    @property
    def final_metadata(self) -> dict[bytes, bytes]:
        """Parquet metadata that are known once all rows are written."""
        return {}

    def _write_group(self, table: pa.Table) -> None:
        self._groups += 1
        try:
            if self._writer is None:
                for row in table.to_pylist():
                    self._file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            else:
                self._writer.write_table(table.combine_chunks(), self._group_rows)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def close(self) -> None:
        """Write the remaining rows, flush them to the disk and read the file back."""
        try:
            if self._waiting_rows:
                self._write_group(pa.concat_tables(self._waiting))
            if self.final_metadata:
                self._writer.add_key_value_metadata(self.final_metadata)
            if self._writer is not None:
                self._writer.close()
            self._file.flush()
            flush(self._file.fileno())
            self._file.close()
        except BaseException as error:
            self._abandon()
            if isinstance(error, OSError):
                raise cannot_write(self.path, error) from error
            raise
        if self._format == ".parquet":
            check_written(self.path, self.schema, self.rows, self._groups)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._abandon()

    def _abandon(self) -> None:
        """Close an unfinished file: an open writer would report the full disk again when it is collected."""
        if isinstance(self._writer, pq.ParquetWriter):
            self._writer.is_open = False
        elif self._writer is not None:
            with suppress(OSError, ValueError):
                self._writer.close()
        with suppress(OSError):
            self._file.close()


def copy_as_csv(folder: Path) -> None:
    """Write a CSV file beside each Parquet file of a folder."""
    for path in sorted(folder.glob("*.parquet")):
        copy_table(path, path.with_suffix(".csv"))


def copy_table(path: Path, to: Path) -> None:
    """Copy a Parquet file to another file, in the format of its ending."""
    to.parent.mkdir(exist_ok=True)
    with pq.ParquetFile(path) as table, TableFile(to, _as_text(table.schema_arrow.empty_table()).schema) as copy:
        for batch in table.iter_batches():
            copy.write(_as_text(pa.Table.from_batches([batch])))


def _as_text(table: pa.Table) -> pa.Table:
    """Write digests in hexadecimal, for formats without bytes."""
    for at, field in enumerate(table.schema):
        if pa.types.is_fixed_size_binary(field.type):
            digits = [value.hex() for value in table[field.name].to_pylist()]
            named = pa.field(field.name, pa.string(), nullable=field.nullable)
            table = table.set_column(at, named, pa.array(digits, pa.string()))
    return table
