"""Kernels that number the elements of sets, and make inverted lists and bitmaps of them."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U


@inlined
def place_of(x, keys, numbers):  # type: ignore[no-untyped-def]
    """The place of a key in a hash table, or the free place for it."""
    mask = U(len(keys) - 1)
    place = x & mask
    while numbers[place] != 0 and keys[place] != x:
        place = (place + U(1)) & mask
    return place


@kernel("int64(int64, uint64[::1], int64[::1], uint32[::1], uint64[::1], uint32[::1], int64[::1])")
def number_elements(first, hashes, starts, sizes, keys, numbers, count):  # type: ignore[no-untyped-def]
    """Replace the hashes of the sets from `first` on by numbers of elements, in order of appearance.

    Set i is hashes[starts[i]:starts[i]+sizes[i]]. keys uint64, numbers uint32: a hash table, a power of two of places;
    the number is one more than that of the element, 0 in a free place. count int64 (1): elements so far. Return the
    first set for which the table may be too small, or the number of sets.
    """
    for i in range(first, len(sizes)):
        if 2 * (count[0] + np.int64(sizes[i])) > len(keys):
            return i
        for at in range(starts[i], starts[i] + np.int64(sizes[i])):
            place = place_of(hashes[at], keys, numbers)
            if numbers[place] == 0:
                count[0] += 1
                keys[place] = hashes[at]
                numbers[place] = count[0]
            hashes[at] = U(numbers[place]) - U(1)
    return len(sizes)


@kernel("void(uint64[::1], uint32[::1], uint64[::1], uint32[::1])")
def move_elements(keys, numbers, to_keys, to_numbers):  # type: ignore[no-untyped-def]
    """Insert the elements of a hash table into a larger one."""
    for i in range(len(keys)):
        if numbers[i] != 0:
            place = place_of(keys[i], to_keys, to_numbers)
            to_keys[place] = keys[i]
            to_numbers[place] = numbers[i]


@kernel("void(uint64[::1], uint64[::1], uint32[::1], uint64)")
def find_elements(hashes, keys, numbers, unknown):  # type: ignore[no-untyped-def]
    """Replace hashes by the numbers of their elements; those that the table lacks by `unknown`."""
    for at in range(len(hashes)):
        place = place_of(hashes[at], keys, numbers)
        hashes[at] = U(numbers[place]) - U(1) if numbers[place] != 0 else unknown


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
