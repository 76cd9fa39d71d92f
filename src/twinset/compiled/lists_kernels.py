"""Kernels that number the elements of sets, and make inverted lists and bitmaps of them."""

import numpy as np

from twinset.compiled import kernel
from twinset.compiled.bytes_kernels import U


@kernel("int64(uint64[::1], int64[::1], uint32[::1], uint64[::1], uint32[::1])")
def number_elements(hashes, starts, sizes, keys, numbers):  # type: ignore[no-untyped-def]
    """Replace the hashes of each set by numbers of elements, in order of appearance; return how many there are.

    Set i is hashes[starts[i]:starts[i]+sizes[i]]. keys uint64, numbers uint32: a hash table, a power of two of places
    with numbers 0.
    """
    mask = U(len(keys) - 1)
    count = 0
    for i in range(len(sizes)):
        for at in range(starts[i], starts[i] + np.int64(sizes[i])):
            x = hashes[at]
            place = x & mask
            while numbers[place] != 0 and keys[place] != x:
                place = (place + U(1)) & mask
            if numbers[place] == 0:
                count += 1
                keys[place] = x
                numbers[place] = count
            hashes[at] = U(numbers[place]) - U(1)
    return count


@kernel("void(uint64[::1], int64[::1], uint32[::1], int64[::1], uint32[::1])")
def count_elements(elements, starts, sizes, chosen, frequencies):  # type: ignore[no-untyped-def]
    """Add to frequencies[e] the number of chosen sets that have element e."""
    for i in chosen:
        for at in range(starts[i], starts[i] + np.int64(sizes[i])):
            frequencies[elements[at]] += np.uint32(1)


@kernel("void(uint64[::1], int64[::1], uint32[::1], int64[::1], uint32[::1], int64, uint32[::1])")
def count_listed(elements, starts, sizes, chosen, codes, n_listed, counts):  # type: ignore[no-untyped-def]
    """counts[i]: the number of elements of set chosen[i] whose code is below n_listed."""
    for i in range(len(chosen)):
        count = 0
        for at in range(starts[chosen[i]], starts[chosen[i]] + np.int64(sizes[chosen[i]])):
            count += np.int64(codes[elements[at]]) < n_listed
        counts[i] = count


@kernel(
    "void(int64, int64, uint64[::1], int64[::1], uint32[::1], int64[::1], uint32[::1], int64, int64[::1], uint32[::1],"
    "uint64[:, ::1])"
)
def encode(first, last, elements, starts, sizes, chosen, codes, n_listed, offsets, listed, bits):  # type: ignore[no-untyped-def]
    """Write sets chosen[first:last]: codes below n_listed, ascending, to `listed`; those above set bits of `bits`.

    The code 2**32 - 1 is left out. offsets int64: set i has listed[offsets[i]:offsets[i + 1]].
    """
    most = n_listed + 64 * len(bits)
    for i in range(first, last):
        out = offsets[i]
        for at in range(starts[chosen[i]], starts[chosen[i]] + np.int64(sizes[chosen[i]])):
            code = np.int64(codes[elements[at]])
            if code < n_listed:
                listed[out] = code
                out += 1
            elif code < most:
                bit = code - n_listed
                bits[bit >> 6, i] |= U(1) << U(bit & 63)
        listed[offsets[i] : out].sort()


@kernel("void(int64[::1], uint32[::1], int64[::1], uint32[::1])")
def fill_lists(offsets, listed, ends, members):  # type: ignore[no-untyped-def]
    """Append each set to the list of each of its elements: ends int64 is where each list begins, and then ends."""
    for i in range(len(offsets) - 1):
        for e in listed[offsets[i] : offsets[i + 1]]:
            members[ends[e]] = i
            ends[e] += 1
