"""Expected cost of a vector under a plan, in nanoseconds of one core, and its expected collisions.

The costs were measured on one core (benchmarks/vector_costs.py). Chance collisions depend on the collection: a sample
of it is given or assumed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinset.plan.vector_chances import MOST_ALTERNATIVES, padded_size

if TYPE_CHECKING:
    from twinset.plan.vectors import VectorPlan

_SIDE, _STRIP, _STEP = 0.06, 0.13, 12.0  # per dimension of a hyperplane and of a strip; per strip
_TURN, _SCAN = 0.165, 0.2  # per coordinate and level of a rotation; per coordinate scanned for the maximum
_SORT, _TRY = 8.0, 20.0  # per sorted move; per key to try
_FILE, _LOOK, _MEET = 25.0, 40.0, 3.0  # per vector inserted, per bucket visited, per vector met there
_FAR_AWAY = 60.0  # extra per lookup where the tables exceed the processor's cache
_VERIFY, _DIMENSION = 120.0, 1.0
_PAIR, _PRODUCT = 1.5, 0.05  # comparing all pairs: per pair, per dimension
_BINS = 40


@dataclass(frozen=True)
class VectorCost:
    """Expected cost of a vector.

    hashing, looking, verifying: nanoseconds for computing keys and probes; for inserts, lookups and signatures; for
        exact comparison.
    meetings, candidates: expected chance collisions in all tables, and how many of them are verified.
    """

    hashing: float
    looking: float
    verifying: float
    meetings: float
    candidates: float

    @property
    def total(self) -> float:
        """Sum of all costs."""
        return self.hashing + self.looking + self.verifying


def expected_cost(plan: VectorPlan, vectors: int, chances: Iterable[tuple[float, float]]) -> VectorCost:
    """Estimate the cost of a vector under a plan.

    vectors: their number.
    chances: for each part of the collection: the probability that a random pair belongs to it and collides at one key,
        and the probability that its signatures then pass.

    Examples
    --------
    >>> from twinset.plan.vectors import vector_plan
    >>> few, many = (vector_plan(0.9, dimensions=64, method="hyperplane", functions=k, probes=0) for k in (8, 16))
    >>> meets = expected_cost(few, 1000, [(2.0**-8, 1e-4)]).meetings
    >>> round(meets / few.tables, 2)
    3.91
    """
    if plan.method == "exact":
        met = vectors / plan.sides
        return VectorCost(0.0, met * (_PAIR + _PRODUCT * plan.dimensions), 0.0, met, 0.0)
    looks = plan.tables * (1 + plan.probes)
    meetings = candidates = 0.0
    for meets, passes in chances:
        meetings += looks * vectors * meets
        candidates += looks * vectors * meets * passes
    # A join uses one table at a time; queries use all of them.
    at_once = vectors * (plan.tables if plan.sides == 1 else 1)
    look = _LOOK + _FAR_AWAY * min(1.0, at_once / 2e6)
    # Stored vectors are hashed as well as queries: equal numbers of both are assumed.
    hashed = _hash(plan) * (2 if plan.sides == 1 else 1)
    return VectorCost(
        plan.tables * (hashed + _tried(plan)),
        plan.tables * _FILE + looks * look + meetings * _MEET,
        candidates * (_VERIFY + _DIMENSION * plan.dimensions),
        meetings,
        candidates,
    )


def _hash(plan: VectorPlan) -> float:
    if plan.method == "hyperplane":
        return _SIDE * plan.dimensions * (-(-plan.functions // 4) * 4) + _STEP
    if plan.method == "p-stable":
        return plan.functions * (_STRIP * plan.dimensions + _STEP * (2 if plan.probes else 1))
    size = padded_size(plan.dimensions)
    rotations = plan.functions * plan.width / size  # the unused coordinates of a rotation serve the next table
    scans = plan.functions * (1 + min(plan.probes, MOST_ALTERNATIVES, int(plan.width) - 1))
    return rotations * _TURN * size * math.log2(size) + scans * _SCAN * plan.width


def _tried(plan: VectorPlan) -> float:
    if not plan.probes:
        return 0.0
    moves = {"hyperplane": 1, "p-stable": 2}.get(plan.method, min(plan.probes, MOST_ALTERNATIVES)) * plan.functions
    return _TRY * plan.probes + _SORT * moves


def background(others: Sequence[float] | None, measure: str, threshold: float) -> list[tuple[float, float]]:
    """Return the cosines (or distances) of random pairs, each with its share of all pairs.

    others: a sample; `vector_plan` documents the default.
    measure: ``"cosine"`` or ``"distance"``.

    Examples
    --------
    >>> background([3.0, 3.0, 9.0, 9.0], "distance", 1.0)
    [(3.0, 0.5), (9.0, 0.5)]
    """
    values = sorted(float(value) for value in ([] if others is None else others) if math.isfinite(value))
    if not values and measure == "distance":
        return [(2 * threshold, 1.0)]
    if not values:
        weighted = [(-0.5 + i / 20, math.exp(-(((-0.6 + i / 20) / 0.15) ** 2) / 2)) for i in range(26)]
        return [(cosine, share / sum(part for _, part in weighted)) for cosine, share in weighted]
    low, high = values[0], values[-1]
    bins: dict[int, list[float]] = {}
    for value in values:
        bins.setdefault(min(_BINS - 1, int((value - low) / max(high - low, 1e-30) * _BINS)), []).append(value)
    return [(sum(some) / len(some), len(some) / len(values)) for some in bins.values()]
