"""What theory says of hash tables of vectors: near and far, p1 and p2, and the exponent of the cost.

A family of functions is sensitive to (R, cR, p1, p2) if one of them agrees for two vectors within R with a probability
of at least p1, and for two beyond cR of at most p2. With k = ln n / ln(1/p2) of them in a key, about one of n far
vectors has the key of a query; a near one has it with probability p1^k = n^-ρ, where ρ = ln(1/p1) / ln(1/p2). So n^ρ
tables find it with a probability above 1 - 1/e, and a query costs in the order of n^ρ instead of n.

Indyk and Motwani, STOC 1998; Datar, Immorlica, Indyk, Mirrokni, SoCG 2004.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from twinset.plan.vectors import VectorPlan

FACTOR = 2.0
"""The approximation factor c, unless given."""


@dataclass(frozen=True)
class VectorTheory:
    """Near and far of a plan, and what one function of its keys makes of them.

    vectors: their number, n.
    near, far: the distances R and cR; for cosines those of vectors of length 1.
    near_cosine, far_cosine: the same as cosines; None for distances.
    p1, p2: probability that one function agrees at R and at cR.
    rho: ln(1/p1) / ln(1/p2).
    functions, tables: those of the theory, ln n / ln(1/p2) and n^ρ, rounded up; None where p2 is 0.

    Examples
    --------
    >>> from twinset.plan.vectors import vector_plan
    >>> found = VectorTheory.of(vector_plan(0.9, dimensions=64, method="hyperplane", functions=12, probes=0), 10_000)
    >>> round(found.near, 3), round(found.far, 3), round(found.p1, 4), round(found.p2, 4), round(found.rho, 3)
    (0.447, 0.894, 0.8564, 0.7048, 0.443)
    >>> found.functions, found.tables
    (27, 60)
    """

    vectors: int
    near: float
    far: float
    near_cosine: float | None
    far_cosine: float | None
    p1: float
    p2: float
    rho: float
    functions: int | None
    tables: int | None

    @classmethod
    def of(cls, plan: VectorPlan, vectors: int, factor: float = FACTOR) -> "VectorTheory":
        """Describe the functions of a plan with hash tables."""
        near, far = plan.threshold, factor * plan.threshold
        cosines: tuple[float | None, float | None] = (None, None)
        if plan.measure == "cosine":
            near = math.sqrt(max(0.0, 2 - 2 * plan.threshold))
            far = min(2.0, factor * near)
            cosines = plan.threshold, 1 - far * far / 2
        likeness = [by if cosine is None else cosine for by, cosine in zip((near, far), cosines, strict=True)]
        p1, p2 = map(plan.p_function, likeness)
        if p2 <= 0.0 or p1 >= 1.0:  # opposite vectors never agree, equal ones always do
            return cls(vectors, near, far, *cosines, p1, p2, 0.0, None, None)
        rho = math.log(p1) / math.log(p2) if p2 < 1.0 else 1.0
        functions = math.ceil(math.log(max(2, vectors)) / -math.log(p2)) if p2 < 1.0 else None
        return cls(vectors, near, far, *cosines, p1, p2, rho, functions, math.ceil(vectors**rho))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)
