"""Winnowing: in each window of k-grams keep the smallest hash, so that two equal runs keep the same one.

Schleimer, Wilkerson, Aiken: Winnowing: local algorithms for document fingerprinting, SIGMOD 2003.
"""

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, fmix64

FACTOR = U(0x9E3779B97F4A7C15)  # odd, so that powers keep all bits


@inlined
def gram_hashes(words, k, out):  # type: ignore[no-untyped-def]
    """out[i]: hash of words[i:i+k]; return the number of grams."""
    n = len(words) - k + 1
    if n <= 0:
        return 0
    top = U(1)
    h = U(0)
    for i in range(k - 1):
        h = h * FACTOR + words[i]
        top *= FACTOR
    for i in range(n):
        h = h * FACTOR + words[i + k - 1]
        out[i] = fmix64(h)
        h -= words[i] * top
    return n


@inlined
def least_of(grams, first, last):  # type: ignore[no-untyped-def]
    """Place of the least hash of grams[first:last], the rightmost on ties."""
    place = first
    for i in range(first + 1, last):
        if grams[i] <= grams[place]:
            place = i
    return place


@kernel("int64(uint64[::1], int64[::1], int64, int64, uint64[::1], uint64[::1], uint32[::1], uint32[::1])")
def winnow(words, offsets, k, w, grams, hashes, rows, places):  # type: ignore[no-untyped-def]
    """Anchors of some documents: hash, row and place of each kept k-gram; return their number.

    Document i is words[offsets[i]:offsets[i+1]]. Every window of `w` grams has its least gram among the anchors. A
    document with fewer than k + w - 1 words has none. Scratch grams: the longest document. Output: a place each word.
    """
    count = 0
    for i in range(len(offsets) - 1):
        n = gram_hashes(words[offsets[i] : offsets[i + 1]], k, grams)
        if n < w:
            continue
        place = -1
        for end in range(w, n + 1):
            first = end - w
            if place < first:
                new = least_of(grams, first, end)
            elif grams[end - 1] <= grams[place]:
                new = end - 1
            else:
                continue
            place = new
            hashes[count] = grams[place]
            rows[count] = i
            places[count] = place
            count += 1
    return count


@inlined
def hash_span(words, start, end):  # type: ignore[no-untyped-def]
    h = U(end - start)
    for i in range(start, end):
        h = (h ^ words[i]) * FACTOR
        h ^= h >> U(32)
    return fmix64(h)


@kernel(
    "int64(uint64[::1], int64[::1], int64, int64, int64[::1], uint32[::1], uint64[::1], uint32[::1], uint32[::1],"
    "uint64[::1])"
)
def surroundings(words, offsets, k, w, wanted_ends, wanted, grams, first, last, hashes):  # type: ignore[no-untyped-def]
    """Windows that keep each of some anchors, and a hash of all words of these windows; return the number of anchors.

    wanted[wanted_ends[i-1]:wanted_ends[i]]: places of the wanted anchors of document i, ascending. Windows
    first[j]..last[j] (of k + w - 1 words each) have anchor j as their least gram.
    """
    least = k + w - 1
    count = 0
    for i in range(len(offsets) - 1):
        document = words[offsets[i] : offsets[i + 1]]
        n = gram_hashes(document, k, grams)
        start = count
        end_of_wanted = wanted_ends[i]
        place = -1
        for end in range(w, n + 1):
            begin = end - w
            if place < begin:
                place = least_of(grams, begin, end)
            elif grams[end - 1] <= grams[place]:
                place = end - 1
            elif count > start and wanted[count - 1] == place:
                last[count - 1] = begin
                continue
            else:
                continue
            if count < end_of_wanted and wanted[count] == place:
                first[count] = begin
                last[count] = begin
                count += 1
        for j in range(start, count):
            hashes[j] = hash_span(document, first[j], last[j] + least)
    return count


@kernel("int64(uint64[::1], int64[::1], uint32[::1], uint32[::1], int64, uint64[::1])")
def window_hashes(words, starts, first, last, least, hashes):  # type: ignore[no-untyped-def]
    """Hashes of the windows first[i]..last[i] of the document that begins at words[starts[i]]; return their number."""
    count = 0
    for i in range(len(starts)):
        start = starts[i] + first[i]
        end = starts[i] + last[i] + least
        count += gram_hashes(words[start:end], least, hashes[count:])
    return count
