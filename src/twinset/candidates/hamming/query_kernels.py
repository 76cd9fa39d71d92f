"""Queries of bit codes: all within a Hamming distance, and the k nearest, from tables of blocks.

Block b of `masks` uint64 (blocks, words) has the codes grouped by its key in codes[b] (words, n + LANES) and their
numbers in members[b] (n); key k is at the places starts[at[b] + k]:starts[at[b] + k + 1].
"""

import numpy as np

from twinset.candidates.hamming.join_kernels import LANES, differing, met_before, near, next_flip, squeezed
from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, ones, trailing_zeros


@inlined
def key_of(queries, query, masks, steps):  # type: ignore[no-untyped-def]
    """Key of a query in a block."""
    key, at = U(0), 0
    for word in range(len(masks)):
        key |= squeezed(queries[word, query] & masks[word], steps[word]) << U(at)
        at += ones(masks[word])
    return key


@kernel(
    "int64(uint64[:, ::1], uint64[:, ::1], uint64[:, :, ::1], int64[::1], int64[::1], uint32[::1], uint64[:, :, ::1],"
    "uint32[:, ::1], int64[::1], int64, int64[::1], uint32[::1], uint32[::1], uint16[::1])"
)
def ask_within(
    queries, masks, steps, widths, at, starts, codes, members, radii, distance, state, query_rows, numbers, distances
):  # type: ignore[no-untyped-def]
    """Find the codes within `distance` of each query, each once.

    radii int64 (blocks): maximum number of differing key bits; negative skips the block. state int64 (5): query, end of
    the queries, block, flip, position. Fills query_rows, numbers, distances; returns the number of results; state[0]
    < state[1] if more follow.
    """
    query, stop, block, flip, base = state[0], state[1], state[2], U(state[3]), state[4]
    count, room = 0, len(query_rows) - LANES
    while query < stop:
        while block < len(radii):
            theirs, width = codes[block], widths[block]
            key = key_of(queries, query, masks[block], steps[block])
            while ones(flip) <= radii[block] and flip >> U(width) == U(0):
                bucket = at[block] + np.int64(key ^ flip)
                base = np.int64(starts[bucket]) if base < 0 else base
                end = np.int64(starts[bucket + 1])
                while base < end:
                    if count > room:
                        state[0], state[2], state[3], state[4] = query, block, np.int64(flip), base
                        return count
                    hits = near(theirs, base, queries, query, distance)
                    while hits != U(0):
                        j = base + trailing_zeros(hits)
                        hits &= hits - U(1)
                        if j >= end:
                            break
                        bits = differing(queries, query, theirs, j)
                        if bits > distance or met_before(queries, query, theirs, j, masks[:block], radii[:block]):
                            continue
                        query_rows[count] = query
                        numbers[count] = members[block, j]
                        distances[count] = bits
                        count += 1
                    base += LANES
                base = -1
                flip = next_flip(flip, width)
            flip = U(0)
            block += 1
        block = 0
        query += 1
    state[0] = query
    return count


@inlined
def keep_nearest(numbers, distances, count, number, bits):  # type: ignore[no-untyped-def]
    """Insert a code into the nearest so far, by distance, then number; return their count."""
    k = len(numbers)
    if count == k and (bits > distances[k - 1] or (bits == distances[k - 1] and number > numbers[k - 1])):
        return count
    place = min(count, k - 1)
    while place > 0 and (distances[place - 1] > bits or (distances[place - 1] == bits and numbers[place - 1] > number)):
        distances[place] = distances[place - 1]
        numbers[place] = numbers[place - 1]
        place -= 1
    distances[place] = bits
    numbers[place] = number
    return min(count + 1, k)


@inlined
def scan(queries, query, theirs, members, start, end, step, masks, reached, numbers, distances, count):  # type: ignore[no-untyped-def]
    """Insert the codes of some positions into the nearest, except those of earlier steps (none if step < 0).

    reached int64 (blocks): scratch.
    """
    most = 64 * theirs.shape[0]
    blocks = len(reached)
    for block in range(blocks):
        reached[block] = (step - 1 - block) // blocks if step > block else -1
    for base in range(start, end, LANES):
        worst = np.int64(distances[len(distances) - 1]) if count == len(distances) else most
        hits = near(theirs, base, queries, query, worst)
        while hits != U(0):
            j = base + trailing_zeros(hits)
            hits &= hits - U(1)
            if j >= end:
                break
            if not met_before(queries, query, theirs, j, masks, reached):
                bits = differing(queries, query, theirs, j)
                count = keep_nearest(numbers, distances, count, members[j], bits)
    return count


@inlined
def choices(width, size):  # type: ignore[no-untyped-def]
    """Binomial coefficient of `width` and `size`, as a float."""
    total = 1.0 if size <= width else 0.0
    for i in range(min(size, width)):
        total *= (width - i) / (i + 1)
    return total


@kernel(
    "void(uint64[:, ::1], uint64[:, ::1], uint64[:, :, ::1], int64[::1], int64[::1], uint32[::1], uint64[:, :, ::1],"
    "uint32[:, ::1], float64, int64, int64, uint32[:, ::1], uint16[:, ::1])"
)
def ask_nearest(queries, masks, steps, widths, at, starts, codes, members, patience, first, last, numbers, distances):  # type: ignore[no-untyped-def]
    """Find the k nearest codes of the queries from `first` to `last`, by distance, then number.

    Step r queries block r mod m (of m) for keys that differ in r div m bits. After it every code within r bits has been
    seen, so the search ends when the k-th nearest is within r. Where a step would visit more than `patience` buckets in
    total, all codes are compared instead.

    numbers uint32 and distances uint16 (queries, k), written; with fewer codes the rest is unchanged.
    """
    blocks, total = len(widths), members.shape[1]
    reached = np.empty(blocks, np.int64)
    for query in range(first, last):
        count, visits, step = 0, 0.0, 0
        while count < min(numbers.shape[1], total) or distances[query, count - 1] >= step:
            block, size = step % blocks, step // blocks
            visits += choices(widths[block], size)
            if visits > patience:
                count = scan(
                    queries, query, codes[0], members[0], 0, total, -1, masks, reached, numbers[query],
                    distances[query], 0,
                )  # fmt: skip
                break
            key = key_of(queries, query, masks[block], steps[block])
            flip = (U(1) << U(size)) - U(1)
            while size <= widths[block] and ones(flip) == size and flip >> U(widths[block]) == U(0):
                bucket = at[block] + np.int64(key ^ flip)
                count = scan(
                    queries, query, codes[block], members[block], np.int64(starts[bucket]),
                    np.int64(starts[bucket + 1]), step, masks, reached, numbers[query], distances[query], count,
                )  # fmt: skip
                flip = next_flip(flip, widths[block])
            step += 1
