"""Parquet files of kept rows: with the schema and the codecs of the file that the rows came from."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.compressed import writing
from twinset.documents.formats.typed_columns import GroupWriter
from twinset.documents.parquet.long_values import LongRows, Stretch, has_nulls, long_columns, taken
from twinset.documents.parquet.row_groups import Ready, RowGroups
from twinset.documents.parts import Mask

_BUFFER = 2**20


def written_like(meta: Any) -> dict[str, Any]:
    """How to write columns so that a file is like the one it came from."""
    schema_metadata = meta.metadata or {}
    words: dict[str, Any] = {
        "version": meta.format_version if meta.format_version in ("1.0", "2.4", "2.6") else "2.6",
        "store_schema": b"ARROW:schema" in schema_metadata,
    }
    if not meta.num_row_groups:
        return words
    first = meta.row_group(0)
    columns = [first.column(at) for at in range(first.num_columns)]
    words["compression"] = {one.path_in_schema: _codec(one.compression) for one in columns}
    words["use_dictionary"] = [one.path_in_schema for one in columns if _repeats(one)]
    words["write_statistics"] = [one.path_in_schema for one in columns if _ordered(one)]
    words["use_compliant_nested_type"] = not any(".list.item" in one.path_in_schema for one in columns)
    words["use_deprecated_int96_timestamps"] = any(one.physical_type == "INT96" for one in columns)
    return words


def _codec(name: str) -> str:
    return {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4"}.get(name, name.lower())


def _repeats(column: Any) -> bool:
    """Whether a dictionary made the column smaller: hashing long unique texts in vain is what costs most."""
    if not column.has_dictionary_page or not column.num_values:
        return False
    return bool(column.total_uncompressed_size / column.num_values < 16)


def _ordered(column: Any) -> bool:
    """Whether least and greatest values were kept, and are short enough to be worth keeping."""
    if not column.is_stats_set or not column.num_values:
        return False
    return bool(column.total_uncompressed_size / column.num_values < 256)


class ParquetWriter(GroupWriter):
    """Writes kept rows as a Parquet file."""

    def __init__(self, path: Path, schema: Any, flag: Any, words: dict[str, Any], workers: int = 1) -> None:
        super().__init__(path, schema, flag)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = RowGroups(path, self.schema, workers, {"data_page_size": _BUFFER, **words})

    def write_group(self, table: Any, ready: Ready | None = None) -> None:
        """Write one row group."""
        with writing(self.path):
            self._file.write(table, ready)

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


class SourceWriter(ParquetWriter):
    """Writes kept rows of a Parquet file; until their group is written, long values stay where they were read."""

    def __init__(self, path: Path, schema: Any, metadata: Any, flag: Any, workers: int) -> None:
        super().__init__(path, schema, flag, written_like(metadata), workers)
        self._long = long_columns(metadata, schema)
        self._stretches: list[Stretch] = []
        self._numbered = 0

    def held(self, table: Any, keep: Mask, sizes: npt.NDArray[np.int64]) -> Any:
        """The kept rows, with their numbers in place of long values; where few are kept, the others are let go."""
        if not self._long:
            return super().held(table, keep, sizes)
        if 2 * sizes[keep].sum() < sizes.sum():
            table = super().held(table, keep, sizes)
            keep = np.ones(table.num_rows, np.bool_)
        self._stretches.append(Stretch(self._numbered, table.select([column.name for column in self._long])))
        numbers = pa.array(np.arange(self._numbered, self._numbered + table.num_rows))
        self._numbered += table.num_rows
        for column in self._long:
            table = table.set_column(table.schema.get_field_index(column.name), column.name, numbers)
        return super().held(table, keep, sizes)

    def write_group(self, table: Any, ready: Ready | None = None) -> None:
        """Write one row group."""
        if self._long:
            rows = table.column(self._long[0].name).to_numpy()
            near = [one for one in self._stretches if one.end > rows[0] and one.first_row <= rows[-1]]
            self._stretches = [one for one in self._stretches if one.end > rows[-1] + 1]
            whole = [column for column in self._long if not has_nulls(near, column.name, rows)]
            ready = LongRows(whole, rows, near)
            for column in self._long:
                kind = self.schema.field(column.name)
                nothing = pa.repeat(pa.scalar(b""), len(rows)).cast(kind.type)
                values = nothing if column in whole else taken(near, column.name, rows)
                table = table.set_column(table.schema.get_field_index(column.name), kind, values)
        super().write_group(table, ready)
