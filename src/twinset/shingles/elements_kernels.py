"""Hash elements of sets: seeded, and numbered or salted where they must differ."""

from twinset.compiled import kernel
from twinset.compiled.bytes_kernels import U, fmix64, load64

# Changing any constant below changes every hash: raise HASH_SCHEME in schema.py with it.
STEP = U(0x9E3779B97F4A7C15)
COLUMN = U(0xD6E8FEB86659FD93)


@kernel("void(read(uint8), int64[::1], int64[::1], boolean, uint64, uint64[::1], uint64[::1], int64[::1])")
def element_hashes(data, starts, ends, bag, seed, room, out, offsets):  # type: ignore[no-untyped-def]
    """Hashes of the elements data[starts[i]:ends[i]], eight bytes each; in a bag, combined with the occurrence number.

    room: scratch, as long as the largest set. offsets (n + 1): start of each set in `out`.
    """
    salt = fmix64(seed * STEP + U(1))
    at = 0
    offsets[0] = 0
    for i in range(len(starts)):
        count = (ends[i] - starts[i]) // 8
        for j in range(count):
            room[j] = load64(data, starts[i] + 8 * j)
        if bag:
            room[:count].sort()
        times = U(0)
        for j in range(count):
            times = times + U(1) if bag and j and room[j] == room[j - 1] else U(0)
            out[at + j] = fmix64((room[j] ^ salt) + times * STEP)
        at += count
        offsets[i + 1] = at


@kernel("void(uint64[::1], int64[::1], int64, int64, int64[::1], uint64[::1])")
def spread(hashes, offsets, column, weight, places, out):  # type: ignore[no-untyped-def]
    """Append the shingles of one column of some records to those of the others.

    Each is written `weight` times, each time as another element; places (n): the next position, advanced.
    """
    for i in range(len(offsets) - 1):
        at = places[i]
        for j in range(offsets[i], offsets[i + 1]):
            for k in range(weight):
                out[at] = fmix64((hashes[j] ^ (U(column + 1) * COLUMN)) + U(k) * STEP)
                at += 1
        places[i] = at
