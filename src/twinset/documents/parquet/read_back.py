"""Check a written Parquet file before it replaces its target."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from twinset.errors import OutputError


def check_written(path: Path, schema: pa.Schema, rows: int, groups: int) -> None:
    """Read the footer back with Arrow; raise `OutputError` unless columns, rows and row groups are those written."""
    try:
        with pq.ParquetFile(path) as file:
            meta, names = file.metadata, file.schema_arrow.names
        counts = [meta.row_group(at).num_rows for at in range(meta.num_row_groups)]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise OutputError(f"{path} was written and cannot be read back: {error}; do not use it") from error
    if names != schema.names:
        raise OutputError(f"{path} was written with columns {schema.names} and read back with {names}; do not use it")
    if (meta.num_rows, sum(counts), len(counts)) != (rows, rows, groups):
        raise OutputError(
            f"{path} was written with {rows:,} rows in {groups:,} row groups and read back with {meta.num_rows:,} rows "
            f"({sum(counts):,} in its {len(counts):,} row groups); do not use it"
        )
