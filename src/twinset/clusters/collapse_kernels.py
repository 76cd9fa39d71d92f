"""Fold a ranking: each result is folded under the first earlier result that is near it and not folded itself.

Results are numbered by rank; a head is a result that is not folded. Prefixes and bitmaps of the shingle sets rule out
nearly all heads; the overlap with the others is counted exactly. `candidates/prefix.py` explains why no near head is
ruled out.
"""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, ones
from twinset.compiled.set_kernels import SLACK, load, overlap, slot_of

RULED_OUT = np.uint32(0xFFFFFFFF)


@kernel("int64(uint64[::1], uint64[::1], uint32[::1], uint32[::1], int64[::1])")
def number_lists(keys, table, numbers, lists, lengths):  # type: ignore[no-untyped-def]
    """Number the distinct keys by first appearance: lists[k] is the number of keys[k]; return how many there are.

    lengths int64 (keys), zero: occurrences of each key. Scratch: table uint64, zero, and numbers uint32, of one power
    of two of slots, more than there are keys.
    """
    mask = U(len(table) - 1)
    count = 0
    for k in range(len(keys)):
        key = keys[k]
        place = slot_of(key, mask)
        while table[place] != U(0) and table[place] != key:
            place = (place + U(1)) & mask
        if table[place] == U(0):
            table[place] = key
            numbers[place] = count
            count += 1
        lists[k] = numbers[place]
        lengths[numbers[place]] += 1
    return count


@inlined
def bits_allow(one, other, both, threshold):  # type: ignore[no-untyped-def]
    """Whether the bitmaps of two sets, of `both` tokens together, differ in few enough bits; the longer is folded."""
    if len(one) > len(other):
        one, other = other, one
    # an overlap of t/(1+t) (|A|+|B|) leaves (1-t)/(1+t) (|A|+|B|) tokens in only one of them
    most = both - 2.0 * threshold / (1.0 + threshold) * both * SLACK
    size, folds = len(one), len(other) // len(one)
    count = 0
    if folds == 1:  # sets of similar size, the most frequent case: a loop that vectorises
        for j in range(size):
            count += ones(one[j] ^ other[j])
    else:
        for j in range(size):
            word = one[j]
            for fold in range(folds):
                word ^= other[j + fold * size]
            count += ones(word)
    return count <= most


@inlined
def ask_lists(i, sizes, threshold, alone, offsets, lists, starts, ends, members, positions, met, touched):  # type: ignore[no-untyped-def]
    """List in `touched` the heads that share a key of i's prefix; met[j] is RULED_OUT where positions rule j out."""
    share = threshold / (1.0 + threshold) * SLACK
    size = np.int64(sizes[i])
    count = 0
    for k in range(offsets[i], offsets[i + 1]):
        left = size - (np.int64(alone[i]) + k - offsets[i])  # this token and those after it
        for at in range(starts[lists[k]], ends[lists[k]]):
            j = members[at]
            seen = met[j]
            if seen == 0:
                touched[count] = j
                count += 1
            if seen != RULED_OUT:
                theirs = np.int64(sizes[j])
                possible = np.int64(seen) + min(left, theirs - np.int64(positions[at]))
                met[j] = seen + np.uint32(1) if possible >= share * (size + theirs) else RULED_OUT
    return count


@inlined
def enter(i, alone, offsets, lists, ends, members, positions):  # type: ignore[no-untyped-def]
    """Enter i in the lists of its prefix. Results come in order, so every list ascends."""
    for k in range(offsets[i], offsets[i + 1]):
        at = ends[lists[k]]
        members[at] = i
        positions[at] = np.int64(alone[i]) + k - offsets[i]
        ends[lists[k]] += 1


@inlined
def reach(i, offsets, lists, starts, ends):  # type: ignore[no-untyped-def]
    """Number of members of the lists of i's prefix."""
    total = 0
    for k in range(offsets[i], offsets[i + 1]):
        total += ends[lists[k]] - starts[lists[k]]
    return total


@kernel(
    "void(uint64[::1], int64[::1], uint32[::1], float64, uint32[::1], int64[::1], uint32[::1], int64[::1], int64[::1],"
    "uint64[::1], int64[::1], uint32[::1], uint32[::1], uint32[::1], uint32[::1], uint32[::1], uint64[::1],"
    "uint32[::1], uint32[::1])"
)
def fold(
    hashes, set_starts, sizes, threshold, alone, offsets, lists, starts, bit_offsets, bits,
    ends, members, positions, met, touched, heads, places, leader, shared,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """leader[i]: the head under which result i is folded, or i itself; shared[i]: number of shared tokens, or 0.

    Set i is hashes[set_starts[i]:set_starts[i]+sizes[i]]. Its prefix is alone[i] unique tokens, then those of the lists
    lists[offsets[i]:offsets[i+1]]; list l has room for starts[l+1] - starts[l] members. Its bitmap is
    bits[bit_offsets[i]:bit_offsets[i+1]]. ends: a copy of starts. Scratch: members, positions (room of all lists), met
    (zero), touched, heads (results), places (a power of two over twice the largest set).
    """
    n_heads = 0
    for i in range(len(sizes)):
        leader[i] = i
        shared[i] = 0
        if sizes[i] == 0:
            continue
        size = np.int64(sizes[i])
        tokens = hashes[set_starts[i] : set_starts[i] + size]
        bitmap = bits[bit_offsets[i] : bit_offsets[i + 1]]
        # where the lists are long, checking the bitmaps of all heads is less work
        crowded = reach(i, offsets, lists, starts, ends) > n_heads * (1.0 + len(bitmap) / 16)
        checked = heads
        count = n_heads
        if not crowded:
            checked = touched
            count = ask_lists(
                i, sizes, threshold, alone, offsets, lists, starts, ends, members, positions, met, touched
            )
        mask = U(0)
        for c in range(count):
            j = np.int64(checked[c])
            theirs = np.int64(sizes[j])
            excluded = met[j] == RULED_OUT or min(size, theirs) < threshold * max(size, theirs) * SLACK
            met[j] = 0
            if excluded or j >= np.int64(leader[i]):
                continue
            if bits_allow(bitmap, bits[bit_offsets[j] : bit_offsets[j + 1]], size + theirs, threshold):
                if mask == U(0):
                    mask = load(tokens, places)
                common = overlap(hashes[set_starts[j] : set_starts[j] + theirs], places, mask, size, threshold)
                if common > 0:
                    leader[i] = j
                    shared[i] = common
                    if crowded:
                        break  # heads come in rank order
        if shared[i] == 0:
            heads[n_heads] = i
            n_heads += 1
            enter(i, alone, offsets, lists, ends, members, positions)
