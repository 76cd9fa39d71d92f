"""Rows of Arrow batches: digests as binary values, runs of equal keys, and batches of whole runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.schema import Bytes, Hashes, Places

__all__ = [
    "DIGEST_BYTES",
    "NumberedEnds",
    "binary_rows",
    "digest_words",
    "digests_as_binary",
    "row_bytes",
    "whole_runs",
]

DIGEST_BYTES = 16


def binary_rows(rows: Bytes) -> pa.Array:
    """Return the rows of a two-dimensional array of bytes as binary values."""
    count, width = rows.shape
    offsets = pa.py_buffer(np.arange(0, (count + 1) * width, max(1, width), dtype=np.int32)[: count + 1])
    return pa.Array.from_buffers(pa.binary(), count, [None, offsets, pa.py_buffer(np.ascontiguousarray(rows))])


def digests_as_binary(digests: Hashes) -> pa.Array:
    """Return digests, uint64 (n, 2), as binary values, whose order in bytes is that of the numbers."""
    return binary_rows(digests.astype(">u8").view(np.uint8).reshape(len(digests), DIGEST_BYTES))


def row_bytes(column: pa.Array, width: int) -> Bytes:
    """Return binary values of equal length as rows of bytes, without a copy."""
    offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, column.offset * 4)
    if len(column) and offsets[-1] - offsets[0] != width * len(column):
        raise ValueError(f"values of {width} bytes were expected")
    data = column.buffers()[2]
    if not len(column) or data is None:
        return np.empty((0, width), np.uint8)
    return np.frombuffer(data, np.uint8, width * len(column), int(offsets[0])).reshape(len(column), width)


def digest_words(column: pa.Array) -> Hashes:
    """Return binary digests as uint64 (n, 2)."""
    words: Hashes = row_bytes(column, DIGEST_BYTES).view(">u8").astype(np.uint64)
    return words


@dataclass(frozen=True)
class NumberedEnds:
    """The documents of pairs, numbered in the order of their digests.

    `rows` has a row of each document in the table of ends. Pair i is left[i] < right[i].
    """

    digests: Hashes
    rows: Places
    left: Places
    right: Places

    @classmethod
    def of(cls, table: pa.Table) -> Self:
        """Number rows (digest, partner, …): for each pair one of its lesser digest, and one without a partner."""
        partners = table.column("partner").combine_chunks()
        lesser = np.flatnonzero(np.asarray(partners.is_valid()))
        digests = [digest_words(one) for one in (table.column("digest").combine_chunks(), partners.drop_null())]
        whole = np.concatenate(digests)
        order = np.lexsort((whole[:, 1], whole[:, 0]))
        starts = np.ones(len(order), np.bool_)
        starts[1:] = (whole[order[1:]] != whole[order[:-1]]).any(axis=1)
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.cumsum(starts) - 1
        # The sort is stable, and every document has a row of its own before it is a partner.
        return cls(whole[order[starts]], order[starts], numbers[lesser], numbers[table.num_rows :])


def whole_runs(
    batches: Iterator[pa.RecordBatch], keys: Sequence[str], size: Callable[[pa.RecordBatch], npt.NDArray[np.int64]],
    most: int,
) -> Iterator[tuple[pa.Table, Places]]:  # fmt: skip
    """Yield tables of whole runs of rows with equal keys, and the number of each row's run.

    The rows arrive with equal keys adjacent. A table has rows of about `most` in `size`, or one run.
    """
    waiting: list[pa.RecordBatch] = []
    total, limit = 0, most
    for batch in batches:
        waiting.append(batch)
        total += int(size(batch).sum())
        if total < limit:
            continue
        table = pa.Table.from_batches(waiting)
        runs = _run_numbers(table, keys)
        start = int(np.searchsorted(runs, runs[-1]))  # of the last run, which may go on
        if start:
            yield table.slice(0, start), runs[:start]
            table = table.slice(start).combine_chunks()
        waiting = table.to_batches()
        total = sum(int(size(one).sum()) for one in waiting)
        limit = most if start else 2 * total  # a run that is larger is looked at again when it has doubled
    if waiting:
        table = pa.Table.from_batches(waiting)
        if table.num_rows:
            yield table, _run_numbers(table, keys)


def _run_numbers(table: pa.Table, keys: Sequence[str]) -> Places:
    """Number the runs of rows with equal keys, from 0."""
    starts = np.zeros(table.num_rows, np.bool_)
    for name in keys:
        column = table.column(name).combine_chunks()
        if pa.types.is_binary(column.type):
            values = digest_words(column)
            starts[1:] |= (values[1:] != values[:-1]).any(axis=1)
        else:
            numbers = np.asarray(column)
            starts[1:] |= numbers[1:] != numbers[:-1]
    runs: Places = np.cumsum(starts)
    return runs
