"""Exact comparison of a few documents with all others: an inverted table of the few, and overlap counts.

Most documents share little with any of the few. A match lacks only a limited number of a document's shingles, so a
document with more unknown shingles is rejected before anything is counted.
"""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U


@kernel(
    "void(uint64[::1], int64[::1], uint32[::1], uint64[::1], uint32[::1], uint32[::1], uint64[::1], uint32[::1],"
    "uint32[::1], uint64[::1], uint64, int64[::1])"
)
def index(sets, starts, sizes, keys, owners, runs, key_room, owner_room, buckets, bits, shift, ranges):  # type: ignore[no-untyped-def]
    """Build an inverted table: entries (key, owner), sorted by key and then by owner; those whose key >> shift is b
    are buckets[b]:buckets[b+1]. Bit key >> (shift - 3) of `bits` is set for each key.

    sets uint64, set j being sets[starts[j]:starts[j]+sizes[j]]; keys uint64 and owners uint32: length entries + 1; runs
    uint32: number of entries of a key, at its first entry; key_room, owner_room: scratch of the same length; buckets
    uint32 and bits uint64: zero; ranges int64: zero, length 2**n + 1. Entries are first partitioned by range of keys,
    so that each range stays in the cache while it is sorted.
    """
    coarse = shift
    for _ in range(64):
        if U(1) << (U(64) - coarse) <= U(len(ranges) - 1):
            break
        coarse += U(1)
    for j in range(len(sizes)):
        for x in sets[starts[j] : starts[j] + np.int64(sizes[j])]:
            ranges[x >> coarse] += 1
    reach = 0
    for r in range(len(ranges)):
        reach += ranges[r]
        ranges[r] = reach
    # Last set first, each range from its end: owners ascend where keys are equal.
    for j in range(len(sizes) - 1, -1, -1):
        for x in sets[starts[j] : starts[j] + np.int64(sizes[j])]:
            ranges[x >> coarse] -= 1
            place = ranges[x >> coarse]
            key_room[place] = x
            owner_room[place] = j
    width = len(buckets) // (len(ranges) - 1)
    for r in range(len(ranges) - 1):
        first, last = ranges[r], ranges[r + 1]
        base = r * width
        for i in range(first, last):
            x = key_room[i]
            buckets[x >> shift] += np.uint32(1)
            bit = x >> (shift - U(3))
            bits[bit >> U(6)] |= U(1) << (bit & U(63))
        reach = first
        for b in range(base, base + width):
            reach += np.int64(buckets[b])
            buckets[b] = reach
        for i in range(last - 1, first - 1, -1):
            b = key_room[i] >> shift
            buckets[b] -= np.uint32(1)
            keys[buckets[b]] = key_room[i]
            owners[buckets[b]] = owner_room[i]
        for b in range(base, base + width):
            low = np.int64(buckets[b])
            high = last if b == base + width - 1 else np.int64(buckets[b + 1])
            for i in range(low + 1, high):
                x, owner = keys[i], owners[i]
                place = i
                while place > low and keys[place - 1] > x:
                    keys[place] = keys[place - 1]
                    owners[place] = owners[place - 1]
                    place -= 1
                keys[place] = x
                owners[place] = owner
    buckets[len(buckets) - 1] = ranges[len(ranges) - 1]
    keys[len(keys) - 1] = U(0)  # no hash is 0: this sentinel ends the last run of equal keys
    at = 0
    while keys[at] != U(0):
        end = at + 1
        while keys[end] == keys[at]:
            end += 1
        runs[at] = end - at
        at = end


@inlined
def place_of(x, keys, buckets, shift):  # type: ignore[no-untyped-def]
    """The first entry of key x, or -1."""
    b = x >> shift
    for i in range(np.int64(buckets[b]), np.int64(buckets[b + U(1)])):
        if keys[i] >= x:
            return np.int64(i) if keys[i] == x else np.int64(-1)
    return np.int64(-1)


@inlined
def may_be(x, bits, shift):  # type: ignore[no-untyped-def]
    """0 where no key is x; 1 is inconclusive."""
    bit = x >> (shift - U(3))
    return bits[bit >> U(6)] >> (bit & U(63)) & U(1)


@kernel("void(uint64[::1], uint32[::1], uint32[::1], int64[:, ::1], int64[::1], int64[::1], uint64[::1])")
def rare_keys(keys, owners, runs, tally, starts, ends, rare):  # type: ignore[no-untyped-def]
    """Write the keys of each owner that have the fewest owners to rare[starts[j]:starts[j+1]], up to its capacity.

    keys, owners, runs from `index`; tally int64 (owners, classes): zero; ends int64 (owners): a copy of starts, on
    return the end of each owner's keys. The last class counts all keys with that many owners or more.
    """
    last = tally.shape[1] - 1
    at = 0
    while keys[at] != U(0):
        run = np.int64(runs[at])
        for i in range(at, at + run):
            tally[owners[i], min(run, last)] += 1
        at += run
    for j in range(len(ends)):  # turn counts into numbers to take
        left = starts[j + 1] - starts[j]
        for c in range(last + 1):
            tally[j, c] = min(tally[j, c], left)
            left -= tally[j, c]
    at = 0
    while keys[at] != U(0):
        run = np.int64(runs[at])
        for i in range(at, at + run):
            j = owners[i]
            if tally[j, min(run, last)] > 0:
                tally[j, min(run, last)] -= 1
                rare[ends[j]] = keys[at]
                ends[j] += 1
        at += run


@kernel(
    "void(uint64[::1], int64[::1], uint64[::1], uint32[::1], uint32[::1], uint32[::1], uint64[::1], uint64,"
    "uint32[::1], int64[::1], uint32[::1], uint32[::1], uint8[::1])"
)
def meets(hashes, offsets, keys, owners, runs, buckets, bits, shift, need, entries, counts, met, alive):  # type: ignore[no-untyped-def]
    """alive[i]: whether row i has at least need[owner] keys of some owner; repeats may count again.

    Rows of hashes as in `Shingles`; a table from `index`; scratch as in `match`, entries one longer than the longest
    row.
    """
    for i in range(len(alive)):
        maybe = 0
        for k in range(offsets[i], offsets[i + 1]):
            entries[maybe] = k
            maybe += np.int64(may_be(hashes[k], bits, shift))
        alive[i] = 0
        touched = 0
        for k in range(maybe):
            first = place_of(hashes[entries[k]], keys, buckets, shift)
            if first < 0:
                continue
            for place in range(first, first + np.int64(runs[first])):
                owner = owners[place]
                if counts[owner] == 0:
                    met[touched] = owner
                    touched += 1
                counts[owner] += np.uint32(1)
                if counts[owner] >= need[owner]:
                    alive[i] = 1
            if alive[i]:
                break
        for k in range(touched):
            counts[met[k]] = 0


@inlined
def rarest(entries, runs, wanted, tally):  # type: ignore[no-untyped-def]
    """Move the `wanted` entries whose keys have the fewest owners to the front; more than 255 owners count as 255.

    tally int64: scratch of 256.
    """
    tally[:] = 0
    for place in entries:
        tally[min(np.int64(runs[place]), 255)] += 1
    most = 0
    left = wanted
    while tally[most] < left:
        left -= tally[most]
        most += 1
    front = 0
    for i in range(len(entries)):
        place = entries[i]
        count = np.int64(min(runs[place], 255))
        if count < most or (count == most and left > 0):
            if count == most:
                left -= 1
            entries[i] = entries[front]
            entries[front] = place
            front += 1


@inlined
def has(keys, owners, runs, place, owner):  # type: ignore[no-untyped-def]
    """Whether the key at `place` has this owner; owners ascend."""
    low, high = place, place + np.int64(runs[place])
    while low < high:
        middle = (low + high) >> 1
        if owners[middle] < owner:
            low = middle + 1
        else:
            high = middle
    return low < place + np.int64(runs[place]) and owners[low] == owner


@inlined
def counted(
    this, size, entries, spare, self, keys, owners, runs, owner_sizes, threshold, contained, counts, met, tally, out,
    found, state,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Count the keys that the set `this` shares with each owner except `self`, from the first entries of its keys.

    A match lacks at most `spare` of these keys. Where keys have many owners, only owners that have enough of the rarest
    2 spare + 1 keys are counted. Reorders the entries.
    """
    first_keys = min(len(entries), 2 * spare + 1)
    total_owners = 0
    for place in entries:
        total_owners += np.int64(runs[place])
    if total_owners <= 4 * len(entries):
        first_keys = len(entries)
    if first_keys < len(entries):
        rarest(entries, runs, first_keys, tally)
    touched = 0
    for i in range(first_keys):
        first = entries[i]
        for place in range(first, first + np.int64(runs[first])):
            owner = owners[place]
            if counts[owner] == 0:
                met[touched] = owner
                touched += 1
            counts[owner] += np.uint32(1)
        state[1] += np.int64(runs[first])
    for i in range(touched):
        owner = met[i]
        shared = np.int64(counts[owner])
        counts[owner] = 0
        lacking = first_keys - shared
        if owner == self or lacking > spare:
            continue
        for k in range(first_keys, len(entries)):
            if has(keys, owners, runs, entries[k], owner):
                shared += 1
            else:
                lacking += 1
                if lacking > spare:
                    break
        if first_keys < len(entries):
            state[1] += 4 * (len(entries) - first_keys)  # each is a binary search
        theirs = np.int64(owner_sizes[owner])
        whole = min(size, theirs) if contained else size + theirs - shared
        if lacking <= spare and shared / whole >= threshold:
            out[found, 0] = this
            out[found, 1] = owner
            out[found, 2] = shared
            found += 1
    return found


@kernel(
    "int64(uint64[::1], int64[::1], uint32[::1], int64[::1], uint64[::1], uint32[::1], uint32[::1], uint32[::1],"
    "uint64[::1], uint64, uint32[::1], float64, boolean, int64[::1], uint32[::1], uint32[::1], int64[::1],"
    "uint32[:, ::1], int64[::1])"
)
def match(
    sets, starts, sizes, limits, keys, owners, runs, buckets, bits, shift, owner_sizes, threshold, contained, entries,
    counts, met, tally, out, state,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Write (set, owner, shared) of every set and owner whose Jaccard similarity reaches `threshold` to `out`.

    With `contained` the share of the smaller of the two is compared, not the similarity. sets, starts, sizes as in
    `index`; a set with more than limits[j] unknown hashes has no match. Scratch: entries
    int64, one longer than the largest set; counts uint32 (owners), zero; met uint32 (owners); tally int64 (256).
    Returns the number of rows. Where `out` (at least one row per owner) is full, state[0] is the set to resume from,
    else -1. state[1] grows by the number of entries visited.
    """
    rows = 0
    for j in range(state[0], len(sizes)):
        if rows + len(owner_sizes) > len(out):
            state[0] = j
            return rows
        size = np.int64(sizes[j])
        hits = 0
        for i in range(starts[j], starts[j] + size):
            entries[hits] = i
            hits += np.int64(may_be(sets[i], bits, shift))
        if size - hits > limits[j]:
            continue
        maybe, hits = hits, 0
        for i in range(maybe):
            place = place_of(sets[entries[i]], keys, buckets, shift)
            if place >= 0:
                entries[hits] = place
                hits += 1
        if size - hits > limits[j]:
            continue
        rows = counted(
            j, size, entries[:hits], limits[j] - (size - hits), -1, keys, owners, runs, owner_sizes, threshold,
            contained, counts, met, tally, out, rows, state,
        )  # fmt: skip
    state[0] = -1
    return rows


@kernel("void(uint64[::1], uint32[::1], uint32[::1], int64[::1], int64[::1])")
def shared_keys(keys, owners, runs, reach, listed):  # type: ignore[no-untyped-def]
    """List the first entry of each key with two or more owners, for each of them.

    keys, owners, runs from `index`; reach int64 (owners + 1), zero. With `listed` empty only reach[owner + 1] is
    counted; otherwise reach[j] is the start of owner j's list, and on return its end.
    """
    at = 0
    while keys[at] != U(0):
        end = at + np.int64(runs[at])
        if end - at > 1:
            for i in range(at, end):
                owner = np.int64(owners[i])
                if len(listed) == 0:
                    reach[owner + 1] += 1
                else:
                    listed[reach[owner]] = at
                    reach[owner] += 1
        at = end


@kernel(
    "int64(int64[::1], int64[::1], int64[::1], uint64[::1], uint32[::1], uint32[::1], uint32[::1], float64, boolean,"
    "uint32[::1], uint32[::1], int64[::1], uint32[:, ::1], int64[::1])"
)
def match_within(
    listed, starts, limits, keys, owners, runs, sizes, threshold, contained, counts, met, tally, out, state
):  # type: ignore[no-untyped-def]  # fmt: skip
    """As `match`, for the documents of a table with each other: owner j shares listed[starts[j]:starts[j+1]]."""
    rows = 0
    for j in range(state[0], len(sizes)):
        if rows + len(sizes) > len(out):
            state[0] = j
            return rows
        spare = limits[j] - (np.int64(sizes[j]) - (starts[j + 1] - starts[j]))
        if spare < 0:
            continue
        rows = counted(
            j, np.int64(sizes[j]), listed[starts[j] : starts[j + 1]], spare, j, keys, owners, runs, sizes, threshold,
            contained, counts, met, tally, out, rows, state,
        )  # fmt: skip
    state[0] = -1
    return rows
