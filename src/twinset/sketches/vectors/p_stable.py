"""p-stable LSH for Euclidean distance: the key is the strip of a vector in random directions.

The projections of two vectors on a normal direction differ by a normal number times their distance (the normal
distribution is 2-stable), whatever their lengths and the origin. So the probability of a common strip depends only on
distance/width (Datar, Immorlica, Indyk, Mirrokni, SoCG 2004). Sums are taken in 64-bit floats, because a strip is
narrow relative to long vectors.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.compiled import vector_kernels
from twinset.errors import OptionError
from twinset.schema import Codes, Moves, Vectors
from twinset.sketches.vectors import projection_kernels as kernels

MOST_FUNCTIONS = 64

_ROWS = 1 << 12  # projected at a time


@dataclass(frozen=True)
class Strips:
    """Random directions and offsets for `tables` hash tables of `functions` functions.

    directions float64 (tables, functions+, dimensions+), 0 beyond; offsets float64 (tables, functions), in widths.
    """

    dimensions: int
    functions: int
    width: float
    tables: int
    seed: int
    directions: npt.NDArray[np.float64]
    offsets: npt.NDArray[np.float64]


def strips(dimensions: int, functions: int, width: float, tables: int, seed: int) -> Strips:
    """Draw directions and offsets; those of the first tables do not depend on the number of tables.

    Examples
    --------
    >>> strips(dimensions=3, functions=2, width=4.0, tables=5, seed=1).directions.shape
    (5, 2, 4)
    """
    if not 1 <= functions <= MOST_FUNCTIONS:
        raise OptionError(f"functions is {functions}; allowed: a whole number from 1 to {MOST_FUNCTIONS}")
    if not 0 < width < np.inf:
        raise OptionError(f"width is {width}; allowed: a number above 0")
    drawn = np.empty(tables * functions * dimensions, np.float32)
    vector_kernels.normals(np.uint64(seed), np.uint64(0), drawn)
    directions = np.zeros((tables, -(-functions // 2) * 2, -(-dimensions // 4) * 4), np.float64)
    directions[:, :functions, :dimensions] = drawn.reshape(tables, functions, dimensions)
    offsets = np.empty(tables * functions, np.float64)
    vector_kernels.uniforms(np.uint64(seed), np.uint64(0), offsets)
    return Strips(dimensions, functions, width, tables, seed, directions, offsets.reshape(tables, functions))


def moves(vectors: Vectors, drawn: Strips, tables: range, probes: int = 0) -> list[Moves]:
    """Return the keys of some vectors in some tables, and the costs of moving to neighbouring strips.

    vectors: float32 (n, dimensions).
    drawn, tables: the directions, and a range of their tables; several at once are faster.
    probes: number of further keys to try; without any, no moves are returned.
    Returns one per table. A key is a hash of the strips. A move goes to the strip below or above in one direction;
    it costs the squared distance of the vector from it, in widths.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = strips(dimensions=2, functions=3, width=4.0, tables=1, seed=1)
    >>> (here,) = moves(np.array([[0, 0], [0.1, 0], [50, 50]], np.float32), drawn, range(1), probes=2)
    >>> (here.keys == here.keys[0]).tolist(), here.groups.tolist()
    ([True, True, False], [0, 0, 1, 1, 2, 2])
    """
    directions = drawn.directions[tables.start : tables.stop]
    projections = np.empty((len(tables), directions.shape[1], len(vectors)), np.float64)
    rows = len(tables) * directions.shape[1]
    kernels.project_exactly(
        vectors, directions.reshape(rows, directions.shape[2]), projections.reshape(rows, len(vectors))
    )
    shape = (len(vectors), 2 * drawn.functions if probes else 0)
    groups = np.repeat(np.arange(drawn.functions, dtype=np.uint8), 2)[: shape[1]]
    out = []
    for table, projected in zip(tables, projections, strict=True):
        keys, costs, turns = np.empty(len(vectors), np.uint64), np.empty(shape, np.float32), np.empty(shape, np.uint64)
        kernels.strips(projected, drawn.offsets[table], drawn.width, drawn.functions, keys, costs, turns)
        out.append(Moves(keys, costs, turns, groups))
    return out


def parities(vectors: Vectors, width: float, bits: int, seed: int) -> Codes:
    """Return signatures for distances: the parity of the strip in each of `bits` directions.

    Two vectors differ in a bit with a probability that depends only on distance/width
    (`twinset.plan.vector_chances.parity_differs`).

    vectors: float32 (n, d).
    width: of the strips.
    bits: number of directions, a multiple of 64.
    seed: of the directions.
    Returns uint64 (n, bits / 64).

    Examples
    --------
    >>> import numpy as np
    >>> parities(np.zeros((3, 2), np.float32), width=1.0, bits=128, seed=1).shape
    (3, 2)
    """
    drawn = strips(vectors.shape[1], 64, width, bits // 64, seed)
    words = np.empty((len(vectors), bits // 64), np.uint64)
    for word in range(bits // 64):
        for start in range(0, len(vectors), _ROWS):
            rows = slice(start, start + _ROWS)
            projections = np.empty((64, len(vectors[rows])), np.float64)
            kernels.project_exactly(vectors[rows], drawn.directions[word], projections)
            kernels.odd_strips(projections, drawn.offsets[word], width, words[rows], word)
    return words
