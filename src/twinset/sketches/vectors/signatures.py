"""Signatures of vectors: bits that compare candidates before verification.

For cosines a bit is the side of a hyperplane, as in `hyperplane`; the hyperplanes are the axes of fast random
rotations, so many of them cost little. Those of one rotation are orthogonal, so the number of differing bits varies
less than with independent ones. For distances see `p_stable.parities`.
"""

from __future__ import annotations

import numpy as np

from twinset.schema import Codes, Vectors
from twinset.sketches.vectors import rotation_kernels as kernels
from twinset.sketches.vectors.cross_polytope import padded_size, random_rotations


def signatures(vectors: Vectors, bits: int, seed: int) -> Codes:
    """Return signatures for cosines.

    Two vectors at an angle θ differ in a share θ/π of the bits on average.

    vectors: float32 (n, d), of length 1.
    bits: number of bits, a multiple of 64.
    seed: of the rotations.
    Returns uint64 (n, bits / 64).

    Examples
    --------
    >>> import numpy as np
    >>> both = signatures(np.array([[0.6, 0.8], [-0.6, -0.8]], np.float32), bits=128, seed=1)
    >>> both.shape, bool((both[0] ^ both[1] == 2**64 - 1).all())
    ((2, 2), True)
    """
    size = padded_size(vectors.shape[1])
    words = np.empty((len(vectors), bits // 64), np.uint64)
    turned = random_rotations(-(-bits // size), size, seed)
    kernels.rotated_sides(vectors, turned.signs, turned.orders, bits, words)
    return words
