"""What a vector is expected to cost under a plan, in nanoseconds of one core, and what it will meet.

The costs were measured on one core (benchmarks/vector_costs.py). How many vectors meet by chance depends on the
collection: a sample of it is given, or supposed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Hashing", "VectorCost", "background", "expected_cost"]

_SIDE, _STRIP, _STEP = 0.06, 0.13, 12.0  # a dimension of a hyperplane and of a strip; a strip besides
_TURN, _SCAN = 0.165, 0.2  # a coordinate of a rotation, for each of its levels; one that is searched for the largest
_SORT, _TRY = 8.0, 20.0  # a move that is sorted, a key that is found to be tried
_FILE, _LOOK, _MEET = 25.0, 40.0, 3.0  # a vector that is filed, a bucket looked into, a vector met there
_FAR_AWAY = 60.0  # more for looking where the tables no longer fit the processor's cache
_VERIFY, _DIMENSION = 120.0, 1.0
_PAIR, _PRODUCT = 1.5, 0.05  # comparing all with all: a pair, a dimension of it
_BINS = 40


class Hashing(Protocol):
    """What is asked of a plan."""

    @property
    def dimensions(self) -> int:
        """Of the vectors."""

    @property
    def method(self) -> str:
        """How keys are made."""

    @property
    def functions(self) -> int:
        """Functions that make a key."""

    @property
    def width(self) -> float:
        """Of a cross-polytope or a strip."""

    @property
    def tables(self) -> int:
        """Hash tables."""

    @property
    def probes(self) -> int:
        """Keys tried besides the vector's own."""

    @property
    def sides(self) -> int:
        """How many of two vectors look for the other."""


@dataclass(frozen=True)
class VectorCost:
    """What a vector is expected to cost.

    Attributes
    ----------
    hashing, looking, verifying
        Nanoseconds for keys and keys to try; for filing, looking up and comparing signatures; for exact comparison.
    meetings, candidates
        How many vectors it meets by chance, in all tables, and how many of them are verified.
    """

    hashing: float
    looking: float
    verifying: float
    meetings: float
    candidates: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.hashing + self.looking + self.verifying


def expected_cost(plan: Hashing, vectors: int, chances: Iterable[tuple[float, float]]) -> VectorCost:
    """Estimate what a vector costs under a plan.

    Parameters
    ----------
    plan
        The plan.
    vectors
        How many there are.
    chances
        For each part of the collection: the probability that a random pair is of it and meets at one key, and the
        probability that its signatures then pass.

    Returns
    -------
    VectorCost

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
    # In a join one table is looked into at a time; queries have all of them before them.
    at_once = vectors * (plan.tables if plan.sides == 1 else 1)
    look = _LOOK + _FAR_AWAY * min(1.0, at_once / 2e6)
    # A vector that is held is hashed as well as one that asks: as many are supposed of both.
    hashed = _hash(plan) * (2 if plan.sides == 1 else 1)
    return VectorCost(
        plan.tables * (hashed + _tried(plan)),
        plan.tables * _FILE + looks * look + meetings * _MEET,
        candidates * (_VERIFY + _DIMENSION * plan.dimensions),
        meetings,
        candidates,
    )


def _hash(plan: Hashing) -> float:
    if plan.method == "hyperplane":
        return _SIDE * plan.dimensions * (-(-plan.functions // 4) * 4) + _STEP
    if plan.method == "p-stable":
        return plan.functions * (_STRIP * plan.dimensions + _STEP * (2 if plan.probes else 1))
    size = max(64, 1 << (plan.dimensions - 1).bit_length())
    rotations = plan.functions * plan.width / size  # what a rotation has left over serves the next table
    scans = plan.functions * (1 + min(plan.probes, 15, int(plan.width) - 1))
    return rotations * _TURN * size * math.log2(size) + scans * _SCAN * plan.width


def _tried(plan: Hashing) -> float:
    if not plan.probes:
        return 0.0
    moves = {"hyperplane": 1, "p-stable": 2}.get(plan.method, min(plan.probes, 15)) * plan.functions
    return _TRY * plan.probes + _SORT * moves


def background(others: Sequence[float] | None, measure: str, threshold: float) -> list[tuple[float, float]]:
    """Give the cosines (or distances) of random pairs, each with its share of all pairs.

    Parameters
    ----------
    others
        A sample; what is supposed without one is in `vector_plan`.
    measure
        ``"cosine"`` or ``"distance"``.
    threshold
        What is looked for.

    Returns
    -------
    list

    Examples
    --------
    >>> background([3.0, 3.0, 9.0, 9.0], "distance", 1.0)
    [(3.0, 0.5), (9.0, 0.5)]
    """
    values = sorted(float(value) for value in ([] if others is None else others) if math.isfinite(value))
    if not values and measure == "distance":
        return [(2 * threshold, 1.0)]
    if not values:
        found = [(-0.5 + i / 20, math.exp(-(((-0.6 + i / 20) / 0.15) ** 2) / 2)) for i in range(26)]
        return [(cosine, share / sum(part for _, part in found)) for cosine, share in found]
    low, high = values[0], values[-1]
    bins: dict[int, list[float]] = {}
    for value in values:
        bins.setdefault(min(_BINS - 1, int((value - low) / max(high - low, 1e-30) * _BINS)), []).append(value)
    return [(sum(some) / len(some), len(some) / len(values)) for some in bins.values()]
