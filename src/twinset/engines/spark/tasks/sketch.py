"""Read, shingle and sketch the rows of a batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.engines.local.audit.sample import draw_keys
from twinset.engines.local.steps.sketch import sketch_block
from twinset.engines.spark.tasks.rows import binary_rows, digests_as_binary
from twinset.engines.spark.tasks.settings import Batches, Settings, TaskOptions, open_block, opened
from twinset.errors import TwinsetError
from twinset.schema import Hashes, Places

__all__ = ["COLUMNS", "sketch"]

COLUMNS = (
    "id string, status tinyint, reason string, digest binary, text bigint, draw bigint, tokens bigint, bytes bigint, "
    "length bigint, text_bytes bigint, replaced boolean, keys array<bigint>, sketch binary"
)
"""Columns of sketched rows: `text` is a hash of the item byte for byte, `draw` orders documents at random for the
audit, `tokens` counts shingles with repeats, `bytes` are those of an item as it is stored, `text_bytes` those of the
texts of a batch, on its first row."""

_TOP_BIT = np.uint64(1 << 63)


def sketch(batches: Batches, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Sketch rows. Their first column is the id, `ranks` stay as they are, and the others are those of the items."""
    work, ranks = opened(settings), settings["ranks"]
    for batch in batches:
        try:
            yield _sketched(batch, work, ranks)
        except Exception as error:
            raise _of_first_bad_row(batch, work, ranks, error) from error


def _of_first_bad_row(batch: pa.RecordBatch, work: TaskOptions, ranks: list[str], error: Exception) -> Exception:
    """Return the error of the first row that fails alone, with its id."""
    for row in range(batch.num_rows):
        try:
            _sketched(batch.slice(row, 1), work, ranks)
        except Exception as alone:
            id = batch.column(0)[row].as_py()
            reason = getattr(alone, "message", None) or f"{type(alone).__name__}: {alone}"
            return TwinsetError(f"row with the id {id!r}: {reason}")
    return error


def _sketched(batch: pa.RecordBatch, work: TaskOptions, ranks: list[str]) -> pa.RecordBatch:
    table = pa.Table.from_batches([batch])
    part, block = open_block(table.drop_columns([table.column_names[0], *ranks]), work.options)
    done = sketch_block(block, part, work.options, work.plan, False, by_length=True)
    rows = batch.num_rows
    replaced = np.zeros(rows, np.bool_)
    replaced[done.replaced] = True
    reasons = dict(done.unreadable)
    n_bands = work.plan.n_bands
    ends = np.arange(rows + 1, dtype=np.int32) * n_bands
    keys = np.ascontiguousarray(done.keys.T).view(np.int64).reshape(-1)
    columns = {
        "id": batch.column(0),
        "status": pa.array(done.status.astype(np.int8)),
        "reason": pa.array([reasons.get(row) for row in range(rows)] if reasons else pa.nulls(rows), pa.string()),
        "digest": digests_as_binary(done.digests),
        "text": pa.array(done.texts.view(np.int64) if len(done.texts) else np.zeros(rows, np.int64)),
        "draw": pa.array(_signed(draw_keys(done.digests, work.options.seed))),
        "tokens": pa.array(done.counts.astype(np.int64)),
        "bytes": pc.fill_null(pc.binary_length(block.texts), 0).cast(pa.int64()),
        "length": pa.array(done.lengths.astype(np.int64)),
        "text_bytes": pa.array(_on_first_row(done.text_bytes, rows)),
        "replaced": pa.array(replaced),
        "keys": pa.ListArray.from_arrays(pa.array(ends), pa.array(keys)),
        "sketch": binary_rows(done.sketches),
        **{name: batch.column(name) for name in ranks},
    }
    return pa.record_batch(list(columns.values()), names=list(columns))


def _on_first_row(value: int, rows: int) -> Places:
    """Return a total over the rows of a batch, to be added up over all of them."""
    column = np.zeros(rows, np.int64)
    column[:1] = value
    return column


def _signed(keys: Hashes) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return keys as signed numbers in the same order."""
    return (keys ^ _TOP_BIT).view(np.int64)
