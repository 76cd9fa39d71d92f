"""Expected cost of a document under a plan.

The costs were measured on one core; docs/choosing.md has the measurement. The number of pairs depends on the
collection: it is given or assumed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twinset.plan.bands import Plan

# Nanoseconds, measured on one core; docs/choosing.md has the table they come from.
_SLOT_COST, _EMPTY_COST, _BAND_COST = 15.0, 0.15, 90.0
_MEETING_COST, _COMPARE_COST = 7.0, 0.018
_LOAD_COST, _VERIFY_COST = 3000.0, 3500.0
_SHINGLES = 400.0
_OTHERS, _FALL, _TEMPLATE, _BELOW = 3000.0, 15.0, 8.0, 0.2


@dataclass(frozen=True)
class Cost:
    """Expected cost of a document under a plan, in nanoseconds of one core, and its expected candidates.

    sketching, joining, verifying: filling the slots; sorting the band keys and comparing the sketches of colliding
        documents; exact comparison.
    meetings, candidates: collisions of the document in a band, and how many of these pairs are verified. A pair counts
        once.
    """

    sketching: float
    joining: float
    verifying: float
    meetings: float
    candidates: float

    @property
    def total(self) -> float:
        """Sum of all costs."""
        return self.sketching + self.joining + self.verifying


def expected_cost(
    chosen: Plan, pairs: Iterable[tuple[float, float]] | None = None, shingles: float = _SHINGLES
) -> Cost:
    """Estimate the cost of a document under a plan.

    pairs: similarities, each with its number of pairs per document of the collection; by default the assumed ones.
    shingles: number per document.

    Examples
    --------
    >>> from twinset import plan
    >>> few, many = (expected_cost(plan(0.8, n_hashes=k)) for k in (64, 1024))
    >>> few.sketching < many.sketching, few.candidates > many.candidates
    (True, True)
    """
    hashes, bands, rows = chosen.n_hashes, chosen.n_bands, chosen.rows_per_band
    empty = hashes * (1 - 1 / hashes) ** (3 * shingles)  # empty slots after three rounds of one slot per shingle
    meetings = candidates = 0.0
    for similarity, count in supposed(chosen.threshold) if pairs is None else pairs:
        meetings += count * bands * similarity**rows
        candidates += count * chosen.p_candidate(similarity)
    return Cost(
        _SLOT_COST * hashes + _EMPTY_COST * empty * shingles,
        _BAND_COST * bands + meetings * (_MEETING_COST + _COMPARE_COST * hashes),
        # Both documents of a candidate are shingled again, once for all their candidates.
        (2 * _LOAD_COST * -math.expm1(-candidates) + _VERIFY_COST * candidates) * shingles / _SHINGLES,
        meetings,
        candidates,
    )


def supposed(threshold: float) -> list[tuple[float, float]]:
    """Return the assumed pairs per document: similarities, each with its number of pairs."""
    pairs = [
        ((low + 0.5) / 100, _OTHERS / 2 * (math.exp(-_FALL * low / 100) - math.exp(-_FALL * (low + 1) / 100)))
        for low in range(100)
    ]
    return [*pairs, (threshold - _BELOW, _TEMPLATE / 2)] if threshold > _BELOW else pairs
