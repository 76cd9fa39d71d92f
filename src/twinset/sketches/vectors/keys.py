"""Keys and signatures of vectors, by the method of a plan."""

from __future__ import annotations

from twinset.errors import OptionError
from twinset.plan.vectors import VectorPlan
from twinset.schema import Codes, Moves, Vectors
from twinset.sketches.vectors import cross_polytope, hyperplane, p_stable
from twinset.sketches.vectors.signatures import signatures

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
    >>> import numpy as np
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
    >>> import numpy as np
    >>> from twinset.plan.vectors import vector_plan
    >>> plan = vector_plan(0.9, 0.5, dimensions=8, method="hyperplane", functions=4, probes=0, tables=3)
    >>> sign(np.eye(2, 8, dtype=np.float32), plan, seed=1).shape
    (2, 2)
    """
    other = (seed + 1) % 2**64  # independent of the tables' draws
    if plan.measure == "cosine":
        return signatures(vectors, plan.signature_bits, other)
    return p_stable.parities(vectors, plan.signature_width, plan.signature_bits, other)
