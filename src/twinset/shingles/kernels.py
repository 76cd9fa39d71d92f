"""Texts to shingle hashes.

A text becomes token hashes (words or code points), and n consecutive token hashes become one 64-bit shingle hash: a
polynomial in the token hashes, seeded, then finished with fmix64 (Appleby, MurmurHash3) so that every bit of the input
reaches every bit of the output. Nothing is ever joined into a string.

Words of ASCII texts are found eight bytes at a time: arithmetic within a 64-bit register classifies and lower-cases
eight bytes at once, a multiplication gathers their classes into a bit mask, and the places where the mask changes are
the word borders.
"""

import numpy as np

from twinset.bytes_kernels import (
    HIGH,
    SINGLE,
    SPACE,
    WORD,
    U,
    decode,
    fmix64,
    load64,
    ones,
    store64,
    trailing_zeros,
)
from twinset.compiled import inlined, kernel

# Changing any constant below changes every hash: raise HASH_SCHEME in schema.py with it.
MIX_A = U(0x9E3779B97F4A7C15)
MIX_B = U(0xD6E8FEB86659FD93)
WHOLE = U(0xA0761D6478BD642F)


@inlined
def hash_token(text, start, length, low_mask, high_mask):  # type: ignore[no-untyped-def]
    """Hash of text[start:start+length]; 16 bytes past its end must be readable. Up to 16 bytes take no branch."""
    h = U(length) * MIX_B
    while length > 16:
        h = (h ^ load64(text, start)) * MIX_A
        h ^= h >> U(29)
        start += 8
        length -= 8
    h = (h ^ (load64(text, start) & low_mask[length])) * MIX_A
    h ^= h >> U(32)
    h = (h + (load64(text, start + 8) & high_mask[length])) * MIX_B
    return h ^ (h >> U(32))


@inlined
def ascii_words(data, at, case_mask, text):  # type: ignore[no-untyped-def]
    """Copy 64 ASCII bytes to `text`, with upper case changed by `case_mask`, and give the bits of word characters.

    `x + (128 - c)` in every byte of x sets the byte's top bit where the byte is at least c.
    """
    mask = U(0)
    for j in range(8):
        x = load64(data, at + 8 * j)
        upper = ((x + U(0x3F3F3F3F3F3F3F3F)) & ~(x + U(0x2525252525252525)) & HIGH) >> U(2)
        store64(text, at + 8 * j, x | (upper & case_mask))
        folded = x | upper
        word = (
            ((folded + U(0x1F1F1F1F1F1F1F1F)) & ~(folded + U(0x0505050505050505)))
            | ((x + U(0x5050505050505050)) & ~(x + U(0x4646464646464646)))
            | ((x + U(0x2121212121212121)) & ~(x + U(0x2020202020202020)))
        )
        word = (word & HIGH) >> U(7)
        mask |= ((word * U(0x0102040810204080)) >> U(56)) << U(8 * j)
    return mask


@inlined
def add_borders(changes, at, count, borders):  # type: ignore[no-untyped-def]
    """Append the places of the set bits; eight at a time, beyond the end if need be: `borders` has room."""
    end = count + ones(changes)
    while count < end:
        for j in range(8):
            borders[count + j] = at + trailing_zeros(changes)
            changes &= changes - U(1)
        count += 8
    return end


@inlined
def ascii_borders(data, lower, text, borders):  # type: ignore[no-untyped-def]
    """Copy ASCII `data` to `text`, lower-cased if `lower`, and list where words begin and end, in turn."""
    size = len(data)
    count = 0
    carry = U(0)
    case_mask = U(0x2020202020202020) if lower else U(0)
    whole = size & ~63
    at = 0
    while at < whole:
        mask = ascii_words(data, at, case_mask, text)
        count = add_borders(mask ^ ((mask << U(1)) | carry), at, count, borders)
        carry = mask >> U(63)
        at += 64
    mask = U(0)
    for j in range(size - whole):
        c = data[whole + j]
        is_upper = c >= 65 and c <= 90
        text[whole + j] = c + 32 if is_upper and lower else c
        if is_upper or (c >= 97 and c <= 122) or (c >= 48 and c <= 57) or c == 95:
            mask |= U(1) << U(j)
    count = add_borders(mask ^ ((mask << U(1)) | carry), whole, count, borders)
    if count & 1:
        borders[count] = size
        count += 1
    return count


@inlined
def unicode_borders(data, classes, split, text, borders):  # type: ignore[no-untyped-def]
    """As `ascii_borders` for any valid UTF-8, already lower-cased; with `split` a SINGLE code point is a token.

    Stretches of 64 ASCII bytes, of which most texts have many, are taken at once.
    """
    size = len(data)
    count = 0
    inside = False
    at = 0
    while at < size:
        high = U(0)
        if at + 64 <= size:
            for j in range(8):
                high |= load64(data, at + 8 * j)
            if high & HIGH == U(0):
                mask = ascii_words(data, at, U(0), text)
                carry = U(1) if inside else U(0)
                count = add_borders(mask ^ ((mask << U(1)) | carry), at, count, borders)
                inside = mask >> U(63) != U(0)
                at += 64
                continue
        until = min(size, at + 64)
        while at < until:
            point, length = decode(data, at)
            kind = classes[point]
            if split and (kind & SINGLE):
                if inside:
                    borders[count] = at
                    count += 1
                    inside = False
                borders[count] = at
                borders[count + 1] = at + length
                count += 2
            elif (kind & WORD != 0) != inside:
                borders[count] = at
                count += 1
                inside = not inside
            for j in range(length):
                text[at + j] = data[at + j]
            at += length
    if inside:
        borders[count] = size
        count += 1
    return count


@inlined
def hash_point(point):  # type: ignore[no-untyped-def]
    h = (U(point) + MIX_A) * MIX_B
    return h ^ (h >> U(32))


@inlined
def list_points(classes, lower, squeeze, listed, spaces):  # type: ignore[no-untyped-def]
    """The hashes of the code points that UTF-8 writes with one or two bytes, and which of them are white space.

    ASCII capitals have those of small letters if `lower`; with `squeeze` all white space has that of a space.
    """
    for point in range(len(listed)):
        spaces[point] = squeeze and (classes[point] & SPACE) != 0
        capital = lower and point >= 65 and point <= 90
        listed[point] = hash_point(32 if spaces[point] else point + 32 if capital else point)


@inlined
def ascii_points(data, listed, spaces, squeeze, out):  # type: ignore[no-untyped-def]
    """A hash for each byte, of white space only the first, and none at the ends, if `squeeze`."""
    n = 0
    if not squeeze:
        for c in data:
            out[n] = listed[c]
            n += 1
        return n
    last = np.uint8(1)
    for c in data:
        out[n] = listed[c]
        n += 1 - np.int64(last & spaces[c])
        last = spaces[c]
    return n - 1 if n > 0 and last else n


@inlined
def code_points(data, listed, spaces, classes, squeeze, out):  # type: ignore[no-untyped-def]
    """As `ascii_points`, for each code point of valid UTF-8. One byte or two, as many scripts mix them: no branch."""
    n = 0
    at = 0
    size = len(data)
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
            space = np.uint8(squeeze and (classes[point] & SPACE) != 0)
            out[n] = hash_point(32 if space else point)
            at += length
        n += 1 - np.int64(last & space)
        last = space
    return n - 1 if n > 0 and last and squeeze else n


@inlined
def combine(tokens, n, size, seed):  # type: ignore[no-untyped-def]
    """Turn tokens[:n] into the hashes of their `size`-shingles, in place. Returns how many.

    In place is safe: the shingle at i reads tokens i and later only. Four places after the last must be readable.
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
        # Of five factors those beyond `size` are zero: one loop for all, which vectorises.
        a, b, c, d, e = U(1), U(0), U(0), U(0), U(0)
        for _ in range(size - 1):
            a, b, c, d, e = a * MIX_A, a, b, c, d
        for i in range(n - size + 1):
            h = tokens[i] * a + tokens[i + 1] * b + tokens[i + 2] * c + tokens[i + 3] * d + tokens[i + 4] * e
            h = fmix64(h ^ seed)
            tokens[i] = h if h != U(0) else U(1)  # zero marks a free place in hash tables
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
    """A bag as a set: the j-th repeat of a shingle gets a hash of (shingle, j).

    `keys` and `counts` have a power of two places, over 2n.
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
    "void(read(uint8), int64[::1], int64[::1], boolean, boolean, boolean, boolean, boolean, boolean, int64, uint64,"
    "uint8[::1], uint64[::1], uint64[::1], uint8[::1], int32[::1], uint64[::1], int32[::1], uint64[::1], int64[::1])"
)
def shingle_hashes(
    data, starts, ends, words, ascii_only, lower, split, squeeze, bag, size, seed, classes,
    low_mask, high_mask, text, borders, keys, counts, hashes, offsets,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Shingle hashes of many texts, one text after another.

    Text i is data[starts[i]:ends[i]]; its hashes are hashes[offsets[i]:offsets[i+1]]. `ascii_only` texts are
    lower-cased here; others must be valid UTF-8 and already lower-cased. Scratch: `text` longest text + 80 bytes,
    `borders` twice that, `keys` and `counts` a power of two over twice the longest text (bags only). `hashes` has room
    for as many as the texts have bytes, and five more.
    """
    offsets[0] = 0
    listed = np.empty(0x80 if ascii_only else 0x800, np.uint64)
    spaces = np.empty(len(listed), np.uint8)
    if not words:
        list_points(classes, lower and ascii_only, squeeze, listed, spaces)
    for i in range(len(starts)):
        # views, not offsets: an index that cannot be negative lets the loops vectorise
        document = data[starts[i] : ends[i]]
        out = hashes[offsets[i] :]
        if words:
            if ascii_only:
                n_borders = ascii_borders(document, lower, text, borders)
            else:
                n_borders = unicode_borders(document, classes, split, text, borders)
            n = n_borders >> 1
            for j in range(n):
                first = np.int64(borders[2 * j])
                out[j] = hash_token(text, first, np.int64(borders[2 * j + 1]) - first, low_mask, high_mask)
        elif ascii_only:
            n = ascii_points(document, listed, spaces, squeeze, out)
        else:
            n = code_points(document, listed, spaces, classes, squeeze, out)
        n = combine(out, n, size, seed)
        if bag:
            number_repeats(out, n, keys, counts)
        offsets[i + 1] = offsets[i] + n


@kernel("void(uint64[::1], int64[::1], uint64[::1], uint32[::1])")
def count_repeats(hashes, offsets, places, repeats):  # type: ignore[no-untyped-def]
    """repeats[i]: how many hashes of row i have come before in it, as far as is remembered; never too many.

    places uint64: a power of two, zero; it remembers the last hash of each place, with its row.
    """
    for i in range(len(repeats)):
        row = hashes[offsets[i] : offsets[i + 1]]
        size = 8
        while size < 2 * len(row) and size < len(places):
            size *= 2
        mask = U(size - 1)
        salt = U(i + 1) * MIX_A  # what another row has left is equal to nothing of this one
        count = 0
        for x in row:
            marked = x ^ salt
            count += places[x & mask] == marked
            places[x & mask] = marked
        repeats[i] = count
