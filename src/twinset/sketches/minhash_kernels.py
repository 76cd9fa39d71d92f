"""MinHash sketches: k slots of 32 bits, each a minimum over the document's shingles.

Slots are true minima, so a sketch depends neither on the order nor on repeats of shingles, and two sketches of one
scheme merge slot by slot. A document without shingles has EMPTY in every slot.
"""

import numpy as np

from twinset.compiled import inlined, kernel

U = np.uint64
V = np.uint32
EMPTY = V(0xFFFFFFFF)
ROUND_MIX = U(0xE7037ED1A0B428DB)
ROUND_SEED = U(0x8EBC6AF09C88C6E3)
DIGEST_MIX = U(0x589965CC75374CC3)

AT_ONCE = 256  # shingles that bid together
HIGH_HALF = U(0xFFFFFFFF00000000)


@inlined
def fill_first(hashes, k, slots):  # type: ignore[no-untyped-def]
    """First bucket round: each shingle bids for one slot, with its own mixed hash."""
    n_slots = U(k)
    for i in range(len(hashes)):
        h = hashes[i]
        slot = ((h & U(0xFFFFFFFF)) * n_slots) >> U(32)
        slots[slot] = min(slots[slot], V(h >> U(34)))


@inlined
def fill_more(hashes, k, number, bids, slots):  # type: ignore[no-untyped-def]
    """A later round: the round number above a 30-bit fraction lets earlier rounds win.

    bids uint64: scratch, AT_ONCE. A vectorised loop computes the bids; those for slots that no earlier round has filled
    are selected without a branch.
    """
    n_slots = U(k)
    tag = V(number) << V(30)
    salt = U(number) * ROUND_SEED
    for at in range(0, len(hashes), AT_ONCE):
        some = hashes[at : at + AT_ONCE]
        for i in range(len(some)):
            h = (some[i] ^ salt) * ROUND_MIX
            h ^= h >> U(32)
            bids[i] = (h & HIGH_HALF) | (((h & U(0xFFFFFFFF)) * n_slots) >> U(32))
        count = U(0)
        for i in range(len(some)):
            bid = bids[i]
            bids[count] = bid
            count += U(slots[bid & U(0xFFFFFFFF)] >= tag)
        for i in range(count):
            slot = bids[i] & U(0xFFFFFFFF)
            slots[slot] = min(slots[slot], V(V(bids[i] >> U(34)) | tag))


@inlined
def fill_last(hashes, slots):  # type: ignore[no-untyped-def]
    """Fill each empty slot with the minimum of its own permutation."""
    for j in range(len(slots)):
        if slots[j] == EMPTY:
            salt = U(j + 4) * ROUND_SEED
            smallest = V(0x3FFFFFFF)
            for i in range(len(hashes)):
                h = (hashes[i] ^ salt) * ROUND_MIX
                h ^= h >> U(32)
                h *= DIGEST_MIX
                smallest = min(smallest, V(h >> U(34)))
            slots[j] = smallest | V(0xC0000000)
            if slots[j] == EMPTY:
                slots[j] = EMPTY - V(1)


@kernel("void(uint64[::1], int64[::1], int64[::1], uint64[::1], uint32[:, ::1])")
def fss(hashes, offsets, rows, bids, sketches):  # type: ignore[no-untyped-def]
    """Fast similarity sketching: three bucket rounds, then a permutation for each slot still empty.

    Dahlgaard, Knudsen, Thorup: Fast Similarity Sketching, FOCS 2017 (arXiv 1704.04370).

    hashes uint64 (all shingles), offsets int64 (n+1), bids uint64: scratch, AT_ONCE, sketches uint32 (m, k): those of
    rows[:n], int64, are written.
    """
    k = sketches.shape[1]
    for i in range(len(rows)):
        slots = sketches[rows[i]]
        shingles = hashes[offsets[i] : offsets[i + 1]]
        for j in range(k):
            slots[j] = EMPTY
        if len(shingles) == 0:
            continue
        number = 0
        unfilled = True
        while number < 3 and unfilled:
            if number == 0:
                fill_first(shingles, k, slots)
            else:
                fill_more(shingles, k, number, bids, slots)
            number += 1
            largest = V(0)
            for j in range(k):
                largest = max(largest, slots[j])
            unfilled = largest == EMPTY
        if unfilled:
            fill_last(shingles, slots)


@kernel("void(uint64[::1], int64[::1], int64[::1], uint32[::1], uint32[:, ::1])")
def kperm(hashes, offsets, rows, salts, sketches):  # type: ignore[no-untyped-def]
    """The textbook's k permutations: one hash function per slot, fmix32 of (shingle XOR the slot's salt).

    hashes uint64, offsets int64 (n+1), rows int64 (n), salts uint32 (k), sketches uint32 (m, k): the rows are written.
    """
    k = sketches.shape[1]
    for i in range(len(rows)):
        slots = sketches[rows[i]]
        for j in range(k):
            slots[j] = EMPTY
        for shingle in hashes[offsets[i] : offsets[i + 1]]:
            x = V(V(shingle >> U(32)) ^ V(shingle))
            for j in range(k):
                h = V(x ^ salts[j])  # V( ) throughout: otherwise Numba widens to 64 bits
                h = V(V(h ^ (h >> V(16))) * V(0x85EBCA6B))
                h = V(V(h ^ (h >> V(13))) * V(0xC2B2AE35))
                h = V(h ^ (h >> V(16)))
                slots[j] = min(slots[j], h)


@kernel("void(uint64[::1], int64[::1], int64[::1], uint64[:, ::1])")
def digest(hashes, offsets, rows, digests):  # type: ignore[no-untyped-def]
    """128-bit digests, equal for equal bags of shingles: two sums of differently mixed hashes.

    hashes uint64, offsets int64 (n+1), rows int64 (n), digests uint64 (m, 2): the rows are written.
    """
    for i in range(len(rows)):
        shingles = hashes[offsets[i] : offsets[i + 1]]
        first = U(0)
        second = U(0)
        for j in range(len(shingles)):  # by index: this vectorises
            x = shingles[j]
            first += x
            y = x * DIGEST_MIX
            y ^= y >> U(32)
            second += y * ROUND_MIX
        digests[rows[i], 0] = first
        digests[rows[i], 1] = second


@kernel("void(uint32[:, ::1], uint8[:, ::1])")
def low_bytes(sketches, out):  # type: ignore[no-untyped-def]
    """Low eight bits of each slot: enough to estimate similarity, in a quarter of the memory."""
    for row in range(sketches.shape[0]):
        for j in range(sketches.shape[1]):
            out[row, j] = np.uint8(sketches[row, j] & V(0xFF))


@kernel("int64(uint32[::1], uint32[::1])")
def agreeing(left, right):  # type: ignore[no-untyped-def]
    """Number of equal slots that are not empty."""
    count = 0
    for j in range(len(left)):
        if left[j] == right[j] and left[j] != EMPTY:
            count += 1
    return count
