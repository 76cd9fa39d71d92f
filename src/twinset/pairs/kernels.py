"""Candidates to pairs.

Exact set sizes and overlaps of shingle sets, through small hash tables that stay in the processor's cache.
"""

import numpy as np

from twinset.bytes_kernels import U
from twinset.compiled import inlined, kernel


@inlined
def table_mask(n, places):  # type: ignore[no-untyped-def]
    """Mask of the least power of two over twice n, which `places` has room for; that part of `places` is cleared."""
    size = 8
    while size < 2 * n:
        size *= 2
    for i in range(size):
        places[i] = U(0)
    return U(size - 1)


@kernel("void(uint64[::1], int64[::1], int64[::1], uint64[::1], int64[::1], uint32[::1], uint64[::1])")
def distinct(hashes, offsets, chosen, sets, starts, sizes, places):  # type: ignore[no-untyped-def]
    """Write the distinct hashes of each chosen row to sets[starts[i]:], and how many to sizes[i].

    hashes uint64, offsets int64, chosen int64 (rows), sets uint64, starts int64, sizes uint32, places uint64: scratch,
    a power of two over twice the longest row.
    """
    for i in range(len(chosen)):
        row = hashes[offsets[chosen[i]] : offsets[chosen[i] + 1]]
        out = sets[starts[i] :]
        mask = table_mask(len(row), places)
        count = 0
        for x in row:
            place = x & mask
            while places[place] != U(0) and places[place] != x:
                place = (place + U(1)) & mask
            if places[place] == U(0):
                places[place] = x
                out[count] = x
                count += 1
        sizes[i] = count


@kernel("void(uint32[::1], uint32[::1], uint64[::1], int64[::1], uint32[::1], float64, uint64[::1], uint32[::1])")
def overlaps(lefts, rights, sets, starts, sizes, threshold, places, shared):  # type: ignore[no-untyped-def]
    """shared[i].

    How many hashes the sets of lefts[i] and rights[i] have in common, or 0 where Jaccard is below `threshold`.

    lefts, rights uint32: places of the sets, equal lefts together; set j is sets[starts[j]:starts[j]+sizes[j]]; places
    uint64: scratch, a power of two over twice the largest set. With threshold 0 every overlap is counted.
    """
    loaded = -1
    mask = U(0)
    for i in range(len(lefts)):
        left, right = np.int64(lefts[i]), np.int64(rights[i])
        n_left, n_right = np.int64(sizes[left]), np.int64(sizes[right])
        shared[i] = 0
        if min(n_left, n_right) < threshold * max(n_left, n_right) * (1.0 - 1e-12):
            continue
        if left != loaded:
            mask = table_mask(n_left, places)
            for x in sets[starts[left] : starts[left] + n_left]:
                place = x & mask
                while places[place] != U(0):
                    place = (place + U(1)) & mask
                places[place] = x
            loaded = left
        # J >= t means an overlap of at least t/(1+t) (|A|+|B|): so many of B may be missing from A, and no more
        spare = n_right - np.int64(threshold / (1.0 + threshold) * (n_left + n_right) * (1.0 - 1e-12))
        count = 0
        for x in sets[starts[right] : starts[right] + n_right]:
            place = x & mask
            while places[place] != U(0) and places[place] != x:
                place = (place + U(1)) & mask
            if places[place] == x:
                count += 1
            else:
                spare -= 1
                if spare < 0:
                    break
        if spare >= 0 and count / (n_left + n_right - count) >= threshold:
            shared[i] = count
