"""Samples of shingles: an index stores some shingles of each document as keys, for queries by containment.

With h a strong mix of 64 bits, the samples of a set D are those x of D with h(x) < 2^64 / 8, and the 16 x with the
least h(x). So about an eighth of a large set is sampled, and all of a set of up to 16 shingles. In a large set, x alone
decides whether it is sampled: a shingle that two large sets share is sampled in both or in none.

The key of x in the table `samples` is the upper half of a second mix of x, which reveals nothing about h(x).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from twinset.index.kinds import kernels
from twinset.pairs.sets import Sets
from twinset.schema import Hashes, Places
from twinset.system.arrays import offsets_of

RATE = 8
"""One in this many shingles is sampled."""
LEAST = 16
"""Minimum number of samples of a set that has that many shingles."""
_LIMIT = np.uint64(2**64 // RATE)


def sampled(sets: Sets) -> tuple[Places, npt.NDArray[np.int32]]:
    """Return the keys of the samples of sets: those of set i are keys[offsets[i]:offsets[i+1]].

    Two samples of a set rarely have the same key; it is then returned twice.

    Examples
    --------
    >>> hashes = np.arange(1000, dtype=np.uint64)
    >>> offsets, keys = sampled(Sets(hashes, np.array([0, 10]), np.array([10, 990], np.uint32)))
    >>> offsets.tolist(), len(np.unique(keys))
    ([0, 10, 125], 125)
    """
    sizes = sets.sizes.astype(np.int64)
    room = offsets_of(sizes)
    keys, counts = np.empty(int(room[-1]), np.int32), np.empty(len(sizes), np.int64)
    smallest, which = np.empty(LEAST, np.uint64), np.empty(LEAST, np.uint64)
    starts = np.ascontiguousarray(sets.starts[: len(sizes)])
    used = kernels.sampled(sets.hashes, starts, sizes, _LIMIT, smallest, which, keys, counts)
    return offsets_of(counts), keys[:used].copy()


def keys_of(hashes: Hashes) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Return the keys of the shingles of a query, and whether a set that has one samples it whatever its size.

    Examples
    --------
    >>> keys, low = keys_of(np.arange(1000, dtype=np.uint64))
    >>> len(np.unique(keys)), int(low.sum())
    (1000, 116)
    """
    keys, low = np.empty(len(hashes), np.int32), np.empty(len(hashes), np.bool_)
    kernels.sample_keys(hashes, _LIMIT, keys, low)
    return keys, low
