"""Plans side by side: what each would find, and what it would cost.

`plan` chooses one plan. Here the others that reach the recall are ranked beside it, and S-curves are made of bands and
rows, or of bits and tables, that are no plan at all. Nothing heavy is imported: a plan needs no document.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from twinset.errors import OptionError, PlanWarning
from twinset.plan.band_costs import Cost, expected_cost
from twinset.plan.bands import Plan, band_probability, plan

__all__ = ["Curve", "Ranked", "banded", "families", "ranked", "table_of"]

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
    """An S-curve with its name: the chance, at each similarity, that two documents meet."""

    name: str
    n_bands: int
    rows_per_band: int

    def p_found(self, similarity: float) -> float:
        """Give the chance that a pair of this similarity meets: 1-(1-s^r)^b."""
        return band_probability(similarity, self.n_bands, self.rows_per_band)

    @property
    def step(self) -> float:
        """The similarity near which the curve rises: (1/b)^(1/r)."""
        return float((1 / self.n_bands) ** (1 / self.rows_per_band))

    def to_dict(self) -> dict[str, Any]:
        """Give the curve as plain values, ready for JSON."""
        return {
            "name": self.name,
            "n_bands": self.n_bands,
            "rows_per_band": self.rows_per_band,
            "step": self.step,
            "curve": [[similarity, self.p_found(similarity)] for similarity in SIMILARITIES],
        }


@dataclass(frozen=True)
class Ranked:
    """A plan among others.

    Attributes
    ----------
    plan
        The plan.
    cost
        What a document is expected to cost under it.
    missed_above
        Of pairs spread evenly from the threshold to 1, the share that would be missed.
    met_below
        Of pairs spread evenly from 0 to the threshold, the share that would be candidates, to be refused exactly.
    chosen
        Whether it is the one that `plan` chooses.
    """

    plan: Plan
    cost: Cost
    missed_above: float
    met_below: float
    chosen: bool

    def to_dict(self) -> dict[str, Any]:
        """Give the values as plain ones, ready for JSON."""
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
    """Rank the plans that reach a recall by what they are expected to cost.

    Parameters
    ----------
    threshold, recall, n_hashes, n_bands, rows_per_band
        As for `twinset.plan`. Without n_hashes, the strictest bands of each power of two from 64 to 4096 are ranked.
        With it, bands of fewer rows too: they may cost less here, but what they meet by chance grows with the square
        of the collection, so `twinset.plan` takes the strictest.
    pairs
        Similarities, each with the number of pairs of it there are for each document: those of a survey. Without it,
        what the plan supposes.
    shingles
        Shingles of a document.
    most
        How many to give. The plan that `twinset.plan` chooses is always among them.

    Returns
    -------
    list of Ranked
        The cheapest first.

    Examples
    --------
    >>> for one in ranked(threshold=0.8, recall=0.99, most=2):
    ...     print(one.plan.n_hashes, one.plan.n_bands, one.plan.rows_per_band, one.chosen)
    128 16 6 True
    256 26 8 False
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)  # who asks for a ranking has been warned by the plan itself
        chosen = plan(threshold, recall, n_hashes, n_bands, rows_per_band)
        plans = {chosen, *_rivals(chosen, n_hashes, n_bands, rows_per_band)}
    costs = {one: expected_cost(one, pairs, shingles) for one in plans}
    ordered = sorted(plans, key=lambda one: (costs[one].total, one.n_hashes, one.n_bands))
    first = ordered[:most] if chosen in ordered[:most] else [*ordered[: most - 1], chosen]
    return [Ranked(one, costs[one], *_shares(one), one == chosen) for one in first]


def _rivals(chosen: Plan, n_hashes: int | None, n_bands: int | None, rows: int | None) -> Iterable[Plan]:
    """Give the other plans that reach the recall.

    For each number of hashes the strictest bands; where the hashes are given, all bands of one row up to those.
    """
    for hashes in (n_hashes,) if n_hashes else _SIZES:
        try:
            strictest = plan(chosen.threshold, chosen.recall, hashes, n_bands, rows)
        except OptionError:
            continue  # more bands or rows than hashes: no rival
        found = [strictest]
        if n_hashes and not rows and not n_bands:
            fewer = range(max(1, strictest.rows_per_band - _LOOSER), strictest.rows_per_band)
            found += [plan(chosen.threshold, chosen.recall, hashes, None, each) for each in fewer]
        yield from (one for one in found if one.reached >= chosen.recall)


def _shares(one: Plan) -> tuple[float, float]:
    """Give the shares missed above and met below the threshold, by the rule of the midpoint."""
    span = 1 - one.threshold
    above = [one.p_candidate(one.threshold + span * (step + 0.5) / _STEPS) for step in range(_STEPS)]
    below = [one.p_candidate(one.threshold * (step + 0.5) / _STEPS) for step in range(_STEPS)]
    return max(0.0, 1 - sum(above) / _STEPS), sum(below) / _STEPS


def banded(words: str) -> Curve:
    """Read bands and rows, and give their S-curve.

    Examples
    --------
    >>> round(banded("20x5").p_found(0.5), 3)
    0.47
    """
    found = re.fullmatch(r"(?a)\s*(\d{1,5})\s*[x×*]\s*(\d{1,5})\s*", words, re.IGNORECASE)
    if not found or not all(1 <= int(number) <= 65536 for number in found.groups()):
        raise OptionError(f"--compare is {words!r}; allowed: {COMPARE_ALLOWED}")
    bands, rows = int(found[1]), int(found[2])
    return Curve(f"{bands}×{rows}", bands, rows)


def families(words: str) -> list[Curve]:
    """Read bits and tables, and give an S-curve for each of them.

    L tables, each by k bits of a code, bring a pair together with probability 1-(1-s^k)^L, where s is the chance that
    one bit agrees: a table is a band, and a bit is a row.

    Examples
    --------
    >>> [curve.name for curve in families("5,1-3")]
    ['k=5 L=1', 'k=5 L=2', 'k=5 L=3']
    """
    found = re.fullmatch(r"(?a)\s*(\d{1,5})(?:-(\d{1,5}))?\s*,\s*(\d{1,5})(?:-(\d{1,5}))?\s*", words)
    if not found:
        raise OptionError(f"--family is {words!r}; allowed: {FAMILY_ALLOWED}")
    bits = range(int(found[1]), int(found[2] or found[1]) + 1)
    tables = range(int(found[3]), int(found[4] or found[3]) + 1)
    if not bits or not tables or bits[0] < 1 or tables[0] < 1 or bits[-1] > 1000 or tables[-1] > 65536:
        raise OptionError(f"--family is {words!r}; allowed: {FAMILY_ALLOWED}")
    if len(bits) * len(tables) > MOST_CURVES:
        raise OptionError(
            f"--family is {words!r}, which is {len(bits) * len(tables):,} curves; allowed: at most {MOST_CURVES}"
        )
    return [Curve(f"k={k} L={count}", count, k) for k in bits for count in tables]


def table_of(curves: Iterable[Curve | Plan]) -> list[list[float]]:
    """Give the chance of being found at 0.1, 0.2 … 1.0, a row for each curve.

    Examples
    --------
    >>> [[round(p, 3) for p in row] for row in table_of([banded("20x5")])]
    [[0.0, 0.006, 0.047, 0.186, 0.47, 0.802, 0.975, 1.0, 1.0, 1.0]]
    """
    return [[curve.p_found(similarity) for similarity in SIMILARITIES] for curve in curves]
