"""Lines and paragraphs of texts as hashes of their words."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, fmix64
from twinset.shingles.words_kernels import MIX_A, ascii_borders, hash_words, unicode_borders


@inlined
def ends_unit(document, start, end, blank_lines):  # type: ignore[no-untyped-def]
    """Whether a line break, or with `blank_lines` a blank line, is between two words."""
    breaks = 0
    for i in range(start, end):
        c = document[i]
        if c == 10:
            breaks += 1
            if breaks > 1 or not blank_lines:
                return True
        elif c != 32 and c != 9 and c != 13:
            breaks = 0
    return False


@kernel(
    "int64(read(uint8), int64[::1], int64[::1], boolean, boolean, boolean, boolean, int64, uint8[::1], uint64[::1],"
    "uint8[::1], int32[::1], uint64[::1], uint64[::1], uint64[::1], uint32[::1], uint32[::1], uint32[::1], uint32[::1])"
)
def unit_hashes(
    data, starts, ends, ascii_only, lower, split, blank_lines, least, classes, bit_places, text, borders, high, words,
    hashes, rows, first, sizes, counts,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Units of at least `least` words of several texts; return their number.

    A unit: hash of its words, text, first word, number of words. counts[i]: words of text i. Arguments and scratch as
    for `runs_kernels.word_hashes`, and `words` as long as the longest text in bytes / 2 + 6.
    """
    count = 0
    for i in range(len(starts)):
        document = data[starts[i] : ends[i]]
        if ascii_only:
            n = ascii_borders(document, lower, bit_places, text, borders) >> 1
        else:
            n = unicode_borders(document, classes, split, bit_places, text, borders) >> 1
        hash_words(text, borders, n, high, words)
        counts[i] = n
        begin = 0
        h = U(0)
        for j in range(n):
            h = (h ^ words[j]) * MIX_A
            h ^= h >> U(32)
            last = j + 1 == n
            if last or ends_unit(document, np.int64(borders[2 * j + 1]), np.int64(borders[2 * j + 2]), blank_lines):
                if j + 1 - begin >= least:
                    hashes[count] = fmix64(h ^ U(j + 1 - begin))
                    rows[count] = i
                    first[count] = begin
                    sizes[count] = j + 1 - begin
                    count += 1
                begin = j + 1
                h = U(0)
    return count
