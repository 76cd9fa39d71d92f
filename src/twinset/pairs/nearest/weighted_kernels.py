"""Kernels of the search for the nearest weighted sets: sums of smaller weights from lists, then exact ones."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.heap_kernels import keep_best
from twinset.pairs.weighted_kernels import add

SPARSE = 8  # a query with fewer entries of lists than this part of the sets looks at the sets it met
BLOCK = 128  # sets compared at a time
ROUNDING = 1.0 + 1e-9  # far more than sums of weights in another order differ by


@kernel("void(int64[::1], uint32[::1], float64[::1], int64[::1], uint32[::1], float64[::1])")
def fill_weighted_lists(offsets, listed, weights, ends, members, entries):  # type: ignore[no-untyped-def]
    """Append each set, with its weight, to the list of each of its elements: ends int64 is where each list begins."""
    for i in range(len(offsets) - 1):
        for at in range(offsets[i], offsets[i + 1]):
            e = listed[at]
            members[ends[e]] = i
            entries[ends[e]] = weights[at]
            ends[e] += 1


@inlined
def common_weight(a, a_end, a_hashes, a_weights, b, b_end, hashes, weights):  # type: ignore[no-untyped-def]
    """Σ min of the weights of a_hashes[a:a_end] and hashes[b:b_end], as `weighted_kernels.overlaps` sums it."""
    total, lost = 0.0, 0.0
    while a < a_end and b < b_end:
        if a_hashes[a] == hashes[b]:
            total, lost = add(total, lost, min(a_weights[a], weights[b]))
            a += 1
            b += 1
        elif a_hashes[a] < hashes[b]:
            a += 1
        else:
            b += 1
    return total + lost


@inlined
def offer_weighted(me, b, query, asking, sets, nearest, k, best, bound):  # type: ignore[no-untyped-def]
    """Measure a set exactly, and keep it if it is among the best k so far; return their number and the bound."""
    q_offsets, q_hashes, q_weights, q_sums = asking
    offsets, hashes, weights, sums, ranks, numbers = sets
    scores, positions, commons = nearest
    other = np.int64(numbers[b])
    if b == me:
        return best, bound
    common = common_weight(
        q_offsets[query], q_offsets[query + 1], q_hashes, q_weights, offsets[other], offsets[other + 1], hashes, weights
    )
    least, most = min(q_sums[query], sums[other]), max(q_sums[query], sums[other])
    score = common / (least + (most - common))
    if score >= bound and common > 0.0:
        best = keep_best(scores, positions, commons, ranks, best, k, score, b, common)
        if best == k:
            bound = max(bound, scores[0])
    return best, bound


@inlined
def may_be_near(common, total, other, bound):  # type: ignore[no-untyped-def]
    """Whether two sets of these totals, with this much in common, may reach the bound: o (1 + t) >= t (A + B)."""
    return common > 0.0 and common * (1.0 + bound) * ROUNDING >= bound * (total + other)


@inlined
def compare_block(me, query, asking, first, last, total, totals, common, sets, nearest, k, best, bound):  # type: ignore[no-untyped-def]
    """Offer the sets from `first` to `last` - 1 with their common weights so far; clear these."""
    part, others = common[first:last], totals[first:last]
    near = False
    for j in range(len(part)):
        near |= part[j] * (1.0 + bound) * ROUNDING >= bound * (total + others[j])
    if near:
        for j in range(len(part)):
            if may_be_near(part[j], total, others[j], bound):
                best, bound = offer_weighted(me, first + j, query, asking, sets, nearest, k, best, bound)
    part[:] = 0.0
    return best, bound


@kernel(
    "int64(int64, int64, boolean, int64, uint32[::1], int64[::1], uint32[::1], float64[::1], int64[::1], uint64[::1],"
    "float64[::1], float64[::1], int64[::1], uint64[::1], float64[::1], float64[::1], float64[::1], uint32[::1],"
    "uint32[::1], int64[::1], uint32[::1], float64[::1], float64[::1], uint32[::1], float64[:, ::1], uint32[:, ::1],"
    "float64[:, ::1], int64[::1])"
)
def search(
    first, last, own, k, q_numbers, l_offsets, q_listed, l_weights, q_offsets, q_hashes, q_weights, q_sums, offsets,
    hashes, weights, sums, totals, ranks, numbers, starts, members, entries, common, touched, scores, positions, shared,
    found,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Find the k nearest of the queries from `first` to `last` - 1; return how many sets they met.

    q_numbers: the set of each query; q_listed and l_weights, by l_offsets: its elements by number, with their weights.
    q_offsets, q_hashes, q_weights, q_sums: the sets that queries are of. offsets, hashes, weights, sums: all others.
    numbers, totals, ranks: set, total weight and order of ties of each position that lists name; `own`: queries have
    the same positions, and none is its own neighbour. starts, members, entries: lists with weights. common float64
    (positions): 0; touched: scratch. Returned, unordered: scores float64, positions uint32 and common weights `shared`
    float64 (queries, k), and found int64 (queries), how many of them are set.
    """
    asking, sets = (q_offsets, q_hashes, q_weights, q_sums), (offsets, hashes, weights, sums, ranks, numbers)
    compared = 0
    for q in range(first, last):
        me, query = q if own else -1, np.int64(q_numbers[q])
        total, best, bound = q_sums[query], 0, 0.0
        nearest = (scores[q - first], positions[q - first], shared[q - first])
        length = 0
        for e in q_listed[l_offsets[q] : l_offsets[q + 1]]:
            length += starts[e + 1] - starts[e]
        met = 0
        for at in range(l_offsets[q], l_offsets[q + 1]):
            e, weight = q_listed[at], l_weights[at]
            for i in range(starts[e], starts[e + 1]):
                b = members[i]
                if common[b] == 0.0 and length * SPARSE < len(common):
                    touched[met] = b
                    met += 1
                common[b] += min(weight, entries[i])
        compared += length
        if length * SPARSE < len(common):
            for i in range(met):
                b = np.int64(touched[i])
                if may_be_near(common[b], total, totals[b], bound):
                    best, bound = offer_weighted(me, b, query, asking, sets, nearest, k, best, bound)
                common[b] = 0.0
        else:
            middle = np.searchsorted(totals, total) // BLOCK * BLOCK
            for block in range(middle, len(common), BLOCK):
                best, bound = compare_block(
                    me, query, asking, block, min(block + BLOCK, len(common)), total, totals, common, sets, nearest, k,
                    best, bound,
                )  # fmt: skip
            for block in range(middle - BLOCK, -1, -BLOCK):
                best, bound = compare_block(
                    me, query, asking, block, block + BLOCK, total, totals, common, sets, nearest, k, best, bound
                )
        found[q - first] = best
    return compared
