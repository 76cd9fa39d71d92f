"""Projections of vectors on random directions, and their keys.

A sum goes through the dimensions in order, so it does not depend on other rows. Rows are processed side by side, to
fill SIMD registers.
"""

import math

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, fmix64

ROWS = 64  # rows side by side
VALUE_MIX = U(0xC2B2AE3D27D4EB4F)
FUNCTION_MIX = U(0xD1B54A32D192ED03)


@kernel("void(Array(float32, 2, 'C', readonly=True), float32[:, ::1], float32[:, ::1])")
def project(vectors, directions, out):  # type: ignore[no-untyped-def]
    """out[b, i]: the scalar product of vector i and direction b.

    vectors float32 (n, d), directions float32 (m, d'), out float32 (m, n), written; m and d' are multiples of 4,
    d' ≥ d, and directions are 0 from d on.
    """
    n, d = vectors.shape
    m, padded = directions.shape
    x, o = np.zeros((padded, ROWS), np.float32), np.empty((4, ROWS), np.float32)
    for start in range(0, n, ROWS):
        rows = min(ROWS, n - start)
        for i in range(rows):
            for j in range(d):
                x[j, i] = vectors[start + i, j]
        for b in range(0, m, 4):
            o[:] = np.float32(0)
            p, q, r, s = directions[b], directions[b + 1], directions[b + 2], directions[b + 3]
            for j in range(0, padded, 4):
                p0, p1, p2, p3 = p[j], p[j + 1], p[j + 2], p[j + 3]
                q0, q1, q2, q3 = q[j], q[j + 1], q[j + 2], q[j + 3]
                r0, r1, r2, r3 = r[j], r[j + 1], r[j + 2], r[j + 3]
                s0, s1, s2, s3 = s[j], s[j + 1], s[j + 2], s[j + 3]
                for i in range(ROWS):
                    x0, x1, x2, x3 = x[j, i], x[j + 1, i], x[j + 2, i], x[j + 3, i]
                    o[0, i] = (((o[0, i] + x0 * p0) + x1 * p1) + x2 * p2) + x3 * p3
                    o[1, i] = (((o[1, i] + x0 * q0) + x1 * q1) + x2 * q2) + x3 * q3
                    o[2, i] = (((o[2, i] + x0 * r0) + x1 * r1) + x2 * r2) + x3 * r3
                    o[3, i] = (((o[3, i] + x0 * s0) + x1 * s1) + x2 * s2) + x3 * s3
            for c in range(4):
                for i in range(rows):
                    out[b + c, start + i] = o[c, i]


@kernel("void(Array(float32, 2, 'C', readonly=True), float64[:, ::1], float64[:, ::1])")
def project_exactly(vectors, directions, out):  # type: ignore[no-untyped-def]
    """As `project`, in float64: for values that are compared with a width, even of long vectors."""
    n, d = vectors.shape
    m, padded = directions.shape
    x, o = np.zeros((padded, ROWS), np.float64), np.empty((2, ROWS), np.float64)
    for start in range(0, n, ROWS):
        rows = min(ROWS, n - start)
        for i in range(rows):
            for j in range(d):
                x[j, i] = np.float64(vectors[start + i, j])
        for b in range(0, m, 2):
            o[:] = 0.0
            p, q = directions[b], directions[b + 1]
            for j in range(0, padded, 4):
                p0, p1, p2, p3 = p[j], p[j + 1], p[j + 2], p[j + 3]
                q0, q1, q2, q3 = q[j], q[j + 1], q[j + 2], q[j + 3]
                for i in range(ROWS):
                    x0, x1, x2, x3 = x[j, i], x[j + 1, i], x[j + 2, i], x[j + 3, i]
                    o[0, i] = (((o[0, i] + x0 * p0) + x1 * p1) + x2 * p2) + x3 * p3
                    o[1, i] = (((o[1, i] + x0 * q0) + x1 * q1) + x2 * q2) + x3 * q3
            for c in range(2):
                for i in range(rows):
                    out[b + c, start + i] = o[c, i]


@kernel("void(float32[:, ::1], int64, uint64[::1], float32[:, ::1])")
def sides(projections, bits, keys, costs):  # type: ignore[no-untyped-def]
    """keys[i]: bit b is the side of direction b of vector i. costs[i, b]: its squared distance from the border.

    projections float32 (m, n), m ≥ bits; keys uint64 (n), costs float32 (n, bits) or (n, 0), both written.
    """
    for i in range(len(keys)):
        keys[i] = U(0)
    for b in range(bits):
        for i in range(len(keys)):
            keys[i] |= U(projections[b, i] >= np.float32(0)) << U(b)
    if costs.shape[1]:
        for i in range(len(keys)):
            for b in range(bits):
                costs[i, b] = projections[b, i] * projections[b, i]


@kernel("void(float32[:, ::1], int64, uint64[:, ::1])")
def pack_sides(projections, bits, words):  # type: ignore[no-untyped-def]
    """Bit b of vector i, in words[i, b // 64]: its side of direction b; words uint64 (n, w), written."""
    for i in range(words.shape[0]):
        for b in range(words.shape[1]):
            words[i, b] = U(0)
    for b in range(bits):
        for i in range(words.shape[0]):
            words[i, b >> 6] |= U(projections[b, i] >= np.float32(0)) << U(b & 63)


@kernel("void(float32[:, ::1], float32[::1], float32[::1], int64[::1], int64[::1], uint64[:, ::1])")
def pack_waves(projections, lows, spans, places, waves, words):  # type: ignore[no-untyped-def]
    """Bit b of vector i, in words[i, b // 64]: whether a cosine of waves[b] half waves over the span is at least 0.

    That is where the rounded number of half waves from lows is even. With 0 waves: whether the projection is.
    projections float32 (m, n), lows and spans float32 (m), places and waves int64 (bits), words uint64 (n, w), written.
    """
    for i in range(words.shape[0]):
        for b in range(words.shape[1]):
            words[i, b] = U(0)
    for b in range(len(places)):
        row, low, span, wave = projections[places[b]], lows[places[b]], spans[places[b]], np.float64(waves[b])
        for i in range(words.shape[0]):
            bit = row[i] >= np.float32(0)
            if waves[b] > 0:
                nearest = math.floor(wave * (np.float64(row[i]) - np.float64(low)) / np.float64(span) + 0.5)
                bit = nearest - 2.0 * math.floor(nearest / 2.0) == 0.0
            words[i, b >> 6] |= U(bit) << U(b & 63)


@inlined
def strip_hash(function, value):  # type: ignore[no-untyped-def]
    return fmix64((U(function) + U(1)) * FUNCTION_MIX ^ U(value) * VALUE_MIX)


@kernel("void(float64[:, ::1], float64[::1], float64, int64, uint64[::1], float32[:, ::1], uint64[:, ::1])")
def strips(projections, offsets, width, functions, keys, costs, turns):  # type: ignore[no-untyped-def]
    """keys[i]: hash of the strips of that width of vector i, one per direction.

    Moves 2f and 2f+1 go to the strip below and above in direction f; they cost the squared distance from it, in widths.

    projections float64 (m, n), offsets float64 (m) in widths; keys uint64 (n), costs float32 and turns uint64
    (n, 2 × functions) or (n, 0), written.
    """
    for i in range(len(keys)):
        key = U(0)
        for f in range(functions):
            place = projections[f, i] / width + offsets[f]
            place = min(max(place, -4.0e18), 4.0e18)  # beyond, floats have no fractions
            strip = math.floor(place)
            inside = place - strip
            number = np.int64(strip)
            own = strip_hash(f, number)
            key ^= own
            if costs.shape[1]:
                costs[i, 2 * f] = inside * inside
                costs[i, 2 * f + 1] = (1.0 - inside) * (1.0 - inside)
                turns[i, 2 * f] = own ^ strip_hash(f, number - 1)
                turns[i, 2 * f + 1] = own ^ strip_hash(f, number + 1)
        keys[i] = key


@kernel("void(float64[:, ::1], float64[::1], float64, uint64[:, ::1], int64)")
def odd_strips(projections, offsets, width, words, word):  # type: ignore[no-untyped-def]
    """Bit f of words[i, word]: parity of the strip of vector i in direction f.

    projections float64 (64, n), offsets float64 (64) in widths, words uint64 (n, w), written.
    """
    for i in range(words.shape[0]):
        packed = U(0)
        for f in range(64):
            strip = math.floor(projections[f, i] / width + offsets[f])
            packed |= U(strip - 2.0 * math.floor(strip / 2.0)) << U(f)
        words[i, word] = packed
