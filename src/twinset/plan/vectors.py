"""Choose hash family, tables, keys and probes from a cosine or distance and a recall.

Two vectors collide in one of L tables if one has the other's key or tries it. The probability p depends only on their
cosine or distance (`vector_chances`), so they are found with probability 1-(1-p)^L. Colliding pairs are compared by
signatures, bits whose difference grows with the angle or the distance, and dropped only if they differ more than all
but one in thousands of pairs at the threshold.

Recall comes first: every choice finds a pair exactly at the threshold with at least the requested probability. Every
candidate is verified exactly, so the rest is a matter of time, and the plan with the least expected cost per vector is
taken: hashing, inserting, probing, comparing collisions, verifying. The number of collisions depends on the collection,
so pass a sample of the cosines (or distances) of random pairs. Without one, cosines of 0.1 with a standard deviation of
0.15 are assumed, and distances of twice the threshold (an approximation factor c of 2).

Cosines use random hyperplanes and cross-polytopes. Euclidean distances, of vectors of any length, use strips in random
directions (2-stable distributions), which depend neither on lengths nor on an origin. For vectors of length 1 a
distance R is the cosine 1 - R²/2.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from twinset.errors import OptionError, PlanWarning
from twinset.options.checks import choice, number, whole
from twinset.options.items import MOST_BITS, MOST_PROBES, MOST_TABLES, TableOptions
from twinset.plan.vector_chances import (
    SIGNATURE_BITS,
    Ranks,
    corner_agrees,
    most_differing,
    padded_size,
    parity_differs,
    side_agrees,
    signatures_pass,
    strip_agrees,
)
from twinset.plan.vector_costs import VectorCost, background, expected_cost

METHODS = {"cosine": ("hyperplane", "cross-polytope", "exact"), "distance": ("p-stable", "exact")}
PROBES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
MOST_HASHED = 1e30  # greater distances compare all pairs
MOST_FUNCTIONS = {"hyperplane": MOST_BITS, "cross-polytope": 8, "p-stable": 30}

_WORDS = {"hyperplane": "bits", "cross-polytope": "cross-polytopes", "p-stable": "strips"}
_LOSS = 2.3e-4  # a candidate is dropped by its signature only if 3.5 standard errors too far
_PARITY_WIDTH = 4.0  # strips of the signatures for distances, in thresholds
_FEW, _SOME, _MANY = 512, 1024, 8192  # pairs simulated to choose a plan, to give a probability, and to count the tables


@dataclass(frozen=True)
class VectorPlan:
    """The hash tables chosen for a threshold and a recall.

    Attributes
    ----------
    measure, threshold, recall
        As requested: ``"cosine"`` of at least, or ``"distance"`` of at most, the threshold.
    dimensions
        Dimensions of the vectors.
    method
        ``"hyperplane"``, ``"cross-polytope"`` or ``"p-stable"``; or ``"exact"``, where comparing all pairs is cheapest:
        no tables, every pair is found.
    functions, width
        Bits, cross-polytopes or strips of a key; coordinates of a cross-polytope, or width of a strip.
    tables, probes
        Hash tables, and the keys tried in each besides the vector's own.
    sides
        2 in a join, where both vectors of a pair look for each other; 1 for queries.
    signature_bits, signature_width, most_differing
        Bits of a signature, the width of its strips for distances, and the maximum number of differing bits of
        candidates: of the first 64, and of all.

    Examples
    --------
    >>> chosen = vector_plan(0.9, recall=0.95, dimensions=128, method="hyperplane", functions=16, probes=0)
    >>> print(chosen)
    hyperplane: 35 tables of 16 bits: a pair at cosine 0.9 is found with probability 0.9530
    """

    measure: str
    threshold: float
    recall: float
    dimensions: int
    method: str
    functions: int
    width: float
    tables: int
    probes: int
    sides: int
    signature_bits: int
    signature_width: float
    most_differing: tuple[int, int]

    def __str__(self) -> str:
        if self.method == "exact":
            return f"exact: every pair at {self.measure} {self.threshold:g} is found"
        keys = {
            "hyperplane": f"{self.functions} bits",
            "cross-polytope": f"{self.functions} cross-polytopes of {self.width:g} coordinates",
            "p-stable": f"{self.functions} strips {self.width:g} wide",
        }[self.method]
        tried = f", {self.probes} more {'key' if self.probes == 1 else 'keys'} tried" if self.probes else ""
        count = "1 table" if self.tables == 1 else f"{self.tables} tables"
        return (
            f"{self.method}: {count} of {keys}{tried}: a pair at {self.measure} {self.threshold:g} is found with"
            f" probability {math.floor(1e4 * self.reached) / 1e4:.4f}"
        )

    def p_table(self, likeness: float) -> float:
        """Return the probability that two vectors of this cosine (or distance) collide in one table."""
        if self.method == "exact":
            return 1.0
        return _ranks(self, likeness, _MANY).chance(self.probes, self.sides)

    def p_found(self, likeness: float) -> float:
        """Return the probability that a pair of this cosine (or distance) is found.

        Tables and signatures are multiplied as if independent.
        """
        if self.method == "exact":
            return 1.0
        missed = (1 - min(1.0, self.p_table(likeness))) ** self.tables
        return (1 - missed) * _passed(self, likeness)

    def p_least(self, likeness: float) -> float:
        """Return a lower bound of the probability that a pair of this cosine (or distance) collides in a table.

        Subtracts two standard errors of the simulation. Signatures are not compared.
        """
        if self.method == "exact":
            return 1.0
        pairs = _MANY if likeness == self.threshold else _SOME
        chance = _ranks(self, likeness, pairs).least_chance(self.probes, self.sides)
        return float(1 - (1 - min(1.0, chance)) ** self.tables)

    @property
    def reached(self) -> float:
        """The probability that a pair exactly at the threshold is found."""
        return self.p_found(self.threshold)

    def cost(self, vectors: int, others: Sequence[float] | None = None) -> float:
        """Estimate the cost of a vector among `vectors`, in nanoseconds of one core; `others` as for `vector_plan`."""
        return self.expected(vectors, others).total

    def expected(self, vectors: int, others: Sequence[float] | None = None) -> VectorCost:
        """Estimate the parts of the cost of a vector, and its collisions; as `cost`."""
        return expected_cost(self, vectors, _chances(self, background(others, self.measure, self.threshold)))

    def p_function(self, likeness: float) -> float:
        """Return the probability that one function of a key, such as a bit, agrees for two vectors."""
        if self.method == "hyperplane":
            return side_agrees(likeness)
        if self.method == "cross-polytope":
            return corner_agrees(likeness, int(self.width), padded_size(self.dimensions))
        return strip_agrees(likeness / self.width) if self.method == "p-stable" else 1.0

    def curve(self, points: int = 10) -> list[tuple[float, float]]:
        """Return the S-curve: cosines up to 1, or distances up to twice the threshold, with their probabilities."""
        most = 1.0 if self.measure == "cosine" else 2 * self.threshold
        return [(most * i / points, self.p_found(most * i / points)) for i in range(1, points + 1)]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON."""
        return {**asdict(self), "reached": self.reached}


def vector_plan(
    threshold: float,
    recall: float = 0.99,
    *,
    dimensions: int,
    measure: str = "cosine",
    vectors: int = 100_000,
    others: Sequence[float] | None = None,
    sides: int = 2,
    method: str | None = None,
    functions: int | None = None,
    tables: int | None = None,
    probes: int | None = None,
) -> VectorPlan:
    """Choose a hash family, tables, keys and probes for a threshold and a recall.

    threshold: minimum cosine, above 0 and up to 1, or maximum distance, above 0 (inclusive).
    recall: minimum probability that a pair exactly at the threshold is found, above 0 and below 1.
    measure: ``"cosine"`` or ``"distance"``.
    vectors: approximate number of vectors.
    others: cosines (or distances) of random pairs of the collection, to predict chance collisions.
    sides: 2 for a join of all pairs, 1 for queries.
    method, functions, tables, probes: chosen unless given, so that the recall is reached. Given values that cannot
        reach it are used with a `PlanWarning`, and what is chosen beside them finds as much as possible.

    Examples
    --------
    >>> chosen = vector_plan(0.9, recall=0.95, dimensions=128)
    >>> chosen.reached >= 0.95
    True
    >>> few, many = (vector_plan(0.9, dimensions=128, method="hyperplane", functions=12, probes=p) for p in (8, 0))
    >>> few.tables, many.tables
    (5, 28)
    """
    choice("cosine", "distance")("measure", measure)
    if measure == "distance" and threshold >= MOST_HASHED and (functions, tables, probes) == (None, None, None):
        method = method or "exact"
    threshold, recall = _limit(threshold, measure, method), number(0, below=1)("recall", recall)
    whole(1, 1 << 16)("dimensions", dimensions), whole(1, 2)("sides", sides)
    _check_given(measure, method, functions, tables, probes)
    shares = tuple(background(others, measure, threshold))
    request = _Request(measure, threshold, recall, dimensions, max(2, vectors), shares, sides)
    possible = _possible(request, method, functions, tables, probes)
    if tables is not None:
        reached = [_reached(plan, _FEW) for plan in possible]
        enough = min(recall, max(reached))
        possible = [plan for plan, share in zip(possible, reached, strict=True) if share >= enough]
    best = min(possible, key=lambda plan: expected_cost(plan, request.vectors, _chances(plan, shares)).total)
    chosen = best if tables is not None or best.method == "exact" else _with_tables(best, _MANY)
    if chosen.reached < recall:
        warnings.warn(
            f"{chosen}, less than the requested recall of {recall:g}; more tables, more probes or fewer"
            f" {_WORDS[chosen.method]} find more",
            PlanWarning,
            stacklevel=2,
        )
    return chosen


def fixed_arguments(options: TableOptions) -> dict[str, Any]:
    """Return what options fix of the hash tables, as arguments of `vector_plan`: bits are those of hyperplanes.

    Examples
    --------
    >>> fixed_arguments(TableOptions.of(bits=12, probes=0))
    {'probes': 0, 'method': 'hyperplane', 'functions': 12}
    """
    fixed: dict[str, Any] = dict(options.fixed_tables)
    bits = fixed.pop("bits", None)
    return fixed if bits is None else {**fixed, "method": "hyperplane", "functions": bits}


def exact_vector_plan(measure: str, threshold: float, recall: float, dimensions: int, sides: int = 2) -> VectorPlan:
    """Return the plan that compares all pairs."""
    return VectorPlan(measure, threshold, recall, dimensions, "exact", 0, 0.0, 0, 0, sides, 0, 0.0, (0, 0))


def _limit(threshold: float, measure: str, method: str | None) -> float:
    """Validate the minimum cosine or maximum distance; comparing all pairs allows any distance."""
    if measure == "cosine":
        return float(number(0, most=1)("threshold", threshold))
    return float(number(0, below=math.inf if method == "exact" else MOST_HASHED)("threshold", threshold))


def _check_given(
    measure: str, method: str | None, functions: int | None, tables: int | None, probes: int | None
) -> None:
    """Refuse given values that cannot be used."""
    if tables is not None:
        whole(1, MOST_TABLES)("tables", tables)
    if probes is not None:
        whole(0, MOST_PROBES)("probes", probes)
    if method is not None and method not in METHODS[measure]:
        allowed = " or ".join(METHODS[measure])
        raise OptionError(f"method is {method!r}; allowed for the measure {measure} is {allowed}")
    if functions is not None:
        most = max(MOST_FUNCTIONS.get(name, 0) for name in ([method] if method else METHODS[measure]))
        whole(1, most or 1)("functions", functions)


@dataclass(frozen=True)
class _Request:
    measure: str
    threshold: float
    recall: float
    dimensions: int
    vectors: int
    shares: tuple[tuple[float, float], ...]
    sides: int


def _possible(
    request: _Request, method: str | None, functions: int | None, tables: int | None, probes: int | None
) -> list[VectorPlan]:
    """Return the plans that reach the recall in a short simulation; if none does, those with the most tables."""
    plans: list[VectorPlan] = []
    for name in [method] if method else METHODS[request.measure]:
        if name == "exact":
            if method or (functions, tables, probes) == (None, None, None):
                wanted = (request.measure, request.threshold, request.recall, request.dimensions, request.sides)
                plans.append(exact_vector_plan(*wanted))
            continue
        for count, width in _keys(request, name, functions):
            for tried in PROBES if probes is None else (probes,):
                plan = VectorPlan(
                    request.measure, request.threshold, request.recall, request.dimensions, name, count, width, 1,
                    tried, request.sides, SIGNATURE_BITS[1],
                    _PARITY_WIDTH * request.threshold if name == "p-stable" else 0.0, SIGNATURE_BITS,
                )  # fmt: skip
                differs = _differs(plan, request.threshold)
                loss = min(_LOSS, (1 - request.recall) / 10) / 2
                first, every = (most_differing(bits, differs, loss) for bits in SIGNATURE_BITS)
                plan = replace(plan, most_differing=(first, every))
                plans.append(replace(plan, tables=tables) if tables else _with_tables(plan, _FEW))
    able = [plan for plan in plans if plan.tables < MOST_TABLES or tables]
    return able or plans


def _keys(request: _Request, method: str, functions: int | None) -> list[tuple[int, float]]:
    """Key sizes to try: as many buckets as vectors, up to a few times fewer or more."""
    enough = math.log2(request.vectors)
    if functions and functions > MOST_FUNCTIONS[method]:
        return []
    if method == "hyperplane":
        counts = [functions] if functions else range(max(2, int(enough) - 6), min(40, int(enough) + 6))
        return [(count, 0.0) for count in counts]
    if method == "cross-polytope":
        widths = [1 << i for i in range(3, 8) if 1 << i <= padded_size(request.dimensions)]
        return [
            (count, float(width))
            for width in widths
            for count in ([functions] if functions else range(1, 9))
            if count * width.bit_length() <= (64 if functions else enough + 5)
            if functions or count * width.bit_length() >= enough - 5
        ] or [(1, 16.0)]
    return [
        (count, ratio * request.threshold)
        for ratio in (2.0, 3.0, 4.0, 6.0)
        for count in ([functions] if functions else (2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24))
    ]


def _with_tables(plan: VectorPlan, pairs: int) -> VectorPlan:
    """Use the minimum number of tables that reach the recall, with a margin for the simulation error."""
    kept = _passed(plan, plan.threshold)
    chance = min(1 - 1e-12, _ranks(plan, plan.threshold, pairs).least_chance(plan.probes, plan.sides))
    wanted = min(plan.recall / kept, 1 - 1e-12)
    if chance <= 0:
        return replace(plan, tables=MOST_TABLES)
    count = math.ceil(math.log1p(-wanted) / math.log1p(-chance) - 1e-9)
    return replace(plan, tables=max(1, min(MOST_TABLES, count)))


def _reached(plan: VectorPlan, pairs: int) -> float:
    """Estimate the probability that a pair at the threshold is found, with a margin for the simulation error."""
    chance = _ranks(plan, plan.threshold, pairs).least_chance(plan.probes, plan.sides)
    return (1 - (1 - min(1.0, chance)) ** plan.tables) * _passed(plan, plan.threshold)


def _ranks(plan: VectorPlan, likeness: float, pairs: int) -> Ranks:
    in_widths = likeness / plan.width if plan.method == "p-stable" else likeness
    most = max(PROBES[-1], plan.probes) if plan.probes else 0
    width, size = (int(plan.width), padded_size(plan.dimensions)) if plan.method == "cross-polytope" else (0, 0)
    return _simulated(plan.method, in_widths, plan.functions, most, width, size, pairs)


_simulated = lru_cache(maxsize=512)(Ranks)


def _chances(plan: VectorPlan, shares: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """For each part of the background its share, with the probabilities of a collision and of passing signatures."""
    if plan.method == "exact":
        return []
    chances = []
    for likeness, share in shares:
        agrees = plan.p_function(likeness)
        chances.append((share * agrees**plan.functions, _passed(plan, likeness)))
    return chances


def _passed(plan: VectorPlan, likeness: float) -> float:
    """Probability that the signatures of two vectors pass."""
    return signatures_pass(*plan.most_differing, _differs(plan, likeness))


def _differs(plan: VectorPlan, likeness: float) -> float:
    """Probability that a bit of the signatures differs."""
    if plan.measure == "cosine":
        differs = 1 - side_agrees(likeness)
    else:
        differs = parity_differs(likeness / plan.signature_width)
    return min(max(1e-5, differs), 1 - 1e-5)  # rounding errors flip as many bits
