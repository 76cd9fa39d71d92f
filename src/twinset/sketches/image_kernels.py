"""Perceptual hashes and colour layouts of grids of colours, in integers, the same on every machine."""

import numpy as np

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, fmix64


@inlined
def cosines(grid, basis, wide, found):  # type: ignore[no-untyped-def]
    """Cosine transform of a grid: int64 (n, n), with basis int64 (m, n), found int64 (m, m).

    The basis is in 65536ths, the grid in 256ths, the result in 4096ths.
    """
    side, kept = grid.shape[0], basis.shape[0]
    for row in range(side):
        for v in range(kept):
            total = np.int64(0)
            for column in range(side):
                total += basis[v, column] * grid[row, column]
            wide[row, v] = total >> 8
    for u in range(kept):
        for v in range(kept):
            total = np.int64(0)
            for row in range(side):
                total += basis[u, row] * wide[row, v]
            found[u, v] = total >> 20


@kernel("void(int64[:, :, ::1], int64[:, ::1], int64[:, ::1], int64[:, ::1], int64, uint64[:, ::1], uint64[::1])")
def perceptual_hashes(grids, means, basis, places, flat, walk, codes):  # type: ignore[no-untyped-def]
    """Signs of 64 mixed coefficients of luminance; for a flat picture, a position on a walk along its colour.

    grids int64 (n, 32, 32): luminance in 256ths of a level, minus its mean; means int64 (n, 3): of the channels, 0 to
    255; basis int64 (11, 32); places int64 (64, 2): the frequencies; flat: maximum sum of squares of a flat picture;
    walk uint64 (3, 256): the code of each level of each channel; codes uint64 (n), written.
    """
    side = grids.shape[1]
    wide = np.empty((side, basis.shape[0]), np.int64)
    coefficients = np.empty((basis.shape[0], basis.shape[0]), np.int64)
    values = np.empty(64, np.int64)
    for number in range(len(grids)):
        cosines(grids[number], basis, wide, coefficients)
        energy = np.int64(0)
        for i in range(64):
            u, v = places[i, 0], places[i, 1]
            energy += coefficients[u, v] ** 2
            values[i] = coefficients[u, v] * (u + v)
        code = U(0)
        if energy <= flat:
            for c in range(3):
                code ^= walk[c, means[number, c]]
        else:
            for i in range(64):
                signs = fmix64(U(i + 1) * U(0x9E3779B97F4A7C15))
                mixed = 16 * values[i]
                for j in range(64):
                    mixed += values[j] if (signs >> U(j)) & U(1) else -values[j]
                if mixed > 0:
                    code |= U(1) << U(i)
        codes[number] = code


@kernel("void(int64[:, :, :, ::1], int64[:, ::1], int64[:, ::1], float64, float32[:, ::1])")
def layouts(grids, basis, places, unit, vectors):  # type: ignore[no-untyped-def]
    """Lowest-frequency coefficients of each channel.

    grids int64 (n, 3, 8, 8), basis int64 (m, 8), places int64 (d, 3): channel and the two frequencies; vectors
    float32 (n, d), written: coefficients times unit.
    """
    side, kept = grids.shape[2], basis.shape[0]
    wide = np.empty((side, kept), np.int64)
    coefficients = np.empty((3, kept, kept), np.int64)
    for number in range(len(grids)):
        for c in range(3):
            cosines(grids[number, c], basis, wide, coefficients[c])
        for i in range(len(places)):
            vectors[number, i] = np.float32(coefficients[places[i, 0], places[i, 1], places[i, 2]] * unit)
