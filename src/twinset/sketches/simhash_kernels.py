"""SimHash codes: every shingle votes on every bit, with its weight, by a bit of its hash."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, fmix64

EIGHT = U(0x0101010101010101)
FEW = 1 << 14


@inlined
def settled(votes, total, shingles, salt):  # type: ignore[no-untyped-def]
    """The word whose bits have more than half of the votes. One shingle, chosen per bit, breaks a tie.

    It has the smallest hash of its own for the bit. Similar documents mostly share it and others do not, so ties
    neither separate similar documents nor bring others together.
    """
    word = U(0)
    for bit in range(64):
        if 2 * votes[bit] > total:
            word |= U(1) << U(bit)
        elif 2 * votes[bit] == total:
            factor = fmix64(salt + U(bit)) | U(1)
            smallest = ~U(0)
            for x in shingles:
                smallest = min(smallest, x * factor)
            for x in shingles:
                if x * factor == smallest:
                    word |= fmix64(x ^ salt) & (U(1) << U(bit))
                    break
    return word


@kernel("void(uint64[::1], int64[::1], uint64[::1], uint64[:, ::1])")
def by_count(hashes, offsets, salts, codes):  # type: ignore[no-untyped-def]
    """Every occurrence of a shingle has one vote. Charikar, STOC 2002.

    hashes uint64, offsets int64 (n + 1), salts uint64 (words), codes uint64 (n, words), written; zeros for a document
    without shingles.
    """
    votes = np.empty(64, np.int64)
    lanes = np.empty(8, np.uint64)
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        for word in range(len(salts)):
            salt = salts[word]
            votes[:] = 0
            for first in range(start, end, 255):  # lane j counts bits j, j + 8, … in a byte each, up to 255
                lanes[:] = 0
                for i in range(first, min(end, first + 255)):
                    h = fmix64(hashes[i] ^ salt)
                    for j in range(8):
                        lanes[j] += (h >> U(j)) & EIGHT
                for bit in range(64):
                    votes[bit] += np.int64((lanes[bit & 7] >> U(bit & 56)) & U(255))
            codes[row, word] = settled(votes, end - start, hashes[start:end], salt)


@kernel("void(uint64[::1], int64[::1], uint64[::1], uint32[::1], uint64[:, ::1])")
def by_weight(hashes, offsets, salts, weights, codes):  # type: ignore[no-untyped-def]
    """Every occurrence of a shingle has as many votes as the weight of its slot, fewer than 2^15.

    weights uint32, a power of two of slots; the others as for `by_count`.
    """
    votes = np.empty(64, np.int64)
    low, high = np.empty(32, np.int32), np.empty(32, np.int32)
    heavy = np.empty(FEW, np.int32)
    mask = U(len(weights) - 1)
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        for word in range(len(salts)):
            salt, total = salts[word], 0
            votes[:] = 0
            for first in range(start, end, FEW):  # FEW times 2^15 is within 32 bits
                few = min(end - first, FEW)
                for i in range(few):  # a separate loop, so that memory accesses overlap
                    heavy[i] = weights[hashes[first + i] & mask]
                low[:] = 0
                high[:] = 0
                for i in range(few):
                    weight = heavy[i]
                    total += weight
                    h = fmix64(hashes[first + i] ^ salt)
                    ones, more = np.uint32(h), np.uint32(h >> U(32))
                    for bit in range(32):
                        low[bit] += weight & -np.int32((ones >> np.uint32(bit)) & np.uint32(1))
                        high[bit] += weight & -np.int32((more >> np.uint32(bit)) & np.uint32(1))
                for bit in range(32):
                    votes[bit] += low[bit]
                    votes[bit + 32] += high[bit]
            codes[row, word] = settled(votes, total, hashes[start:end], salt)


@kernel("void(uint64[::1], int64[::1], uint64[::1], int64[::1], uint64[:, ::1])")
def by_votes(hashes, offsets, salts, given, codes):  # type: ignore[no-untyped-def]
    """Every element has a given number of votes; those of a set add up to less than 2^62.

    given int64, as many as hashes; the others as for `by_count`.
    """
    votes = np.empty(64, np.int64)
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        for word in range(len(salts)):
            salt, total = salts[word], 0
            votes[:] = 0
            for i in range(start, end):
                total += given[i]
                h = fmix64(hashes[i] ^ salt)
                for bit in range(64):
                    votes[bit] += given[i] & -np.int64((h >> U(bit)) & U(1))
            codes[row, word] = settled(votes, total, hashes[start:end], salt)


@inlined
def place_in(room, size, x):  # type: ignore[no-untyped-def]
    """Insert x, not 0, into the first `size` slots of a table, a power of two; return whether it is new."""
    at = fmix64(x) & U(size - 1)
    while room[at] != U(0):
        if room[at] == x:
            return False
        at = (at + U(1)) & U(size - 1)
    room[at] = x
    return True


@inlined
def twice(count):  # type: ignore[no-untyped-def]
    """Smallest power of two above twice a number."""
    size = 2
    while size <= 2 * count:
        size *= 2
    return size


@kernel("void(uint64[::1], int64[::1], uint32[::1], uint64[::1])")
def count_documents(hashes, offsets, counts, room):  # type: ignore[no-untyped-def]
    """Count each slot of the table once per document with shingles of that slot.

    counts uint32, a power of two of slots; room uint64, five for each shingle of the longest document, plus two.
    """
    mask = U(len(counts) - 1)
    for row in range(len(offsets) - 1):
        size = twice(offsets[row + 1] - offsets[row])
        room[:size] = U(0)
        end = size
        for i in range(offsets[row], offsets[row + 1]):
            place = hashes[i] & mask
            if place_in(room, size, place + U(1)):
                room[end] = place
                end += 1
        for i in range(size, end):  # a separate loop, so that memory accesses overlap
            counts[room[i]] += np.uint32(1)


@kernel("int64(uint64[::1], int64[::1], uint64[::1], uint64[::1], int64[::1])")
def distinct(hashes, offsets, room, out, starts):  # type: ignore[no-untyped-def]
    """Write the distinct shingles of each document, in order of first occurrence; return their number.

    room as for `count_documents`; out uint64, as long as hashes; starts int64 (n + 1): start of each document in it.
    """
    at = 0
    starts[0] = 0
    for row in range(len(offsets) - 1):
        size = twice(offsets[row + 1] - offsets[row])
        room[:size] = U(0)
        zero = False
        for i in range(offsets[row], offsets[row + 1]):
            x = hashes[i]
            new = not zero if x == U(0) else place_in(room, size, x)
            zero |= x == U(0)
            if new:
                out[at] = x
                at += 1
        starts[row + 1] = at
    return at
