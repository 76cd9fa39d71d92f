"""Find and hash the words of a text.

Words are found 64 bytes at a time: SIMD comparisons give a bit per byte, set for word characters, and the positions
where the bits change are the word borders. A table of the set bits of a byte lists them without a branch.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from twinset.compiled import inlined
from twinset.compiled.bytes_kernels import SINGLE, WORD, U, decode, load64, ones, trailing_zeros

# Changing either constant changes every hash: raise HASH_SCHEME in schema.py with it.
MIX_A = U(0x9E3779B97F4A7C15)
MIX_B = U(0xD6E8FEB86659FD93)

ALL = U(0xFFFFFFFFFFFFFFFF)
AT_ONCE = 512  # words fetched before they are hashed together

_BYTES, _FEW_BYTES = (ir.VectorType(ir.IntType(8), size) for size in (64, 8))
_PLACES = ir.VectorType(ir.IntType(32), 8)


def _each(builder, kind, value):  # type: ignore[no-untyped-def]
    """A vector with one value in every lane."""
    unset = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(unset, builder.trunc(value, kind.element), ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, unset, ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count))


def _at(context, builder, array_type, array, index, kind):  # type: ignore[no-untyped-def]
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


@intrinsic
def ascii_words(_context, data, at, case, text):  # type: ignore[no-untyped-def]
    """Copy 64 bytes to `text`, with `case` added to ASCII capitals; return the bits of ASCII word characters."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def fixed(value):  # type: ignore[no-untyped-def]
            return ir.Constant(_BYTES, [value] * 64)

        def within(x, first, count):  # type: ignore[no-untyped-def]
            return builder.icmp_unsigned("<", builder.sub(x, fixed(first)), fixed(count))

        x = builder.load(_at(context, builder, signature.args[0], args[0], args[1], _BYTES))
        x.align = 1
        capital = within(x, ord("A"), 26)
        small = builder.add(x, builder.select(capital, _each(builder, _BYTES, args[2]), fixed(0)))
        builder.store(small, _at(context, builder, signature.args[3], args[3], args[1], _BYTES)).align = 1
        letter = builder.or_(capital, within(x, ord("a"), 26))
        other = builder.or_(within(x, ord("0"), 10), builder.icmp_unsigned("==", x, fixed(ord("_"))))
        return builder.bitcast(builder.or_(letter, other), ir.IntType(64))

    return types.uint64(data, types.int64, types.uint64, text), generate


@intrinsic
def beyond_ascii(_context, data, at):  # type: ignore[no-untyped-def]
    """Bits of the non-ASCII bytes among 64."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        x = builder.load(_at(context, builder, signature.args[0], args[0], args[1], _BYTES))
        x.align = 1
        return builder.bitcast(builder.icmp_signed("<", x, ir.Constant(_BYTES, [0] * 64)), ir.IntType(64))

    return types.uint64(data, types.int64), generate


@intrinsic
def put_places(_context, borders, count, places, base):  # type: ignore[no-untyped-def]
    """borders[count:count+8]: each of the eight bytes of `places`, with `base` added."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        places = builder.zext(builder.bitcast(args[2], _FEW_BYTES), _PLACES)
        places = builder.add(places, _each(builder, _PLACES, args[3]))
        builder.store(places, _at(context, builder, signature.args[0], args[0], args[1], _PLACES)).align = 4
        return context.get_dummy_value()

    return types.void(borders, types.int64, types.uint64, types.int64), generate


@inlined
def add_borders(changes, at, count, bit_places, borders):  # type: ignore[no-untyped-def]
    """Append the positions of the set bits; up to eight more are written beyond the end, where `borders` has room."""
    for j in range(0, 64, 8):
        byte = (changes >> U(j)) & U(0xFF)
        put_places(borders, count, bit_places[byte], at + j)
        count += ones(byte)
    return count


@inlined
def ascii_borders(data, lower, bit_places, text, borders):  # type: ignore[no-untyped-def]
    """Copy ASCII `data` to `text`, lower-cased if `lower`, and list the starts and ends of words, alternating."""
    size = len(data)
    count = 0
    carry = U(0)
    case = U(32) if lower else U(0)
    whole = size & ~63
    at = 0
    while at < whole:
        mask = ascii_words(data, at, case, text)
        count = add_borders(mask ^ ((mask << U(1)) | carry), at, count, bit_places, borders)
        carry = mask >> U(63)
        at += 64
    rest = text[whole:]
    for j in range(size - whole):
        rest[j] = data[whole + j]
    mask = ascii_words(rest, 0, case, rest) & ((U(1) << U(size - whole)) - U(1))
    count = add_borders(mask ^ ((mask << U(1)) | carry), whole, count, bit_places, borders)
    if count & 1:
        borders[count] = size
        count += 1
    return count


@inlined
def mixed_words(data, at, classes, split, mask):  # type: ignore[no-untyped-def]
    """Add the non-ASCII word characters to the bits of 64 bytes; return the number of bytes in whole code points.

    It is 0 where a code point is a token of its own.
    """
    rest = beyond_ascii(data, at)
    length = 64
    while rest != U(0):
        j = trailing_zeros(rest)
        point, width = decode(data, at + j)
        if j + width > 64:
            length = j
            break
        kind = classes[point]
        if split and (kind & SINGLE):
            length = 0
            break
        taken = ((U(1) << U(width)) - U(1)) << U(j)
        rest &= ~taken
        if kind & WORD:
            mask |= taken
    return mask, length


@inlined
def unicode_borders(data, classes, split, bit_places, text, borders):  # type: ignore[no-untyped-def]
    """As `ascii_borders` for any valid UTF-8, already lower-cased; with `split` a SINGLE code point is a token."""
    size = len(data)
    count = 0
    inside = False
    at = 0
    while at < size:
        if at + 64 <= size:
            mask, length = mixed_words(data, at, classes, split, ascii_words(data, at, U(0), text))
            if length > 0:
                carry = U(1) if inside else U(0)
                within = ALL >> U(64 - length)
                count = add_borders((mask ^ ((mask << U(1)) | carry)) & within, at, count, bit_places, borders)
                inside = (mask >> U(length - 1)) & U(1) != U(0)
                at += length
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
def hashed_end(h, low, high, length):  # type: ignore[no-untyped-def]
    """Hash of `h` and the first `length` bytes, up to 16, of two words of eight."""
    halves = min(length, U(8)) << U(2)  # two shifts, since a shift by 64 bits is undefined
    low &= ~((ALL << halves) << halves)
    halves = (min(max(length, U(8)), U(16)) - U(8)) << U(2)
    high &= ~((ALL << halves) << halves)
    h = (h ^ low) * MIX_A
    h ^= h >> U(32)
    h = (h + high) * MIX_B
    return h ^ (h >> U(32))


@inlined
def hash_long(text, start, end):  # type: ignore[no-untyped-def]
    """Hash of a word of more than 16 bytes."""
    h = U(end - start) * MIX_B
    while end - start > 16:
        h = (h ^ load64(text, start)) * MIX_A
        h ^= h >> U(29)
        start += 8
    return hashed_end(h, load64(text, start), load64(text, start + 8), U(end - start))


@inlined
def hash_words(text, borders, n, high, out):  # type: ignore[no-untyped-def]
    """out[j]: the hash of word j, text[borders[2j]:borders[2j+1]]; 16 bytes past its end must be readable.

    high uint64: scratch, AT_ONCE. Bytes are fetched first and then hashed by a loop that vectorises.
    """
    for done in range(0, n, AT_ONCE):
        count = min(AT_ONCE, n - done)
        ends = borders[2 * done :]
        some = out[done:]
        for j in range(count):
            start = np.int64(ends[2 * j])
            some[j] = load64(text, start)
            high[j] = load64(text, start + 8)
        longest = U(0)
        for j in range(count):
            length = U(ends[2 * j + 1] - ends[2 * j])
            longest = max(longest, length)
            some[j] = hashed_end(length * MIX_B, some[j], high[j], length)
        if longest > U(16):
            for j in range(count):
                if ends[2 * j + 1] - ends[2 * j] > 16:
                    some[j] = hash_long(text, np.int64(ends[2 * j]), np.int64(ends[2 * j + 1]))
