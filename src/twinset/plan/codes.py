"""Choose the Hamming distance of SimHash codes from a cosine and a recall.

The codes of two documents at an angle θ differ in each bit with probability θ/π, independently. So a pair is within d
of k bits with the probability that a binomial of k and θ/π is at most d. All pairs of codes within d bits are found, so
that is the probability that the pair of documents is found.

Given codes (perceptual hashes, fingerprints) need no plan: the distance is an option, and no pair within it is missed.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from twinset.errors import OptionError
from twinset.wording import share

BITS = (64, 128)


@dataclass(frozen=True)
class CodePlan:
    """The distance chosen for a minimum cosine and a recall.

    Attributes
    ----------
    threshold, recall
        As requested.
    bits
        Bits of a code.
    distance
        Maximum number of differing bits of a pair.

    Examples
    --------
    >>> print(plan_codes(threshold=0.95, recall=0.95))
    64 bits, within 11: a pair at cosine 0.95 is found with probability 0.9745, an unrelated one with 5e-08
    """

    threshold: float
    recall: float
    bits: int
    distance: int

    def __str__(self) -> str:
        return (
            f"{self.bits} bits, within {self.distance}: a pair at cosine {self.threshold:g} is found with probability"
            f" {share(self.reached)}, an unrelated one with {self.p_found(0.0):.2g}"
        )

    def p_found(self, similarity: float) -> float:
        """Return the probability that the codes of two documents of this cosine are within the distance."""
        return within_probability(similarity, self.bits, self.distance)

    @property
    def reached(self) -> float:
        """The probability that a pair exactly at the threshold is found."""
        return self.p_found(self.threshold)

    def curve(self, points: int = 10) -> list[tuple[float, float]]:
        """Return cosines from 1/points to 1, each with the probability of being found."""
        return [(i / points, self.p_found(i / points)) for i in range(1, points + 1)]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON."""
        return {**asdict(self), "reached": self.reached, "unrelated": self.p_found(0.0)}


@dataclass(frozen=True)
class CodeJoinPlan:
    """The exact join of given codes.

    Attributes
    ----------
    bits, distance
        Bits of a code, and the maximum number of differing bits of a pair.
    tables
        Blocks of bits by which codes are grouped; 0 where all pairs are compared.

    Examples
    --------
    >>> print(CodeJoinPlan(64, 3, 4))
    exact, 4 tables: every pair of 64-bit codes that differ in at most 3 bits is found
    """

    bits: int
    distance: int
    tables: int

    def __str__(self) -> str:
        by = {0: "all compared with all", 1: "1 table"}.get(self.tables, f"{self.tables} tables")
        bits = "1 bit" if self.distance == 1 else f"{self.distance} bits"
        near = f"differ in at most {bits}" if self.distance else "are equal"
        return f"exact, {by}: every pair of {self.bits}-bit codes that {near} is found"

    @property
    def reached(self) -> float:
        """The probability that a pair exactly at the distance is found."""
        return 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON."""
        return {**asdict(self), "reached": 1.0}


@dataclass(frozen=True)
class OrientationPlan(CodeJoinPlan):
    """The exact join of pictures in any orientation, by their hashes.

    Examples
    --------
    >>> print(OrientationPlan(64, 6, 3))
    exact, 3 tables: every pair of pictures is found whose 64-bit codes differ in at most 6 bits in some orientation
    """

    def __str__(self) -> str:
        by, _, pairs = str(CodeJoinPlan(self.bits, self.distance, self.tables)).partition(": ")
        near = pairs.removeprefix(f"every pair of {self.bits}-bit codes that ").removesuffix(" is found")
        return f"{by}: every pair of pictures is found whose {self.bits}-bit codes {near} in some orientation"


def plan_codes(threshold: float = 0.95, recall: float = 0.95, bits: int = 64) -> CodePlan:
    """Choose the distance for a minimum cosine and a recall.

    threshold: minimum cosine of a pair to find, above 0 and up to 1.
    recall: minimum probability that a pair exactly at the threshold is found, above 0 and below 1.
    bits: 64 or 128.

    Examples
    --------
    >>> [plan_codes(threshold, 0.9).distance for threshold in (0.99, 0.95, 0.9)]
    [5, 10, 13]
    """
    if not 0 < threshold <= 1:
        raise OptionError(f"threshold is {threshold}; allowed: a cosine above 0 and up to 1")
    if not 0 < recall < 1:
        raise OptionError(f"recall is {recall}; allowed: a number above 0 and below 1")
    if bits not in BITS:
        raise OptionError(f"bits is {bits}; allowed: 64 or 128")
    distance = next(d for d in range(bits + 1) if within_probability(threshold, bits, d) >= recall)
    return CodePlan(threshold, recall, bits, distance)


def bit_differs(similarity: float) -> float:
    """Return the probability that two documents of this cosine differ in a bit: their angle as a share of π.

    Examples
    --------
    >>> [round(bit_differs(cosine), 4) for cosine in (1.0, 0.99, 0.95, 0.5, 0.0)]
    [0.0, 0.0451, 0.1011, 0.3333, 0.5]
    """
    return math.acos(max(-1.0, min(1.0, similarity))) / math.pi


def within_probability(similarity: float, bits: int, distance: int) -> float:
    """Return the probability that codes of `bits` bits, of two documents of this cosine, are within a distance.

    Examples
    --------
    >>> [round(within_probability(cosine, 64, 3), 2) for cosine in (0.95, 0.98, 0.99)]
    [0.1, 0.41, 0.67]
    """
    p = bit_differs(similarity)
    if distance >= bits:
        return 1.0
    # Rounded terms may sum to a little more than one.
    return min(1.0, math.fsum(math.comb(bits, d) * p**d * (1.0 - p) ** (bits - d) for d in range(distance + 1)))
