"""Pieces that kernels over sets of hashes share: a set in a hash table, and its overlap with another."""

import numpy as np

from twinset.compiled import inlined
from twinset.compiled.bytes_kernels import WEYL, U

SLACK = 1.0 - 1e-12  # rounding margin of a bound; far below one shingle for any set that fits in memory


@inlined
def slot_of(key, mask):  # type: ignore[no-untyped-def]
    return ((key * WEYL) >> U(32)) & mask


@inlined
def table_mask(n, places):  # type: ignore[no-untyped-def]
    """Clear the smallest power of two of `places` that is at least 2 n, and return its mask."""
    size = 8
    while size < 2 * n:
        size *= 2
    for i in range(size):
        places[i] = U(0)
    return U(size - 1)


@inlined
def load(tokens, places):  # type: ignore[no-untyped-def]
    """Insert a set into a hash table, and return its mask."""
    mask = table_mask(len(tokens), places)
    for x in tokens:
        place = x & mask
        while places[place] != U(0):
            place = (place + U(1)) & mask
        places[place] = x
    return mask


@inlined
def count_present(tokens, places, mask, spare):  # type: ignore[no-untyped-def]
    """Number of tokens in the loaded set, or 0 where more than `spare` are missing."""
    count = 0
    for x in tokens:
        place = x & mask
        while places[place] != U(0) and places[place] != x:
            place = (place + U(1)) & mask
        if places[place] == x:
            count += 1
        else:
            spare -= 1
            if spare < 0:
                return 0
    return count


@inlined
def overlap(tokens, places, mask, size, threshold):  # type: ignore[no-untyped-def]
    """Number of tokens in the loaded set of this size, or 0 where Jaccard is below the threshold."""
    total = len(tokens)
    # J >= t means an overlap of at least t/(1+t) (|A|+|B|): at most the rest may be missing
    spare = total - np.int64(threshold / (1.0 + threshold) * (size + total) * SLACK)
    count = count_present(tokens, places, mask, spare)
    return count if count / (size + total - count) >= threshold else 0
