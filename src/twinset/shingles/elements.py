"""Hash sets of elements, in portions: the shingling step of items that are sets."""

from collections.abc import Iterator, Sequence

import numpy as np

from twinset.schema import Bytes, Hashes, Places, Shingles
from twinset.shingles.elements_kernels import element_hashes, spread

PORTION = 1 << 17
"""Elements hashed at once."""


def element_sets(data: Bytes, starts: Places, ends: Places, rows: Places, bag: bool, seed: int) -> Iterator[Shingles]:
    """Yield the hashes of the elements of sets, in portions; set i is data[starts[i]:ends[i]], eight bytes an element.

    Examples
    --------
    >>> import numpy as np
    >>> data = np.array([7, 8, 7], np.uint64).view(np.uint8)
    >>> sets = element_sets(data, np.array([0]), np.array([24]), np.array([0]), bag=True, seed=1)
    >>> [len(set(portion.hashes.tolist())) for portion in sets]
    [3]
    """
    counts = (ends - starts) // 8
    reach = np.cumsum(counts)
    first = 0
    while first < len(rows):
        done = int(reach[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(reach, done + PORTION, side="right")))
        few = slice(first, last)
        hashes = np.empty(int(reach[last - 1]) - done, np.uint64)
        offsets = np.empty(last - first + 1, np.int64)
        room = np.empty(int(counts[few].max()), np.uint64)
        element_hashes(data, starts[few], ends[few], bag, np.uint64(seed), room, hashes, offsets)
        yield Shingles(rows[few], offsets, hashes)
        first = last


def together(rows: Places, columns: Sequence[tuple[int, list[Shingles]]]) -> Shingles:
    """Merge the shingles of each record's columns into one set, repeated by the column's weight.

    Shingles of two columns are never equal. `columns` are weights and shingles, whose rows are a subset of the
    ascending `rows`.
    """
    totals = np.zeros(len(rows), np.int64)
    for weight, portions in columns:
        for portion in portions:
            totals[np.searchsorted(rows, portion.rows)] += np.diff(portion.offsets) * weight
    offsets = np.concatenate([[0], np.cumsum(totals)])
    hashes: Hashes = np.empty(int(offsets[-1]), np.uint64)
    ends = offsets[:-1].copy()
    for number, (weight, portions) in enumerate(columns):
        for portion in portions:
            at = np.searchsorted(rows, portion.rows)
            places = ends[at]
            spread(portion.hashes, portion.offsets, number, weight, places, hashes)
            ends[at] = places
    return Shingles(rows, offsets, hashes)
