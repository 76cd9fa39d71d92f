"""Cluster the pairs that are left in one task."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.clusters.group import Grouping
from twinset.engines.spark.tasks.rows import NumberedEnds, digests_as_binary
from twinset.engines.spark.tasks.settings import Batches, Settings
from twinset.schema import Numbers

__all__ = ["COLUMNS", "cluster"]

COLUMNS = "digest binary, leader binary"


def cluster(batches: Batches, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield the leader of each document of all pairs. Rows are (digest, partner, rank), as in `NumberedEnds`.

    A rank is a structure whose members are compared one after the other; the least is best.
    """
    given = list(batches)
    if not sum(batch.num_rows for batch in given):
        return
    table = pa.Table.from_batches(given)
    ends = NumberedEnds.of(table)
    count = len(ends.digests)
    rank = np.empty(count, np.uint32)
    order = _order(table.column("rank").combine_chunks().take(pa.array(ends.rows)))
    rank[order] = np.arange(count, dtype=np.uint32)
    edges = np.sort(rank[np.stack([ends.left, ends.right])], axis=0)[::-1]  # later, earlier
    edges = edges[:, np.lexsort((edges[1], edges[0]))].T
    shared = np.zeros((len(edges), 1), np.uint32)
    leader = Grouping(count, settings["method"]).add([np.concatenate([edges, shared], axis=1)]).leader
    by_rank = ends.digests[order]
    yield pa.record_batch([digests_as_binary(by_rank), digests_as_binary(by_rank[leader])], names=["digest", "leader"])


def _order(ranks: pa.StructArray) -> Numbers:
    """Return the places of ranks, the best first; strings are compared by their bytes."""
    names = [field.name for field in ranks.type]
    columns = [
        column.cast(pa.large_binary()) if pa.types.is_string(column.type) else column for column in ranks.flatten()
    ]
    found = pc.sort_indices(pa.table(columns, names=names), sort_keys=[(name, "ascending") for name in names])
    return np.asarray(found).astype(np.uint32)
