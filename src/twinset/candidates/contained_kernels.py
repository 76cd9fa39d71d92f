"""Kernels of the containment join: choose the tokens under which a set is filed, and look others up."""

import numpy as np

from twinset.candidates.prefix_kernels import KEY_HASH_BITS, bring_forward, common_tokens, least_overlap
from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U
from twinset.compiled.set_kernels import slot_of

KEY_MASK = U((1 << KEY_HASH_BITS) - 1)
_ENTRY = 8.0  # cost of one filed token, in units of one member of a list that is looked at
_GROWTH = 1.25  # of the pools that are tried


@inlined
def mixed(word):  # type: ignore[no-untyped-def]
    """Mix a word as SplitMix64 does (Steele, Lea, Flood 2014); 0 marks a free slot, so it is never the result."""
    word = (word ^ (word >> U(30))) * U(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> U(27))) * U(0x94D049BB133111EB)
    return (word ^ (word >> U(31))) | U(1)


@inlined
def key_of(token):  # type: ignore[no-untyped-def]
    """The key of a token: a random number that depends on its upper bits."""
    return mixed(token >> U(64 - KEY_HASH_BITS))


@inlined
def draws_needed(pool, missing, loss):  # type: ignore[no-untyped-def]
    """Fewest tokens to draw from a pool so that all are among `missing` ones with a probability of at most `loss`."""
    chance = 1.0
    draws = 0
    while chance > loss:
        chance *= max(0.0, missing - draws) / (pool - draws)
        draws += 1
    return draws


@inlined
def best_pool(keys, total, missing, loss):  # type: ignore[no-untyped-def]
    """The pool of the rarest tokens, and the draws from it, with the least expected work.

    keys: the first `total`, ascending, with the frequency above the hash. A small pool has rare tokens and needs many
    draws; a large one needs few, of tokens with longer lists.
    """
    best, best_pool, best_draws = np.inf, missing + 1, missing + 1
    reach = 0.0
    checked = np.float64(missing + 1)
    for place in range(total):
        reach += np.float64(keys[place] >> U(KEY_HASH_BITS))
        if place + 1 >= checked or place + 1 == total:
            pool = place + 1
            draws = draws_needed(pool, missing, loss)
            cost = draws * (_ENTRY + reach / pool)
            if cost < best:
                best, best_pool, best_draws = cost, pool, draws
            checked = max(checked * _GROWTH, checked + 1.0)
    return best_pool, best_draws


@kernel(
    "int64(uint64[::1], int64[::1], uint32[::1], uint64[::1], float64, float64, uint8[::1], uint32[::1], uint64[::1],"
    "uint32[::1], uint64[::1])"
)
def choose(hashes, starts, sizes, salts, threshold, loss, low, high, scratch, counts, keys):  # type: ignore[no-untyped-def]
    """Write the keys under which each set is filed, set by set, and return their number.

    Sets and frequencies as in `prefixes`. counts[i]: the keys of set i, 0 if no other set can hold enough of it. A set
    that holds at least the threshold of it has one of the keys, unless with a probability of at most `loss`. scratch
    uint64: as long as the largest set; keys uint64: as long as all sets.
    """
    total = 0
    for i in range(len(sizes)):
        size = np.int64(sizes[i])
        counts[i] = 0
        if size == 0:
            continue
        met = common_tokens(hashes[starts[i] : starts[i] + size], salts[i], low, high, scratch)
        missing = met - least_overlap(threshold, size)  # those that no other set has are missing already
        if missing < 0:
            continue
        scratch[:met].sort()
        pool, draws = best_pool(scratch, met, missing, loss)
        for j in range(pool):
            scratch[j] = mixed(scratch[j] & KEY_MASK)
        bring_forward(scratch, pool, draws)
        for j in range(draws):
            keys[total] = scratch[j]
            total += 1
        counts[i] = draws
    return total


@kernel("void(uint64[::1], uint64[::1])")
def mark(keys, bits):  # type: ignore[no-untyped-def]
    """Set the bit of each key in a table of a power of two of words."""
    mask = U(64 * len(bits) - 1)
    for key in keys:
        place = (key >> U(8)) & mask
        bits[place >> U(6)] |= U(1) << (place & U(63))


@kernel(
    "int64(uint64[::1], int64[::1], uint32[::1], uint32[::1], uint64[::1], int64, uint64[::1], uint64[::1], int64[::1],"
    "uint32[::1], uint32[::1], uint32[::1], int64[::1], uint32[::1], uint32[:, ::1], int64[::1])"
)
def look_up(  # type: ignore[no-untyped-def]
    hashes, starts, sizes, numbers, salts, border, bits, table, lists, members, owners, owner_sizes, slots, stamps,
    out, state,
):  # fmt: skip
    """Write (filed document, looking document) of every filed set that may be held by a set to `out`, each pair once.

    hashes, starts, sizes, numbers, salts: the sets that look up, in the form of `choose`, with their documents. bits
    uint64: from `mark`. table, lists, members: lists of owners by key. A filed set is at most as large as the other
    one, or of the same size and earlier; documents on both sides of `border` (-1: none) are compared only with each
    other. slots int64: scratch, as long as the largest set; stamps uint32 (owners): scratch, other than any document
    number + 1 of the sets. Returns the number of rows. Where `out` has no room for the next set, state[0] is that set
    and state[1] the rows it may need; else state[0] is -1.
    """
    bit_mask, mask = U(64 * len(bits) - 1), U(len(table) - 1)
    rows = 0
    for i in range(state[0], len(sizes)):
        size, number = sizes[i], numbers[i]
        met, most = 0, 0
        for x in hashes[starts[i] : starts[i] + np.int64(size)]:
            key = key_of(x ^ salts[i])
            bit = (key >> U(8)) & bit_mask
            if (bits[bit >> U(6)] >> (bit & U(63))) & U(1) == U(0):
                continue
            place = slot_of(key, mask)
            while table[place] != U(0) and table[place] != key:
                place = (place + U(1)) & mask
            if table[place] == key:
                slots[met] = np.int64(place)
                met += 1
                most += lists[place + U(1)] - lists[place]
        if rows + min(most, len(owner_sizes)) > len(out):
            state[0] = i
            state[1] = min(most, len(owner_sizes))
            return rows
        stamp = np.uint32(number + np.uint32(1))
        for k in range(met):
            for at in range(lists[slots[k]], lists[slots[k] + 1]):
                owner = members[at]
                if stamps[owner] == stamp:
                    continue
                stamps[owner] = stamp
                other = owners[owner]
                if owner_sizes[owner] > size or (owner_sizes[owner] == size and other >= number):
                    continue
                if border >= 0 and (np.int64(other) < border) == (np.int64(number) < border):
                    continue
                out[rows, 0] = other
                out[rows, 1] = number
                rows += 1
    state[0] = -1
    return rows
