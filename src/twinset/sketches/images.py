"""Sketches of pictures from small grids of colours: a perceptual hash, and a colour-layout vector.

The perceptual hash has 64 bits, from the 64 lowest frequencies of the luminance (a cosine transform; without the mean,
so brightness and contrast do not matter). A bit is the sign of a coefficient times its frequency, because pictures have
less of the higher ones. Gradients, symmetric pictures and those of few shapes have many coefficients near zero, whose
signs are noise. So a little of all the others, with fixed random signs, is added to each. A large coefficient still
decides its own bit; otherwise the others do, and the bit is the same in a copy. docs/images.md has the measurement.

A picture of one colour has no coefficients. Its hash is a position on a walk through the codes that flips one bit per
level of luminance, blueness and redness: flat pictures differ in about as many bits as their colours in levels, up to a
dozen.

The colour layout is that of MPEG-7 (ISO/IEC 15938-3) without its rounding: the mean colours of 8 × 8 cells, cosine
transform, lowest frequencies: 21 of the luminance and 6 of each colour. The Euclidean distance of two vectors is the
root mean square difference of the two small pictures, in levels from 0 to 255, at these frequencies.
"""

import math

import numpy as np
import numpy.typing as npt

from twinset.compiled.bytes_kernels import random_words
from twinset.schema import Codes, Hashes, Sketches
from twinset.sketches import image_kernels as kernels

BITS = 64
ORIENTATIONS = 8
LAYOUT = 33
"""Dimensions of a colour layout."""

Grids = npt.NDArray[np.float32]
Layouts = npt.NDArray[np.float32]
_Whole = npt.NDArray[np.int64]

_CELLS = 8
_ONE, _FINE = 256, 4096  # steps of a grid are 1/256 of a level, of a coefficient 1/4096
_LUMINANCE, _COLOUR = 5, 2  # maximum sum of the two frequencies in a layout: 21 and 6 coefficients
_FLAT = 0.5
"""Minimum standard deviation of the luminance, in levels at the lowest frequencies; pictures below are flat."""


def perceptual_hashes(grids: Grids) -> Hashes:
    """Compute the code of each grid of colours.

    grids: float32 (n, 32, 32, 3): luminance, blueness and redness from 0 to 255, rows first.
    Returns uint64 (n); copies of a picture differ in few bits, unrelated pictures in about 32.

    Examples
    --------
    >>> steps = np.arange(32, dtype=np.float32)
    >>> grid = np.full((32, 32, 3), 128, np.float32)
    >>> grid[:, :, 0] = 8 * np.abs(steps[:, None] - 3 * (steps % 11))
    >>> one, brighter = perceptual_hashes(np.stack([grid, grid / 2 + [90, 64, 64]]).astype(np.float32))
    >>> (int(one) ^ int(brighter)).bit_count()
    0
    """
    order = sorted(((u, v) for u in range(11) for v in range(11) if u + v), key=lambda place: (sum(place), place))
    places = np.array(order[:BITS], np.int64)
    codes = np.empty(len(grids), np.uint64)
    whole = _whole(grids)
    means = whole.sum(axis=(1, 2)) // (grids.shape[1] * grids.shape[2])
    # Minus the mean, so that rounding does not depend on the brightness.
    luminance = np.ascontiguousarray(whole[..., 0] - means[:, None, None, 0])
    levels = np.clip((means + _ONE // 2) // _ONE, 0, 255)
    flat = int((_FLAT * _FINE) ** 2 * grids.shape[1] * grids.shape[2])
    kernels.perceptual_hashes(luminance, levels, _basis(grids.shape[1], 11), places, flat, _walk(), codes)
    return codes


def orientations(grids: Grids) -> Grids:
    """Turn each grid of colours in all eight ways: four rotations, mirrored or not.

    The cells of a turned picture are the turned cells of the picture, so these are the grids of the turned pictures.
    Returns float32 (n, 8, 32, 32, 3), the first of the eight as it came.

    Examples
    --------
    >>> corner = np.zeros((1, 32, 32, 3), np.float32)
    >>> corner[0, 0, 1] = 1
    >>> [tuple(np.argwhere(grid[:, :, 0])[0].tolist()) for grid in orientations(corner)[0]]
    [(0, 1), (0, 30), (31, 1), (31, 30), (1, 0), (1, 31), (30, 0), (30, 31)]
    """
    turned = [grids, grids.transpose(0, 2, 1, 3)]
    return np.stack([grid[:, ::down, ::across] for grid in turned for down in (1, -1) for across in (1, -1)], axis=1)


def oriented_hashes(grids: Grids) -> Codes:
    """Compute the codes of each grid of colours in all eight orientations, uint64 (n, 8), its own first.

    Examples
    --------
    >>> grid = np.full((1, 32, 32, 3), 128, np.float32)
    >>> grid[0, :16, :8, 0] = 255
    >>> oriented_hashes(grid)[0, 0] == perceptual_hashes(grid)[0]
    np.True_
    """
    turned = orientations(grids)
    return perceptual_hashes(turned.reshape(-1, *grids.shape[1:])).reshape(len(grids), ORIENTATIONS)


def colour_layouts(grids: Grids) -> Layouts:
    """Compute the vector of each grid of colours.

    grids: as for `perceptual_hashes`.
    Returns float32 (n, 33).

    Examples
    --------
    >>> grey = np.full((2, 32, 32, 3), 128, np.float32)
    >>> grey[1, :, :, 0] += 10
    >>> one, brighter = colour_layouts(grey)
    >>> round(float(np.linalg.norm(brighter - one)), 2)
    10.0
    """
    step = grids.shape[1] // _CELLS
    small = _whole(grids).reshape(len(grids), _CELLS, step, _CELLS, step, 3).sum(axis=(2, 4))
    small = np.ascontiguousarray(np.moveaxis(small, 3, 1))
    places = [
        (channel, u, total - u)
        for channel, most in enumerate((_LUMINANCE, _COLOUR, _COLOUR))
        for total in range(most + 1)
        for u in range(total + 1)
    ]
    vectors = np.empty((len(grids), LAYOUT), np.float32)
    unit = 1 / (_FINE * step * step * _CELLS)
    kernels.layouts(small, _basis(_CELLS, _LUMINANCE + 1), np.array(places, np.int64), unit, vectors)
    return vectors


def hashes_and_layouts(grids: Grids) -> Sketches:
    """Compute the code and the vector of each grid of colours, as an index stores them.

    grids: as for `perceptual_hashes`.
    Returns uint32 (n, 35): the bytes of the code, then those of the vector.

    Examples
    --------
    >>> grey = np.full((1, 32, 32, 3), 128, np.float32)
    >>> both = hashes_and_layouts(grey)
    >>> both[:, :2].view(np.uint64)[0, 0] == perceptual_hashes(grey)[0]
    np.True_
    >>> round(float(both[:, 2:].view(np.float32)[0, 0]))
    128
    """
    codes = perceptual_hashes(grids)[:, None].view(np.uint32)
    return np.concatenate([codes, colour_layouts(grids).view(np.uint32)], axis=1)


def oriented_sketches(grids: Grids) -> Sketches:
    """Compute the code and the vector of each grid in all eight orientations: uint32 (n, 8, 35), its own first.

    Examples
    --------
    >>> oriented_sketches(np.full((2, 32, 32, 3), 128, np.float32)).shape
    (2, 8, 35)
    """
    turned = orientations(grids)
    both = hashes_and_layouts(turned.reshape(-1, *grids.shape[1:]))
    return both.reshape(len(grids), ORIENTATIONS, both.shape[1])


def _whole(grids: Grids) -> _Whole:
    whole: _Whole = np.rint(grids * np.float32(_ONE)).astype(np.int64)
    return whole


def _basis(side: int, count: int) -> _Whole:
    """First rows of the orthonormal cosine transform, in 65536ths."""
    rows = [
        [math.sqrt((2 if u else 1) / side) * math.cos(math.pi * (2 * i + 1) * u / (2 * side)) for i in range(side)]
        for u in range(count)
    ]
    basis: _Whole = np.rint(65536 * np.array(rows)).astype(np.int64)
    return basis


def _walk() -> Hashes:
    """Codes of the levels 0 to 255 of each channel: each differs from the one before in one random bit."""
    turned = np.uint64(1) << (random_words(768, 0) >> np.uint64(58))
    walk: Hashes = np.bitwise_xor.accumulate(turned.reshape(3, 256), axis=1)
    return walk
