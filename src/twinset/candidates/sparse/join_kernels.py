"""Join sparse vectors by an inverted list of their rarest columns.

Vectors have length 1. Columns are numbered from the most frequent to the rarest, vectors from the rarest first listed
column on: `candidates.sparse` explains why this finds every pair.
"""

import numpy as np

from twinset.compiled import inlined, kernel

MET = np.float32(1e-30)
"""A sum that is next to nothing, of a vector that was met."""


@kernel("void(int64[::1], uint32[::1], float32[::1], float64, int64[::1], float32[::1])")
def split(offsets, columns, values, limit, heads, lengths):  # type: ignore[no-untyped-def]
    """Split each vector into a head shorter than `limit`, which is not listed, and the rest.

    offsets int64 (n + 1), columns uint32 ascending in each vector, values float32. Writes heads int64 (n), the number
    of entries of each head, and lengths float32 (n), its length.
    """
    for row in range(len(offsets) - 1):
        total = 0.0
        at = offsets[row]
        while at < offsets[row + 1]:
            value = np.float64(values[at])
            if total + value * value >= limit * limit:
                break
            total += value * value
            at += 1
        heads[row] = at - offsets[row]
        lengths[row] = np.float32(np.sqrt(total))


@kernel("void(read(int64), read(uint32), read(float32), int64[::1], int64[::1], uint32[::1], float32[::1])")
def invert(offsets, columns, values, heads, ends, rows, listed):  # type: ignore[no-untyped-def]
    """Fill the lists of all columns with the entries behind the heads: rows uint32 ascending in a list, listed float32.

    ends int64 (columns): the start of each list, turned into its end.
    """
    for row in range(len(offsets) - 1):
        for at in range(offsets[row] + heads[row], offsets[row + 1]):
            place = ends[columns[at]]
            rows[place], listed[place] = row, values[at]
            ends[columns[at]] = place + 1


@inlined
def bound_buckets(start, end, columns, values, firsts, bounds):  # type: ignore[no-untyped-def]
    """For each bucket of positions, the length of the query's part before the first listed columns of its vectors.

    firsts: that column of the first vector of each bucket, descending.
    """
    total = 0.0
    at = start
    for bucket in range(len(firsts) - 1, -1, -1):
        while at < end and np.int64(columns[at]) < firsts[bucket]:
            value = np.float64(values[at])
            total += value * value
            at += 1
        bounds[bucket] = np.float32(np.sqrt(total))


@kernel(
    "int64(int64[::1], uint32[::1], float32[::1], int64[::1], float32[::1], int64[::1], int64[::1], int64, int64[::1],"
    "uint32[::1], float32[::1], float32, int64[::1], float32[::1], float32[::1], uint32[::1], uint32[::1],"
    "uint32[::1])"
)
def join(
    offsets, columns, values, heads, lengths, queries, firsts, shift, starts, rows, listed, least, state, sums,
    spread, met, lefts, rights,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Find the earlier vectors whose cosine with a query may reach `least`.

    offsets, columns, values, heads, lengths: all vectors (see `split`); queries int64: their positions; firsts int64:
    see `bound_buckets`, buckets are of 2**shift positions; starts, rows, listed: the lists.
    sums float32 (n) and spread float32 (columns): zeros, left so; met uint32 (n): scratch. Fills lefts and rights and
    returns the number of pairs; state[0] is the query to go on with, state[1] counts the vectors met, state[2] those
    multiplied out.
    """
    bounds = np.empty(len(firsts), np.float32)
    count = 0
    while state[0] < len(queries) and count + len(met) <= len(lefts):
        query = queries[state[0]]
        start, end = offsets[query], offsets[query + 1]
        seen = 0
        for at in range(start + heads[query], end):
            value = values[at]
            column = columns[at]
            for place in range(starts[column], starts[column + 1]):
                row = rows[place]
                if row >= query:
                    break
                before = sums[row]
                met[seen] = row
                seen += before == np.float32(0.0)
                after = before + value * listed[place]
                sums[row] = after if after != np.float32(0.0) else MET  # terms may cancel out
        state[0] += 1
        state[1] += seen
        if seen == 0:
            continue
        bound_buckets(start, end, columns, values, firsts, bounds)
        for at in range(start, end):
            spread[columns[at]] = values[at]
        for place in range(seen):
            row = met[place]
            total = sums[row]
            sums[row] = np.float32(0.0)
            if total + lengths[row] * bounds[row >> shift] < least:
                continue
            state[2] += 1
            for at in range(offsets[row], offsets[row] + heads[row]):
                total += spread[columns[at]] * values[at]
            if total >= least:
                lefts[count], rights[count] = row, query
                count += 1
        for at in range(start, end):
            spread[columns[at]] = np.float32(0.0)
    return count
