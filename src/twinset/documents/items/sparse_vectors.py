"""Pack rows of sparse matrices: eight bytes for each number other than 0, its column and a 32-bit float.

Columns ascend, numbers of the same column are added up, and zeros are dropped, so that equal vectors have equal bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.items.vectors import FINITE, PackedRows
from twinset.documents.normalize import buffers_of
from twinset.schema import Places
from twinset.system.arrays import offsets_of, ranges

ENTRY = np.dtype([("column", "<u4"), ("value", "<f4")])
"""A number of a packed vector."""


@dataclass(frozen=True)
class CsrRows:
    """Rows of a sparse matrix as stored: those of row i are at starts[i] to starts[i+1]."""

    starts: Places
    columns: npt.NDArray[Any]
    values: npt.NDArray[Any]

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers and their columns."""
        return int(self.columns.nbytes + self.values.nbytes + self.starts.nbytes)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def slice(self, first: int, count: int) -> CsrRows:
        """Select consecutive rows without a copy of their numbers."""
        starts = self.starts[first : first + count + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        return CsrRows(starts - starts[0], self.columns[entries], self.values[entries])

    def chosen(self, mask: npt.NDArray[np.bool_]) -> CsrRows:
        """Select rows.

        Examples
        --------
        >>> rows = CsrRows(np.array([0, 1, 3]), np.array([5, 2, 4]), np.array([1.0, 2.0, 3.0]))
        >>> rows.chosen(np.array([False, True])).columns.tolist()
        [2, 4]
        """
        counts = np.diff(self.starts)[mask]
        entries = ranges(self.starts[:-1][mask], counts)
        return CsrRows(offsets_of(counts), self.columns[entries], self.values[entries])


def packed_sparse(rows: CsrRows) -> PackedRows:
    """Pack sparse vectors; an empty one is null, and so is a bad row.

    Examples
    --------
    >>> starts, columns = np.array([0, 3, 4, 5]), np.array([7, 2, 7, 1, 0])
    >>> packed, bad = packed_sparse(CsrRows(starts, columns, np.array([1.0, 3.0, 0.5, 0.0, np.nan])))
    >>> np.frombuffer(packed[0].as_py(), ENTRY).tolist(), packed.null_count
    ([(2, 3.0), (7, 1.5)], 2)
    >>> bad
    [(2, 'the vector holds nan in column 0; allowed: finite numbers that 32-bit floats can hold')]
    """
    counts = np.diff(rows.starts)
    owners = np.repeat(np.arange(len(rows)), counts)
    columns = rows.columns.astype(np.uint32)
    sums = rows.values.astype(np.float64)
    unsorted = (columns[1:] <= columns[:-1]) & (owners[1:] == owners[:-1])
    if unsorted.any():
        order = np.lexsort((columns, owners))
        owners, columns, sums = owners[order], columns[order], sums[order]
        firsts = np.flatnonzero(np.diff(owners, prepend=-1) | np.diff(columns.astype(np.int64), prepend=-1))
        with np.errstate(over="ignore", invalid="ignore"):
            owners, columns, sums = owners[firsts], columns[firsts], np.add.reduceat(sums, firsts)
    with np.errstate(over="ignore"):
        values = sums.astype("<f4")
    bad: dict[int, str] = {}
    for place in np.flatnonzero(~np.isfinite(values))[::-1].tolist():
        shown = f"{sums[place]:g} in column {columns[place]}"
        bad[int(owners[place])] = f"the vector holds {shown}; {FINITE}"
    kept = values != 0
    kept[np.isin(owners, list(bad))] = False
    entries = np.empty(int(np.count_nonzero(kept)), ENTRY)
    entries["column"], entries["value"] = columns[kept], values[kept]
    return _as_column(entries, np.bincount(owners[kept], minlength=len(rows))), sorted(bad.items())


def both_dense(left: bytes, right: bytes) -> npt.NDArray[np.float64]:
    """Unpack two vectors as dense ones of the columns that either has.

    Examples
    --------
    >>> one, other = np.array([(2, 3.0), (7, 1.5)], ENTRY), np.array([(7, 4.0)], ENTRY)
    >>> both_dense(one.tobytes(), other.tobytes()).tolist()
    [[3.0, 1.5], [0.0, 4.0]]
    """
    both = [np.frombuffer(one, ENTRY) for one in (left, right)]
    columns = np.union1d(both[0]["column"], both[1]["column"])
    dense = np.zeros((2, len(columns)))
    for row, one in enumerate(both):
        dense[row, np.searchsorted(columns, one["column"])] = one["value"]
    return dense


def sparse_of(packed: Any) -> Any:
    """Pack dense vectors, packed as 32-bit floats, as sparse ones.

    Examples
    --------
    >>> rows = sparse_of(pa.array([np.array([0, 2], "<f4").tobytes(), None], pa.large_binary()))
    >>> np.frombuffer(rows[0].as_py(), ENTRY).tolist(), rows.null_count
    ([(1, 2.0)], 1)
    """
    data, offsets = buffers_of(packed)
    none = np.asarray(packed.is_null()) if packed.null_count else np.zeros(len(packed), np.bool_)
    counts = np.where(none, 0, np.diff(offsets) // 4)
    values = data[ranges(offsets[:-1], 4 * counts)].view("<f4")
    columns, owners = ranges(np.zeros(len(counts), np.int64), counts), np.repeat(np.arange(len(counts)), counts)
    kept = values != 0
    entries = np.empty(int(np.count_nonzero(kept)), ENTRY)
    entries["column"], entries["value"] = columns[kept], values[kept]
    return _as_column(entries, np.bincount(owners[kept], minlength=len(counts)))


def _as_column(entries: npt.NDArray[Any], counts: npt.NDArray[np.integer]) -> Any:
    valid = pa.py_buffer(np.packbits(counts > 0, bitorder="little"))
    offsets = pa.py_buffer(offsets_of(counts) * ENTRY.itemsize)
    return pa.Array.from_buffers(pa.large_binary(), len(counts), [valid, offsets, pa.py_buffer(entries)])
