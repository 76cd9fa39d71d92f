"""Names of the elements of long tables by hash, for an index that stores the sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.items.pack import written_lists, written_weights
from twinset.documents.long_tables.rows import LongTableRows
from twinset.documents.normalize import buffers_of
from twinset.schema import Hashes

Spelling = tuple[Hashes, Any]
"""Distinct hashes, ascending, and their words."""


def spelling_of(rows: LongTableRows) -> Spelling:
    """The names of the elements of some rows, by hash."""
    valid = np.flatnonzero(rows.codes >= 0)
    hashes, firsts = np.unique(rows.elements[valid], return_index=True)
    return hashes, rows.words.take(pa.array(np.asarray(rows.places)[valid[firsts]], pa.int64())).cast(pa.large_string())


class ElementNames:
    """The distinct elements of a long table, in memory.

    Examples
    --------
    >>> from twinset.options import ReadOptions
    >>> from twinset.documents.long_tables.columns import read_rows
    >>> columns = [pa.array(["ann", "bob", "ann"]), pa.array(["Ran", "Alien", "Alien"])]
    >>> words = ElementNames()
    >>> words.add(spelling_of(read_rows(ReadOptions.of(group="user", item="movie"), columns, from_text=False)[0]))
    >>> len(words)
    2
    """

    def __init__(self) -> None:
        self._parts: list[Spelling] = []
        self._count = self._merged = 0

    def __len__(self) -> int:
        return len(self._whole()[0])

    def add(self, spelling: Spelling) -> None:
        """Add the elements of more rows."""
        self._parts.append(spelling)
        self._count += len(spelling[0])
        if self._count > 2 * self._merged + 2**16:  # merge, so that repeated elements are stored once
            self._whole()

    def _whole(self) -> Spelling:
        if len(self._parts) != 1:
            every = [np.zeros(0, np.uint64), *(hashes for hashes, _ in self._parts)]
            hashes, firsts = np.unique(np.concatenate(every), return_index=True)
            words = pa.chunked_array([words for _, words in self._parts], pa.large_string())
            self._parts = [(hashes, words.take(pa.array(firsts)).combine_chunks())]
        self._count = self._merged = len(self._parts[0][0])
        return self._parts[0]

    def written(self, sets: Any, weighted: bool) -> Any:
        """Write packed sets of hashes as lists of element names, or weighted ones as objects; null stays null."""
        known, words = self._whole()
        data, offsets = buffers_of(sets)
        numbers = np.ascontiguousarray(data[offsets[0] : offsets[-1]]).view(np.uint64).reshape(-1, 1 + weighted)
        named = words.take(pa.array(np.searchsorted(known, numbers[:, 0])))
        starts = pa.array((offsets - offsets[0]) // (8 * numbers.shape[1]), pa.int64())
        missing = pa.array(np.asarray(sets.is_null())) if sets.null_count else None
        lists = pa.LargeListArray.from_arrays(starts, named, mask=missing)
        if not weighted:
            return written_lists(lists)
        weights = pa.array(np.ascontiguousarray(numbers[:, 1]).view(np.float64))
        return written_weights(lists, pa.LargeListArray.from_arrays(starts, weights, mask=missing), sets)
