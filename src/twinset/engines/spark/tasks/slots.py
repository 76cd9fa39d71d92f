"""Sketch rows for a table of sketches, as `twinset.sketch` does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from twinset.documents.formats.memory_tables import TablePart
from twinset.engines.local.sketch_files.make import sketched
from twinset.engines.spark.tasks.settings import Batches, Settings
from twinset.options.sketch import SketchOptions
from twinset.sketches.bottom_k import BottomK

__all__ = ["COLUMNS", "make_sketches"]

COLUMNS = "id string, sketch array<bigint>, shingles bigint"
_WHOLE = 2**62


def make_sketches(batches: Batches, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield the id, the sketch and the number of shingles of each row; the first column is the id.

    Spark has no unsigned numbers: 64-bit hashes become the signed numbers of the same bits.
    """
    options = SketchOptions.of(**dict(settings["options"]))
    for batch in batches:
        part = TablePart("data frame", 0, options, pa.Table.from_batches([batch]).remove_column(0))
        for chunk in part.chunks(_WHOLE):
            made = sketched(part, chunk, options)
            sketches = made.batch.sketches
            if isinstance(sketches, BottomK):
                starts, values = sketches.starts, sketches.values.view(np.int64)
            else:
                starts = np.arange(len(sketches) + 1) * options.n_hashes
                values = sketches.reshape(-1).astype(np.int64)
            lists = pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), pa.array(values))
            ids = batch.column(0).take(pa.array(made.rows))
            columns = [ids, lists, made.batch.shingles.cast(pa.int64())]
            yield pa.record_batch(columns, names=["id", "sketch", "shingles"])
