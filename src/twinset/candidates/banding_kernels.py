"""Band keys, and the hash join that finds documents with an equal key.

Keys are first partitioned by their high bits, so that a partition fits the processor's cache while it is joined. A word
represents a key: its high bits above the position of its document. Within a partition each word links to the previous
one of its bucket. Words with equal high bits are compared by their whole keys. Candidates are compared by their
sketches at once, before they are stored.
"""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, fmix64, load64

BAND_MIX = U(0xA24BAED4963EE407)
SLOT_MIX = U(0x9FB21C651E98DF25)


@kernel("void(uint32[:, ::1], uint64[::1], int64, int64, uint64[:, ::1])")
def band_keys(sketches, salts, n_bands, n_rows, keys):  # type: ignore[no-untyped-def]
    """keys[band, i]: 64-bit hash of the band number, the `n_rows` slots of document i in it, and its salt."""
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
    """Number of equal bytes of two rows, whose length is a multiple of 8. An equal byte is a zero byte of the XOR."""
    size = len(left)
    differing = U(0)
    for base in range(0, size, 2040):  # a byte of the sum below is at most 255
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
    """Whether an earlier band has found this pair already."""
    for earlier in range(band):  # noqa: SIM110 - Numba does not compile any()
        if left_keys[U(earlier), left] == right_keys[U(earlier), right]:
            return True
    return False


@kernel("void(uint64[:], uint64[:], int64, uint64, uint64, int64[::1], int64[::1], uint64[::1])")
def partition(left, right, offset, mask, shift, middles, ends, words):  # type: ignore[no-untyped-def]
    """Group the keys of two sides by their high bits; positions of the right side start at `offset`.

    left, right uint64: keys. middles, ends int64 (partitions), zero; partitions are 2 to the power of 64 - shift. words
    uint64 (len(left) + len(right)): key * SLOT_MIX & ~mask | position. Partition p ends at ends[p], where the next one
    starts; its words from middles[p] on are of the right side. Each side is in order of position.
    """
    for i in range(len(left)):
        middles[(left[i] * SLOT_MIX) >> shift] += 1
    for i in range(len(right)):
        ends[(right[i] * SLOT_MIX) >> shift] += 1
    start = 0
    for p in range(len(ends)):  # from here on: the next free place of each side
        middle = start + middles[p]
        start, middles[p], ends[p] = middle + ends[p], start, middle
    for i in range(len(left)):
        mixed = left[i] * SLOT_MIX
        words[middles[mixed >> shift]] = (mixed & ~mask) | U(i)
        middles[mixed >> shift] += 1
    for i in range(len(right)):
        mixed = right[i] * SLOT_MIX
        words[ends[mixed >> shift]] = (mixed & ~mask) | U(i + offset)
        ends[mixed >> shift] += 1


@inlined
def bucket_of(word, shift, heads):  # type: ignore[no-untyped-def]
    """Bucket of a word: the bits below those that all words of its partition share."""
    return (word >> shift) & U(len(heads) - 1)


@inlined
def chain(words, filed, shift, heads, before):  # type: ignore[no-untyped-def]
    """before[i]: 1 + the last of the first `filed` words before i in its bucket, or 0."""
    heads[:] = 0
    for i in range(len(words)):
        bucket = bucket_of(words[i], shift, heads)
        before[i] = heads[bucket]
        if i < filed:
            heads[bucket] = i + 1


@kernel(
    "int64(uint64[::1], int64[::1], int64[::1], boolean, int64[::1], uint64, uint64, uint32[::1], uint32[::1],"
    "uint64[:, ::1], uint64[:, ::1], uint8[:, ::1], uint8[:, ::1], int64, int64, uint32[::1], uint32[::1])"
)
def join(
    words, middles, ends, inside, state, mask, shift, heads, before,
    left_keys, right_keys, left_sketches, right_sketches, band, least, lefts, rights,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Find the pairs of positions that share a key of `band` and agree in at least `least` sketch bytes.

    words, middles, ends: from `partition`. A word of the right side is paired with words of the left side; with
    `inside` every word with those before it. heads uint32: a power of two of buckets, selected by `shift`. before
    uint32: as long as the largest partition. Fills lefts and rights and returns the number of pairs; when they are
    full, state is [partition, word, next partner] to resume from, else state[0] is -1. It starts as [0, -1, -1].
    """
    count = 0
    part, right, other = state[0], state[1], state[2]
    while part < len(ends):
        start = ends[part - 1] if part > 0 else 0
        own = words[start : ends[part]]
        if right < 0:
            filed = len(own) if inside else middles[part] - start
            chain(own, filed, shift, heads, before)
            right = 0 if inside else filed
        while right < len(own):
            if other < 0:
                other = np.int64(before[right])
            while other > 0:
                if own[other - 1] ^ own[right] <= mask:
                    a, b = own[other - 1] & mask, own[right] & mask
                    if (
                        left_keys[U(band), a] == right_keys[U(band), b]
                        and equal_bytes(left_sketches[a], right_sketches[b]) >= least
                        and not met_before(left_keys, right_keys, a, b, band)
                    ):
                        if count == len(lefts):
                            state[0], state[1], state[2] = part, right, other
                            return count
                        lefts[count], rights[count] = a, b
                        count += 1
                other = np.int64(before[other - 1])
            other = -1
            right += 1
        right = -1
        part += 1
    state[0] = -1
    return count


@kernel("void(uint64[::1], int64[::1], uint64, uint64, uint32[::1], uint32[::1], uint64[:, ::1], uint32[::1])")
def first_of_equals(words, ends, mask, shift, heads, before, digests, first):  # type: ignore[no-untyped-def]
    """first[i]: the smallest position whose digest (both halves) equals that of position i.

    words, ends: from `partition`, of the first halves only. shift, heads and before as for `join`; only first
    positions are in buckets.
    """
    start = 0
    for end in ends:
        own = words[start:end]
        heads[:] = 0
        for i in range(len(own)):
            bucket = bucket_of(own[i], shift, heads)
            position = own[i] & mask
            other = heads[bucket]
            while other > 0:
                a = own[other - 1] & mask
                if (
                    own[other - 1] ^ own[i] <= mask
                    and digests[a, 0] == digests[position, 0]
                    and digests[a, 1] == digests[position, 1]
                ):
                    break
                other = before[other - 1]
            if other > 0:
                first[position] = own[other - 1] & mask
            else:
                first[position] = position
                before[i] = heads[bucket]
                heads[bucket] = i + 1
        start = end
