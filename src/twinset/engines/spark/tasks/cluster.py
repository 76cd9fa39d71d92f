"""Cluster the pairs that are left in one task."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.clusters.group import Grouping
from twinset.engines.spark.tasks.rows import DIGEST_BYTES, digest_words, digests_as_binary
from twinset.engines.spark.tasks.settings import Batches, Settings
from twinset.schema import Hashes, Numbers, Places

__all__ = ["COLUMNS", "cluster"]

COLUMNS = "digest binary, leader binary"


def cluster(batches: Batches, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield the leader of each document of all pairs: rows (left_digest, right_digest, left_rank, right_rank).

    A rank is a structure whose members are compared one after the other; the least is best.
    """
    given = list(batches)
    table = pa.Table.from_batches(given) if given else None
    if table is None or not table.num_rows:
        return
    digests = np.concatenate(
        [digest_words(table.column(f"{side}_digest").combine_chunks()) for side in ("left", "right")]
    )
    nodes, where, of = _distinct(digests)
    ranks = pa.concat_arrays([table.column(f"{side}_rank").combine_chunks() for side in ("left", "right")])
    rank = np.empty(len(nodes), np.uint32)
    order = _order(ranks.take(pa.array(where)))
    rank[order] = np.arange(len(nodes), dtype=np.uint32)
    edges = np.sort(rank[of.reshape(2, -1)], axis=0)[::-1]  # later, earlier
    edges = edges[:, np.lexsort((edges[1], edges[0]))].T
    shared = np.zeros((len(edges), 1), np.uint32)
    leader = Grouping(len(nodes), settings["method"]).add([np.concatenate([edges, shared], axis=1)]).leader
    by_rank = nodes[order]
    yield pa.record_batch([digests_as_binary(by_rank), digests_as_binary(by_rank[leader])], names=["digest", "leader"])


def _distinct(digests: Hashes) -> tuple[Hashes, Places, Places]:
    """Return the distinct digests, the first place of each, and the number of each given one."""
    rows = np.ascontiguousarray(digests).view(f"V{DIGEST_BYTES}").reshape(-1)
    order = np.lexsort((digests[:, 1], digests[:, 0]))
    starts = np.ones(len(rows), np.bool_)
    starts[1:] = rows[order][1:] != rows[order][:-1]
    numbers = np.empty(len(rows), np.int64)
    numbers[order] = np.cumsum(starts) - 1
    where = order[starts]
    return digests[where], where, numbers


def _order(ranks: pa.StructArray) -> Numbers:
    """Return the places of ranks, the best first; strings are compared by their bytes."""
    names = [field.name for field in ranks.type]
    columns = [
        column.cast(pa.large_binary()) if pa.types.is_string(column.type) else column for column in ranks.flatten()
    ]
    found = pc.sort_indices(pa.table(columns, names=names), sort_keys=[(name, "ascending") for name in names])
    return np.asarray(found).astype(np.uint32)
