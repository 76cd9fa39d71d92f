"""Multi-probe LSH: a hash table of buckets, and its lookups.

A bucket is a run of entries with their full keys, so bucket collisions do no harm. Candidates are compared by their
signatures at once, before they are stored.
"""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, fmix64, ones


@kernel("void(uint64[::1], uint64, uint32[::1], uint64[::1], uint32[::1])")
def file_keys(keys, shift, starts, filed, members):  # type: ignore[no-untyped-def]
    """Bucket b, the mixed key's bits from `shift` on, has the entries starts[b] to starts[b+1] of filed and members.

    keys uint64 (n); starts uint32 (buckets + 1); filed uint64, members uint32 (n): keys and their positions, ascending
    within a bucket. The last three are written.
    """
    starts[:] = np.uint32(0)
    for i in range(len(keys)):
        starts[(fmix64(keys[i]) >> shift) + U(1)] += np.uint32(1)
    for b in range(1, len(starts)):
        starts[b] += starts[b - 1]
    # Filling moves each start to the end of its bucket, the start of the next; going backwards restores the starts.
    for i in range(len(keys) - 1, -1, -1):
        bucket = (fmix64(keys[U(i)]) >> shift) + U(1)
        starts[bucket] -= np.uint32(1)
        filed[starts[bucket]] = keys[U(i)]
        members[starts[bucket]] = i
    for b in range(1, len(starts) - 1):
        starts[b] = starts[b + 1]
    starts[len(starts) - 1] = np.uint32(len(keys))


@inlined
def differing(left, right):  # type: ignore[no-untyped-def]
    """Number of bits in which two rows of words differ."""
    count = 0
    for word in range(len(left)):
        count += ones(left[U(word)] ^ right[U(word)])
    return count


@kernel(
    "int64(uint64[:, ::1], int64, int64, int64, boolean, uint64, uint32[::1], uint64[::1], uint32[::1], uint64[::1],"
    "uint64[:, ::1], uint64[:, ::1], int64, int64, int64[::1], uint32[::1], uint32[::1])"
)
def look_up(
    tried, first, last, probe, same, shift, starts, filed, members, first_words, left_signatures, right_signatures,
    most_first, most, state, lefts, rights,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Find the pairs of a row from `first` to `last` and a position with one of its keys, from `probe` on.

    Skips pairs whose signatures differ in more than `most` bits, or in more than `most_first` of the first 64;
    first_words uint64 has those 64 in bucket order. With `same` both sides are the same vectors: the smaller position
    comes first, no vector is paired with itself, and equal keys pair once. Fills lefts and rights and returns the
    number of pairs; when they are full, state is [row, probe, entry] to resume from, else state[0] is -1.
    """
    n_tried, signed = tried.shape[1], left_signatures.shape[1] > 0
    begin, end = np.empty(n_tried, np.uint32), np.empty(n_tried, np.uint32)
    count = 0
    row, resumed_probe, resumed_place = max(first, state[0]), state[1], state[2]
    while row < last:
        word = left_signatures[row, 0] if signed else U(0)
        for p in range(n_tried):  # all buckets first, so that their memory is fetched in parallel
            bucket = fmix64(tried[row, p]) >> shift
            begin[p] = starts[bucket]
            end[p] = starts[bucket + U(1)]
        for p in range(max(probe, resumed_probe), n_tried):
            key = tried[row, p]
            if p > 0 and key == tried[row, 0]:
                continue  # there were no more keys to try
            for place in range(max(np.int64(begin[p]), resumed_place), np.int64(end[p])):
                if filed[U(place)] != key or ones(word ^ first_words[U(place)]) > most_first:
                    continue
                other = np.int64(members[U(place)])
                if same and (other == row or (p == 0 and other < row)):
                    continue
                if differing(left_signatures[row], right_signatures[other]) > most:
                    continue
                if count == len(lefts):
                    state[0], state[1], state[2] = row, p, place
                    return count
                lefts[count] = min(row, other) if same else row
                rights[count] = max(row, other) if same else other
                count += 1
            resumed_place = 0
        resumed_probe = 0
        row += 1
    state[0] = -1
    return count
