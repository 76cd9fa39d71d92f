"""Random hyperplane LSH: a bit is the side of a hyperplane through the origin.

Two vectors at an angle θ differ in a bit with probability θ/π, so k bits agree with probability (1-θ/π)^k, and one of L
tables with 1-(1-(1-θ/π)^k)^L (Charikar, STOC 2002). Only directions matter: pass vectors of length 1
(`twinset.system.vectors.unit_vectors`). The hyperplanes are independent, with normally distributed normals.
"""

from dataclasses import dataclass

import numpy as np

from twinset.compiled import vector_kernels
from twinset.errors import OptionError
from twinset.schema import Codes, Hashes, Moves, Vectors
from twinset.sketches.vectors import projection_kernels as kernels

MOST_BITS = 62

_ROWS = 1 << 12  # projected at a time


@dataclass(frozen=True)
class Hyperplanes:
    """Random hyperplanes for `tables` hash tables of `bits` bits; directions float32 (tables, bits+, dimensions+).

    Rows and columns beyond those are 0: the kernels process four at a time.
    """

    dimensions: int
    bits: int
    tables: int
    seed: int
    directions: Vectors


def hyperplanes(dimensions: int, bits: int, tables: int, seed: int) -> Hyperplanes:
    """Draw hyperplanes; those of the first tables do not depend on the number of tables.

    Examples
    --------
    >>> hyperplanes(dimensions=3, bits=2, tables=1, seed=1).directions[0, :2, :3].tolist()
    [[-0.5146484375, 0.95703125, -0.763671875], [0.290283203125, 0.50439453125, 1.31884765625]]
    """
    if not 1 <= bits <= MOST_BITS:
        raise OptionError(f"bits is {bits}; allowed: a whole number from 1 to {MOST_BITS}")
    drawn = np.empty(tables * bits * dimensions, np.float32)
    vector_kernels.normals(np.uint64(seed), np.uint64(0), drawn)
    directions = np.zeros((tables, _fours(bits), _fours(dimensions)), np.float32)
    directions[:, :bits, :dimensions] = drawn.reshape(tables, bits, dimensions)
    return Hyperplanes(dimensions, bits, tables, seed, directions)


def moves(vectors: Vectors, planes: Hyperplanes, tables: range, probes: int = 0) -> list[Moves]:
    """Return the keys of some vectors in some tables, and the cost of crossing each hyperplane.

    vectors: float32 (n, dimensions), of length 1.
    planes, tables: the hyperplanes, and a range of their tables; several at once are faster.
    probes: number of further keys to try; without any, no moves are returned.
    Returns one per table. A key has one bit for each hyperplane, 1 where the scalar product is at least 0. A move
    crosses one hyperplane; it costs the squared distance of the vector from it.

    Examples
    --------
    >>> import numpy as np
    >>> planes = hyperplanes(dimensions=2, bits=3, tables=2, seed=1)
    >>> (here,) = moves(np.array([[0.6, 0.8], [-0.6, -0.8]], np.float32), planes, range(1), probes=4)
    >>> here.keys.tolist(), here.costs.shape, here.turns.tolist()
    ([5, 2], (2, 3), [[1, 2, 4]])
    """
    directions = planes.directions[tables.start : tables.stop]
    projections = np.empty((len(tables), directions.shape[1], len(vectors)), np.float32)
    rows = len(tables) * directions.shape[1]
    kernels.project(vectors, directions.reshape(rows, directions.shape[2]), projections.reshape(rows, len(vectors)))
    bits = np.arange(planes.bits if probes else 0)
    turns: Hashes = np.uint64(1) << bits.astype(np.uint64)
    out = []
    for projected in projections:
        keys, costs = np.empty(len(vectors), np.uint64), np.empty((len(vectors), len(bits)), np.float32)
        kernels.sides(projected, planes.bits, keys, costs)
        out.append(Moves(keys, costs, turns.reshape(1, -1), bits.astype(np.uint8)))
    return out


def codes(vectors: Vectors, bits: int, seed: int) -> Codes:
    """Return a code of any number of bits for each vector, to be compared by Hamming distance.

    vectors: float32 (n, d).
    bits: number of hyperplanes.
    seed: of the hyperplanes.
    Returns uint64 (n, ⌈bits / 64⌉); bit b is in word b // 64, at place b mod 64.

    Examples
    --------
    >>> import numpy as np
    >>> both = codes(np.array([[0.6, 0.8], [-0.6, -0.8]], np.float32), bits=70, seed=1)
    >>> both.shape, bool((both[0] ^ both[1] == [2**64 - 1, 2**6 - 1]).all())
    ((2, 2), True)
    """
    dimensions = vectors.shape[1]
    drawn = np.empty(bits * dimensions, np.float32)
    vector_kernels.normals(np.uint64(seed), np.uint64(0), drawn)
    return project_bits(vectors, drawn.reshape(bits, dimensions))


def project_bits(vectors: Vectors, directions: Vectors) -> Codes:
    """Return the side of each direction (m, d) for each vector, packed as in `codes`.

    Examples
    --------
    >>> import numpy as np
    >>> project_bits(np.array([[1, 2]], np.float32), np.array([[1, 0], [0, -1], [1, 1]], np.float32)).tolist()
    [[5]]
    """
    bits, padded = len(directions), padded_directions(directions)
    words = np.empty((len(vectors), -(-bits // 64)), np.uint64)
    for start in range(0, len(vectors), _ROWS):
        rows = slice(start, start + _ROWS)
        projections = np.empty((len(padded), len(vectors[rows])), np.float32)
        kernels.project(vectors[rows], padded, projections)
        kernels.pack_sides(projections, bits, words[rows])
    return words


def padded_directions(directions: Vectors) -> Vectors:
    """Return the directions zero-padded for the kernels, to multiples of four both ways.

    Examples
    --------
    >>> import numpy as np
    >>> padded_directions(np.ones((3, 5), np.float32)).shape
    (4, 8)
    """
    bits, dimensions = directions.shape
    padded = np.zeros((_fours(bits), _fours(dimensions)), np.float32)
    padded[:bits, :dimensions] = directions
    return padded


def _fours(count: int) -> int:
    return -(-count // 4) * 4
