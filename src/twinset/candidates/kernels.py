"""Sketches to candidates: band keys, and the joins that find documents with an equal key.

Keys are joined by sorting. A sorted word holds the high bits of a key above the document's position, so that a plain
sort of numbers does the work; what shares those high bits is compared in full, so nothing rests on them. Candidates are
compared by their sketches where they are found, before they take any room.
"""

import numpy as np

from twinset.bytes_kernels import U, fmix64, load64
from twinset.compiled import inlined, kernel

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


@kernel(
    "int64(uint64[::1], int64[::1], uint64, uint64[:, ::1], uint8[:, ::1], int64, int64, int64, uint32[::1],"
    "uint32[::1])"
)
def join_within(words, state, mask, keys, sketches, band, least, border, lefts, rights):  # type: ignore[no-untyped-def]
    """Pairs of positions of one block that share a key of `band` and agree in at least `least` sketch bytes.

    words uint64, sorted: key & ~mask | position. Positions below `border` pair only with those from it on (border < 0:
    any with any). Fills lefts and rights (longer than any run) and returns how many; when they are full, state holds
    [start of run, member] to go on from, else state[0] is -1.
    """
    count = 0
    at, member = state[0], state[1]
    total = len(words)
    while at < total:
        high = words[at] & ~mask
        end = at + 1
        while end < total and words[end] & ~mask == high:
            end += 1
        split = at  # within a run positions ascend, so one border parts it
        while border >= 0 and split < end and np.int64(words[split] & mask) < border:
            split += 1
        last = end if border < 0 else split
        for this in range(at + member, last):
            if count + (end - at) > len(lefts):
                state[0] = at
                state[1] = this - at
                return count
            left = words[this] & mask
            row = sketches[left]
            for other in range(this + 1 if border < 0 else split, end):
                right = words[other] & mask
                if equal_bytes(row, sketches[right]) < least or keys[U(band), left] != keys[U(band), right]:
                    continue
                if met_before(keys, keys, left, right, band):
                    continue
                lefts[count] = left
                rights[count] = right
                count += 1
        member = 0
        at = end
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
    """As `join_within` for two blocks: positions in the left block with positions in the right block."""
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


@kernel("void(uint64[::1], uint64, uint64[:, ::1], uint32[::1])")
def first_of_equals(words, mask, digests, first):  # type: ignore[no-untyped-def]
    """first[i]: the least position whose digest (both halves) equals that of position i.

    words uint64, sorted: digests[i, 0] & ~mask | i. first uint32, written.
    """
    at = 0
    total = len(words)
    while at < total:
        high = words[at] & ~mask
        end = at + 1
        while end < total and words[end] & ~mask == high:
            end += 1
        for this in range(at, end):
            position = np.int64(words[this] & mask)
            first[position] = position
            for other in range(at, this):
                earlier = np.int64(words[other] & mask)
                if digests[earlier, 0] == digests[position, 0] and digests[earlier, 1] == digests[position, 1]:
                    first[position] = first[earlier]
                    break
        at = end
