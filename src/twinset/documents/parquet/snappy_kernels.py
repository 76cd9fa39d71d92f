"""Pages compressed with Snappy, unpacked into values.

A compressed stream is a list of elements: literal bytes, or a copy of bytes that came `offset` earlier
(google/snappy, format_description.txt). Both are short most of the time, and follow each other without a rule, so that
a branch for each kind would be guessed wrong as often as right: here 16 bytes are copied in either case, and a table
says from where and how far to go on. Where the next element begins is known only once this one has been looked at, and
most of the time would be waiting for that: so three pages are unpacked by turns, an element of each.
"""

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, load64

DAMAGED = -1
BEHIND = 8
"""Bytes that may be read behind the end of a page."""

TOGETHER = 3

# What is known of a page: where its elements go on and end, where the next of them goes to, where the first went and
# the last ends; whether something comes before the values, how many they are, where the next of them begins, goes to
# and what number it has, and how many are done.
AT, END, PLACE, ROOM, TOTAL, LEVELS, COUNT, BEGIN, TO, ROW, DONE = range(11)

_SHORT = 16  # bytes that are copied at once
_AT_ONCE = 2**16  # bytes after which values are moved on, while they are near; no element that is short refers farther
_LONGEST = 17  # bytes that a short element takes
_SIZE, _STEP, _MASK, _LAG = U(0), U(256), U(512), U(768)


def _elements() -> npt.NDArray[np.uint64]:
    """For each first byte of an element its size, the bytes it takes, which bits of the next two are the offset's.

    And what is to be added to these bits for the lag, by which the offset exceeds the size. The lag is negative, that
    is very large, for copies that overlap what they write, for elements longer than `_SHORT` and for far copies.
    """
    sizes, steps, masks, lags = (np.zeros(256, np.int64) for _ in range(4))
    for tag in range(256):
        kind, upper = tag & 3, tag >> 2
        if kind == 3 or (kind != 1 and upper >= _SHORT):
            lags[tag] = -1
        elif kind == 0:
            sizes[tag], steps[tag] = upper + 1, upper + 2
        elif kind == 1:
            sizes[tag], steps[tag], masks[tag] = 4 + (upper & 7), 2, 0xFF
            lags[tag] = (tag >> 5 << 8) - sizes[tag]
        else:
            sizes[tag], steps[tag], masks[tag], lags[tag] = upper + 1, 3, 0xFFFF, -(upper + 1)
    return np.concatenate([sizes, steps, masks, lags]).view(np.uint64)


ELEMENTS = _elements()


@intrinsic
def _load16(_context, array, index):  # type: ignore[no-untyped-def]
    """Two bytes of a uint8 array from any offset, as one little-endian number."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        loaded = builder.load(builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(16).as_pointer()))
        loaded.align = 1
        return builder.zext(loaded, ir.IntType(64))

    return types.uint64(array, types.uint64), generate


@intrinsic
def _copy_16(_context, array, to, literal, at, back):  # type: ignore[no-untyped-def]
    """Sixteen bytes to array[to], from array[at] if they are literal, else from array[back]."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def address(index):  # type: ignore[no-untyped-def]
            return builder.bitcast(builder.gep(data, [index]), ir.VectorType(ir.IntType(8), 16).as_pointer())

        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        loaded = builder.load(address(builder.select(args[2], args[3], args[4])))
        loaded.align = 1
        builder.store(loaded, address(args[1])).align = 1
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.boolean, types.uint64, types.uint64), generate


@inlined
def _lag(space, at, tag, elements):  # type: ignore[no-untyped-def]
    return (_load16(space, at + U(1)) & elements[_MASK + tag]) + elements[_LAG + tag]


@inlined
def _put(space, place, at, tag, lag, size):  # type: ignore[no-untyped-def]
    _copy_16(space, place, tag & U(3) == U(0), at + U(1), place - lag - size)


@inlined
def _alone(space, page, most, elements):  # type: ignore[no-untyped-def]
    """Unpack elements of one page until `most` bytes more are there, or more; whether they are as they should be."""
    at, end, place, room, total = page[AT], page[END], page[PLACE], page[ROOM], page[TOTAL]
    stop = min(total, place + most)
    while at < end and place < stop:
        sure = min((end - at) // U(_LONGEST), (stop - place) // U(_SHORT))
        while sure > U(0):
            tag = U(space[at])
            lag, size = _lag(space, at, tag, elements), elements[_SIZE + tag]
            if (lag >= U(_AT_ONCE)) | ((tag & U(3) != U(0)) & (lag + size > place - room)):
                break
            _put(space, place, at, tag, lag, size)
            place += size
            at += elements[_STEP + tag]
            sure -= U(1)
        if at >= end or place >= stop:
            break
        tag = U(space[at])
        kind, size, offset = tag & U(3), (tag >> U(2)) + U(1), U(0)
        at += U(1)
        if kind == U(0):
            width = size - U(60) if size > U(60) else U(0)
            if width > U(0):
                size = (load64(space, np.int64(at)) & ((U(1) << (U(8) * width)) - U(1))) + U(1)
            at += width
            if at > end or size > end - at or size > total - place:
                return False
            for k in range(size):
                space[place + k] = space[at + k]
            at += size
        else:
            following = load64(space, np.int64(at))
            if kind == U(1):
                size, offset = U(4) + (size - U(1) & U(7)), (tag >> U(5)) << U(8) | (following & U(0xFF))
            else:
                offset = following & (U(0xFFFF) if kind == U(2) else U(0xFFFFFFFF))
            at += U(1) if kind == U(1) else U(2) * kind - U(2)
            if at > end or offset == U(0) or offset > place - room or size > total - place:
                return False
            for k in range(size):
                space[place + k] = space[place - offset + k]
        place += size
    page[AT], page[PLACE] = at, place
    return at <= end and (at < end or place == total)


@inlined
def _together(space, pages, elements):  # type: ignore[no-untyped-def]
    """Unpack short elements of three pages by turns, until one has something else or enough is done."""
    a, b, c = pages[0, AT], pages[1, AT], pages[2, AT]
    to_a, to_b, to_c = pages[0, PLACE], pages[1, PLACE], pages[2, PLACE]
    sure = U(_AT_ONCE) // U(_SHORT)
    for k in range(TOGETHER):
        page = pages[k]
        sure = min(sure, (page[END] - page[AT]) // U(_LONGEST), (page[TOTAL] - page[PLACE]) // U(_SHORT))
    while sure > U(0):
        tag_a, tag_b, tag_c = U(space[a]), U(space[b]), U(space[c])
        lag_a, lag_b, lag_c = (
            _lag(space, a, tag_a, elements), _lag(space, b, tag_b, elements), _lag(space, c, tag_c, elements)
        )  # fmt: skip
        if (lag_a | lag_b | lag_c) >= U(_AT_ONCE):
            break
        size_a, size_b, size_c = elements[_SIZE + tag_a], elements[_SIZE + tag_b], elements[_SIZE + tag_c]
        _put(space, to_a, a, tag_a, lag_a, size_a)
        _put(space, to_b, b, tag_b, lag_b, size_b)
        _put(space, to_c, c, tag_c, lag_c, size_c)
        to_a, to_b, to_c = to_a + size_a, to_b + size_b, to_c + size_c
        a, b, c = a + elements[_STEP + tag_a], b + elements[_STEP + tag_b], c + elements[_STEP + tag_c]
        sure -= U(1)
    pages[0, AT], pages[1, AT], pages[2, AT] = a, b, c
    pages[0, PLACE], pages[1, PLACE], pages[2, PLACE] = to_a, to_b, to_c


@inlined
def _is_long(space, page, elements):  # type: ignore[no-untyped-def]
    """Whether the next element is not short, or near the end of its page."""
    at = page[AT]
    near = (page[END] - at < U(_LONGEST)) | (page[TOTAL] - page[PLACE] < U(_SHORT))
    return near | (_lag(space, at, U(space[at]), elements) >= U(_AT_ONCE))


@inlined
def _move(space, page, values, upto):  # type: ignore[no-untyped-def]
    """Move on those values of a page that are whole; whether there was room for them."""
    begin, done, to = page[BEGIN], page[DONE], page[TO]
    while done < page[COUNT] and begin + U(4) <= page[PLACE]:
        size = load64(space, np.int64(begin)) & U(0xFFFFFFFF)
        if begin + U(4) + size > page[PLACE]:
            break
        if to + size > U(values.size):
            return False
        begin += U(4)
        for k in range(size):
            values[to + k] = space[begin + k]
        begin += size
        to += size
        done += U(1)
        upto[page[ROW] + done] = np.int64(to)
    page[BEGIN], page[DONE], page[TO] = begin, done, to
    return True


@kernel("int64(uint8[::1], uint64[:, ::1], uint64[::1], uint8[::1], int64[::1], int64)")
def unpack_values(space, pages, elements, values, upto, row):  # type: ignore[no-untyped-def]
    """Unpack pages of values, each after its length in four bytes.

    `space` uint8: the pages, each with `BEHIND` bytes more, and room for them; `pages` uint64[TOGETHER, 11]: what is
    known of each, from `AT` on, changed here; `elements`: `ELEMENTS`; `values` uint8, filled from upto[row] on; `upto`
    int64: where each value ends, filled from row + 1 on. Gives how many bytes the values take, or `DAMAGED`.
    """
    first = upto[row]
    to, number = U(first), U(row)
    for page in pages:
        # From here on a short copy cannot refer to what is before the page.
        if not _alone(space, page, U(_AT_ONCE), elements):
            return DAMAGED
        page[BEGIN] = page[ROOM]
        if page[LEVELS] > U(0):
            if page[PLACE] < page[ROOM] + U(4):
                return DAMAGED
            page[BEGIN] += U(4) + (load64(space, np.int64(page[ROOM])) & U(0xFFFFFFFF))
        if page[BEGIN] + U(4) * page[COUNT] > page[TOTAL]:
            return DAMAGED
        page[TO], page[ROW] = to, number
        to += page[TOTAL] - page[BEGIN] - U(4) * page[COUNT]
        number += page[COUNT]
    shortest = U(1)
    while shortest > U(0):
        shortest = U(_AT_ONCE)
        _together(space, pages, elements)
        for page in pages:
            if _is_long(space, page, elements) and not _alone(space, page, U(1), elements):
                return DAMAGED
            if not _move(space, page, values, upto):
                return DAMAGED
            shortest = min(shortest, page[END] - page[AT], page[TOTAL] - page[PLACE])
    for page in pages:
        while page[PLACE] < page[TOTAL]:
            if not _alone(space, page, U(_AT_ONCE), elements) or not _move(space, page, values, upto):
                return DAMAGED
        if page[DONE] != page[COUNT] or page[BEGIN] != page[TOTAL] or page[AT] != page[END]:
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
