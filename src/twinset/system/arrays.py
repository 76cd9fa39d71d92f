"""Index arrays of ranges, pairs of numbers as words, and reusable buffers."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from twinset.schema import Bytes, Hashes, Places

__all__ = ["Room", "offsets_of", "pair_words", "ranges"]


def ranges(starts: npt.NDArray[np.integer], counts: npt.NDArray[np.integer]) -> Places:
    """Concatenate the ranges starts[i], starts[i] + 1, … (counts[i] numbers each).

    Examples
    --------
    >>> import numpy as np
    >>> ranges(np.array([5, 0, 8]), np.array([3, 0, 2])).tolist()
    [5, 6, 7, 8, 9]
    """
    before = np.cumsum(counts) - counts
    numbers: Places = np.arange(int(counts.sum())) - np.repeat(before - starts, counts)
    return numbers


def offsets_of(counts: npt.NDArray[np.integer]) -> Places:
    """Return the offsets of consecutive runs of these lengths, and the end of the last.

    Examples
    --------
    >>> import numpy as np
    >>> offsets_of(np.array([3, 0, 2])).tolist()
    [0, 3, 3, 5]
    """
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def pair_words(high: npt.NDArray[np.integer], low: npt.NDArray[np.integer]) -> Hashes:
    """Pack pairs of numbers below 2^32 into words, which sort by the first and then the second.

    Examples
    --------
    >>> import numpy as np
    >>> pair_words(np.array([0, 1]), np.array([7, 2], np.uint32)).tolist()
    [7, 4294967298]
    """
    words: Hashes = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    return words


class Room(threading.local):
    """Buffers of each thread for reuse: allocating memory costs more than filling it."""

    hashes: Hashes = np.empty(0, np.uint64)
    bytes: Bytes = np.empty(0, np.uint8)

    def fit(self, size: int) -> Hashes:
        """Return a buffer of at least `size` hashes."""
        if len(self.hashes) < size:
            self.hashes = np.empty(size, np.uint64)
        return self.hashes

    def fit_bytes(self, size: int) -> Bytes:
        """Return a buffer of at least `size` bytes."""
        if len(self.bytes) < size:
            self.bytes = np.empty(size, np.uint8)
        return self.bytes
