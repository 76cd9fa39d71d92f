"""Keys and signatures of vectors, by the method of a plan."""

import numpy as np

from twinset.errors import OptionError
from twinset.plan.vector_chances import padded_size
from twinset.plan.vectors import VectorPlan
from twinset.schema import Codes, Moves, Vectors
from twinset.sketches.vectors import cross_polytope, hyperplane, p_stable, rotation_kernels
from twinset.sketches.vectors.cross_polytope import random_rotations

Drawn = hyperplane.Hyperplanes | cross_polytope.CrossPolytopes | p_stable.Strips
"""The random draws for the tables of a plan."""


def draw(plan: VectorPlan, seed: int) -> Drawn:
    """Draw hyperplanes, rotations or directions for the tables of a plan.

    Examples
    --------
    >>> from twinset.plan.vectors import vector_plan
    >>> draw(vector_plan(0.9, dimensions=8, method="hyperplane", functions=4, probes=0), seed=1).bits
    4
    """
    if plan.method == "hyperplane":
        return hyperplane.hyperplanes(plan.dimensions, plan.functions, plan.tables, seed)
    if plan.method == "cross-polytope":
        width = int(plan.width)
        return cross_polytope.cross_polytopes(plan.dimensions, plan.functions, width, plan.tables, seed)
    if plan.method == "exact":
        raise OptionError("an exact plan has no tables; compare all with all, as twinset.pairs.vectors.AllWithAll does")
    return p_stable.strips(plan.dimensions, plan.functions, plan.width, plan.tables, seed)


def moves(vectors: Vectors, drawn: Drawn, tables: range, probes: int = 0) -> list[Moves]:
    """Return the keys of some vectors in some tables, with the moves to neighbouring keys; one `Moves` per table.

    For cosines the vectors are of length 1.

    Examples
    --------
    >>> from twinset.plan.vectors import vector_plan
    >>> plan = vector_plan(0.9, 0.5, dimensions=8, method="hyperplane", functions=4, probes=0, tables=3)
    >>> [here.keys.shape for here in moves(np.eye(2, 8, dtype=np.float32), draw(plan, seed=1), range(3))]
    [(2,), (2,), (2,)]
    """
    if isinstance(drawn, hyperplane.Hyperplanes):
        return hyperplane.moves(vectors, drawn, tables, probes)
    if isinstance(drawn, cross_polytope.CrossPolytopes):
        return cross_polytope.moves(vectors, drawn, tables, probes)
    return p_stable.moves(vectors, drawn, tables, probes)


def sign(vectors: Vectors, plan: VectorPlan, seed: int) -> Codes:
    """Return the signatures by which a plan compares candidates.

    Examples
    --------
    >>> from twinset.plan.vectors import vector_plan
    >>> plan = vector_plan(0.9, 0.5, dimensions=8, method="hyperplane", functions=4, probes=0, tables=3)
    >>> sign(np.eye(2, 8, dtype=np.float32), plan, seed=1).shape
    (2, 2)
    """
    other = (seed + 1) % 2**64  # independent of the tables' draws
    if plan.measure == "cosine":
        return signatures(vectors, plan.signature_bits, other)
    return p_stable.parities(vectors, plan.signature_width, plan.signature_bits, other)


def signatures(vectors: Vectors, bits: int, seed: int) -> Codes:
    """Return signatures for cosines: bits that compare candidates before verification.

    A bit is the side of a hyperplane, as in `hyperplane`: two vectors at an angle θ differ in a share θ/π of the bits
    on average. The hyperplanes are the axes of fast random rotations, so many of them cost little. Those of one
    rotation are orthogonal, so the number of differing bits varies less than with independent ones.

    vectors: float32 (n, d), of length 1.
    bits: number of bits, a multiple of 64.
    seed: of the rotations.
    Returns uint64 (n, bits / 64).

    Examples
    --------
    >>> both = signatures(np.array([[0.6, 0.8], [-0.6, -0.8]], np.float32), bits=128, seed=1)
    >>> both.shape, bool((both[0] ^ both[1] == 2**64 - 1).all())
    ((2, 2), True)
    """
    size = padded_size(vectors.shape[1])
    words = np.empty((len(vectors), bits // 64), np.uint64)
    turned = random_rotations(-(-bits // size), size, seed)
    rotation_kernels.rotated_sides(vectors, turned.signs, turned.orders, bits, words)
    return words
