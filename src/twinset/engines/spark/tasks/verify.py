"""Verify candidates on the full shingle sets of their documents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.engines.local.steps.shingle import shingled
from twinset.engines.spark.tasks.rows import binary_rows, digest_words, digests_as_binary, whole_runs
from twinset.engines.spark.tasks.settings import Batches, Settings, TaskOptions, open_block, opened
from twinset.pairs.sets import Sets, overlaps, scores
from twinset.schema import Hashes, Numbers, Places

__all__ = ["COLUMNS", "LEADING", "verify"]

COLUMNS = (
    "left_digest binary, right_digest binary, left_first string, right_first string, shared bigint, similarity double, "
    "left_in_right double, right_in_left double"
)
LEADING = ("family", "block", "digest", "first", "tokens", "partners")
"""The columns of rows before those of the items."""
_TOKENS = 1 << 21  # of the documents that are loaded together, or those of one group


def verify(batches: Batches, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield the pairs that reach the threshold, with their scores.

    A family, or a block of one, has adjacent rows; partners are digests of the same block, all greater than the row's
    own.
    """
    work = opened(settings)
    threshold = settings["least"]

    def size(batch: pa.RecordBatch) -> Places:
        return np.asarray(batch.column("tokens"))

    for table, runs in whole_runs(batches, ("family", "block"), size, _TOKENS):
        digests = digest_words(table.column("digest").combine_chunks())
        firsts = table.column("first").combine_chunks()
        lefts, rights = _pairs(table.column("partners").combine_chunks(), runs, digests)
        sets = _sets(table, work)
        for start in range(0, max(1, len(lefts)), 1 << 20):
            left, right = lefts[start : start + (1 << 20)], rights[start : start + (1 << 20)]
            shared = overlaps(sets, left, right, threshold)
            passed = shared > 0 if threshold > 0 else np.ones(len(shared), np.bool_)
            left, right, shared = left[passed], right[passed], shared[passed]
            found = scores(shared, sets.sizes[left], sets.sizes[right])
            near = {
                "left_digest": digests_as_binary(digests[left]),
                "right_digest": digests_as_binary(digests[right]),
                "left_first": firsts.take(pa.array(left)),
                "right_first": firsts.take(pa.array(right)),
                "shared": pa.array(shared.astype(np.int64)),
                **{name: pa.array(values) for name, values in found.items()},
            }
            yield pa.record_batch(list(near.values()), names=list(near))


def _sets(table: pa.Table, work: TaskOptions) -> Sets:
    items = table.drop_columns(list(LEADING))
    tokens = np.asarray(table.column("tokens").combine_chunks())
    _, block = open_block(items, work.options)
    sets = Sets.with_room(tokens)
    for portion in shingled(block.texts, work.options, work.options.seed).portions:
        sets.fill(portion, np.arange(len(portion.rows)), portion.rows)
    return sets


def _pairs(partners: pa.Array, runs: Places, digests: Hashes) -> tuple[Numbers, Numbers]:
    """Return the positions of the documents of each pair."""
    lefts = np.asarray(pc.list_parent_indices(partners)).astype(np.uint32)
    wanted = pc.list_flatten(partners)
    table = _keys(runs, digests)
    found = pc.index_in(_keys(runs[lefts], digest_words(wanted)), value_set=table)
    if found.null_count:
        raise ValueError("a document of a candidate is missing")
    return lefts, np.asarray(found).astype(np.uint32)


def _keys(runs: Places, digests: Hashes) -> pa.Array:
    words = np.concatenate([runs.astype(np.uint64)[:, None], digests], axis=1)
    return binary_rows(np.ascontiguousarray(words).view(np.uint8).reshape(len(words), 24))
