"""Check which normalisation a text needs."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import HIGH, UNSETTLED, U, decode, fmix64, load64


@kernel("void(read(uint8), int64[::1], uint8[::1], uint8[::1], uint8[::1])")
def survey(data, offsets, classes, combining, found):  # type: ignore[no-untyped-def]
    """Normalisation of each text: 0 none (ASCII), 1 lower case, 2 NFC as well, 3 invalid UTF-8.

    2 means "may not be NFC": the quick check of Unicode Standard Annex 15 over `combining` classes and UNSETTLED code
    points.
    """
    for i in range(len(offsets) - 1):
        start, end = offsets[i], offsets[i + 1]
        at = start
        joined = U(0)
        while at + 8 <= end:
            joined |= load64(data, at)
            at += 8
        while at < end:
            joined |= U(data[at])
            at += 1
        if joined & HIGH == U(0):
            found[i] = 0
            continue
        found[i] = 1
        last = np.uint8(0)
        at = start
        while at < end:
            c = data[at]
            if c < 0x80:
                last = np.uint8(0)
                at += 1
                while at + 8 <= end and load64(data, at) & HIGH == U(0):
                    at += 8
                continue
            length = 2 if c < 0xE0 else 3 if c < 0xF0 else 4
            bad = c < 0xC2 or c > 0xF4 or at + length > end
            for j in range(1, length):
                bad = bad or (data[at + j] & 0xC0) != 0x80
            if not bad:
                point, _ = decode(data, at)
                bad = (length == 3 and (point < 0x800 or (0xD800 <= point <= 0xDFFF))) or (
                    length == 4 and (point < 0x10000 or point > 0x10FFFF)
                )
            if bad:
                found[i] = 3
                break
            order = combining[point]
            if (classes[point] & UNSETTLED) or (order != 0 and last > order):
                found[i] = 2
            last = order
            at += length


@kernel("void(read(uint8), int64[::1], uint64, uint64[::1])")
def hash_values(data, offsets, seed, out):  # type: ignore[no-untyped-def]
    """64-bit hashes of the values data[offsets[i]:offsets[i+1]], to find equal ones."""
    for i in range(len(offsets) - 1):
        value = data[offsets[i] : offsets[i + 1]]
        h = seed ^ (U(len(value)) * U(0x9E3779B97F4A7C15))
        at = 0
        while at + 8 <= len(value):
            h = (h ^ load64(value, at)) * U(0xD6E8FEB86659FD93)
            h ^= h >> U(32)
            at += 8
        while at < len(value):
            h = (h ^ U(value[at])) * U(0x9FB21C651E98DF25)
            h ^= h >> U(29)
            at += 1
        out[i] = fmix64(h)


@kernel("void(read(uint8), int64[::1], uint64, uint64[::1])")
def hash_rows(data, offsets, seed, out):  # type: ignore[no-untyped-def]
    """64-bit hashes of the bytes data[offsets[i]:offsets[i+1]], such as numbers.

    Every word is mixed in full. In `hash_values` a changed sign, the upper bit of a word, changes two bits for every
    seed, which two changed signs in the next word undo.
    """
    for i in range(len(offsets) - 1):
        at, end = offsets[i], offsets[i + 1]
        h = seed ^ (U(end - at) * U(0x9E3779B97F4A7C15))
        while at + 8 <= end:
            h = fmix64((h ^ load64(data, at)) * U(0xD6E8FEB86659FD93))
            at += 8
        while at < end:
            h = (h ^ U(data[at])) * U(0x9FB21C651E98DF25)
            h ^= h >> U(29)
            at += 1
        out[i] = fmix64(h)


_P1, _P2, _P3 = U(0x9E3779B185EBCA87), U(0xC2B2AE3D27D4EB4F), U(0x165667B19E3779F9)
_P4, _P5 = U(0x85EBCA77C2B2AE63), U(0x27D4EB2F165667C5)


@inlined
def _turned(x, by):  # type: ignore[no-untyped-def]
    return (x << U(by)) | (x >> U(64 - by))


@inlined
def _taken_in(lane, word):  # type: ignore[no-untyped-def]
    return _turned(lane + word * _P2, 31) * _P1


@kernel("void(read(uint8), int64[::1], uint64[::1])")
def hash_bytes(data, offsets, out):  # type: ignore[no-untyped-def]
    """XXH64 of the bytes data[offsets[i]:offsets[i+1]], seed 0 (Collet, xxHash specification): whole texts, quickly."""
    for i in range(len(offsets) - 1):
        at, end = offsets[i], offsets[i + 1]
        if end - at >= 32:
            a, b, c, d = _P1 + _P2, _P2, U(0), U(0) - _P1
            while at + 32 <= end:
                a = _taken_in(a, load64(data, at))
                b = _taken_in(b, load64(data, at + 8))
                c = _taken_in(c, load64(data, at + 16))
                d = _taken_in(d, load64(data, at + 24))
                at += 32
            h = _turned(a, 1) + _turned(b, 7) + _turned(c, 12) + _turned(d, 18)
            h = (h ^ _taken_in(U(0), a)) * _P1 + _P4
            h = (h ^ _taken_in(U(0), b)) * _P1 + _P4
            h = (h ^ _taken_in(U(0), c)) * _P1 + _P4
            h = (h ^ _taken_in(U(0), d)) * _P1 + _P4
        else:
            h = _P5
        h += U(end - offsets[i])
        while at + 8 <= end:
            h = _turned(h ^ _taken_in(U(0), load64(data, at)), 27) * _P1 + _P4
            at += 8
        if at + 4 <= end:
            word = U(data[at]) | U(data[at + 1]) << U(8) | U(data[at + 2]) << U(16) | U(data[at + 3]) << U(24)
            h = _turned(h ^ word * _P1, 23) * _P2 + _P3
            at += 4
        while at < end:
            h = _turned(h ^ U(data[at]) * _P5, 11) * _P1
            at += 1
        h = (h ^ (h >> U(33))) * _P2
        h = (h ^ (h >> U(29))) * _P3
        out[i] = h ^ (h >> U(32))


@kernel("void(read(uint8), int64[::1], int64[::1], uint64[::1])")
def characters(data, offsets, rows, out):  # type: ignore[no-untyped-def]
    """Number of characters of each text of some rows: bytes that do not continue a UTF-8 sequence."""
    for i in rows:
        count = 0
        for c in data[offsets[i] : offsets[i + 1]]:
            count += (c & 0xC0) != 0x80
        out[i] = count
