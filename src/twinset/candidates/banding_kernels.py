"""Sketches to candidates: band keys, and the joins that find documents with an equal key.

Within a block, documents are filed by their keys: each leads to the last one before it in the same bucket. Keys of two
blocks are joined by sorting: a sorted word holds the high bits of a key above the document's position, so that a plain
sort of numbers does the work. What shares a bucket or those high bits is compared in full, so nothing rests on them.
Candidates are compared by their sketches where they are found, before they take any room.
"""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, fmix64, load64

BAND_MIX = U(0xA24BAED4963EE407)
SLOT_MIX = U(0x9FB21C651E98DF25)


@kernel("void(uint32[:, ::1], uint64[::1], int64, int64, uint64[:, ::1])")
def band_keys(sketches, salts, n_bands, n_rows, keys):  # type: ignore[no-untyped-def]
    """keys[band, i].

    64-bit hash of the band's number, the `n_rows` slots of document i in it, and the document's salt.
    """
    for i in range(sketches.shape[0]):
        slots = sketches[i]
        for band in range(n_bands):
            h = (U(band) + U(1)) * BAND_MIX ^ salts[i]
            for j in range(band * n_rows, (band + 1) * n_rows):
                h = (h ^ U(slots[U(j)])) * SLOT_MIX
                h ^= h >> U(31)
            keys[band, i] = fmix64(h)


@inlined
def equal_bytes(left, right):  # type: ignore[no-untyped-def]
    """How many bytes of two rows agree; their length is a multiple of 8. A zero byte of the XOR is an agreement."""
    size = len(left)
    differing = U(0)
    for base in range(0, size, 2040):  # a byte of the sum below holds 255 at most
        sums = U(0)
        for j in range(base, min(size, base + 2040), 8):
            x = load64(left, j) ^ load64(right, j)
            x = ((x & U(0x7F7F7F7F7F7F7F7F)) + U(0x7F7F7F7F7F7F7F7F)) | x
            sums += (x >> U(7)) & U(0x0101010101010101)
        lanes = (sums & U(0x00FF00FF00FF00FF)) + ((sums >> U(8)) & U(0x00FF00FF00FF00FF))
        differing += (lanes * U(0x0001000100010001)) >> U(48)
    return size - np.int64(differing)


@inlined
def met_before(left_keys, right_keys, left, right, band):  # type: ignore[no-untyped-def]
    """Whether an earlier band has brought these two together already."""
    for earlier in range(band):  # noqa: SIM110 - Numba does not compile any()
        if left_keys[U(earlier), left] == right_keys[U(earlier), right]:
            return True
    return False


@kernel("void(uint64[::1], int64, uint64, uint32[::1], uint32[::1])")
def chain(keys, border, shift, heads, before):  # type: ignore[no-untyped-def]
    """before[i]: one more than the last earlier position of the same bucket as position i, or 0.

    heads uint32: one a bucket, a power of two of which 64 - shift is the exponent, zero. Only positions below `border`
    are in buckets (border < 0: all).
    """
    for i in range(len(keys)):
        bucket = (keys[i] * SLOT_MIX) >> shift
        before[i] = heads[bucket]
        if border < 0 or i < border:
            heads[bucket] = i + 1


@kernel("int64(uint32[::1], int64[::1], uint64[:, ::1], uint8[:, ::1], int64, int64, uint32[::1], uint32[::1])")
def join_within(before, state, keys, sketches, band, least, lefts, rights):  # type: ignore[no-untyped-def]
    """Pairs of positions of one block that share a key of `band` and agree in at least `least` sketch bytes.

    before uint32: from `chain`. Fills lefts and rights and returns how many; when they are full, state holds [position,
    what it is to be paired with next] to go on from, else state[0] is -1. At first it is [0, -1]; with a border of the
    chain, whose positions below it pair only with those from it on, [border, -1].
    """
    count = 0
    right, other = state[0], state[1]
    own = keys[band]
    while right < len(before):
        if other < 0:
            other = np.int64(before[right])
        row = sketches[right]
        while other > 0:
            left = other - 1
            if (
                own[left] == own[right]
                and equal_bytes(row, sketches[left]) >= least
                and not met_before(keys, keys, U(left), U(right), band)
            ):
                if count == len(lefts):
                    state[0] = right
                    state[1] = other
                    return count
                lefts[count] = left
                rights[count] = right
                count += 1
            other = np.int64(before[left])
        other = -1
        right += 1
    state[0] = -1
    return count


@kernel(
    "int64(uint64[::1], uint64[::1], int64[::1], uint64, uint64[:, ::1], uint64[:, ::1], uint8[:, ::1], uint8[:, ::1],"
    "int64, int64, uint32[::1], uint32[::1])"
)
def join_across(
    left_words, right_words, state, mask, left_keys, right_keys, left_sketches, right_sketches, band, least,
    lefts, rights,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """As `join_within` for two blocks: positions in the left block with positions in the right block.

    left_words, right_words uint64, sorted: key & ~mask | position. lefts and rights are longer than any run of equal
    keys; state holds the places in the words.
    """
    count = 0
    i, j = state[0], state[1]
    while i < len(left_words) and j < len(right_words):
        a = left_words[i] & ~mask
        b = right_words[j] & ~mask
        if a < b:
            i += 1
        elif b < a:
            j += 1
        else:
            end = j
            while end < len(right_words) and right_words[end] & ~mask == a:
                end += 1
            if count + (end - j) > len(lefts):
                state[0] = i
                state[1] = j
                return count
            left = left_words[i] & mask
            row = left_sketches[left]
            for other in range(j, end):
                right = right_words[other] & mask
                if (
                    equal_bytes(row, right_sketches[right]) < least
                    or left_keys[U(band), left] != right_keys[U(band), right]
                ):
                    continue
                if met_before(left_keys, right_keys, left, right, band):
                    continue
                lefts[count] = left
                rights[count] = right
                count += 1
            i += 1  # j stays: the next left word may share the same run
    state[0] = -1
    return count


@kernel("void(uint64[:, ::1], uint64, uint32[::1], uint32[::1], uint32[::1])")
def first_of_equals(digests, shift, heads, before, first):  # type: ignore[no-untyped-def]
    """first[i]: the least position whose digest (both halves) equals that of position i.

    shift, heads and before as for `chain`; only first positions are in buckets.
    """
    for i in range(len(first)):
        bucket = (digests[i, 0] * SLOT_MIX) >> shift
        other = heads[bucket]
        while other > 0:
            if digests[other - 1, 0] == digests[i, 0] and digests[other - 1, 1] == digests[i, 1]:
                break
            other = before[other - 1]
        if other > 0:
            first[i] = other - 1
        else:
            first[i] = i
            before[i] = heads[bucket]
            heads[bucket] = i + 1
