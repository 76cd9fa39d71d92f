"""Comparing sketches of queries with those of documents."""

from twinset.compiled import kernel


@kernel("void(uint32[:, ::1], uint32[:, ::1], int64[::1], int64[::1], uint32, uint32[::1])")
def matches(left_slots, right_slots, lefts, rights, mask, out):  # type: ignore[no-untyped-def]
    """out[i]: in how many slots row lefts[i] of the one agrees with row rights[i] of the other, in the bits of mask.

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
