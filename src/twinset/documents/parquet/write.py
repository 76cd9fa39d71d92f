"""Write Parquet files of kept rows, with the schema and codecs of their source."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from twinset.documents.compressed import writing
from twinset.documents.formats.typed_columns import GroupWriter
from twinset.documents.parquet.footer import ColumnChunk, RowGroup
from twinset.documents.parquet.row_groups import RowGroups

_BUFFER = 2**20


def written_like(meta: Any, groups: list[RowGroup]) -> dict[str, Any]:
    """Writer arguments that reproduce the properties of the source file."""
    arguments: dict[str, Any] = {
        "version": meta.format_version if meta.format_version in ("1.0", "2.4", "2.6") else "2.6",
        "store_schema": b"ARROW:schema" in (meta.metadata or {}),
    }
    if not groups:
        return arguments
    columns = groups[0].columns
    arguments["compression"] = {one.path: one.codec for one in columns}
    arguments["use_dictionary"] = [one.path for one in columns if _repeats(one)]
    arguments["write_statistics"] = [one.path for one in columns if _ordered(one)]
    arguments["use_compliant_nested_type"] = not any(".list.item" in one.path for one in columns)
    arguments["use_deprecated_int96_timestamps"] = any(one.physical_type == "INT96" for one in columns)
    return arguments


def _repeats(column: ColumnChunk) -> bool:
    """Whether a dictionary made the column smaller: hashing long unique texts in vain costs most."""
    return column.has_dictionary and column.values > 0 and column.unpacked / column.values < 16


def _ordered(column: ColumnChunk) -> bool:
    """Whether statistics exist and are short enough to keep."""
    return column.has_statistics and column.values > 0 and column.unpacked / column.values < 256


class ParquetWriter(GroupWriter):
    """Write kept rows as a Parquet file."""

    def __init__(self, path: Path, schema: Any, flag: Any, arguments: dict[str, Any], workers: int = 1) -> None:
        super().__init__(path, schema, flag)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = RowGroups(path, self.schema, workers, {"data_page_size": _BUFFER, **arguments})

    def write_group(self, table: Any) -> None:
        """Write one row group."""
        with writing(self.path):
            self._file.write(table)

    def close(self) -> None:
        """Write the footer."""
        super().close()
        with writing(self.path):
            self._file.close()

    def abort(self) -> None:
        """Close and remove the file."""
        with suppress(OSError):  # closing flushes the buffer, and the disk may be full
            self._file.abort()
        super().abort()
