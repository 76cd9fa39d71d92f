"""Statistics of code bits, and the choice of blocks."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, ones

WIDEST = 22
"""Maximum bits of a block: its table has 2^22 slots."""


@kernel("void(uint64[:, ::1], int64, uint64[:, ::1])")
def fixed_bits(codes, total, found):  # type: ignore[no-untyped-def]
    """found uint64 (2, words), written: the bits that all of the first `total` codes have, and those that any has."""
    for word in range(codes.shape[0]):
        row = codes[word]
        every, some = ~U(0), U(0)
        for i in range(total):
            every &= row[i]
            some |= row[i]
        found[0, word] = every
        found[1, word] = some


@kernel("void(uint64[:, ::1], int64, int64, int64[::1])")
def count_ones(codes, total, step, counts):  # type: ignore[no-untyped-def]
    """counts int64 (64 · words), written: number of the codes 0, step, 2 step, … with a one in each bit."""
    counts[:] = 0
    for word in range(codes.shape[0]):
        ours = counts[64 * word : 64 * word + 64]
        for i in range(0, total, step):
            x = codes[word, i]
            for bit in range(64):
                ours[bit] += np.int64((x >> U(bit)) & U(1))


@inlined
def subsets(width, radius):  # type: ignore[no-untyped-def]
    """Number of subsets of up to `radius` of `width` bits."""
    total, term = 1.0, 1.0
    for size in range(1, min(width, radius) + 1):
        term *= (width - size + 1) / size
        total += term
    return total


@inlined
def block_cost(width, radius, meeting, left, right, half, costs):  # type: ignore[no-untyped-def]
    """Nanoseconds to group `left` and `right` codes by a block and compare those whose keys are near.

    `meeting`: share of all pairs that are compared; `half`: 0.5 if the two sides are the same codes. costs: grouping a
    code, a slot of the table, visiting two buckets, starting to compare a code, comparing two codes.
    """
    buckets = 2.0**width
    flips = subsets(width, radius)
    visits = min(buckets, left) * flips
    begun = left * flips * min(1.0, right / buckets)
    return (
        costs[0] * (left + right) + costs[1] * buckets
        + half * (costs[2] * visits + costs[3] * begun + costs[4] * left * right * meeting)
    )  # fmt: skip


@inlined
def deal_bit(agree, radii, widths, shares, spread):  # type: ignore[no-untyped-def]
    """Assign a bit to the block with the most collisions; return that block, or -1 if all have the maximum width.

    spread float64 (blocks, most): spread[b, e] is the probability that block b differs in e bits. A pair agrees in the
    bit with probability `agree`, independently.
    """
    block = -1
    for b in range(len(radii)):
        if widths[b] < WIDEST and (block < 0 or shares[b] > shares[block]):
            block = b
    if block >= 0:
        widths[block] += 1
        shares[block] = 0.0
        for e in range(radii[block], -1, -1):
            before = spread[block, e - 1] if e else 0.0
            spread[block, e] = spread[block, e] * agree + before * (1.0 - agree)
            shares[block] += spread[block, e]
    return block


@kernel("float64(float64[::1], int64, int64, float64, float64, float64, float64[::1], int64[::1], int64[::1])")
def choose_blocks(agree, distance, most, left, right, half, costs, chosen, radii):  # type: ignore[no-untyped-def]
    """Split bits into blocks so that finding all pairs within `distance` costs least; return that cost.

    If the radii plus one each add up to distance + 1, then two codes that differ in at most `distance` bits differ in
    some block in no more bits than its radius. (Norouzi, Punjani, Fleet, CVPR 2012; with all radii 0, Manku, Jain, Das
    Sarma, WWW 2007.) Tries every number of blocks up to `most` and every number of bits, assigned in the order given.

    agree float64 (bits), ascending: the probability that a pair agrees in each bit. chosen int64 (bits), written: the
    block of each bit, or -1; radii int64, written: of each block, -1 after the last.
    """
    bits = len(agree)
    cheapest = np.inf
    dealt, last = np.empty(bits, np.int64), 0
    chosen[:] = -1
    radii[:] = -1
    for blocks in range(1, min(most, distance + 1, bits) + 1):
        trial = np.empty(blocks, np.int64)
        for b in range(blocks):
            trial[b] = (distance + 1) // blocks - 1 + (1 if b < (distance + 1) % blocks else 0)
        widths, shares = np.zeros(blocks, np.int64), np.ones(blocks)
        spread = np.zeros((blocks, trial[0] + 1))
        spread[:, 0] = 1.0
        last = -1
        for bit in range(bits):
            dealt[bit] = deal_bit(agree[bit], trial, widths, shares, spread)
            cost = 0.0
            for b in range(blocks):
                cost += block_cost(widths[b], trial[b], shares[b], left, right, half, costs)
            if cost < cheapest:
                cheapest, last = cost, bit
        if last >= 0:
            chosen[:] = -1
            chosen[: last + 1] = dealt[: last + 1]
            radii[:] = -1
            radii[:blocks] = trial
    return cheapest


@kernel("void(uint64[:, ::1], int64, uint64[:, ::1], int64, boolean, uint64[:, ::1], int64[::1], float64[::1])")
def meeting_shares(left, n_left, right, n_right, same, masks, radii, shares):  # type: ignore[no-untyped-def]
    """shares float64 (blocks), written: the share of pairs that collide in each block.

    masks uint64 (blocks, words). With `same`, each code is paired with those after it.
    """
    pairs = n_left * (n_left - 1) // 2 if same else n_left * n_right
    for block in range(len(radii)):
        count = 0
        for i in range(n_left):
            for j in range(i + 1 if same else 0, n_right):
                total = 0
                for word in range(left.shape[0]):
                    total += ones((left[word, i] ^ right[word, j]) & masks[block, word])
                count += total <= radii[block]
        shares[block] = count / max(1, pairs)
