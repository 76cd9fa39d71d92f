"""Fast random rotations: random signs and a Walsh–Hadamard transform, three rounds of both.

Between the rounds the coordinates are permuted: otherwise vectors of two or three non-zero coordinates keep a pattern
that the next transform does not break up, and similar ones collide less often than they should (0.58 instead of 0.63 in
64 dimensions). Only additions and sign changes, in a fixed order, are used, so a rotated vector depends neither on the
machine nor on other rows. Rows are processed side by side.
"""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U

ROWS = 64  # rows side by side


@inlined
def transform(x):  # type: ignore[no-untyped-def]
    """Walsh–Hadamard transform of each column of x (D, ROWS), D a power of two, in place, not normalised."""
    size = x.shape[0]
    step = 1
    while step * 4 <= size:  # two levels at once: half the memory accesses
        for base in range(0, size, 4 * step):
            for a in range(base, base + step):
                for i in range(ROWS):
                    p, q, r, s = x[a, i], x[a + step, i], x[a + 2 * step, i], x[a + 3 * step, i]
                    p, q = p + q, p - q
                    r, s = r + s, r - s
                    x[a, i] = p + r
                    x[a + step, i] = q + s
                    x[a + 2 * step, i] = p - r
                    x[a + 3 * step, i] = q - s
        step *= 4
    if step < size:
        for a in range(step):
            for i in range(ROWS):
                p, q = x[a, i], x[a + step, i]
                x[a, i] = p + q
                x[a + step, i] = p - q


@inlined
def signed(x, signs, order, y):  # type: ignore[no-untyped-def]
    """y: the coordinates of x, permuted and signed."""
    for j in range(x.shape[0]):
        sign, other = signs[j], order[j]
        for i in range(ROWS):
            y[j, i] = sign * x[other, i]


@inlined
def rotate(vectors, start, rows, signs, order, x, y):  # type: ignore[no-untyped-def]
    """x[:, i]: vectors[start + i], padded with zeros, after three rounds of signs float32 (3, D) and transforms.

    order int64 (D): permutation of the coordinates between the rounds; x, y float32 (D, ROWS): y is scratch.
    """
    x[:] = np.float32(0)
    for i in range(rows):
        for j in range(vectors.shape[1]):
            x[j, i] = signs[0, j] * vectors[start + i, j]
    transform(x)
    signed(x, signs[1], order, y)
    transform(y)
    signed(y, signs[2], order, x)
    transform(x)


@kernel("void(Array(float32, 2, 'C', readonly=True), float32[:, :, ::1], int64[:, ::1], float32[:, :, ::1])")
def rotated(vectors, signs, orders, out):  # type: ignore[no-untyped-def]
    """out[r, i]: vector i after rotation r.

    vectors (n, d), signs (rotations, 3, D), float32; orders int64 (rotations, D), out float32 (rotations, n, D).
    """
    x, y = np.empty((signs.shape[2], ROWS), np.float32), np.empty((signs.shape[2], ROWS), np.float32)
    for start in range(0, vectors.shape[0], ROWS):
        rows = min(ROWS, vectors.shape[0] - start)
        for r in range(signs.shape[0]):
            rotate(vectors, start, rows, signs[r], orders[r], x, y)
            for i in range(rows):
                for j in range(x.shape[0]):
                    out[r, start + i, j] = x[j, i]


@kernel("void(Array(float32, 2, 'C', readonly=True), float32[:, :, ::1], int64[:, ::1], int64, uint64[:, ::1])")
def rotated_sides(vectors, signs, orders, bits, words):  # type: ignore[no-untyped-def]
    """Bit b of vector i, in words[i, b // 64]: whether coordinate b, counted through the rotations, is at least 0.

    vectors (n, d), signs (rotations, 3, D), float32; orders int64 (rotations, D); words uint64 (n, w), written.
    """
    size = signs.shape[2]
    x, y = np.empty((size, ROWS), np.float32), np.empty((size, ROWS), np.float32)
    packed = np.empty(ROWS, np.uint64)
    for start in range(0, vectors.shape[0], ROWS):
        rows = min(ROWS, vectors.shape[0] - start)
        for r in range(signs.shape[0]):
            rotate(vectors, start, rows, signs[r], orders[r], x, y)
            for word in range(min(size, bits - r * size + 63) // 64):
                packed[:] = U(0)
                for j in range(min(64, bits - r * size - word * 64)):
                    for i in range(ROWS):
                        packed[i] |= U(x[word * 64 + j, i] >= np.float32(0)) << U(j)
                for i in range(rows):
                    words[start + i, (r * size) // 64 + word] = packed[i]


@inlined
def next_largest(block, tops, places, next_tops, next_places):  # type: ignore[no-untyped-def]
    """For each column of block (width, ROWS): the largest absolute value after `tops` at `places`, and its position.

    Ties go to the first.
    """
    next_tops[:] = np.float32(-1)
    for j in range(block.shape[0]):
        for i in range(ROWS):
            value = abs(block[j, i])
            later = (value < tops[i]) | ((value == tops[i]) & (np.int32(j) > places[i]))
            taken = later & (value > next_tops[i])
            next_places[i] = np.int32(j) if taken else next_places[i]
            next_tops[i] = value if taken else next_tops[i]


@kernel(
    "void(Array(float32, 2, 'C', readonly=True), float32[:, :, ::1], int64[:, ::1], int64, int64, int64, int64,"
    "uint64[:, ::1], float32[:, :, ::1], uint64[:, :, ::1])"
)
def corners(vectors, signs, orders, first, functions, width, bits, keys, costs, turns):  # type: ignore[no-untyped-def]
    """keys[t, i]: for each function of a table the corner of a cross-polytope nearest to the rotated vector i.

    Corner 2j is on axis j, 2j+1 opposite; each takes `bits` bits. Function f of table t uses `width` coordinates from
    (first + t × functions + f) × width on, counted through the rotations. Its moves go to the next nearest corners;
    they cost the squared difference of the coordinates.

    vectors (n, d), signs (rotations, 3, D), float32; orders int64 (rotations, D); keys uint64 (tables, n), costs
    float32 and turns uint64 (tables, n, functions × alternatives), written.
    """
    size, tables = signs.shape[2], keys.shape[0]
    alternatives = costs.shape[2] // functions
    x, y = np.empty((size, ROWS), np.float32), np.empty((size, ROWS), np.float32)
    tops, places = np.empty((2, ROWS), np.float32), np.empty((2, ROWS), np.int32)
    best, best_places = np.empty(ROWS, np.float32), np.empty(ROWS, np.uint64)
    keys[:] = U(0)
    for start in range(0, vectors.shape[0], ROWS):
        rows = min(ROWS, vectors.shape[0] - start)
        done = -1
        for number in range(tables * functions):
            t, f = number // functions, number % functions
            at = (first + number) * width
            if at // size != done:
                done = at // size
                rotate(vectors, start, rows, signs[done], orders[done], x, y)
            block = x[at % size : at % size + width]
            shift = U(bits * f)
            tops[1], places[1] = np.float32(np.inf), np.int32(-1)
            for a in range(alternatives + 1):
                now = a & 1
                next_largest(block, tops[1 - now], places[1 - now], tops[now], places[now])
                for i in range(rows):
                    j = np.int64(places[now, i])
                    corner = U(2 * j) + U(block[j, i] < np.float32(0))
                    if a == 0:
                        best[i], best_places[i] = tops[now, i], corner
                        keys[t, start + i] |= corner << shift
                    else:
                        gap = best[i] - tops[now, i]
                        costs[t, start + i, f * alternatives + a - 1] = gap * gap
                        turns[t, start + i, f * alternatives + a - 1] = (best_places[i] ^ corner) << shift
