"""Parquet files of kept rows: with the schema and the codecs of the file that the rows came from."""

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
    """How to write columns so that a file is like the one it came from."""
    words: dict[str, Any] = {
        "version": meta.format_version if meta.format_version in ("1.0", "2.4", "2.6") else "2.6",
        "store_schema": b"ARROW:schema" in (meta.metadata or {}),
    }
    if not groups:
        return words
    columns = groups[0].columns
    words["compression"] = {one.path: one.codec for one in columns}
    words["use_dictionary"] = [one.path for one in columns if _repeats(one)]
    words["write_statistics"] = [one.path for one in columns if _ordered(one)]
    words["use_compliant_nested_type"] = not any(".list.item" in one.path for one in columns)
    words["use_deprecated_int96_timestamps"] = any(one.physical_type == "INT96" for one in columns)
    return words


def _repeats(column: ColumnChunk) -> bool:
    """Whether a dictionary made the column smaller: hashing long unique texts in vain is what costs most."""
    return column.has_dictionary and column.values > 0 and column.unpacked / column.values < 16


def _ordered(column: ColumnChunk) -> bool:
    """Whether least and greatest values were kept, and are short enough to be worth keeping."""
    return column.has_statistics and column.values > 0 and column.unpacked / column.values < 256


class ParquetWriter(GroupWriter):
    """Writes kept rows as a Parquet file."""

    def __init__(self, path: Path, schema: Any, flag: Any, words: dict[str, Any], workers: int = 1) -> None:
        super().__init__(path, schema, flag)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = RowGroups(path, self.schema, workers, {"data_page_size": _BUFFER, **words})

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
        with suppress(OSError):  # what is still in the buffer is written, and the disk may be full
            self._file.abort()
        super().abort()
