"""Pages compressed with Snappy, unpacked into values.

A compressed stream is a list of elements: literal bytes, or a copy of bytes that came `offset` earlier
(google/snappy, format_description.txt). Both are short most of the time, and follow each other without a rule, so that
a branch for each kind would be guessed wrong as often as right: here 16 bytes are copied in either case, and a table
says from where and how far to go on.
"""

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from twinset.bytes_kernels import U, load64
from twinset.compiled import inlined, kernel

Elements = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8]]

DAMAGED = -1
BEHIND = 24
"""Bytes that may be read behind the end of a page, and written behind the end of what is unpacked."""

_SHORT = 16  # bytes that are copied at once
_AT_ONCE = 2**16  # bytes after which values are moved on, while they are near
_SPECIAL = U(1 << 48)


def _elements() -> Elements:
    """For each first byte of an element: what it says, and how many bytes it takes, if two bytes more say all.

    What it says is size | upper bits of the offset << 16 | mask of the bytes that are the offset's lower ones << 32;
    what is longer than `_SHORT`, or a far copy, is `_SPECIAL`.
    """
    says, steps = np.zeros(256, np.uint64), np.zeros(256, np.uint8)
    for tag in range(256):
        kind, upper = tag & 3, tag >> 2
        if kind == 3 or (kind != 1 and upper >= _SHORT):
            says[tag] = _SPECIAL
        elif kind == 0:
            says[tag], steps[tag] = upper + 1, upper + 2
        elif kind == 1:
            says[tag], steps[tag] = 4 + (upper & 7) | (tag >> 5) << 24 | 0xFF << 32, 2
        else:
            says[tag], steps[tag] = upper + 1 | 0xFFFF << 32, 3
    return says, steps


ELEMENTS = _elements()


@intrinsic
def _copy_16(_context, out, to, data, at, back, literal):  # type: ignore[no-untyped-def]
    """Sixteen bytes to out[to], from data[at] if they are literal, else from out[back]."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def address(number, index):  # type: ignore[no-untyped-def]
            array = context.make_array(signature.args[number])(context, builder, args[number])
            return builder.bitcast(builder.gep(array.data, [args[index]]), sixteen.as_pointer())

        sixteen = ir.VectorType(ir.IntType(8), 16)
        source = builder.select(args[5], address(2, 3), address(0, 4))
        loaded = builder.load(source)
        loaded.align = 1
        builder.store(loaded, address(0, 1)).align = 1
        return context.get_dummy_value()

    return types.void(out, types.uint64, data, types.uint64, types.uint64, types.boolean), generate


@inlined
def _unpack(data, at, end, out, place, stop, total, elements):  # type: ignore[no-untyped-def]
    """Unpack elements until `stop` is reached or passed: where the rest begins, and how far `out` is filled.

    A page that is not as it should be gives a place behind its end.
    """
    says, steps = elements
    while at < end and place < stop:
        while at < end and place < stop:
            tag = data[at]
            said = says[tag]
            offset = (load64(data, np.int64(at + U(1))) & (said >> U(32))) | ((said >> U(16)) & U(0xFFFF))
            literal = tag & np.uint8(3) == np.uint8(0)
            if (said == _SPECIAL) | ((not literal) & ((offset < U(_SHORT)) | (offset > place))):
                break
            _copy_16(out, place, data, at + U(1), place - offset, literal)
            place += said & U(0xFFFF)
            at += U(steps[tag])
        if at >= end or place >= stop:
            break
        tag = U(data[at])
        kind, size, offset = tag & U(3), (tag >> U(2)) + U(1), U(0)
        at += U(1)
        if kind == U(0):
            width = size - U(60) if size > U(60) else U(0)
            if width > U(0):
                size = (load64(data, np.int64(at)) & ((U(1) << (U(8) * width)) - U(1))) + U(1)
            at += width
            if at > end or size > end - at or size > total - place:
                return at, total + U(1)
            for k in range(size):
                out[place + k] = data[at + k]
            at += size
        else:
            two = load64(data, np.int64(at))
            if kind == U(1):
                size, offset = U(4) + (size - U(1) & U(7)), (tag >> U(5)) << U(8) | (two & U(0xFF))
            else:
                offset = two & (U(0xFFFF) if kind == U(2) else U(0xFFFFFFFF))
            at += U(1) if kind == U(1) else U(2) * kind - U(2)
            if offset == U(0) or offset > place or size > total - place:
                return at, total + U(1)
            for k in range(size):
                out[place + k] = out[place - offset + k]
        place += size
    return at, place


@kernel(
    "int64(read(uint8), int64, int64, int64, boolean, int64, Tuple((uint64[::1], uint8[::1])), uint8[::1],"
    " uint8[::1], int64[::1], int64)"
)
def unpack_values(data, at, end, unpacked, levels, count, elements, page, values, upto, row):  # type: ignore[no-untyped-def]
    """Unpack a page of values, each after its length in four bytes.

    `data` uint8[at:end]: the elements, and `BEHIND` bytes more; `unpacked`: the size of the page; `levels`: it begins
    with the length of something else, and that; `count`: how many values; `page` uint8[unpacked + BEHIND]: room for it;
    `values` uint8, filled from upto[row] on; `upto` int64: where each value ends, filled from row + 1 on. Gives how
    many bytes the values take, or `DAMAGED`.
    """
    here, last, total = U(at), U(end), U(unpacked)
    place, begin, stop = U(0), U(0), U(0)
    done, first = 0, upto[row]
    to = U(first)
    started = not levels
    while place < total:
        stop = min(total, place + U(_AT_ONCE))
        here, place = _unpack(data, here, last, page, place, stop, total, elements)
        if place > total or here > last or (here == last and place < total):
            return DAMAGED
        if not started and place >= U(4):
            begin = U(4) + (load64(page, np.int64(0)) & U(0xFFFFFFFF))
            started = True
        while done < count and begin + U(4) <= place:
            size = load64(page, np.int64(begin)) & U(0xFFFFFFFF)
            if begin + U(4) + size > place:
                break
            if to + size > U(values.size):
                return DAMAGED
            begin += U(4)
            for k in range(size):
                values[to + k] = page[begin + k]
            begin += size
            to += size
            done += 1
            upto[row + done] = np.int64(to)
    if done != count or begin != total or here != last:
        return DAMAGED
    return np.int64(to) - first


@kernel("int64(read(uint8), int64[::1], int64[::1], uint8[::1], int64[::1], int64)")
def take_values(data, ends, codes, values, upto, row):  # type: ignore[no-untyped-def]
    """Values of a dictionary by their places in it.

    `data` uint8 and `ends` int64[d + 1]: its values, and where each begins and ends; `codes` int64[n]; `values` and
    `upto` as for `unpack_values`. Gives how many bytes they take.
    """
    first = to = upto[row]
    for code in codes:
        begin, size = U(ends[code]), U(ends[code + 1] - ends[code])
        if to + np.int64(size) > values.size:
            return DAMAGED
        for k in range(size):
            values[U(to) + k] = data[begin + k]
        to += np.int64(size)
        row += 1
        upto[row] = to
    return to - first
