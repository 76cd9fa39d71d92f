"""Shingle hashes to SimHash codes: every shingle votes on every bit, with its weight, for its own bit of a hash."""

import numpy as np

from twinset.bytes_kernels import U, fmix64
from twinset.compiled import inlined, kernel

EIGHT = U(0x0101010101010101)


@inlined
def settled(votes, total, shingles, salt):  # type: ignore[no-untyped-def]
    """The word whose bits have more than half of the votes. A tie is settled by one shingle, another for each bit.

    It is the least by a hash of its own for the bit. Documents that are nearly alike mostly have it in common, and
    others do not, so that ties neither set such documents apart nor bring the others together.
    """
    word = U(0)
    for bit in range(64):
        if 2 * votes[bit] > total:
            word |= U(1) << U(bit)
        elif 2 * votes[bit] == total:
            factor = fmix64(salt + U(bit)) | U(1)
            least = ~U(0)
            for x in shingles:
                least = min(least, x * factor)
            for x in shingles:
                if x * factor == least:
                    word |= fmix64(x ^ salt) & (U(1) << U(bit))
                    break
    return word


@kernel("void(uint64[::1], int64[::1], uint64[::1], uint64[:, ::1])")
def by_count(hashes, offsets, salts, codes):  # type: ignore[no-untyped-def]
    """Every occurrence of a shingle has one vote. Charikar, STOC 2002.

    hashes uint64, offsets int64 (n + 1), salts uint64 (words), codes uint64 (n, words), written; of a document without
    shingles, zeros.
    """
    votes = np.empty(64, np.int64)
    lanes = np.empty(8, np.uint64)
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        for word in range(len(salts)):
            salt = salts[word]
            votes[:] = 0
            for first in range(start, end, 255):  # lane j counts bits j, j + 8, … in a byte each, which holds 255
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
    """Every occurrence of a shingle has as many votes as its place in the table of weights says.

    weights uint32, of a power of two of places; the others as for `by_count`.
    """
    votes = np.empty(64, np.int64)
    mask = U(len(weights) - 1)
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        for word in range(len(salts)):
            salt, total = salts[word], 0
            votes[:] = 0
            for i in range(start, end):
                weight = np.int64(weights[hashes[i] & mask])
                total += weight
                h = fmix64(hashes[i] ^ salt)
                for bit in range(64):
                    votes[bit] += weight & -np.int64((h >> U(bit)) & U(1))
            codes[row, word] = settled(votes, total, hashes[start:end], salt)


@kernel("void(uint64[::1], int64[::1], int64, uint32[::1], uint32[::1])")
def count_documents(hashes, offsets, before, counts, seen):  # type: ignore[no-untyped-def]
    """Count each place of the table once for a document with shingles of that place.

    counts and seen uint32, of a power of two of places; seen holds the number of the document last counted, from 1:
    the first of these documents is number before + 1.
    """
    mask = U(len(counts) - 1)
    for row in range(len(offsets) - 1):
        number = np.uint32(before + row + 1)
        for i in range(offsets[row], offsets[row + 1]):
            place = hashes[i] & mask
            if seen[place] != number:
                seen[place] = number
                counts[place] += np.uint32(1)
