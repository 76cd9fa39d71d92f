"""Queries of bit codes: what is within a number of bits of a code, and the k nearest, from tables of blocks.

Block b of `masks` uint64 (blocks, words) has the codes grouped by its key in codes[b] (words, n + LANES) and their
numbers in members[b] (n); key k is at the places starts[at[b] + k]:starts[at[b] + k + 1].
"""

import numpy as np

from twinset.candidates.hamming.join_kernels import LANES, differing, met_before, near, next_flip, squeezed
from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, ones, trailing_zeros


@inlined
def key_of(queries, query, masks, steps):  # type: ignore[no-untyped-def]
    """The key of a query in a block."""
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
    queries, masks, steps, widths, at, starts, codes, members, radii, distance, state, asked, numbers, distances
):  # type: ignore[no-untyped-def]
    """Codes within `distance` of each query, each once.

    radii int64 (blocks): a block is asked for keys that differ in so many bits at most, or not at all if negative.
    state int64 (5): query, end of the queries, block, flip, place. Fills asked, numbers and distances, and returns how
    many; state[0] < state[1] if there is more to come.
    """
    query, stop, block, flip, base = state[0], state[1], state[2], U(state[3]), state[4]
    count, room = 0, len(asked) - LANES
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
                        asked[count] = query
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
def keep_nearest(numbers, distances, held, number, bits):  # type: ignore[no-untyped-def]
    """Enter a code among the nearest so far, in order of distance, then of number; return how many there are."""
    k = len(numbers)
    if held == k and (bits > distances[k - 1] or (bits == distances[k - 1] and number > numbers[k - 1])):
        return held
    place = min(held, k - 1)
    while place > 0 and (distances[place - 1] > bits or (distances[place - 1] == bits and numbers[place - 1] > number)):
        distances[place] = distances[place - 1]
        numbers[place] = numbers[place - 1]
        place -= 1
    distances[place] = bits
    numbers[place] = number
    return min(held + 1, k)


@inlined
def scan(queries, query, theirs, members, start, end, step, masks, reached, numbers, distances, held):  # type: ignore[no-untyped-def]
    """Enter the codes of some places among the nearest, but for those that earlier steps have met.

    With step < 0 there were none. reached int64 (blocks) is room.
    """
    most = 64 * theirs.shape[0]
    blocks = len(reached)
    for block in range(blocks):
        reached[block] = (step - 1 - block) // blocks if step > block else -1
    for base in range(start, end, LANES):
        worst = np.int64(distances[len(distances) - 1]) if held == len(distances) else most
        hits = near(theirs, base, queries, query, worst)
        while hits != U(0):
            j = base + trailing_zeros(hits)
            hits &= hits - U(1)
            if j >= end:
                break
            if not met_before(queries, query, theirs, j, masks, reached):
                bits = differing(queries, query, theirs, j)
                held = keep_nearest(numbers, distances, held, members[j], bits)
    return held


@inlined
def choices(width, size):  # type: ignore[no-untyped-def]
    """In how many ways `size` of `width` bits can be chosen, as a float."""
    total = 1.0 if size <= width else 0.0
    for i in range(min(size, width)):
        total *= (width - i) / (i + 1)
    return total


@kernel(
    "void(uint64[:, ::1], uint64[:, ::1], uint64[:, :, ::1], int64[::1], int64[::1], uint32[::1], uint64[:, :, ::1],"
    "uint32[:, ::1], float64, int64, int64, uint32[:, ::1], uint16[:, ::1])"
)
def ask_nearest(queries, masks, steps, widths, at, starts, codes, members, patience, first, last, numbers, distances):  # type: ignore[no-untyped-def]
    """The k nearest codes of the queries from `first` to `last`, in order of distance, then of number.

    Step r asks block r mod m (of m) for keys that differ in r div m bits: after it, every code within r bits has been
    met, so that it is the last as soon as the k-th nearest is that near. Where a step would bring the buckets visited
    to more than `patience`, all codes are compared instead.

    numbers uint32 and distances uint16 (queries, k), written; where there are fewer codes the rest is left as it is.
    """
    blocks, total = len(widths), members.shape[1]
    reached = np.empty(blocks, np.int64)
    for query in range(first, last):
        held, visits, step = 0, 0.0, 0
        while held < min(numbers.shape[1], total) or distances[query, held - 1] >= step:
            block, size = step % blocks, step // blocks
            visits += choices(widths[block], size)
            if visits > patience:
                held = scan(
                    queries, query, codes[0], members[0], 0, total, -1, masks, reached, numbers[query],
                    distances[query], 0,
                )  # fmt: skip
                break
            key = key_of(queries, query, masks[block], steps[block])
            flip = (U(1) << U(size)) - U(1)
            while size <= widths[block] and ones(flip) == size and flip >> U(widths[block]) == U(0):
                bucket = at[block] + np.int64(key ^ flip)
                held = scan(
                    queries, query, codes[block], members[block], np.int64(starts[bucket]),
                    np.int64(starts[bucket + 1]), step, masks, reached, numbers[query], distances[query], held,
                )  # fmt: skip
                flip = next_flip(flip, widths[block])
            step += 1
