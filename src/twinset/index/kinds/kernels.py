"""Kernels that compare stored sketches and bit codes with those of queries."""

from twinset.compiled import kernel
from twinset.compiled.bytes_kernels import ones


@kernel("void(uint32[:, ::1], uint32[:, ::1], int64[::1], int64[::1], uint32, uint32[::1])")
def matches(left_slots, right_slots, lefts, rights, mask, out):  # type: ignore[no-untyped-def]
    """out[i]: the number of slots in which rows lefts[i] and rights[i] are equal in the bits of mask.

    left_slots, right_slots uint32 (n, k), (m, k); lefts, rights int64 (p); out uint32 (p), written.
    """
    k = left_slots.shape[1]
    for i in range(len(lefts)):
        left, right = left_slots[lefts[i]], right_slots[rights[i]]
        count = 0
        for j in range(k):
            if (left[j] ^ right[j]) & mask == 0:
                count += 1
        out[i] = count


@kernel("void(uint64[:, ::1], uint64[:, ::1], int64[::1], int64[::1], uint32[::1])")
def differing_bits(left_codes, right_codes, lefts, rights, out):  # type: ignore[no-untyped-def]
    """out[i]: the Hamming distance of rows lefts[i] and rights[i].

    left_codes, right_codes uint64 (n, words), (m, words); lefts, rights int64 (p); out uint32 (p), written.
    """
    words = left_codes.shape[1]
    for i in range(len(lefts)):
        left, right = left_codes[lefts[i]], right_codes[rights[i]]
        count = 0
        for j in range(words):
            count += ones(left[j] ^ right[j])
        out[i] = count


@kernel("int64(uint64[::1], uint64[:, ::1], int64, int64[::1], uint32[::1])")
def within_bits(query, codes, most, places, out):  # type: ignore[no-untyped-def]
    """Find rows of codes within a Hamming distance of a query: their positions, distances and number.

    query uint64 (words); codes uint64 (n, words); places int64 (n), out uint32 (n), written from the start.
    """
    found = 0
    for row in range(len(codes)):
        count = 0
        for j in range(len(query)):
            count += ones(query[j] ^ codes[row, j])
        if count <= most:
            places[found], out[found] = row, count
            found += 1
    return found
