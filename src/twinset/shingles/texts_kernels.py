"""Texts to shingle hashes.

A text becomes token hashes (words or code points), and n consecutive token hashes become one 64-bit shingle hash: a
seeded polynomial in the token hashes, finalised with fmix64 (Appleby, MurmurHash3) so that every input bit affects
every output bit. No strings are built.
"""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import SPACE, U, decode, fmix64
from twinset.shingles.words_kernels import MIX_A, MIX_B, ascii_borders, hash_words, unicode_borders

# Changing it changes hashes: raise HASH_SCHEME in schema.py with it.
WHOLE = U(0xA0761D6478BD642F)

SHORT = 0x800  # code points of one or two bytes in UTF-8

KEEP, SQUEEZE, DROP = range(3)
"""What happens to white space between characters."""


@inlined
def hash_point(point):  # type: ignore[no-untyped-def]
    h = (U(point) + MIX_A) * MIX_B
    return h ^ (h >> U(32))


@inlined
def list_points(classes, lower, spacing, listed, spaces):  # type: ignore[no-untyped-def]
    """Hashes of the code points of one or two UTF-8 bytes, and which of them are white space.

    ASCII capitals hash as small letters if `lower`; unless white space is kept, all of it hashes as a space.
    """
    for point in range(len(listed)):
        spaces[point] = spacing != KEEP and (classes[point] & SPACE) != 0
        capital = lower and point >= 65 and point <= 90
        listed[point] = hash_point(32 if spaces[point] else point + 32 if capital else point)


@inlined
def ascii_points(data, listed, spaces, spacing, out):  # type: ignore[no-untyped-def]
    """Hash each byte, white space as `spacing` says.

    `SQUEEZE`: only the first of a run of white space, and none at the ends. `DROP`: no white space.
    """
    n = 0
    if spacing == KEEP:
        for c in data:
            out[n] = listed[c]
            n += 1
        return n
    drop = np.uint8(spacing == DROP)
    last = np.uint8(1)
    for c in data:
        out[n] = listed[c]
        n += 1 - np.int64(last & spaces[c])
        last = spaces[c] | drop
    return n - 1 if n > 0 and last and spacing == SQUEEZE else n


@inlined
def code_points(data, listed, spaces, classes, spacing, out):  # type: ignore[no-untyped-def]
    """As `ascii_points`, for each code point of valid UTF-8. One or two bytes take no branch."""
    n = 0
    at = 0
    size = len(data)
    drop = np.uint8(spacing == DROP)
    last = np.uint8(1)
    while at < size:
        c = np.int64(data[at])
        if c < 0xE0:
            two = c >> 7
            wide = ((c & 0x1F) << 6) | (np.int64(data[at + two]) & 0x3F)
            point = wide if two else c
            space = spaces[point]
            out[n] = listed[point]
            at += 1 + two
        else:
            point, length = decode(data, at)
            space = np.uint8(spacing != KEEP and (classes[point] & SPACE) != 0)
            out[n] = hash_point(32 if space else point)
            at += length
        n += 1 - np.int64(last & space)
        last = space | drop
    return n - 1 if n > 0 and last and spacing == SQUEEZE else n


@inlined
def combine(tokens, n, size, seed):  # type: ignore[no-untyped-def]
    """Turn tokens[:n] into the hashes of their `size`-shingles, in place; return their number.

    In place is safe: shingle i reads tokens from i on only. Four places after the last must be readable.
    """
    if n == 0:
        return 0
    if n < size:
        h = U(0)
        for i in range(n):
            h = h * MIX_A + tokens[i]
        h = fmix64(h ^ seed ^ (U(n) * WHOLE))
        tokens[0] = h if h != U(0) else U(1)
        return 1
    if size <= 5:
        # Factors beyond `size` are zero, so that one loop serves all sizes and vectorises.
        a, b, c, d, e = U(1), U(0), U(0), U(0), U(0)
        for _ in range(size - 1):
            a, b, c, d, e = a * MIX_A, a, b, c, d
        for i in range(n - size + 1):
            h = tokens[i] * a + tokens[i + 1] * b + tokens[i + 2] * c + tokens[i + 3] * d + tokens[i + 4] * e
            h = fmix64(h ^ seed)
            tokens[i] = h if h != U(0) else U(1)  # zero marks a free slot in hash tables
        return n - size + 1
    top = U(1)
    h = U(0)
    for i in range(size - 1):
        h = h * MIX_A + tokens[i]
        top *= MIX_A
    for i in range(n - size + 1):
        h = h * MIX_A + tokens[i + size - 1]
        out = fmix64(h ^ seed)
        h -= tokens[i] * top
        tokens[i] = out if out != U(0) else U(1)
    return n - size + 1


@inlined
def number_repeats(hashes, n, keys, counts):  # type: ignore[no-untyped-def]
    """Turn a bag into a set: the j-th repeat of a shingle gets a hash of (shingle, j).

    `keys` and `counts` have a power of two slots, over 2n.
    """
    places = 4
    while places < 2 * n:
        places *= 2
    mask = U(places - 1)
    for i in range(places):
        keys[i] = U(0)
    for i in range(n):
        x = hashes[i]
        place = x & mask
        while keys[place] != U(0) and keys[place] != x:
            place = (place + U(1)) & mask
        if keys[place] == U(0):
            keys[place] = x
            counts[place] = 0
        else:
            counts[place] += 1
            h = fmix64(x + U(counts[place]) * MIX_B)
            hashes[i] = h if h != U(0) else U(1)


@kernel(
    "void(read(uint8), int64[::1], int64[::1], boolean, boolean, boolean, boolean, int64, boolean, int64, uint64,"
    "uint8[::1], uint64[::1], uint8[::1], int32[::1], uint64[::1], uint64[::1], uint8[::1], uint64[::1], int32[::1],"
    "uint64[::1], int64[::1])"
)
def shingle_hashes(
    data, starts, ends, words, ascii_only, lower, split, spacing, bag, size, seed, classes,
    bit_places, text, borders, high, listed, spaces, keys, counts, hashes, offsets,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Shingle hashes of several texts, text after text.

    Text i is data[starts[i]:ends[i]]; its hashes are hashes[offsets[i]:offsets[i+1]]. `ascii_only` texts are
    lower-cased here; others must be valid UTF-8 and already lower-cased. `bit_places`: for each of the 256 bytes the
    positions of its set bits, one in each byte of a word. Scratch: `text` longest text + 80 bytes, `borders` twice
    that, `high` AT_ONCE, `listed` and `spaces` SHORT, `keys` and `counts` a power of two over twice the longest text
    (bags only). `hashes`: as long as the texts in bytes, plus five.
    """
    offsets[0] = 0
    if not words:
        list_points(classes, lower and ascii_only, spacing, listed[: 0x80 if ascii_only else SHORT], spaces)
    for i in range(len(starts)):
        # views, not offsets: an index that cannot be negative lets the loops vectorise
        document = data[starts[i] : ends[i]]
        out = hashes[offsets[i] :]
        if words:
            if ascii_only:
                n_borders = ascii_borders(document, lower, bit_places, text, borders)
            else:
                n_borders = unicode_borders(document, classes, split, bit_places, text, borders)
            n = n_borders >> 1
            hash_words(text, borders, n, high, out)
        elif ascii_only:
            n = ascii_points(document, listed, spaces, spacing, out)
        else:
            n = code_points(document, listed, spaces, classes, spacing, out)
        n = combine(out, n, size, seed)
        if bag:
            number_repeats(out, n, keys, counts)
        offsets[i + 1] = offsets[i] + n


@kernel("void(uint64[::1], int64[::1], uint64[::1], uint32[::1])")
def count_repeats(hashes, offsets, places, repeats):  # type: ignore[no-untyped-def]
    """repeats[i]: number of repeated hashes of row i, as far as remembered; never too many.

    places uint64: a power of two, zero; remembers the last hash of each slot, with its row.
    """
    for i in range(len(repeats)):
        row = hashes[offsets[i] : offsets[i + 1]]
        size = 8
        while size < 2 * len(row) and size < len(places):
            size *= 2
        mask = U(size - 1)
        salt = U(i + 1) * MIX_A  # entries of other rows never match
        count = 0
        for x in row:
            marked = x ^ salt
            count += places[x & mask] == marked
            places[x & mask] = marked
        repeats[i] = count
