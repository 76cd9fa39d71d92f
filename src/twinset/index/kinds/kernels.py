"""Kernels that compare stored sketches and bit codes with those of queries, sample shingles, and count shared ones."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import WEYL, U, fmix64, ones


@kernel("void(uint32[:, ::1], uint32[:, ::1], int64[::1], int64[::1], uint32, uint32[::1])")
def matches(left_slots, right_slots, lefts, rights, mask, out):  # type: ignore[no-untyped-def]
    """out[i]: the number of slots in which rows lefts[i] and rights[i] are equal in the bits of mask.

    left_slots, right_slots uint32 (n, k), (m, k); lefts, rights int64 (p); out uint32 (p), written.
    """
    k = left_slots.shape[1]
    for i in range(len(lefts)):
        left, right = left_slots[lefts[i]], right_slots[rights[i]]
        count = 0
        for j in range(k):
            if (left[j] ^ right[j]) & mask == 0:
                count += 1
        out[i] = count


@kernel("void(uint64[:, ::1], uint64[:, ::1], int64[::1], int64[::1], uint32[::1])")
def differing_bits(left_codes, right_codes, lefts, rights, out):  # type: ignore[no-untyped-def]
    """out[i]: the Hamming distance of rows lefts[i] and rights[i].

    left_codes, right_codes uint64 (n, words), (m, words); lefts, rights int64 (p); out uint32 (p), written.
    """
    words = left_codes.shape[1]
    for i in range(len(lefts)):
        left, right = left_codes[lefts[i]], right_codes[rights[i]]
        count = 0
        for j in range(words):
            count += ones(left[j] ^ right[j])
        out[i] = count


@kernel("int64(uint64[::1], uint64[:, ::1], int64, int64[::1], uint32[::1])")
def within_bits(query, codes, most, places, out):  # type: ignore[no-untyped-def]
    """Find rows of codes within a Hamming distance of a query: their positions, distances and number.

    query uint64 (words); codes uint64 (n, words); places int64 (n), out uint32 (n), written from the start.
    """
    found = 0
    for row in range(len(codes)):
        count = 0
        for j in range(len(query)):
            count += ones(query[j] ^ codes[row, j])
        if count <= most:
            places[found], out[found] = row, count
            found += 1
    return found


@inlined
def sample_hash(x):  # type: ignore[no-untyped-def]
    return fmix64(x ^ WEYL)


@inlined
def sample_key(x):  # type: ignore[no-untyped-def]
    return np.int32(fmix64(x + WEYL) >> U(32))


@kernel("int64(uint64[::1], int64[::1], int64[::1], uint64, uint64[::1], uint64[::1], int32[::1], int64[::1])")
def sampled(hashes, starts, sizes, limit, smallest, which, keys, counts):  # type: ignore[no-untyped-def]
    """Sample sets: the members whose mix is below `limit`, and as many with the least mixes as `smallest` has room for.

    Set i is hashes[starts[i]:starts[i]+sizes[i]]. smallest, which uint64 (m) are scratch. keys int32 (sizes.sum()) and
    counts int64 (n) are written; the keys of all sets follow each other, and their number is returned.
    """
    used, room = 0, len(smallest)
    for i in range(len(starts)):
        begin, kept = used, 0
        for at in range(starts[i], starts[i] + sizes[i]):
            x = hashes[at]
            h = sample_hash(x)
            if h < limit:
                keys[used] = sample_key(x)
                used += 1
            if kept < room or h < smallest[kept - 1]:
                place = min(kept, room - 1)
                while place > 0 and smallest[place - 1] > h:
                    smallest[place], which[place] = smallest[place - 1], which[place - 1]
                    place -= 1
                smallest[place], which[place] = h, x
                kept = min(kept + 1, room)
        if used - begin < room:  # otherwise the least mixes are all below the limit
            used = begin
            for j in range(kept):
                keys[used] = sample_key(which[j])
                used += 1
        counts[i] = used - begin
    return used


@kernel("void(uint64[::1], uint64, int32[::1], bool_[::1])")
def sample_keys(hashes, limit, keys, low):  # type: ignore[no-untyped-def]
    """keys[i]: the key of hashes[i] as a sample; low[i]: whether its mix is below `limit`."""
    for i in range(len(hashes)):
        keys[i] = sample_key(hashes[i])
        low[i] = sample_hash(hashes[i]) < limit


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
