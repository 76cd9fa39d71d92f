"""Find the nearest sparse vectors of each by inverted lists of columns, the rarest first.

Vectors have length 1. Columns are numbered from the most frequent to the rarest.
"""

import numpy as np

from twinset.candidates.sparse_kernels import MET
from twinset.compiled import inlined, kernel

_ENOUGH = 2  # lists are read on while the rest of them is shorter than so many times the number of vectors
_MULTIPLIED = 32  # multiplying two vectors costs as much as reading so many entries of lists


@kernel("void(int64[::1], uint32[::1], float32[::1], int64[::1], float32[:, ::1])")
def cut_lengths(offsets, columns, values, cuts, lengths):  # type: ignore[no-untyped-def]
    """Write the length of each vector before each cut, a number of columns: cuts int64, descending; lengths written.

    lengths float32 (cuts, n).
    """
    for row in range(len(offsets) - 1):
        total, at = 0.0, offsets[row]
        for cut in range(len(cuts) - 1, -1, -1):
            while at < offsets[row + 1] and np.int64(columns[at]) < cuts[cut]:
                total += np.float64(values[at]) * np.float64(values[at])
                at += 1
            lengths[cut, row] = np.float32(np.sqrt(total))


@inlined
def product_before(row, stop, offsets, columns, values, spread):  # type: ignore[no-untyped-def]
    """Product of a vector with the spread one, of the columns before `stop`."""
    total = np.float32(0.0)
    at = offsets[row]
    while at < offsets[row + 1] and np.int64(columns[at]) < stop:
        total += spread[columns[at]] * values[at]
        at += 1
    return total


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
def among(row, query, groups):  # type: ignore[no-untyped-def]
    """Whether a vector may be a neighbour of the query: another one, of the same group."""
    return row != query and (len(groups) == 0 or groups[row] == groups[query])


@inlined
def reached(query, stop, low, high, groups, offsets, columns, values, sums, spread, best, rows):  # type: ignore[no-untyped-def]
    """A product that as many vectors as wanted reach: the least among those with the greatest sums; -2 if too few.

    best, rows: scratch, of the wanted number.
    """
    count = 0
    for row in range(low, high):
        if (count < len(best) or sums[row] > best[count - 1]) and among(row, query, groups):
            place = count if count < len(best) else count - 1
            while place > 0 and best[place - 1] < sums[row]:
                best[place], rows[place] = best[place - 1], rows[place - 1]
                place -= 1
            best[place], rows[place] = sums[row], row
            count = min(count + 1, len(best))
    if count < len(best):
        return np.float32(-2.0)
    least = np.float32(2.0)
    for place in range(count):
        row = rows[place]
        least = min(least, sums[row] + product_before(row, stop, offsets, columns, values, spread))
    return least


@inlined
def alive(query, low, high, groups, sums, length, lengths, least):  # type: ignore[no-untyped-def]
    """How many vectors may still reach `least`."""
    count = 0
    for row in range(low, high):
        count += sums[row] + length * lengths[row] >= least and among(row, query, groups)
    return count


@inlined
def emit(
    query, stop, low, high, groups, offsets, columns, values, sums, spread, length, lengths, least, slack, best, rows,
    totals, out, count,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Multiply out what may be among the best, and append what can be, within the margin; return the new count.

    Vectors without a column in common with the query have a cosine of 0; the first ones of them are enough.
    """
    held = seen = unmet = 0
    for row in range(low, high):
        if sums[row] + length * lengths[row] < least or not among(row, query, groups):
            continue
        total = sums[row]
        if stop > 0:
            total += product_before(row, stop, offsets, columns, values, spread)
        elif total == np.float32(0.0):
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
    "int64(int64[::1], uint32[::1], float32[::1], int64[::1], int64[::1], uint32[::1], float32[::1], int64[::1],"
    "float32[:, ::1], uint64[::1], int64, int64, int64, float32, float32, int64[::1], float32[::1], float32[::1],"
    "uint32[::1], float32[::1], uint32[::1], int64[::1])"
)
def nearest(
    offsets, columns, values, queries, starts, listed_rows, listed, cuts, lengths, groups, low, high, wanted, limit,
    slack, state, sums, spread, rows, totals, out, ends,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Find vectors among which are the `wanted` nearest of each query, and all that are as near as the last of them.

    offsets, columns, values: all vectors; queries int64: positions; starts, listed_rows, listed: lists of all entries
    of the vectors low to high, which alone are neighbours; cuts, lengths: see `cut_lengths`, the last cut is 0; groups
    uint64 (n), or empty: neighbours are of the same group. limit: minimum cosine; slack: margin for rounding, twice.
    sums float32 (n), rows and totals (n): scratch; spread float32 (columns): zeros, left so. Writes candidates to out
    and their end of each query to ends; returns their number; state[0] is the query to go on with.
    """
    best = np.empty(wanted, np.float32)
    count = 0
    while state[0] < len(queries) and count + high - low <= len(out):
        query = queries[state[0]]
        start, end = offsets[query], offsets[query + 1]
        left = 0
        for at in range(start, end):
            spread[columns[at]] = values[at]
            left += starts[columns[at] + 1] - starts[columns[at]]
        sums[low:high] = np.float32(0.0)
        cut, stop, least, at = 0, np.int64(0), limit, end - 1
        while at >= start:
            while np.int64(columns[at]) < cuts[cut]:
                if left > _ENOUGH * (high - low):
                    reach = reached(
                        query, cuts[cut], low, high, groups, offsets, columns, values, sums, spread, best, rows
                    )
                    least = max(least, reach - slack)
                    length = lengths[cut, query]
                    many = alive(query, low, high, groups, sums, length, lengths[cut], least)
                    if least > 0 and many * _MULTIPLIED < left:
                        stop = cuts[cut]
                        break
                cut += 1
            if stop > 0:
                break
            for place in range(starts[columns[at]], starts[columns[at] + 1]):
                row = listed_rows[place]
                after = sums[row] + values[at] * listed[place]
                sums[row] = after if after != np.float32(0.0) else MET  # terms may cancel out
            left -= starts[columns[at] + 1] - starts[columns[at]]
            at -= 1
        cut = cut if stop > 0 else len(cuts) - 1
        count = emit(
            query, stop, low, high, groups, offsets, columns, values, sums, spread, lengths[cut, query], lengths[cut],
            least, slack, best, rows, totals, out, count,
        )  # fmt: skip
        for at in range(start, end):
            spread[columns[at]] = np.float32(0.0)
        ends[state[0]] = count
        state[0] += 1
    return count
