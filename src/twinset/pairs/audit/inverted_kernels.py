"""A few documents against all others, exactly: an inverted table of the few, and counts of what others share with them.

Most documents share little with any of the few. A pair at or above the threshold leaves a document only so many
shingles that the other one lacks, so one that has more than that is done with before anything is counted.
"""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U


@kernel(
    "void(uint64[::1], int64[::1], uint32[::1], uint64[::1], uint32[::1], uint32[::1], uint64[::1], uint32[::1],"
    "uint32[::1], uint64[::1], uint64, int64[::1])"
)
def index(sets, starts, sizes, keys, owners, runs, key_room, owner_room, buckets, bits, shift, ranges):  # type: ignore[no-untyped-def]
    """An inverted table: entries (key, owner), sorted by key and then by owner; the entries whose key >> shift is b
    are buckets[b]:buckets[b+1]. Bit key >> (shift - 3) of `bits` is set for each key.

    sets uint64, set j being sets[starts[j]:starts[j]+sizes[j]]; keys uint64 and owners uint32: room for every entry and
    one more; runs uint32: at the first entry of a key, how many it has; key_room, owner_room: as much, scratch; buckets
    uint32 and bits uint64: zero; ranges int64: a power of two and one, zero. Entries are dealt out to ranges of keys
    first, each of which stays in the cache while it is sorted.
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
    # From the last set to the first, each range from its end: owners ascend where keys are equal.
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
    keys[len(keys) - 1] = U(0)  # no hash is 0: here every run of equal keys has ended
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
    """0 where no key is x; 1 may mean anything."""
    bit = x >> (shift - U(3))
    return bits[bit >> U(6)] >> (bit & U(63)) & U(1)


@kernel("void(uint64[::1], uint32[::1], uint32[::1], int64[:, ::1], int64[::1], int64[::1], uint64[::1])")
def rare_keys(keys, owners, runs, tally, starts, ends, rare):  # type: ignore[no-untyped-def]
    """The keys of each owner that have the fewest owners: as many as there is room for, rare[starts[j]:starts[j+1]].

    keys, owners, runs as `index` makes them; tally int64 (owners, classes): zero; ends int64: one an owner, a copy of
    starts, ends up as the end of each owner's keys. As many owners as there are classes, or more, count as the last.
    """
    last = tally.shape[1] - 1
    at = 0
    while keys[at] != U(0):
        run = np.int64(runs[at])
        for i in range(at, at + run):
            tally[owners[i], min(run, last)] += 1
        at += run
    for j in range(len(ends)):  # from how many there are to how many are taken
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
    """alive[i]: whether row i has need[owner] keys of some owner or more; repeats may count again.

    Rows of hashes as in `Shingles`; a table as `index` makes it; scratch as in `match`, entries one longer than the
    longest row.
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
    """Bring the `wanted` entries whose keys have the fewest owners to the front; more than 255 owners count as 255.

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
    """Whether the key at `place` has an owner: owners ascend."""
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
    this, size, entries, spare, self, keys, owners, runs, owner_sizes, threshold, counts, met, tally, out, found, state
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Count what the set `this` shares with each owner but `self`, from the first entries of its keys.

    An owner may lack `spare` of these keys and no more. Where keys have many owners, the rarest 2 spare + 1 keys say
    which owners are worth counting: those that lack no more than `spare` of these. Entries change their order.
    """
    first_keys = min(len(entries), 2 * spare + 1)
    many = 0
    for place in entries:
        many += np.int64(runs[place])
    if many <= 4 * len(entries):
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
            state[1] += 4 * (len(entries) - first_keys)  # each is a search
        if lacking <= spare and shared / (size + np.int64(owner_sizes[owner]) - shared) >= threshold:
            out[found, 0] = this
            out[found, 1] = owner
            out[found, 2] = shared
            found += 1
    return found


@kernel(
    "int64(uint64[::1], int64[::1], uint32[::1], int64[::1], uint64[::1], uint32[::1], uint32[::1], uint32[::1],"
    "uint64[::1], uint64, uint32[::1], float64, int64[::1], uint32[::1], uint32[::1], int64[::1], uint32[:, ::1],"
    "int64[::1])"
)
def match(
    sets, starts, sizes, limits, keys, owners, runs, buckets, bits, shift, owner_sizes, threshold, entries, counts, met,
    tally, out, state,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """(set, owner, shared) of every set and owner whose Jaccard similarity reaches `threshold`, to the rows of `out`.

    sets, starts, sizes as in `index`; a set with more than limits[j] hashes that no key equals has no such owner.
    Scratch: entries int64, one longer than the largest set; counts uint32, zero, and met uint32, one an owner; tally
    int64, 256. Returns how many rows; where `out` (at least one row an owner) is full, state[0] is the set to go on
    from, else -1; state[1] grows by the entries that were looked at.
    """
    found = 0
    for j in range(state[0], len(sizes)):
        if found + len(owner_sizes) > len(out):
            state[0] = j
            return found
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
        found = counted(
            j, size, entries[:hits], limits[j] - (size - hits), -1, keys, owners, runs, owner_sizes, threshold, counts,
            met, tally, out, found, state,
        )  # fmt: skip
    state[0] = -1
    return found


@kernel("void(uint64[::1], uint32[::1], uint32[::1], int64[::1], int64[::1])")
def shared_keys(keys, owners, runs, reach, listed):  # type: ignore[no-untyped-def]
    """The first entry of each key with two owners or more, listed for each of them.

    keys, owners, runs as `index` makes them; reach int64: one an owner and one more, zero; where `listed` is empty only
    reach[owner + 1] is counted, else reach holds where the list of each owner begins, and ends up where it ends.
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
    "int64(int64[::1], int64[::1], int64[::1], uint64[::1], uint32[::1], uint32[::1], uint32[::1], float64,"
    "uint32[::1], uint32[::1], int64[::1], uint32[:, ::1], int64[::1])"
)
def match_within(
    listed, starts, limits, keys, owners, runs, sizes, threshold, counts, met, tally, out, state
):  # type: ignore[no-untyped-def]  # fmt: skip
    """As `match`, the documents of a table with each other: owner j shares the keys listed[starts[j]:starts[j+1]]."""
    found = 0
    for j in range(state[0], len(sizes)):
        if found + len(sizes) > len(out):
            state[0] = j
            return found
        spare = limits[j] - (np.int64(sizes[j]) - (starts[j + 1] - starts[j]))
        if spare < 0:
            continue
        found = counted(
            j, np.int64(sizes[j]), listed[starts[j] : starts[j + 1]], spare, j, keys, owners, runs, sizes, threshold,
            counts, met, tally, out, found, state,
        )  # fmt: skip
    state[0] = -1
    return found
