"""Kernels of the search for the nearest sets: counts from inverted lists, bits in common, and the bounds."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import ones
from twinset.compiled.heap_kernels import keep_best, position_above
from twinset.compiled.set_kernels import SLACK

LIMITS = 64  # numbers of shared elements for which a largest partner is known
FIRST_SHARE = 8  # the rarest elements of a query, with this part of its entries, give the first bound
DENSE = 16  # a query with more entries than this part of the sets is compared with all of them
BLOCK = 256  # sets compared at a time
MERGED = 4  # entries of lists that cost as much as an element of two sets compared


@inlined
def common_bits(query_bits, bits, b):  # type: ignore[no-untyped-def]
    """Number of bits that a bitmap has in common with column b of `bits`."""
    count = 0
    for w in range(len(query_bits)):
        count += ones(query_bits[w] & bits[w, b])
    return count


@inlined
def common_listed(one, other):  # type: ignore[no-untyped-def]
    """Number of common values of two ascending arrays."""
    i, j, count = 0, 0, 0
    while i < len(one) and j < len(other):
        x, y = one[i], other[j]
        count += x == y
        i += x <= y
        j += y <= x
    return count


@inlined
def offer(nearest, ranks, k, best, bound, size, other, position, overlap):  # type: ignore[no-untyped-def]
    """Keep a set of `other` elements if it is among the best k so far; return their number and the bound."""
    scores, positions, shared = nearest
    score = overlap / (size + other - overlap)
    if score >= bound:
        best = keep_best(scores, positions, shared, ranks, best, k, score, position, overlap)
        if best == k:
            bound = max(bound, scores[0])
    return best, bound


@inlined
def count_met(entries, counts, touched, met):  # type: ignore[no-untyped-def]
    """Count one more shared element for each set of a list; return the number of sets met so far."""
    for b in entries:
        if counts[b] == 0:
            touched[met] = b
            met += 1
        counts[b] += np.uint32(1)
    return met


@inlined
def first_bound(me, size, query, query_bits, sets, met, counts, touched, k):  # type: ignore[no-untyped-def]
    """The least similarity of the k sets with the most in common so far: no set below it is among the k nearest.

    0 if fewer sets were met.
    """
    sizes, offsets, listed, bits = sets[0], sets[2], sets[3], sets[4]
    tally = np.zeros(LIMITS, np.int64)
    for i in range(met):
        count = np.int64(counts[touched[i]])
        tally[count if count < LIMITS else LIMITS - 1] += 1
    most, left = LIMITS - 1, k + 1  # one more, since the query may be among them
    while most > 0 and tally[most] < left:
        left -= tally[most]
        most -= 1
    if most == 0:
        return 0.0
    found, least = 0, 1.0
    for i in range(met):
        b = np.int64(touched[i])
        count = np.int64(counts[b])
        count = count if count < LIMITS else LIMITS - 1
        if count >= most and b != me and found < k:
            if count == most:
                if left == 0:
                    continue
                left -= 1
            found += 1
            overlap = common_listed(query, listed[offsets[b] : offsets[b + 1]]) + common_bits(query_bits, bits, b)
            least = min(least, overlap / (size + np.int64(sizes[b]) - overlap))
    return least if found == k else 0.0


@inlined
def largest_partners(bound, size, more, sizes, limits):  # type: ignore[no-untyped-def]
    """limits[c]: the first position of a set too large to reach the bound if c elements and `more` are shared."""
    for c in range(LIMITS):
        limits[c] = len(sizes)
        if bound > 0.0 and c < LIMITS - 1:
            limits[c] = position_above(sizes, np.floor((c + more) * (1.0 + bound) / bound / SLACK - size))


@inlined
def limit_of(limits, count):  # type: ignore[no-untyped-def]
    """The first position of a set too large if it shares `count` elements so far."""
    return limits[count if count < LIMITS else LIMITS - 1]


@inlined
def part_between(entries, low, high):  # type: ignore[no-untyped-def]
    """The part of an ascending list whose positions are in [low, high)."""
    first, last = 0, len(entries)
    while first < last:
        middle = (first + last) >> 1
        if entries[middle] < low:
            first = middle + 1
        else:
            last = middle
    start, last = first, len(entries)
    while first < last:
        middle = (first + last) >> 1
        if entries[middle] < high:
            first = middle + 1
        else:
            last = middle
    return entries[start:first]


@inlined
def compare_rest(me, query, sets, low, limits, met, counts, touched, worth):  # type: ignore[no-untyped-def]
    """Count all that the query shares with each set met that may be near, unless that takes more than `worth` steps.

    Return whether it was done.
    """
    offsets, listed = sets[2], sets[3]
    cost = 0
    for i in range(met):
        b = np.int64(touched[i])
        if low <= b < limit_of(limits, np.int64(counts[b])):
            cost += len(query) + offsets[b + 1] - offsets[b]
    if cost >= worth:
        return False
    for i in range(met):
        b = np.int64(touched[i])
        if b != me and low <= b < limit_of(limits, np.int64(counts[b])):
            counts[b] = common_listed(query, listed[offsets[b] : offsets[b + 1]])
    return True


@inlined
def compare_met(me, size, query_bits, sets, low, high, limits, met, counts, touched, nearest, k, bound):  # type: ignore[no-untyped-def]
    """Offer each set met to the nearest; return the number of the nearest, and the bound."""
    sizes, ranks, bits = sets[0], sets[1], sets[4]
    best = 0
    for i in range(met):
        b = np.int64(touched[i])
        count = np.int64(counts[b])
        if low <= b < min(high, limit_of(limits, count)) and b != me:
            overlap = count + common_bits(query_bits, bits, b)
            best, bound = offer(nearest, ranks, k, best, bound, size, np.int64(sizes[b]), b, overlap)
    return best, bound


@inlined
def count_block(query_bits, bits, counts, first, block):  # type: ignore[no-untyped-def]
    """What the query shares with each set of a block, from counts and bits; clear the counts. Loops are vectorised."""
    part = counts[first : first + BLOCK]
    for j in range(BLOCK):
        block[j] = part[j]
    for j in range(BLOCK):
        part[j] = np.uint32(0)
    for w in range(len(query_bits)):
        word, column = query_bits[w], bits[w, first : first + BLOCK]
        for j in range(BLOCK):
            block[j] += np.uint32(ones(word & column[j]))


@inlined
def offer_block(me, size, sets, first, block, nearest, k, best, bound):  # type: ignore[no-untyped-def]
    """Offer the sets of a block, of which block[j] elements are shared.

    J >= t means o (1 + t) / t >= |A| + |B|. This is tested first, without a division, and rounded generously.
    """
    sizes, ranks = sets[0], sets[1]
    own, part = np.float32(size), sizes[first : first + BLOCK]
    scale = np.float32(1e30) if bound <= 1e-20 else np.float32((1.0 + bound) / bound * 1.00001)
    near = np.uint32(0)
    for j in range(BLOCK):
        near |= np.uint32(np.float32(block[j]) * scale >= own + np.float32(part[j]))
    if near > 0:
        for j in range(BLOCK):
            if np.float32(block[j]) * scale >= own + np.float32(part[j]) and first + j != me:
                other, overlap = np.int64(part[j]), np.int64(block[j])
                best, bound = offer(nearest, ranks, k, best, bound, size, other, first + j, overlap)
                scale = np.float32(1e30) if bound <= 1e-20 else np.float32((1.0 + bound) / bound * 1.00001)
    return best, bound


@inlined
def compare_all(me, size, query_bits, sets, low, high, counts, block, nearest, k, bound):  # type: ignore[no-untyped-def]
    """Offer every set from `low` to `high`, a block at a time; clear the counts. Return as `compare_met`.

    Sets of a similar size come first: they are the most similar, so that the bound soon rules out most others.
    """
    bits, best = sets[4], 0
    low = low // BLOCK * BLOCK
    middle = max(low, position_above(sets[0], size) // BLOCK * BLOCK)
    for first in range(middle, high, BLOCK):
        count_block(query_bits, bits, counts, first, block)
        best, bound = offer_block(me, size, sets, first, block, nearest, k, best, bound)
    for first in range(middle - BLOCK, low - 1, -BLOCK):
        count_block(query_bits, bits, counts, first, block)
        best, bound = offer_block(me, size, sets, first, block, nearest, k, best, bound)
    return best


@inlined
def entries_of(query, starts):  # type: ignore[no-untyped-def]
    """The total length of the lists of a query's elements."""
    total = 0
    for e in query:
        total += starts[e + 1] - starts[e]
    return total


@inlined
def count_rarest(query, starts, members, entries, counts, touched):  # type: ignore[no-untyped-def]
    """Count the sets in the shortest lists, a part of all entries; return the lists, the sets met, and entries left."""
    at, met, rest = 0, 0, entries
    while at < len(query) and (entries - rest) * FIRST_SHARE < entries:
        one = members[starts[query[at]] : starts[query[at] + 1]]
        met = count_met(one, counts, touched, met)
        rest -= len(one)
        at += 1
    return at, met, rest


@inlined
def fitting(bound, size, sizes, count):  # type: ignore[no-untyped-def]
    """The range of the sets whose size allows them to reach the bound; `count` sets are not padding."""
    if bound <= 0.0:
        return 0, count
    least, most = np.ceil(bound * size * SLACK) - 1, np.floor(size / bound / SLACK)
    return position_above(sizes, least), position_above(sizes, most)


@inlined
def count_entries(query, starts, members, low, high, count, counts):  # type: ignore[no-untyped-def]
    """Count the sets from `low` to `high` in the lists of a query's elements; there are `count` sets."""
    if low == 0 and high == count:
        for e in query:
            for b in members[starts[e] : starts[e + 1]]:
                counts[b] += np.uint32(1)
    else:
        for e in query:
            for b in part_between(members[starts[e] : starts[e + 1]], low, high):
                counts[b] += np.uint32(1)


@kernel(
    "int64(int64, int64, boolean, int64, int64, uint32[::1], int64[::1], uint32[::1], uint64[:, ::1], uint32[::1],"
    "uint32[::1], int64[::1], uint32[::1], uint64[:, ::1], int64[::1], uint32[::1], uint32[::1], uint32[::1],"
    "float64[::1], uint32[:, ::1], uint32[:, ::1], int64[::1])"
)
def search(
    first, last, own, k, worth, q_sizes, q_offsets, q_listed, q_bits, sizes, ranks, offsets, listed, bits, starts,
    members, counts, touched, scores, positions, shared, found,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Find the k nearest of the queries from `first` to `last` - 1; return how many sets were compared with them.

    q_*: the queries as `encode` writes them; the same of the sets, by ascending size, padded to whole blocks by
    sets of the largest size without elements; `own`: they are the same, and
    none is its own neighbour. worth: entries of lists from which a query seeks a first bound. ranks uint32: the order
    of ties. starts, members: the lists. counts uint32 (sets): 0; touched uint32 (sets), scores float64 (k): scratch.
    Returned, unordered: positions, shared uint32 (queries, k) and found int64 (queries), how many of them are set. Sets
    that share nothing are no neighbours.
    """
    sets = (sizes, ranks, offsets, listed, bits)
    limits, block = np.empty(LIMITS, np.int64), np.empty(BLOCK, np.uint32)
    query_bits = np.empty(len(bits), np.uint64)
    count, compared = position_above(sizes, 0xFFFFFFFE), 0
    for q in range(first, last):
        me = q if own else -1
        size, query = np.int64(q_sizes[q]), q_listed[q_offsets[q] : q_offsets[q + 1]]
        nearest = (scores, positions[q - first], shared[q - first])
        query_bits[:] = q_bits[:, q]
        frequent, entries = common_bits(query_bits, q_bits, q), entries_of(query, starts)
        at, met, bound, done = 0, 0, 0.0, False
        if entries >= worth:
            at, met, entries = count_rarest(query, starts, members, entries, counts, touched)
            bound = first_bound(me, size, query, query_bits, sets, met, counts, touched, k)
        low, high = fitting(bound, size, sizes, count)
        more = len(query) - at + frequent
        if more < bound * size * SLACK:  # sets that were not met cannot be near
            largest_partners(bound, size, more, sizes, limits)
            done = compare_rest(me, query, sets, low, limits, met, counts, touched, entries // MERGED)
        dense, best = not done and entries * DENSE > high - low, 0
        if dense:
            count_entries(query[at:], starts, members, low, high, count, counts)
        else:
            for e in query[at : at if done else len(query)]:
                met = count_met(part_between(members[starts[e] : starts[e + 1]], low, high), counts, touched, met)
            largest_partners(bound, size, frequent, sizes, limits)
            best, bound = compare_met(
                me, size, query_bits, sets, low, high, limits, met, counts, touched, nearest, k, bound
            )
            compared += met
            # Sets that were not met share frequent elements only: are they out of reach?
            dense = not done and frequent > 0 and not (best == k and frequent < scores[0] * size * SLACK)
        if dense:
            best = compare_all(me, size, query_bits, sets, low, high, counts, block, nearest, k, bound)
            compared += high - low
        for i in range(met):
            counts[touched[i]] = 0
        found[q - first] = best
    return compared
