"""Convert groups of rows to sorted sets, and merge the groups of several runs by first row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.long_tables import kernels
from twinset.documents.long_tables.rows import GroupRows
from twinset.documents.parts import LEAST_ROW, MAX_ROW_BYTES
from twinset.schema import Places
from twinset.system.scratch import BatchFile

Spread = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""Applies a function to each item, in order, on any number of threads."""

STORED_BYTES = 2**19
"""Bytes of groups written and read together."""

_SORTED_AT_ONCE = 2**20  # rows
_NO_WEIGHTS = np.zeros(0, np.uint64)


def cuts(sizes: Places, most: int) -> Places:
    """Split groups of these sizes into runs of about `most` bytes: a function of the sizes alone.

    Examples
    --------
    >>> cuts(np.array([5, 5, 5, 30, 5]), 10).tolist()
    [0, 1, 3, 4, 5]
    """
    upto = np.cumsum(sizes) // most
    edges = np.flatnonzero(np.diff(upto)) + 1
    return np.concatenate([[0], edges, [len(sizes)]]) if len(sizes) else np.zeros(1, np.int64)


class Sorted:
    """The groups of a portion, with sorted elements."""

    def __init__(self, whole: GroupRows, bag: bool, spread: Spread) -> None:
        self.whole = whole
        counts = np.zeros(len(whole.names), np.int64)
        kernels.count_rows(whole.codes, counts)
        self.offsets = np.concatenate([[0], np.cumsum(counts)])
        self.elements = np.empty(len(whole.codes), np.uint64)
        kernels.bring_together(whole.codes, whole.elements, self.offsets[:-1].copy(), self.elements)
        self.weights = _NO_WEIGHTS
        if whole.weights is not None:
            self.weights = np.empty(len(whole.codes), np.uint64)
            kernels.bring_together(whole.codes, whole.weights.view(np.uint64), self.offsets[:-1].copy(), self.weights)
        self.counts = np.empty(len(whole.names), np.int64)
        edges = cuts(counts + 1, _SORTED_AT_ONCE)

        def sort(task: tuple[int, int]) -> None:
            if whole.weights is None:
                kernels.sort_sets(self.elements, self.offsets, bag, *task, self.counts)
            else:
                kernels.sort_weighted(self.elements, self.weights.view(np.float64), self.offsets, *task, self.counts)

        for _ in spread(sort, zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
            pass
        self.words = 1 if whole.weights is None else 2
        lengths = np.asarray(pc.binary_length(whole.names)).astype(np.int64)
        self.sizes = np.maximum(LEAST_ROW, 8 * self.words * self.counts + lengths)

    def batches(self, edges: Places, refuse: Callable[[str, str], None]) -> Iterator[Any]:
        """Yield the groups, split at these edges."""
        whole = self.whole
        for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            counts = self.counts[first:last].copy()
            bad = self._too_much(first, counts, refuse)
            counts[bad] = 0
            offsets = np.concatenate([[0], np.cumsum(counts)]) * (8 * self.words)
            out = np.empty(int(offsets[-1]) // 8, np.uint64)
            kernels.pack_sets(self.elements, self.weights, self.offsets[first:last], counts, out)
            valid = pa.py_buffer(np.packbits(~bad, bitorder="little")) if bad.any() else None
            buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(out)]
            columns = {
                "id": whole.names.slice(first, last - first).cast(pa.string()),
                "item": pa.Array.from_buffers(pa.large_binary(), last - first, buffers),
                "source": pa.array(whole.sources[first:last]),
            }
            if whole.by is not None:
                columns["by"] = whole.by.slice(first, last - first)
            yield pa.record_batch(columns)

    def _too_much(self, first: int, counts: Places, refuse: Callable[[str, str], None]) -> npt.NDArray[np.bool_]:
        """Mask of the groups that are larger than an item may be, or whose weights overflow."""
        large = counts * (8 * self.words) > MAX_ROW_BYTES
        bad = large.copy()
        if self.words == 2:
            start, end = int(self.offsets[first]), int(self.offsets[first + len(counts)])
            endless = np.flatnonzero(np.isinf(self.weights[start:end].view(np.float64))) + start
            bad[np.searchsorted(self.offsets, endless, side="right") - 1 - first] = True
        for at in np.flatnonzero(bad).tolist():
            reason = "the sum of the weights of an element of the group is too large"
            if large[at]:
                most = MAX_ROW_BYTES // (8 * self.words)
                reason = f"the group has {int(counts[at]):,} elements; the maximum is {most:,}"
            refuse(self.whole.names[first + at].as_py(), reason)
        return bad


def merged(runs: list[BatchFile], sizes: Places, order: Places, counts: list[int], piece: int) -> Iterator[Any]:
    """Merge the groups of several runs, each ordered by first row.

    counts: groups of each run; order: the rank of each group among all, run after run; sizes: of the groups by rank.
    """
    run_of = np.repeat(np.arange(len(runs)), counts)[order]
    edges = cuts(sizes, piece)
    streams = [_Stream(run) for run in runs]
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        mine = run_of[first:last]
        many = np.bincount(mine, minlength=len(runs))
        taken = [one for number in np.flatnonzero(many).tolist() for one in streams[number].take(int(many[number]))]
        back = np.empty(last - first, np.int64)
        back[np.argsort(mine, kind="stable")] = np.arange(last - first)
        table = pa.Table.from_batches(taken).combine_chunks().take(pa.array(back))
        yield table.combine_chunks().to_batches()[0]


class _Stream:
    """A run of groups, read sequentially."""

    def __init__(self, stored: BatchFile) -> None:
        self._stored = stored
        self._next = 0
        self._left: Any = None

    def take(self, count: int) -> list[Any]:
        """The next groups."""
        pieces = []
        while count:
            if self._left is None or not self._left.num_rows:
                self._left = self._stored.read(self._next)
                self._next += 1
            piece = self._left.slice(0, count)
            pieces.append(piece)
            count -= piece.num_rows
            self._left = self._left.slice(piece.num_rows)
        return pieces
