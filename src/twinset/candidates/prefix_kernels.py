"""Kernels of the exact join: frequencies, prefixes, bitmaps, inverted lists.

A token is a shingle hash, mixed with its document's salt, so that documents that are not to be compared share none. Its
key is its frequency above the high bits of the hash: ascending keys begin with the rarest tokens.
"""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, ones
from twinset.compiled.set_kernels import SLACK, slot_of

KEY_HASH_BITS = 40
MOST_FREQUENT = (1 << (64 - KEY_HASH_BITS)) - 1
RULED_OUT = np.uint32(0xFFFFFFFF)


@inlined
def least_overlap(threshold, size):  # type: ignore[no-untyped-def]
    """Minimum number of tokens that a set of this size shares with any set at or above the threshold."""
    return max(1, np.int64(np.ceil(threshold * size * SLACK)))


@inlined
def bring_forward(values, total, wanted):  # type: ignore[no-untyped-def]
    """Move the `wanted` smallest of the first `total` values to the front, unordered (Hoare 1961, FIND)."""
    low, high = 0, total - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break


@kernel("void(uint64[::1], int64[::1], uint32[::1], uint64[::1], uint8[::1], uint32[::1])")
def count_tokens(hashes, starts, sizes, salts, low, high):  # type: ignore[no-untyped-def]
    """Count each token of the sets hashes[starts[i]:starts[i]+sizes[i]], of salt salts[i], in two tables.

    low uint8 and high uint32, each of a power of two of slots. Counts beyond 255 in `low` continue in `high`, at a slot
    that depends on the one in `low` alone, so counts do not depend on the order of tokens. Tokens that share a slot are
    counted together: too high, never too low.
    """
    low_mask, high_mask = U(len(low) - 1), U(len(high) - 1)
    for i in range(len(sizes)):
        for x in hashes[starts[i] : starts[i] + sizes[i]]:
            token = x ^ salts[i]
            place = token & low_mask
            if low[place] < 255:
                low[place] += 1
            else:
                high[slot_of(place, high_mask)] += 1


@inlined
def common_tokens(tokens, salt, low, high, scratch):  # type: ignore[no-untyped-def]
    """Write the tokens of a set that other sets have, as keys with the frequency above the hash; return their number.

    scratch uint64: as long as the set.
    """
    low_mask, high_mask = U(len(low) - 1), U(len(high) - 1)
    met = 0
    for x in tokens:
        token = x ^ salt
        place = token & low_mask
        frequency = np.int64(low[place])
        if frequency == 255:
            frequency = min(np.int64(MOST_FREQUENT), 255 + np.int64(high[slot_of(place, high_mask)]))
        if frequency > 1:
            scratch[met] = (U(frequency) << U(KEY_HASH_BITS)) | (token >> U(64 - KEY_HASH_BITS))
            met += 1
    return met


@kernel(
    "int64(uint64[::1], int64[::1], uint32[::1], uint64[::1], float64, uint8[::1], uint32[::1], uint64[::1],"
    "uint32[::1], uint32[::1], uint64[::1], uint64[::1])"
)
def prefixes(hashes, starts, sizes, salts, threshold, low, high, scratch, alone, counts, work, keys):  # type: ignore[no-untyped-def]
    """Write the keys of each set's prefix, ascending, set by set, and return their number.

    The prefix is the size - minimum overlap + 1 rarest tokens. alone[i] of them are in no other set and are not
    written; counts[i] are, and work[i] is the sum of their frequencies. scratch uint64: as long as the largest set;
    keys uint64: as long as all prefixes.
    """
    total = 0
    for i in range(len(sizes)):
        size = np.int64(sizes[i])
        length = size - least_overlap(threshold, size) + 1
        met = common_tokens(hashes[starts[i] : starts[i] + size], salts[i], low, high, scratch)
        alone[i] = min(length, size - met)
        counts[i] = length - alone[i]
        work[i] = 0
        if counts[i]:
            bring_forward(scratch, met, counts[i])
            chosen = scratch[: counts[i]]
            chosen.sort()
            for key in chosen:
                keys[total] = key
                work[i] += key >> U(KEY_HASH_BITS)
                total += 1
    return total


@kernel("void(uint64[::1], int64[::1], uint32[::1], int64[::1], uint64[::1])")
def bitmaps(hashes, starts, sizes, offsets, bits):  # type: ignore[no-untyped-def]
    """Write the bitmap of each set to bits[offsets[i]:offsets[i+1]], which is zero and a power of two of words.

    Each token flips one bit. Common tokens flip the same bits in both, so bitmaps differ in at most as many bits as the
    sets in tokens.
    """
    for i in range(len(sizes)):
        words = bits[offsets[i] : offsets[i + 1]]
        mask = U(len(words) - 1)
        for x in hashes[starts[i] : starts[i] + sizes[i]]:
            words[(x >> U(6)) & mask] ^= U(1) << (x & U(63))


@inlined
def differing(one, other, most):  # type: ignore[no-untyped-def]
    """Number of differing bits of two bitmaps, the longer folded onto the shorter; counting stops beyond `most`."""
    if len(one) > len(other):
        one, other = other, one
    size, folds = len(one), len(other) // len(one)
    count = 0
    for base in range(0, size, 16):
        for j in range(base, min(size, base + 16)):
            word = one[j]
            for fold in range(folds):
                word ^= other[j + fold * size]
            count += ones(word)
        if count > most:
            break
    return count


@kernel("void(uint64[::1], int64[::1], uint32[::1], uint64[::1], int64[::1])")
def count_lists(keys, offsets, counts, table, lengths):  # type: ignore[no-untyped-def]
    """Give each of the first counts[i] keys of document i a slot in `table`, and count the keys of each slot.

    table uint64 and lengths int64, zero, of the same power of two of slots, more than there are keys.
    """
    mask = U(len(table) - 1)
    for i in range(len(counts)):
        for key in keys[offsets[i] : offsets[i] + counts[i]]:
            place = slot_of(key, mask)
            while table[place] != U(0) and table[place] != key:
                place = (place + U(1)) & mask
            table[place] = key
            lengths[place] += 1


@kernel("void(uint64[::1], uint64[::1], int64[::1])")
def look_up(keys, table, places):  # type: ignore[no-untyped-def]
    """places[i]: the slot of keys[i] in the table, or -1."""
    mask = U(len(table) - 1)
    for i in range(len(keys)):
        place = slot_of(keys[i], mask)
        while table[place] != U(0) and table[place] != keys[i]:
            place = (place + U(1)) & mask
        places[i] = np.int64(place) if table[place] == keys[i] else -1


@kernel("void(int64[::1], int64[::1], uint32[::1], uint32[::1], int64[::1], uint32[::1], uint32[::1])")
def fill_lists(found, offsets, counts, alone, ends, members, positions):  # type: ignore[no-untyped-def]
    """Enter document i and the position of its token in the lists found[offsets[i]:offsets[i]+counts[i]].

    ends int64: the start of each list, moved to its end. Documents come in order, so every list ascends.
    """
    for i in range(len(counts)):
        for k in range(counts[i]):
            at = ends[found[offsets[i] + k]]
            ends[found[offsets[i] + k]] += 1
            members[at] = i
            positions[at] = alone[i] + k


@inlined
def fits(i, j, threshold, sizes, salts, bits, bit_offsets, their_sizes, their_salts, their_bits, their_bit_offsets):  # type: ignore[no-untyped-def]
    """Whether two sets may be compared, and their bitmaps do not rule out the threshold."""
    if len(salts) and salts[i] != their_salts[j]:
        return False
    # An overlap of t/(1+t) (|A|+|B|) leaves (1-t)/(1+t) (|A|+|B|) tokens in only one of them.
    both = np.int64(sizes[i]) + np.int64(their_sizes[j])
    most = both - 2.0 * threshold / (1.0 + threshold) * both * SLACK
    one = bits[bit_offsets[i] : bit_offsets[i + 1]]
    other = their_bits[their_bit_offsets[j] : their_bit_offsets[j + 1]]
    return differing(one, other, most) <= most


@kernel(
    "int64(int64, uint32[::1], uint32[::1], float64, uint32[::1], uint64[::1], uint64[::1], int64[::1],"
    "uint32[::1], uint64[::1], uint64[::1], int64[::1])"
)
def sift(
    count, lefts, rights, threshold, sizes, salts, bits, bit_offsets,
    their_sizes, their_salts, their_bits, their_bit_offsets,
):  # type: ignore[no-untyped-def] # fmt: skip
    """Keep the fitting ones of the first `count` pairs, in place; return their number."""
    kept = 0
    for k in range(count):
        i, j = lefts[k], rights[k]
        if fits(
            i, j, threshold, sizes, salts, bits, bit_offsets, their_sizes, their_salts, their_bits, their_bit_offsets
        ):
            lefts[kept] = i
            rights[kept] = j
            kept += 1
    return kept


@kernel(
    "int64(int64, int64, int64, boolean[::1], int64[::1], int64[::1], uint32[::1], uint32[::1], float64,"
    "uint32[::1], uint64[::1], uint64[::1], int64[::1], uint32[::1], uint64[::1], uint64[::1], int64[::1])"
)
def ask_all(
    begin, end, count, crowded, lows, highs, lefts, rights, threshold, sizes, salts, bits, bit_offsets,
    their_sizes, their_salts, their_bits, their_bit_offsets,
):  # type: ignore[no-untyped-def] # fmt: skip
    """Append to the first `count` pairs those of a crowded document with any fitting one from lows[i] to highs[i]."""
    for i in range(begin, end):
        if crowded[i]:
            for j in range(lows[i], highs[i]):
                if fits(
                    i, j, threshold, sizes, salts, bits, bit_offsets,
                    their_sizes, their_salts, their_bits, their_bit_offsets,
                ):  # fmt: skip
                    lefts[count] = i
                    rights[count] = j
                    count += 1
    return count


@kernel(
    "int64(int64, int64, boolean[::1], int64[::1], int64[::1], uint32[::1], uint32[::1], int64[::1], int64[::1],"
    "int64[::1], uint32[::1], uint32[::1], uint32[::1], float64, uint32[::1], uint32[::1], uint32[::1], uint32[::1])"
)
def ask_lists(
    begin, end, crowded, found, offsets, alone, sizes, lows, highs,
    starts, members, positions, their_sizes, threshold, overlap, touched, lefts, rights,
):  # type: ignore[no-untyped-def] # fmt: skip
    """Find the pairs of an uncrowded document and a list member that no bound rules out; return their number.

    found[offsets[i]:offsets[i+1]]: the lists of document i's prefix, or -1; only members from lows[i] to highs[i] are
    paired. overlap uint32, zero, and touched uint32: scratch (members). lefts: documents, rights: members; as long as
    needed.
    """
    share = threshold / (1.0 + threshold) * SLACK  # J >= t means an overlap of at least t/(1+t) (|A|+|B|)
    count = 0
    for i in range(begin, end):
        if crowded[i]:
            continue
        size = np.int64(sizes[i])
        n_touched = 0
        for k in range(offsets[i], offsets[i + 1]):
            if found[k] < 0:
                continue
            left_after = size - (np.int64(alone[i]) + k - offsets[i])  # this token and those after it
            at, last = starts[found[k]], starts[found[k] + 1]
            stop = last
            while at < stop:  # skip to the first member that is large enough
                middle = (at + stop) >> 1
                if members[middle] < lows[i]:
                    at = middle + 1
                else:
                    stop = middle
            while at < last and members[at] < highs[i]:
                j = members[at]
                met = overlap[j]
                if met == 0:
                    touched[n_touched] = j
                    n_touched += 1
                if met != RULED_OUT:
                    after = min(left_after, np.int64(their_sizes[j]) - np.int64(positions[at]))
                    possible = np.int64(met) + after >= share * (size + np.int64(their_sizes[j]))
                    overlap[j] = met + np.uint32(1) if possible else RULED_OUT
                at += 1
        for t in range(n_touched):
            j = touched[t]
            if overlap[j] != RULED_OUT:
                lefts[count] = i
                rights[count] = j
                count += 1
            overlap[j] = 0
    return count
