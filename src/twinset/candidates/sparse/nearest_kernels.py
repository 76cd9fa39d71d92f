"""Find the nearest sparse vectors of each by inverted lists of columns. Vectors have length 1."""

import numpy as np

from twinset.candidates.sparse.join_kernels import MET
from twinset.compiled import inlined, kernel


@inlined
def least_of_best(best, count, value):  # type: ignore[no-untyped-def]
    """Insert a value into the greatest so far, which ascend at the end of `best`; return how many there are."""
    if count == len(best):
        if value <= best[0]:
            return count
        place = 0
    else:
        count += 1
        place = len(best) - count
    while place + 1 < len(best) and best[place + 1] < value:
        best[place] = best[place + 1]
        place += 1
    best[place] = value
    return count


@inlined
def emit(query, low, high, groups, sums, least, slack, best, rows, totals, out, count):  # type: ignore[no-untyped-def]
    """Append what can be among the best, within the margin; return the new count.

    Vectors without a column in common with the query have a cosine of 0; the first ones of them are enough.
    """
    held = seen = unmet = 0
    for row in range(low, high):
        total = sums[row]
        if total < least or row == query or (len(groups) > 0 and groups[row] != groups[query]):
            continue
        if total == np.float32(0.0):
            unmet += 1
            if unmet > len(best):
                continue
        held = least_of_best(best, held, total)
        if held == len(best):
            least = max(least, best[0] - slack)
        rows[seen], totals[seen] = row, total
        seen += 1
    for place in range(seen):
        if totals[place] >= least:
            out[count] = rows[place]
            count += 1
    return count


@kernel(
    "int64(int64[::1], uint32[::1], float32[::1], int64[::1], int64[::1], uint32[::1], float32[::1], uint64[::1],"
    "int64, int64, int64, float32, float32, int64[::1], float32[::1], uint32[::1], float32[::1], uint32[::1],"
    "int64[::1])"
)
def nearest(
    offsets, columns, values, queries, starts, listed_rows, listed, groups, low, high, wanted, limit, slack, state,
    sums, rows, totals, out, ends,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Find vectors among which are the `wanted` nearest of each query, and all that are as near as the last of them.

    offsets, columns, values: all vectors; queries int64: positions; starts, listed_rows, listed: lists of all entries
    of the vectors low to high, which alone are neighbours; groups uint64 (n), or empty: neighbours are of the same
    group. limit: minimum cosine; slack: margin for rounding, twice. sums float32, rows and totals (n): scratch. Writes
    candidates to out and their end of each query to ends; returns their number; state[0] is the query to go on with.
    """
    best = np.empty(wanted, np.float32)
    count = 0
    while state[0] < len(queries) and count + high - low <= len(out):
        query = queries[state[0]]
        sums[low:high] = np.float32(0.0)
        for at in range(offsets[query], offsets[query + 1]):
            value = values[at]
            for place in range(starts[columns[at]], starts[columns[at] + 1]):
                row = listed_rows[place]
                after = sums[row] + value * listed[place]
                sums[row] = after if after != np.float32(0.0) else MET  # terms may cancel out
        count = emit(query, low, high, groups, sums, limit, slack, best, rows, totals, out, count)
        ends[state[0]] = count
        state[0] += 1
    return count
