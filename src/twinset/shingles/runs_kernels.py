"""Texts to word hashes, one for each word, with the places of the words."""

import numpy as np

from twinset.compiled import kernel
from twinset.shingles.words_kernels import ascii_borders, hash_words, unicode_borders


@kernel(
    "void(read(uint8), int64[::1], int64[::1], boolean, boolean, boolean, uint8[::1], uint64[::1], uint8[::1],"
    "int32[::1], uint64[::1], uint64[::1], int64[::1])"
)
def word_hashes(
    data, starts, ends, ascii_only, lower, split, classes, bit_places, text, borders, high, hashes, offsets
):  # type: ignore[no-untyped-def]
    """Word hashes of several texts; those of text i are hashes[offsets[i]:offsets[i+1]].

    Arguments and scratch as for `texts_kernels.shingle_hashes`.
    """
    offsets[0] = 0
    for i in range(len(starts)):
        document = data[starts[i] : ends[i]]
        if ascii_only:
            n = ascii_borders(document, lower, bit_places, text, borders) >> 1
        else:
            n = unicode_borders(document, classes, split, bit_places, text, borders) >> 1
        hash_words(text, borders, n, high, hashes[offsets[i] :])
        offsets[i + 1] = offsets[i] + n


@kernel(
    "int64(read(uint8), boolean, boolean, uint8[::1], uint64[::1], uint8[::1], int32[::1])"
)
def word_borders(document, ascii_only, split, classes, bit_places, text, borders):  # type: ignore[no-untyped-def]
    """List the byte offsets at which the words of a text start and end, alternating; return how many."""
    if ascii_only:
        return ascii_borders(document, False, bit_places, text, borders)
    return unicode_borders(document, classes, split, bit_places, text, borders)


@kernel("void(read(uint8), int32[::1], int64[::1])")
def code_points_before(document, offsets, out):  # type: ignore[no-untyped-def]
    """Number of code points before each of some ascending byte offsets of valid UTF-8."""
    at = 0
    points = 0
    for i in range(len(offsets)):
        while at < offsets[i]:
            points += (document[at] & 0xC0) != 0x80
            at += 1
        out[i] = points


@kernel(
    "void(read(uint8), int64[::1], int64[::1], boolean, boolean, uint8[::1], uint64[::1], uint8[::1], int32[::1],"
    "int64[::1], uint32[::1], uint32[::1], int64[::1], int64[::1])"
)
def place_words(
    data, starts, ends, ascii_only, split, classes, bit_places, text, borders, ask_starts, first, last, out_start,
    out_end,
):  # type: ignore[no-untyped-def]
    """Code points at which spans of words start and end.

    Spans ask_starts[i] to ask_starts[i+1] are those of text i: words first[j] to last[j] (exclusive). Other arguments
    and scratch as for `word_hashes`.
    """
    for i in range(len(starts)):
        if ask_starts[i] == ask_starts[i + 1]:
            continue
        document = data[starts[i] : ends[i]]
        if ascii_only:
            ascii_borders(document, False, bit_places, text, borders)
        else:
            n = unicode_borders(document, classes, split, bit_places, text, borders)
            at = 0
            points = 0
            for b in range(n):
                until = borders[b]
                while at < until:
                    points += (document[at] & 0xC0) != 0x80
                    at += 1
                borders[b] = points
        for j in range(ask_starts[i], ask_starts[i + 1]):
            out_start[j] = borders[2 * np.int64(first[j])]
            out_end[j] = borders[2 * np.int64(last[j]) - 1]
