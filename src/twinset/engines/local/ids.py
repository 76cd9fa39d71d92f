"""Document ids and the columns of the keep policy, by document number."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.errors import ColumnError
from twinset.system.scratch import Spool, packed, unpacked


class DocumentIds:
    """Ids in memory if they fit, otherwise read back from a spool of one Arrow IPC stream per block.

    `row_names` returns the names that replace the ids of a block, or None where these stand.
    """

    def __init__(
        self, spool: Spool, hold_bytes: int, row_names: Callable[[int], pa.Array | None] | None = None
    ) -> None:
        self.spool = spool
        self._row_names = row_names
        self._hold_bytes = hold_bytes
        self._firsts = np.zeros(0, np.int64)
        self._ids: pa.ChunkedArray | None = None
        self._recent: tuple[int, pa.Array] = (-1, None)

    def append(self, ids: pa.Array, columns: dict[str, Any]) -> None:
        """Add a block."""
        batch = pa.record_batch([ids, *columns.values()], names=["id", *(f"column {name}" for name in columns)])
        self.spool.append(packed(batch))

    def finish(self, firsts: npt.NDArray[np.int64]) -> None:
        """Finish appending; `firsts` are the first document numbers of the blocks."""
        self._firsts = firsts
        if self.spool.nbytes <= self._hold_bytes:
            blocks = [self.block_ids(index).cast(pa.large_string()) for index in range(len(firsts))]
            self._ids = pa.chunked_array(blocks, pa.large_string()).combine_chunks()
        self.spool.forget()

    def _block(self, index: int) -> pa.RecordBatch:
        return unpacked(self.spool.read(index))

    def block_ids(self, index: int) -> pa.Array:
        """Return the ids of a block."""
        names = None if self._row_names is None else self._row_names(index)
        return self._block(index).column("id") if names is None else names

    def take(self, numbers: npt.NDArray[Any]) -> pa.Array:
        """Return the ids of these documents as strings."""
        if self._ids is not None:
            return self._ids.take(pa.array(numbers)).cast(pa.string())
        if len(numbers) == 0:
            return pa.array([], pa.string())
        block_of = np.searchsorted(self._firsts, numbers, side="right") - 1
        pieces, order = [], np.argsort(block_of, kind="stable")
        edges = np.flatnonzero(np.diff(block_of[order], prepend=-1))
        for start, end in zip(edges, [*edges[1:], len(order)], strict=True):
            index = int(block_of[order[start]])
            within = numbers[order[start:end]].astype(np.int64) - self._firsts[index]
            pieces.append(self._recent_ids(index).take(pa.array(within)))
        inverse = np.empty(len(order), np.int64)
        inverse[order] = np.arange(len(order))
        return pa.concat_arrays(pieces).take(pa.array(inverse))

    def _recent_ids(self, index: int) -> pa.Array:
        number, ids = self._recent  # read once: another thread may replace it
        if number != index:
            ids = self.block_ids(index)
            self._recent = (index, ids)
        return ids

    def all(self) -> pa.ChunkedArray:
        """Return all ids."""
        if self._ids is not None:
            return pa.chunked_array([self._ids])
        return pa.chunked_array([self.block_ids(index) for index in range(len(self._firsts))], pa.string())

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column of the keep policy for all documents."""
        return column_of([self._block(index).column(f"column {name}") for index in range(len(self._firsts))], name)


def column_of(blocks: list[Any], name: str) -> pa.ChunkedArray:
    """Combine the blocks of a column into one type."""
    kinds = {block.type for block in blocks if not pa.types.is_null(block.type)}
    if len(kinds) > 1:
        texts = {kind for kind in kinds if pa.types.is_string(kind) or pa.types.is_large_string(kind)}
        numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds - texts)
        if not numbers:
            raise ColumnError(
                f"column {name!r} is of different types in different places: {', '.join(sorted(map(str, kinds)))}; "
                "--keep can only order values of one type"
            )
        kinds = {pa.large_string() if texts else pa.float64()}  # numbers among texts are read from the texts
    kind = kinds.pop() if kinds else pa.null()
    return pa.chunked_array([block.cast(kind) for block in blocks], kind)
