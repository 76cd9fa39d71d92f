"""Kernels that count the shingles that documents share with queries."""

import numpy as np

from twinset.compiled import kernel
from twinset.compiled.bytes_kernels import U


@kernel("void(uint64[::1], int32[::1])")
def place_values(values, table):  # type: ignore[no-untyped-def]
    """Put the positions of distinct values into a hash table.

    values uint64 (n); table int32, written: a power of two of more than n places, -1 where there is no value.
    """
    mask = U(len(table) - 1)
    for i in range(len(table)):
        table[i] = -1
    for i in range(len(values)):
        place = values[i] & mask
        while table[place] >= 0:
            place = (place + U(1)) & mask
        table[place] = np.int32(i)


@kernel("void(uint64[::1], int64[::1], uint32[::1], uint64[::1], int32[::1], int64[::1], int64[::1], uint32[:, ::1])")
def count_shared(hashes, starts, sizes, values, table, firsts, owners, shared):  # type: ignore[no-untyped-def]
    """shared[i, q]: the number of hashes of document i that query q has.

    Document i is hashes[starts[i]:starts[i]+sizes[i]]. values uint64 (n) are the distinct hashes of the queries, table
    their hash table, owners[firsts[v]:firsts[v+1]] int64 the queries that have value v. shared uint32 (documents,
    queries), written.
    """
    mask = U(len(table) - 1)
    shared[:] = 0
    for i in range(len(sizes)):
        for at in range(starts[i], starts[i] + np.int64(sizes[i])):
            x = hashes[at]
            place = x & mask
            while table[place] >= 0 and values[table[place]] != x:
                place = (place + U(1)) & mask
            value = table[place]
            if value >= 0:
                for owner in range(firsts[value], firsts[value + 1]):
                    shared[i, owners[owner]] += np.uint32(1)
