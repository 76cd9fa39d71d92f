"""Exact sizes and overlaps of shingle sets, by small hash tables that fit the processor's cache."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, load64, store64
from twinset.compiled.set_kernels import SLACK, count_present, load, overlap, table_mask

V = np.uint32
TOGETHER = 32  # documents of one table; each has a bit


@kernel("void(uint64[::1], int64[::1], int64[::1], uint64[::1], int64[::1], uint32[::1], uint64[::1])")
def distinct(hashes, offsets, chosen, sets, starts, sizes, places):  # type: ignore[no-untyped-def]
    """Write the distinct hashes of each chosen row to sets[starts[i]:], and their number to sizes[i].

    hashes uint64, offsets int64, chosen int64 (rows), sets uint64, starts int64, sizes uint32; places uint64: scratch,
    a power of two of at least twice the longest row.
    """
    for i in range(len(chosen)):
        row = hashes[offsets[chosen[i]] : offsets[chosen[i] + 1]]
        out = sets[starts[i] :]
        mask = table_mask(len(row), places)
        count = 0
        for x in row:
            place = x & mask
            while places[place] != U(0) and places[place] != x:
                place = (place + U(1)) & mask
            if places[place] == U(0):
                places[place] = x
                out[count] = x
                count += 1
        sizes[i] = count


@kernel("void(uint32[::1], uint32[::1], uint64[::1], int64[::1], uint32[::1], float64, uint64[::1], uint32[::1])")
def overlaps(lefts, rights, sets, starts, sizes, threshold, places, shared):  # type: ignore[no-untyped-def]
    """shared[i]: number of common hashes of the sets lefts[i] and rights[i], or 0 where Jaccard is below `threshold`.

    lefts, rights uint32: sets, equal lefts adjacent; set j is sets[starts[j]:starts[j]+sizes[j]]; places uint64:
    scratch, a power of two of at least twice the largest set. With threshold 0 every overlap is counted.
    """
    loaded = -1
    mask = U(0)
    for i in range(len(lefts)):
        left, right = np.int64(lefts[i]), np.int64(rights[i])
        n_left, n_right = np.int64(sizes[left]), np.int64(sizes[right])
        shared[i] = 0
        if min(n_left, n_right) < threshold * max(n_left, n_right) * SLACK:
            continue
        if left != loaded:
            mask = load(sets[starts[left] : starts[left] + n_left], places)
            loaded = left
        shared[i] = overlap(sets[starts[right] : starts[right] + n_right], places, mask, n_left, threshold)


@kernel("void(uint32[::1], uint32[::1], uint64[::1], int64[::1], uint32[::1], float64, uint64[::1], uint32[::1])")
def held(larger, smaller, sets, starts, sizes, threshold, places, shared):  # type: ignore[no-untyped-def]
    """shared[i]: number of common hashes of two sets, or 0 where they are less than `threshold` of the smaller one.

    larger, smaller uint32: sets, equal ones of `larger` adjacent; the rest as in `overlaps`.
    """
    loaded = -1
    mask = U(0)
    for i in range(len(larger)):
        large, small = np.int64(larger[i]), np.int64(smaller[i])
        if large != loaded:
            mask = load(sets[starts[large] : starts[large] + np.int64(sizes[large])], places)
            loaded = large
        total = np.int64(sizes[small])
        spare = total - np.int64(threshold * total * SLACK)
        count = count_present(sets[starts[small] : starts[small] + total], places, mask, spare)
        shared[i] = count if count / total >= threshold else 0


@inlined
def connected_run(lefts, rights, first, starts, most, numbers, members):  # type: ignore[no-untyped-def]
    """Longest run of pairs from `first` on, each sharing a document with an earlier one, that one table can take.

    numbers uint32: each document's number in the table, from 1, else 0; members int64: documents by number. Returns
    the end of the run, its number of documents and its number of shingles.
    """
    last, count, total = first, 0, 0
    while last < len(lefts):
        pair = (np.int64(lefts[last]), np.int64(rights[last]))
        fresh, added = 0, 0
        for document in pair:
            if numbers[document] == 0:
                fresh += 1
                added += starts[document + 1] - starts[document]
        if last > first and (fresh == 2 or count + fresh > TOGETHER or total + added > most):
            break
        for document in pair:
            if numbers[document] == 0:
                members[count] = document
                count += 1
                numbers[document] = count
        total += added
        last += 1
    return last, count, total


@inlined
def fill_table(members, count, hashes, starts, mask, places, owners, filled):  # type: ignore[no-untyped-def]
    """Insert the shingles of some documents into one table; `owners` has a bit per document.

    filled uint32: the occupied places, in order. Returns their number.
    """
    taken = U(0)
    for i in range(count):
        bit = V(V(1) << V(i))
        row = hashes[starts[members[i]] : starts[members[i] + 1]]
        for j in range(len(row)):
            x = row[j]
            place = x & mask
            while places[place] != x and places[place] != U(0):
                place = (place + U(1)) & mask
            filled[taken] = place
            taken += U(places[place] == U(0))
            places[place] = x
            owners[place] = V(owners[place] | bit)
    return np.int64(taken)


@inlined
def count_owned(owners, bits):  # type: ignore[no-untyped-def]
    """Number of entries that have all the bits."""
    count = V(0)
    for i in range(len(owners)):
        count = V(count + V(owners[i] & bits == bits))
    return np.int64(count)


@kernel(
    "void(uint32[::1], uint32[::1], uint64[::1], int64[::1], float64, int64, uint64[::1], uint32[::1], uint32[::1],"
    "uint32[::1], int64[::1], uint32[::1], uint32[::1])"
)
def compare(lefts, rights, hashes, starts, threshold, most, places, owners, filled, numbers, members, sizes, shared):  # type: ignore[no-untyped-def]
    """shared[i] as in `overlaps`, and the sizes of all sets that have a pair, from shingles with repeats.

    lefts, rights uint32: documents, connected pairs adjacent; the shingles of document j are
    hashes[starts[j]:starts[j+1]]; `most`: at least the shingles of any pair. Scratch: places uint64, owners uint32 and
    filled uint32, a power of two of at least twice `most`; numbers uint32 (documents), zero; members int64 (TOGETHER).
    """
    first = 0
    while first < len(lefts):
        last, count, total = connected_run(lefts, rights, first, starts, most, numbers, members)
        mask = table_mask(total, places)
        for i in range(np.int64(mask) + 1):
            owners[i] = V(0)
        taken = fill_table(members, count, hashes, starts, mask, places, owners, filled)
        listed = filled[:taken]
        for i in range(taken):
            listed[i] = owners[listed[i]]
        for i in range(count):
            sizes[members[i]] = count_owned(listed, V(V(1) << V(i)))
        for i in range(first, last):
            left, right = np.int64(lefts[i]), np.int64(rights[i])
            bits = V(V(V(1) << V(numbers[left] - 1)) | V(V(1) << V(numbers[right] - 1)))
            common = count_owned(listed, bits)
            union = np.int64(sizes[left]) + np.int64(sizes[right]) - common
            shared[i] = common if common / union >= threshold else 0
        for i in range(count):
            numbers[members[i]] = 0
        first = last


@kernel("void(uint64[::1], int64[::1], int64[::1], int64[::1], uint64[::1])")
def lay(hashes, offsets, documents, starts, out):  # type: ignore[no-untyped-def]
    """Copy row i, hashes[offsets[i]:offsets[i+1]], to out[starts[documents[i]]:]."""
    for i in range(len(documents)):
        row = hashes[offsets[i] : offsets[i + 1]]
        to = out[starts[documents[i]] : starts[documents[i]] + len(row)]
        for j in range(len(row)):
            to[j] = row[j]


@kernel("void(read(uint8), int64[::1], int64[::1], uint8[::1])")
def gather(data, starts, ends, out):  # type: ignore[no-untyped-def]
    """Concatenate the pieces data[starts[i]:ends[i]] in `out`."""
    at = 0
    for i in range(len(starts)):
        piece = data[starts[i] : ends[i]]
        to = out[at : at + len(piece)]
        whole = len(piece) & ~7
        for j in range(0, whole, 8):
            store64(to, j, load64(piece, j))
        for j in range(whole, len(piece)):
            to[j] = piece[j]
        at += len(piece)
