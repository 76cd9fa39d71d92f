"""Kernels shared by the steps for vectors: random numbers from a seed, sums, and the order in which keys are probed."""

import math

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import WEYL, U, fmix64


@kernel("void(uint64, uint64, float32[::1])")
def normals(seed, first, out):  # type: ignore[no-untyped-def]
    """Generate the standard normal numbers first, first + 1, … of a seed (Box and Muller, 1958) from hashed counters.

    They are rounded to multiples of 1/4096, so that libraries whose logarithm or cosine differ in the last bit agree.
    """
    salt = fmix64(seed + WEYL)
    for i in range(len(out)):
        number = first + U(i)
        pair = (number >> U(1)) * U(2)
        one = fmix64(salt ^ (pair + U(1)) * WEYL)
        other = fmix64(salt ^ (pair + U(2)) * WEYL)
        radius = math.sqrt(-2.0 * math.log((np.float64(one >> U(11)) + 1.0) * 2.0**-53))
        angle = 2.0 * math.pi * np.float64(other >> U(11)) * 2.0**-53
        value = radius * (math.sin(angle) if number & U(1) else math.cos(angle))
        out[i] = np.float32(math.floor(value * 4096.0 + 0.5) / 4096.0)


@kernel("void(uint64, uint64, float64[::1])")
def uniforms(seed, first, out):  # type: ignore[no-untyped-def]
    """Generate the uniform numbers first, first + 1, … of a seed, at least 0 and below 1, from hashed counters."""
    salt = fmix64(seed ^ U(0xE7037ED1A0B428DB))
    for i in range(len(out)):
        out[i] = np.float64(fmix64(salt ^ (first + U(i) + U(1)) * WEYL) >> U(11)) * 2.0**-53


@inlined
def folded(terms, count):  # type: ignore[no-untyped-def]
    """Return the sum of terms[:count]: the upper half is added to the lower until one term is left. Overwrites terms.

    This is fast, accurate to the last few bits, and gives the same result on every machine.
    """
    while count > 1:
        half = count // 2
        for j in range(half):
            terms[j] += terms[half + j]
        if count & 1:
            terms[0] += terms[count - 1]
        count = half
    return terms[0]


@kernel("void(Array(float32, 2, 'C', readonly=True), float64[::1])")
def squares(vectors, out):  # type: ignore[no-untyped-def]
    """out[i]: the squared length of vector i, in float64."""
    d = vectors.shape[1]
    terms = np.empty(d, np.float64)
    for i in range(len(out)):
        for j in range(d):
            terms[j] = np.float64(vectors[i, j]) * np.float64(vectors[i, j])
        out[i] = folded(terms, d)


@kernel("void(Array(float32, 2, 'C', readonly=True), float32[:, ::1], boolean[::1])")
def units(vectors, out, known):  # type: ignore[no-untyped-def]
    """out[i]: vector i at length 1, rounded once; known[i]: whether it has a direction, else out[i] is 0."""
    d = vectors.shape[1]
    terms = np.empty(d, np.float64)
    for i in range(len(known)):
        for j in range(d):
            terms[j] = np.float64(vectors[i, j]) * np.float64(vectors[i, j])
        length = math.sqrt(folded(terms, d))
        known[i] = length > 0.0
        length = length if known[i] else 1.0
        for j in range(d):
            out[i, j] = np.float32(np.float64(vectors[i, j]) / length)


@kernel("void(Array(uint32, 2, 'C', readonly=True), uint64[:, ::1])")
def digests(words, out):  # type: ignore[no-untyped-def]
    """out[i]: 128 bits of hash over the bits of vector i; 0.0 and -0.0 are equal. words uint32 (n, d)."""
    for i in range(words.shape[0]):
        first, second = U(0x589965CC75374CC3), U(0x1D8E4E27C47D124F)
        for j in range(words.shape[1]):
            word = U(words[i, j])
            word = U(0) if word == U(0x80000000) else word
            first = (first ^ word) * WEYL
            first ^= first >> U(29)
            second = (second ^ word) * U(0xD6E8FEB86659FD93)
            second ^= second >> U(32)
        out[i, 0] = fmix64(first)
        out[i, 1] = fmix64(second)


@inlined
def cheapest(costs, order, wanted):  # type: ignore[no-untyped-def]
    """order[:wanted]: the cheapest moves, cheapest first, ties by position; returns their number."""
    found = 0
    for move in range(len(costs)):
        if found == wanted and not costs[move] < costs[order[found - 1]]:
            continue
        place = found if found < wanted else found - 1
        found = min(found + 1, wanted)
        while place > 0 and costs[move] < costs[order[place - 1]]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = move
    return found


@inlined
def enqueue(queue, head, end, most, sums, one):  # type: ignore[no-untyped-def]
    """Insert set `one` into queue[head:end] by cost, after equal costs, and return the new end.

    Only the `most` cheapest sets are needed.
    """
    if end - head == most:
        if not sums[one] < sums[queue[end - 1]]:
            return end
        end -= 1
    place = end
    while place > head and sums[one] < sums[queue[place - 1]]:
        queue[place] = queue[place - 1]
        place -= 1
    queue[place] = one
    return end + 1


@kernel("void(uint64[::1], float32[:, ::1], uint64[:, ::1], uint8[::1], uint64[:, ::1])")
def next_keys(keys, costs, turns, groups, out):  # type: ignore[no-untyped-def]
    """out[i]: key i, followed by the keys that sets of moves lead to, cheapest set first.

    Lv, Josephson, Wang, Charikar, Li: Multi-Probe LSH, VLDB 2007: sets grow from the cheapest move in two ways: the
    last move is replaced by the next more expensive one (shift), or that one is added (expand). Sets with two moves of
    one group are skipped. Costs are summed in float64, cheapest move first. If there are no more sets, the key itself
    is repeated.

    keys uint64 (n), costs float32 (n, m), turns uint64 (n, m) or (1, m), groups uint8 (m) below 64, out uint64
    (n, 1 + probes).
    """
    probes, n_moves = out.shape[1] - 1, costs.shape[1]
    room = 2 * probes + 2
    order, queue = np.empty(probes + 1, np.int64), np.empty(room, np.int64)
    # A set of moves: its cost and the bits it XORs into the key, with and without its last move; its groups without
    # that move; the rank of that move.
    sums, before = np.empty(room, np.float64), np.empty(room, np.float64)
    turned, turned_before = np.empty(room, np.uint64), np.empty(room, np.uint64)
    group_sets, last = np.empty(room, np.uint64), np.empty(room, np.int64)
    for i in range(len(keys)):
        key, cost, turn = keys[i], costs[i], turns[i if turns.shape[0] > 1 else 0]
        ranks = cheapest(cost, order, min(n_moves, probes)) if probes else 0
        head, end, sets, n_keys = 0, 0, 0, 0
        out[i, 0] = key
        if ranks > 0:
            sums[0], before[0] = np.float64(cost[order[0]]), 0.0
            turned[0], turned_before[0] = turn[order[0]], U(0)
            group_sets[0], last[0] = U(0), 0
            queue[0] = 0
            end, sets = 1, 1
        while head < end:
            now = queue[head]
            head += 1
            n_keys += 1
            out[i, n_keys] = key ^ turned[now]
            if n_keys == probes:
                break
            for expand in range(2):
                groups_used = group_sets[now] | (U(expand) << U(groups[order[last[now]]]))
                rank = last[now] + 1
                while rank < ranks and (groups_used >> U(groups[order[rank]])) & U(1):
                    rank += 1
                if rank == ranks:
                    continue
                before[sets] = sums[now] if expand else before[now]
                sums[sets] = before[sets] + np.float64(cost[order[rank]])
                turned_before[sets] = turned[now] if expand else turned_before[now]
                turned[sets] = turned_before[sets] ^ turn[order[rank]]
                group_sets[sets], last[sets] = groups_used, rank
                end = enqueue(queue, head, end, probes - n_keys, sums, sets)
                sets += 1
        for rest in range(n_keys + 1, probes + 1):
            out[i, rest] = key
