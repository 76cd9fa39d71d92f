"""Bottom-k sketches: the k smallest hashes of a set, and the overlap of two sketches."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U


@inlined
def settle(smallest, count, k):  # type: ignore[no-untyped-def]
    """Sort smallest[:count], drop repeats, and return the number left, at most k."""
    smallest[:count].sort()
    distinct = 0
    for i in range(count):
        if distinct == 0 or smallest[i] != smallest[distinct - 1]:
            if distinct == k:
                break
            smallest[distinct] = smallest[i]
            distinct += 1
    return distinct


@kernel("int64(uint64[::1], int64[::1], int64, uint64[::1], int64[::1])")
def least(hashes, offsets, k, values, starts):  # type: ignore[no-untyped-def]
    """Write the k smallest distinct hashes of each row, ascending, row after row.

    hashes uint64, offsets int64 (n + 1), values uint64 (hashes) and starts int64 (n + 1), written. Returns the number.
    """
    smallest = np.empty(4 * k + 64, np.uint64)
    starts[0] = 0
    at = 0
    for row in range(len(offsets) - 1):
        count = 0
        bound = ~U(0)
        for i in range(offsets[row], offsets[row + 1]):
            x = hashes[i]
            if x <= bound:
                smallest[count] = x
                count += 1
                if count == len(smallest):
                    count = settle(smallest, count, k)
                    if count == k:
                        bound = smallest[k - 1]
        count = settle(smallest, count, k)
        for j in range(count):
            values[at + j] = smallest[j]
        at += count
        starts[row + 1] = at
    return at


@inlined
def meet(left, right, k):  # type: ignore[no-untyped-def]
    """Of the k smallest of the union of two sketches: how many both have, and how many there are."""
    i, j, shared, seen = 0, 0, 0, 0
    while seen < k and (i < len(left) or j < len(right)):
        if j == len(right) or (i < len(left) and left[i] < right[j]):
            i += 1
        elif i == len(left) or right[j] < left[i]:
            j += 1
        else:
            shared += 1
            i += 1
            j += 1
        seen += 1
    return shared, seen


@kernel("void(uint32[::1], uint32[::1], uint64[::1], int64[::1], int64, uint32[::1], uint32[::1])")
def meetings(lefts, rights, values, starts, k, shared, seen):  # type: ignore[no-untyped-def]
    """shared[i] and seen[i]: of the k smallest of the union of sketches lefts[i] and rights[i], those of both, and all.

    values uint64: sketch j is values[starts[j]:starts[j + 1]], ascending.
    """
    for i in range(len(lefts)):
        left = values[starts[lefts[i]] : starts[lefts[i] + 1]]
        right = values[starts[rights[i]] : starts[rights[i] + 1]]
        shared[i], seen[i] = meet(left, right, k)
