"""Sort pairs of documents within the memory budget."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from twinset.system.arrays import pair_words
from twinset.system.scratch import Spool

Rows = npt.NDArray[np.uint32]
"""(n, 3): two numbers and a count."""

_IN_HAND = 6  # memory used for sorting, as a multiple of the rows


def sorted_portions(
    spool: Spool, values: int, limit: int, change: Callable[[Rows], Rows] | None = None
) -> Iterator[Rows]:
    """Yield all rows in portions, sorted by their first two columns.

    Rows with the same first column stay in one portion. `change` is applied to each record first; afterwards the first
    column is below `values`. If the rows do not fit in memory, each range of them takes one pass over the spool.
    """

    def records() -> Iterator[Rows]:
        for record in spool.chunks():
            yield record if change is None else change(record)

    if spool.nbytes * _IN_HAND <= limit or values == 0:
        yield from _sorted(list(records()))
        return
    counts = np.zeros(values, np.int64)
    for record in records():
        np.add.at(counts, record[:, 0], 1)
    range_of = np.cumsum(counts) * 12 * _IN_HAND // max(1, limit)
    del counts
    for number in np.unique(range_of):
        first, last = np.searchsorted(range_of, [number, number + 1])
        chosen = [record[(record[:, 0] >= first) & (record[:, 0] < last)] for record in records()]
        yield from _sorted(chosen)


def _sorted(pieces: list[Rows]) -> Iterator[Rows]:
    rows = np.concatenate(pieces) if pieces else np.empty((0, 3), np.uint32)
    if len(rows):
        yield rows[np.argsort(pair_words(rows[:, 0], rows[:, 1]), kind="stable")]
