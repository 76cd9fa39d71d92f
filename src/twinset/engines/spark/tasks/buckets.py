"""Planned the documents of each bucket: those that share a band key and have similar sketches are candidates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from twinset.candidates import banding
from twinset.candidates.banding import Banded
from twinset.engines.spark.tasks.rows import digest_words, digests_as_binary, row_bytes, whole_runs
from twinset.engines.spark.tasks.settings import Batches, Settings, opened
from twinset.schema import Hashes, Places

__all__ = ["COLUMNS", "join_buckets"]

COLUMNS = "left_digest binary, right_digest binary"
_ROWS = 1 << 16  # joined at a time, or those of one bucket


def join_buckets(batches: Batches, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield the candidates of rows (key, block, piece, digest, sketch), sorted by key and block.

    A large bucket is cut into pieces, and a block has two of them or one: then `piece` is the same in all of its rows.
    A pair appears once in each bucket that it shares; the lesser digest is on the left.
    """
    work = opened(settings)
    width = banding.width(work.plan.n_hashes)
    for table, runs in whole_runs(batches, ("key", "block"), lambda batch: np.ones(batch.num_rows, np.int64), _ROWS):
        sketches = row_bytes(table.column("sketch").combine_chunks(), width)
        numbers = np.arange(len(runs), dtype=np.uint32)
        banded = Banded(numbers, runs.astype(np.uint64)[None, :], np.ascontiguousarray(sketches))
        digests = digest_words(table.column("digest").combine_chunks())
        pieces = np.asarray(table.column("piece").combine_chunks())
        across = _has_two_pieces(runs, pieces)
        for pairs in banding.within(banded, 0, work.plan):
            left, right = pairs[:, 0], pairs[:, 1]
            wanted = ~across[runs[left]] | (pieces[left] != pieces[right])
            yield _ordered(digests[left[wanted]], digests[right[wanted]])


def _has_two_pieces(runs: Places, pieces: Places) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mark the runs with rows of two pieces: pairs within one piece are found in another block."""
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    return np.asarray(np.minimum.reduceat(pieces, starts) != np.maximum.reduceat(pieces, starts))


def _ordered(one: Hashes, other: Hashes) -> pa.RecordBatch:
    swapped = (one[:, 0] > other[:, 0]) | ((one[:, 0] == other[:, 0]) & (one[:, 1] > other[:, 1]))
    left, right = np.where(swapped[:, None], other, one), np.where(swapped[:, None], one, other)
    return pa.record_batch([digests_as_binary(left), digests_as_binary(right)], names=["left_digest", "right_digest"])
