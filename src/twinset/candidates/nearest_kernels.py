"""Kernels of the search for the nearest sets: numbers of elements, inverted lists, bitmaps, and the search itself."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, ones
from twinset.compiled.set_kernels import SLACK

LIMITS = 64  # numbers of shared elements for which a largest partner is known
FIRST_SHARE = 8  # the rarest elements of a query, with this part of its entries, give the first bound
DENSE = 8  # a query with more entries than this part of the sets is compared with all of them
BLOCK = 256  # sets compared at a time
MERGED = 4  # entries of lists that cost as much as an element of two sets compared


@kernel("int64(uint64[::1], int64[::1], uint32[::1], uint64[::1], uint32[::1])")
def number_elements(hashes, starts, sizes, keys, numbers):  # type: ignore[no-untyped-def]
    """Replace the hashes of each set by numbers of elements, in order of appearance; return how many there are.

    Set i is hashes[starts[i]:starts[i]+sizes[i]]. keys uint64, numbers uint32: a hash table, a power of two of places
    with numbers 0.
    """
    mask = U(len(keys) - 1)
    count = 0
    for i in range(len(sizes)):
        for at in range(starts[i], starts[i] + np.int64(sizes[i])):
            x = hashes[at]
            place = x & mask
            while numbers[place] != 0 and keys[place] != x:
                place = (place + U(1)) & mask
            if numbers[place] == 0:
                count += 1
                keys[place] = x
                numbers[place] = count
            hashes[at] = U(numbers[place]) - U(1)
    return count


@kernel("void(uint64[::1], int64[::1], uint32[::1], int64[::1], uint32[::1])")
def count_elements(elements, starts, sizes, chosen, frequencies):  # type: ignore[no-untyped-def]
    """Add to frequencies[e] the number of chosen sets that have element e."""
    for i in chosen:
        for at in range(starts[i], starts[i] + np.int64(sizes[i])):
            frequencies[elements[at]] += np.uint32(1)


@kernel("void(uint64[::1], int64[::1], uint32[::1], int64[::1], uint32[::1], int64, uint32[::1])")
def count_listed(elements, starts, sizes, chosen, codes, n_listed, counts):  # type: ignore[no-untyped-def]
    """counts[i]: the number of elements of set chosen[i] whose code is below n_listed."""
    for i in range(len(chosen)):
        count = 0
        for at in range(starts[chosen[i]], starts[chosen[i]] + np.int64(sizes[chosen[i]])):
            count += np.int64(codes[elements[at]]) < n_listed
        counts[i] = count


@kernel(
    "void(int64, int64, uint64[::1], int64[::1], uint32[::1], int64[::1], uint32[::1], int64, int64[::1], uint32[::1],"
    "uint64[:, ::1])"
)
def encode(first, last, elements, starts, sizes, chosen, codes, n_listed, offsets, listed, bits):  # type: ignore[no-untyped-def]
    """Write sets chosen[first:last]: codes below n_listed, ascending, to `listed`; those above set bits of `bits`.

    The code 2**32 - 1 is left out. offsets int64: set i has listed[offsets[i]:offsets[i + 1]].
    """
    most = n_listed + 64 * len(bits)
    for i in range(first, last):
        out = offsets[i]
        for at in range(starts[chosen[i]], starts[chosen[i]] + np.int64(sizes[chosen[i]])):
            code = np.int64(codes[elements[at]])
            if code < n_listed:
                listed[out] = code
                out += 1
            elif code < most:
                bit = code - n_listed
                bits[bit >> 6, i] |= U(1) << U(bit & 63)
        listed[offsets[i] : out].sort()


@kernel("void(int64[::1], uint32[::1], int64[::1], uint32[::1])")
def fill_lists(offsets, listed, ends, members):  # type: ignore[no-untyped-def]
    """Append each set to the list of each of its elements: ends int64 is where each list begins, and then ends."""
    for i in range(len(offsets) - 1):
        for e in listed[offsets[i] : offsets[i + 1]]:
            members[ends[e]] = i
            ends[e] += 1


@inlined
def position_above(sizes, limit):  # type: ignore[no-untyped-def]
    """The first position of ascending sizes with a size above the limit."""
    low, high = 0, len(sizes)
    while low < high:
        middle = (low + high) >> 1
        if sizes[middle] > limit:
            high = middle
        else:
            low = middle + 1
    return low


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
def is_worse(score, rank, other, other_rank):  # type: ignore[no-untyped-def]
    """Whether a neighbour comes after another: less similar, or as similar and later in the order of ties."""
    return score < other or (score == other and rank > other_rank)


@inlined
def keep_best(scores, positions, shared, ranks, count, k, score, position, overlap):  # type: ignore[no-untyped-def]
    """Insert a neighbour into the best k so far, a heap with the worst at its root; return their number."""
    rank = ranks[position]
    if count < k:
        at = count
        count += 1
        while at > 0:
            up = (at - 1) >> 1
            if not is_worse(score, rank, scores[up], ranks[positions[up]]):
                break
            scores[at], positions[at], shared[at] = scores[up], positions[up], shared[up]
            at = up
    elif is_worse(scores[0], ranks[positions[0]], score, rank):
        at = 0
        while 2 * at + 1 < count:
            down = 2 * at + 1
            right = down + 1
            if right < count and is_worse(
                scores[right], ranks[positions[right]], scores[down], ranks[positions[down]]
            ):
                down = right
            if not is_worse(scores[down], ranks[positions[down]], score, rank):
                break
            scores[at], positions[at], shared[at] = scores[down], positions[down], shared[down]
            at = down
    else:
        return count
    scores[at], positions[at], shared[at] = score, position, overlap
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
        tally[min(np.int64(counts[touched[i]]), LIMITS - 1)] += 1
    most, left = LIMITS - 1, k + 1  # one more, since the query may be among them
    while most > 0 and tally[most] < left:
        left -= tally[most]
        most -= 1
    if most == 0:
        return 0.0
    found, least = 0, 1.0
    for i in range(met):
        b = np.int64(touched[i])
        count = min(np.int64(counts[b]), LIMITS - 1)
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
        if low <= b < limits[min(np.int64(counts[b]), LIMITS - 1)]:
            cost += len(query) + offsets[b + 1] - offsets[b]
    if cost >= worth:
        return False
    for i in range(met):
        b = np.int64(touched[i])
        if b != me and low <= b < limits[min(np.int64(counts[b]), LIMITS - 1)]:
            counts[b] = common_listed(query, listed[offsets[b] : offsets[b + 1]])
    return True


@inlined
def compare_met(me, size, query_bits, sets, low, high, limits, met, counts, touched, nearest, k, bound):  # type: ignore[no-untyped-def]
    """Offer each set met to the nearest, and clear the counts; return the number of the nearest."""
    sizes, ranks, bits = sets[0], sets[1], sets[4]
    best = 0
    for i in range(met):
        b = np.int64(touched[i])
        count = np.int64(counts[b])
        counts[b] = 0
        if low <= b < min(high, limits[min(count, LIMITS - 1)]) and b != me:
            overlap = count + common_bits(query_bits, bits, b)
            best, bound = offer(nearest, ranks, k, best, bound, size, np.int64(sizes[b]), b, overlap)
    return best


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
    """Count the sets in the shortest lists, a part of all entries; return how many lists, sets met, and entries left."""
    at, met, rest = 0, 0, entries
    while at < len(query) and (entries - rest) * FIRST_SHARE < entries:
        one = members[starts[query[at]] : starts[query[at] + 1]]
        met = count_met(one, counts, touched, met)
        rest -= len(one)
        at += 1
    return at, met, rest


@inlined
def fitting(bound, size, sizes):  # type: ignore[no-untyped-def]
    """The range of the sets whose size allows them to reach the bound."""
    if bound <= 0.0:
        return 0, len(sizes)
    least, most = np.ceil(bound * size * SLACK) - 1, np.floor(size / bound / SLACK)
    return position_above(sizes, least), position_above(sizes, most)


@inlined
def count_entries(query, starts, members, low, high, counts):  # type: ignore[no-untyped-def]
    """Count the sets from `low` to `high` in the lists of a query's elements."""
    if low == 0 and high == len(counts):
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
    compared = 0
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
        low, high = fitting(bound, size, sizes)
        more = len(query) - at + frequent
        if more < bound * size * SLACK:  # sets that were not met cannot be near
            largest_partners(bound, size, more, sizes, limits)
            done = compare_rest(me, query, sets, low, limits, met, counts, touched, entries // MERGED)
        if not done and (frequent > 0 or entries * DENSE > high - low):
            count_entries(query[at:], starts, members, low, high, counts)
            found[q - first] = compare_all(
                me, size, query_bits, sets, low, high, counts, block, nearest, k, bound
            )
            compared += high - low
            for i in range(met):
                counts[touched[i]] = 0
        else:
            for e in query[at : at if done else len(query)]:
                met = count_met(part_between(members[starts[e] : starts[e + 1]], low, high), counts, touched, met)
            largest_partners(bound, size, frequent, sizes, limits)
            found[q - first] = compare_met(
                me, size, query_bits, sets, low, high, limits, met, counts, touched, nearest, k, bound
            )
            compared += met
    return compared
