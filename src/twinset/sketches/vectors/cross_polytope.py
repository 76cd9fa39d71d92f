"""Cross-polytope LSH: the key is the nearest of the 2·width points ±e_j to the rotated vector.

For vectors on the sphere its exponent is optimal (Andoni, Indyk, Laarhoven, Razenshteyn, Schmidt, NIPS 2015): at a
distance τ two vectors agree with probability exp(-τ²/(4-τ²) · ln(width)), up to lower terms, where hyperplanes with as
many buckets agree less. The random rotation is three rounds of random signs and a Walsh–Hadamard transform, d log d
instead of d² operations, with permuted coordinates in between. Vectors are zero-padded to a power of two, at least 64:
with fewer coordinates there would be too few different rotations.

A function uses `width` of the rotated coordinates, a power of two up to all of them; one rotation serves as many
functions as fit. Only directions matter: pass vectors of length 1 (`twinset.system.vectors.unit_vectors`).
"""

from dataclasses import dataclass

import numpy as np

from twinset.compiled.bytes_kernels import random_words
from twinset.errors import OptionError
from twinset.plan.vector_chances import MOST_ALTERNATIVES, padded_size
from twinset.schema import Moves, Places, Vectors
from twinset.sketches.vectors import rotation_kernels as kernels


@dataclass(frozen=True)
class Rotations:
    """Random rotations: signs float32 (count, 3, size), each 1 or -1, and orders int64 (count, size)."""

    signs: Vectors
    orders: Places

    @property
    def size(self) -> int:
        """Coordinates of a padded vector."""
        return int(self.signs.shape[2])


@dataclass(frozen=True)
class CrossPolytopes:
    """Rotations for `tables` hash tables of `functions` functions of `width` coordinates."""

    dimensions: int
    functions: int
    width: int
    tables: int
    seed: int
    rotations: Rotations

    @property
    def bits(self) -> int:
        """Bits of a key per function."""
        return self.width.bit_length()


def cross_polytopes(dimensions: int, functions: int, width: int, tables: int, seed: int) -> CrossPolytopes:
    """Draw rotations; those of the first tables do not depend on the number of tables.

    Examples
    --------
    >>> cross_polytopes(dimensions=100, functions=2, width=64, tables=3, seed=1).rotations.signs.shape
    (3, 3, 128)
    """
    size = padded_size(dimensions)
    if width < 2 or width > size or width & (width - 1):
        raise OptionError(f"width is {width}; allowed: a power of two from 2 to {size}, the padded dimensions")
    if not 1 <= functions * width.bit_length() <= 64:
        raise OptionError(
            f"{functions} functions of width {width} give keys of {functions * width.bit_length()} bits; allowed: 64"
        )
    count = -(-tables * functions * width // size)
    return CrossPolytopes(dimensions, functions, width, tables, seed, random_rotations(count, size, seed))


def random_rotations(count: int, size: int, seed: int) -> Rotations:
    """Draw rotations of `size` coordinates, by SplitMix64 from the seed; the first do not depend on the number.

    Examples
    --------
    >>> random_rotations(count=2, size=64, seed=1).signs[0, 0, :8].astype(int).tolist()
    [1, -1, -1, 1, 1, 1, -1, 1]
    """
    salts = [salt * 0xD6E8FEB86659FD93 % 2**64 for salt in (2 * seed, 2 * seed + 1)]
    words = random_words(count * 3 * (size // 64), salts[0])
    bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    signs = (1.0 - 2.0 * bits.astype(np.float32)).reshape(count, 3, size)
    keys = random_words(count * size, salts[1]).reshape(count, size)
    return Rotations(signs.astype(np.float32), np.argsort(keys, axis=1, kind="stable").astype(np.int64))


def moves(vectors: Vectors, polytopes: CrossPolytopes, tables: range, probes: int = 0) -> list[Moves]:
    """Return the keys of some vectors in some tables, and the costs of the next nearest corners.

    vectors: float32 (n, dimensions), of length 1.
    polytopes, tables: the rotations, and a range of their tables; several at once are faster, because they share
        rotations.
    probes: number of further keys to try; without any, no moves are returned.
    Returns one per table. A key has for each function the nearest corner, 2j or 2j+1 for plus or minus axis j. A
    move goes to the next nearest corner of one function; it costs the squared difference of the two coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> polytopes = cross_polytopes(dimensions=64, functions=2, width=64, tables=2, seed=1)
    >>> (here,) = moves(np.eye(3, 64, dtype=np.float32), polytopes, range(1), probes=4)
    >>> here.keys.shape, here.costs.shape, here.groups.tolist()
    ((3,), (3, 8), [0, 0, 0, 0, 1, 1, 1, 1])
    """
    functions, width, size = polytopes.functions, polytopes.width, polytopes.rotations.size
    alternatives = min(probes, width - 1, MOST_ALTERNATIVES)
    shape = (len(tables), len(vectors), functions * alternatives)
    keys, costs, turns = np.empty(shape[:2], np.uint64), np.empty(shape, np.float32), np.empty(shape, np.uint64)
    first, last = tables.start * functions, tables.stop * functions
    start = first * width // size
    used = slice(start, -(-last * width // size))
    signs, orders = polytopes.rotations.signs[used], polytopes.rotations.orders[used]
    first -= start * (size // width)
    kernels.corners(vectors, signs, orders, first, functions, width, polytopes.bits, keys, costs, turns)
    groups = np.repeat(np.arange(functions, dtype=np.uint8), alternatives)
    return [Moves(keys[t], costs[t], turns[t], groups) for t in range(len(tables))]
