"""Rank the plans that reach a recall by cost, and draw S-curves.

`plan` chooses one plan. This module ranks the others beside it, and makes S-curves of any bands and rows, or bits and
tables. It imports nothing heavy: a plan needs no documents.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from twinset.errors import OptionError, PlanWarning
from twinset.plan.band_costs import Cost, expected_cost
from twinset.plan.bands import Plan, band_probability, plan

SIMILARITIES = tuple(tenth / 10 for tenth in range(1, 11))
MOST_CURVES = 100
_SIZES = tuple(64 << power for power in range(7))
_STEPS = 200
_LOOSER = 7

COMPARE_ALLOWED = "bands x rows, such as 20x5, both from 1 to 65536"
FAMILY_ALLOWED = (
    "BITS,TABLES, each a number or a range, such as 5,1-50 or 1-10,1; bits from 1 to 1000, tables from 1 to 65536"
)


@dataclass(frozen=True)
class Curve:
    """A named S-curve: the probability, at each similarity, that two documents become a candidate by their bands."""

    name: str
    n_bands: int
    rows_per_band: int

    def p_found(self, similarity: float) -> float:
        """Return the probability that a pair of this similarity collides: 1-(1-s^r)^b."""
        return band_probability(similarity, self.n_bands, self.rows_per_band)

    @property
    def step(self) -> float:
        """The similarity near which the curve rises: (1/b)^(1/r)."""
        return float((1 / self.n_bands) ** (1 / self.rows_per_band))

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain values, ready for JSON."""
        curve = [[similarity, self.p_found(similarity)] for similarity in SIMILARITIES]
        return {**asdict(self), "step": self.step, "curve": curve}


@dataclass(frozen=True)
class Ranked:
    """A plan among others.

    cost: expected cost of a document.
    missed_above: share missed of pairs spread evenly from the threshold to 1.
    met_below: share that become candidates, of pairs spread evenly from 0 to the threshold.
    chosen: whether `plan` chooses this one.
    """

    plan: Plan
    cost: Cost
    missed_above: float
    met_below: float
    chosen: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the values as plain values, ready for JSON."""
        return {
            **self.plan.to_dict(),
            "microseconds": self.cost.total / 1000,
            "missed_above": self.missed_above,
            "met_below": self.met_below,
            "chosen": self.chosen,
        }


def ranked(
    threshold: float = 0.8,
    recall: float = 0.99,
    n_hashes: int | None = None,
    n_bands: int | None = None,
    rows_per_band: int | None = None,
    *,
    pairs: Sequence[tuple[float, float]] | None = None,
    shingles: float = 400.0,
    most: int = 8,
) -> list[Ranked]:
    """Rank the plans that reach a recall by expected cost.

    threshold, recall, n_hashes, n_bands, rows_per_band: as for `twinset.plan`. Without n_hashes, the strictest bands of
        each power of two from 64 to 4096 are ranked. With it, bands of fewer rows too: they may cost less here, but
        their false candidates grow with the square of the collection, so `twinset.plan` takes the strictest.
    pairs: similarities, each with its number of pairs per document, from a survey; by default the assumed ones.
    shingles: number per document.
    most: maximum number of plans. The plan that `twinset.plan` chooses is always among them.
    Returns the plans, cheapest first.

    Examples
    --------
    >>> for one in ranked(threshold=0.8, recall=0.99, most=2):
    ...     print(one.plan.n_hashes, one.plan.n_bands, one.plan.rows_per_band, one.chosen)
    128 16 6 True
    256 26 8 False
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)  # the plan itself has warned already
        chosen = plan(threshold, recall, n_hashes, n_bands, rows_per_band)
        plans = {chosen, *_rivals(chosen, n_hashes, n_bands, rows_per_band)}
    costs = {one: expected_cost(one, pairs, shingles) for one in plans}
    ordered = sorted(plans, key=lambda one: (costs[one].total, one.n_hashes, one.n_bands))
    first = ordered[:most] if chosen in ordered[:most] else [*ordered[: most - 1], chosen]
    return [Ranked(one, costs[one], *_shares(one), one == chosen) for one in first]


def _rivals(chosen: Plan, n_hashes: int | None, n_bands: int | None, rows: int | None) -> Iterable[Plan]:
    """Return the other plans that reach the recall.

    These are the strictest bands for each number of hashes; with the hashes given, all bands of one row up to those.
    """
    for hashes in (n_hashes,) if n_hashes else _SIZES:
        try:
            strictest = plan(chosen.threshold, chosen.recall, hashes, n_bands, rows)
        except OptionError:
            continue  # more bands or rows than hashes: no rival
        plans = [strictest]
        if n_hashes and not rows and not n_bands:
            fewer = range(max(1, strictest.rows_per_band - _LOOSER), strictest.rows_per_band)
            plans += [plan(chosen.threshold, chosen.recall, hashes, None, each) for each in fewer]
        yield from (one for one in plans if one.reached >= chosen.recall)


def _shares(one: Plan) -> tuple[float, float]:
    """Return the shares missed above and colliding below the threshold, by the midpoint rule."""
    span = 1 - one.threshold
    above = [one.p_candidate(one.threshold + span * (step + 0.5) / _STEPS) for step in range(_STEPS)]
    below = [one.p_candidate(one.threshold * (step + 0.5) / _STEPS) for step in range(_STEPS)]
    return max(0.0, 1 - sum(above) / _STEPS), sum(below) / _STEPS


def banded(text: str) -> Curve:
    """Parse bands and rows into an S-curve.

    Examples
    --------
    >>> round(banded("20x5").p_found(0.5), 3)
    0.47
    """
    match = re.fullmatch(r"(?a)\s*(\d{1,5})\s*[x×*]\s*(\d{1,5})\s*", text, re.IGNORECASE)
    if not match or not all(1 <= int(number) <= 65536 for number in match.groups()):
        raise OptionError(f"--compare is {text!r}; allowed: {COMPARE_ALLOWED}")
    bands, rows = int(match[1]), int(match[2])
    return Curve(f"{bands}×{rows}", bands, rows)


def families(text: str) -> list[Curve]:
    """Parse bits and tables into an S-curve each.

    L tables of k bits each find a pair with probability 1-(1-s^k)^L, where s is the probability that one bit agrees: a
    table is a band, and a bit is a row.

    Examples
    --------
    >>> [curve.name for curve in families("5,1-3")]
    ['k=5 L=1', 'k=5 L=2', 'k=5 L=3']
    """
    match = re.fullmatch(r"(?a)\s*(\d{1,5})(?:-(\d{1,5}))?\s*,\s*(\d{1,5})(?:-(\d{1,5}))?\s*", text)
    if not match:
        raise OptionError(f"--family is {text!r}; allowed: {FAMILY_ALLOWED}")
    bits = range(int(match[1]), int(match[2] or match[1]) + 1)
    tables = range(int(match[3]), int(match[4] or match[3]) + 1)
    if not bits or not tables or bits[0] < 1 or tables[0] < 1 or bits[-1] > 1000 or tables[-1] > 65536:
        raise OptionError(f"--family is {text!r}; allowed: {FAMILY_ALLOWED}")
    if len(bits) * len(tables) > MOST_CURVES:
        raise OptionError(
            f"--family is {text!r}, which is {len(bits) * len(tables):,} curves; allowed: at most {MOST_CURVES}"
        )
    return [Curve(f"k={k} L={count}", count, k) for k in bits for count in tables]


def table_of(curves: Iterable[Curve | Plan]) -> list[list[float]]:
    """Return the probability of being found at 0.1, 0.2 … 1.0, a row per curve.

    Examples
    --------
    >>> [[round(p, 3) for p in row] for row in table_of([banded("20x5")])]
    [[0.0, 0.006, 0.047, 0.186, 0.47, 0.802, 0.975, 1.0, 1.0, 1.0]]
    """
    return [[curve.p_found(similarity) for similarity in SIMILARITIES] for curve in curves]
