"""Count, for the first part of a text, the shingles that each group of sampled documents lacks.

The sampled documents form 64 groups, by size. A 64-bit word per shingle marks the groups that have it, so one table
lookup serves all. All groups are counted at once: plane k holds bit k of every group's counter, and words are added
bitwise, by full adders. Limits are compared in the same way.
"""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, trailing_zeros

GROUPS = 64
PLANES = 48
STEP = 4  # shingles between two checks of the counters
ALL = U(0xFFFFFFFFFFFFFFFF)


@kernel("void(read(uint8), int64[::1], int64[::1], float64, int64[::1])")
def cuts(data, starts, ends, share, cut):  # type: ignore[no-untyped-def]
    """cut[i]: the end of the first part of text data[starts[i]:ends[i]], at least `share` of its bytes.

    A cut lies before a space, a line end, an ideographic comma or full stop, or at the end of the text: there the
    words, characters and normal form of the part are those of the whole.
    """
    for i in range(len(starts)):
        at = starts[i] + np.int64(share * (ends[i] - starts[i]))
        while at < ends[i]:
            c = data[at]
            if c == 0x20 or c == 0x0A:
                break
            if c == 0xE3 and at + 2 < ends[i] and data[at + 1] == 0x80 and data[at + 2] <= 0x83:
                break
            at += 1
        cut[i] = at


@kernel("void(uint64[::1], int64[::1], uint32[::1], int64[::1], uint64, uint64[::1])")
def mark(sets, starts, sizes, groups, shift, marks):  # type: ignore[no-untyped-def]
    """Set bit groups[j] of marks[x >> shift] for each hash x of set j, sets[starts[j]:starts[j]+sizes[j]]."""
    for j in range(len(sizes)):
        bit = U(1) << U(groups[j])
        for x in sets[starts[j] : starts[j] + np.int64(sizes[j])]:
            marks[x >> shift] |= bit


@inlined
def added(a, b, c):  # type: ignore[no-untyped-def]
    """Full adder for each bit position: the sum bit and the carry."""
    both = a ^ b
    return both ^ c, (a & b) | (both & c)


@inlined
def carried(word, planes, k):  # type: ignore[no-untyped-def]
    """Add a word whose bits count for 2**k each."""
    while word != U(0):
        rest = planes[k] & word
        planes[k] ^= word
        word = rest
        k += 1


@inlined
def count(words, n, planes):  # type: ignore[no-untyped-def]
    """Count the bits at each position of words[:n], n being a multiple of eight."""
    ones = twos = fours = U(0)
    planes[:] = U(0)
    for at in range(0, n, 8):
        w = words[at : at + 8]
        a, two_a = added(w[0], w[1], w[2])
        b, two_b = added(w[3], w[4], w[5])
        c, two_c = added(w[6], w[7], ones)
        ones, two_d = added(a, b, c)
        a, four_a = added(two_a, two_b, two_c)
        twos, four_b = added(a, two_d, twos)
        fours, eight = added(four_a, four_b, fours)
        carried(eight, planes, 3)
    planes[0], planes[1], planes[2] = ones, twos, fours


@inlined
def limit(count, threshold, least, limits):  # type: ignore[no-untyped-def]
    """Maximum number of hashes of a set of at most `count` that each group may lack; plane k of `limits` is its bit k.

    A match lacks at most (1 - t) n hashes and, if it has m hashes or more, at most (n - t m) / (1 + t). Rounding up is
    harmless. Returns the groups that are too large for any pair.
    """
    most = np.int64((1.0 - threshold) * count + 1e-6)
    for k in range(PLANES):
        limits[k] = ALL if most >> k & 1 else U(0)
    too_large = U(0)
    for g in range(GROUPS):
        own = (count - threshold * least[g]) / (1.0 + threshold) + 1e-6
        if own >= most:
            continue
        bit = U(1) << U(g)
        if own < 0.0:
            too_large |= bit
            continue
        differing = U(most ^ np.int64(own))
        while differing != U(0):
            limits[trailing_zeros(differing)] ^= bit
            differing &= differing - U(1)
    return too_large


@inlined
def all_over(planes, limits, over):  # type: ignore[no-untyped-def]
    """Whether the counter of every group except those of `over` exceeds its limit. Compares from the lowest bit up."""
    more = U(0)
    for k in range(PLANES):
        more = (planes[k] & ~limits[k]) | (~(planes[k] ^ limits[k]) & more)
    return more | over == ALL


@kernel(
    "void(uint64[::1], int64[::1], int64[::1], float64, int64[::1], uint64[::1], uint64, uint64[::1], uint64[::1],"
    "uint64[::1], uint64[::1], uint8[::1])"
)
def screen(hashes, offsets, counts, threshold, least, marks, shift, planes, limits, lacking, seen, alive):  # type: ignore[no-untyped-def]
    """alive[i]: 0 only where row i has, for every group, more hashes absent from the group than a pair allows.

    Rows of hashes as in `Shingles`, of sets of at most `counts`; least int64: size of the smallest set of each group;
    marks from `mark`. Scratch, all uint64: planes and limits, PLANES each; lacking, the longest row and eight more;
    seen, a power of two of at least a quarter of the longest row in words. Hash collisions keep some rows alive.
    """
    for i in range(len(counts)):
        row = hashes[offsets[i] : offsets[i + 1]]
        size = 1
        while size * 4 < len(row):
            size *= 2
        for w in range(size):
            seen[w] = U(0)
        mask = U(64 * size - 1)
        for k in range(len(row)):
            x = row[k]
            place = x & mask
            word = seen[place >> U(6)]
            fresh = (word >> (place & U(63)) & U(1)) - U(1)  # all bits or none
            seen[place >> U(6)] = word | (U(1) << (place & U(63)))
            lacking[k] = ~marks[x >> shift] & fresh
        lacking[len(row) : len(row) + 8] = U(0)
        count(lacking, (len(row) + 7) & ~7, planes)
        too_large = limit(counts[i], threshold, least, limits)
        alive[i] = not all_over(planes, limits, too_large)


@kernel(
    "void(uint64[::1], int64[::1], uint32[::1], int64[::1], int64[::1], float64, int64[::1], uint64[::1], uint64,"
    "uint64[::1], uint64[::1], float64[::1])"
)
def shares(sets, starts, sizes, counts, groups, threshold, least, marks, shift, planes, limits, needed):  # type: ignore[no-untyped-def]
    """needed[j]: the share of set j, from its start, that rules out all other groups; infinity if none does.

    A group is ruled out when it lacks more of these hashes than a pair of a set of at most counts[j] allows. sets,
    starts, sizes, groups and marks as for `mark`, the hashes in text order; the rest as for `screen`.
    """
    for j in range(len(needed)):
        needed[j] = np.inf
        row = sets[starts[j] : starts[j] + np.int64(sizes[j])]
        over = limit(counts[j], threshold, least, limits) | (U(1) << U(groups[j]))
        planes[:] = U(0)
        for k in range(len(row)):
            carried(~marks[row[k] >> shift], planes, 0)
            if k % STEP == 0 and all_over(planes, limits, over):
                needed[j] = (k + 1) / len(row)
                break
