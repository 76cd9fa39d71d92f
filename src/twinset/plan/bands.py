"""Threshold and recall in; hashes, bands and rows out.

A sketch of k hashes is cut into b bands of r rows; two documents are candidates if any band agrees. A pair of
similarity s agrees in one band with probability s^r, so it becomes a candidate with probability 1-(1-s^r)^b.

Recall comes first: whatever is chosen finds a pair exactly at the threshold with at least the probability
asked for. Every candidate is verified exactly, so the rest is a matter of time, and the cheapest is taken:

- Given k, the largest r whose least sufficient b still fits in k: the strictest bands, the fewest candidates.
- Without k, the power of two from 64 to 4096 with the least expected cost for a document of 400 shingles: of filling
  k slots (once there are more slots than shingles, empty ones are filled one by one), of sorting b band keys, of
  comparing the slots of those that meet in a band, and of verifying those that remain. The costs were measured
  (docs/choosing.md says how). How many meet depends on the collection, which the plan does not look at. It supposes
  that 3,000 exp(-15 s) other documents are at least s similar to each, 33 from 0.3 up and 2 from 0.5 up, and that 8
  more, of the same template say, lie 0.2 below the threshold: there too few hashes cost most.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from twinset.errors import PlanWarning
from twinset.options.steps import MOST_HASHES, PlanOptions
from twinset.plan.band_costs import expected_cost
from twinset.wording import share

__all__ = ["Plan", "at_least", "band_probability", "exact_plan", "matches_needed", "plan"]

LEAST_LOSS = 2.3e-4  # a candidate is dropped by its sketch only if 3.5 standard errors too low
FEWEST_HASHES = 128  # where bands and rows are given: fewer make the comparison of sketches a poor filter

_NOTHING = 60.0  # as a logarithm: a share of a share that is lost in rounding, even 65,536 times
_SPREAD = 0.7  # variance of the number of equal slots, against that of independent ones


@dataclass(frozen=True)
class Plan:
    """What was chosen for a threshold and a recall.

    Attributes
    ----------
    threshold, recall
        What was asked for.
    n_hashes, n_bands, rows_per_band
        Hashes in a sketch, and how they are cut into bands.
    min_matches
        A candidate with fewer equal slots than this is dropped without being verified. Only the low 8 bits of
        the slots are compared.

    An exact plan has neither hashes nor bands: all three are 0, and every pair is found.

    Examples
    --------
    >>> print(plan(threshold=0.8, recall=0.99))
    128 hashes, 16 bands × 6 rows: a pair at 0.8 is found with probability 0.9920
    """

    threshold: float
    recall: float
    n_hashes: int
    n_bands: int
    rows_per_band: int
    min_matches: int

    def __str__(self) -> str:
        if self.exact:
            return f"exact: every pair at {self.threshold:g} and above is found"
        return (
            f"{_count(self.n_hashes, 'hash', 'hashes')}, "
            f"{_count(self.n_bands, 'band', 'bands')} × {_count(self.rows_per_band, 'row', 'rows')}: "
            f"a pair at {self.threshold:g} is found with probability {_shown(self.reached)}"
        )

    def p_found(self, similarity: float) -> float:
        """Give the probability that a pair of this similarity becomes a candidate and is not dropped.

        The two are multiplied as if independent. They help each other, so the truth is no less.
        """
        if self.exact:
            return 1.0
        return band_probability(similarity, self.n_bands, self.rows_per_band) * at_least(
            self.min_matches, self.n_hashes, _slot_match(similarity)
        )

    @property
    def exact(self) -> bool:
        """Whether sets are joined exactly, without sketches."""
        return self.n_bands == 0

    def p_candidate(self, similarity: float) -> float:
        """Estimate the share of pairs of this similarity that are verified: for counting work, not for promises.

        Whoever meets in a band has its rows equal already, and slots are spread less than independent ones would be.
        """
        rows, match = self.rows_per_band, _slot_match(similarity)
        free = self.n_hashes - rows
        spread = math.sqrt(max(match * (1 - match) * free * _SPREAD, 1e-12))
        short = self.min_matches - rows - 0.5 - free * match
        return band_probability(similarity, self.n_bands, rows) * 0.5 * math.erfc(short / (spread * math.sqrt(2)))

    @property
    def reached(self) -> float:
        """The probability that a pair exactly at the threshold is found."""
        return self.p_found(self.threshold)

    @property
    def step(self) -> float:
        """The similarity near which the S-curve rises: (1/b)^(1/r); of an exact plan, the threshold."""
        if self.exact:
            return self.threshold
        return float((1 / self.n_bands) ** (1 / self.rows_per_band))

    def curve(self, points: int = 10) -> list[tuple[float, float]]:
        """Give the S-curve: similarities from 1/points to 1, each with the probability of being found."""
        return [(i / points, self.p_found(i / points)) for i in range(1, points + 1)]

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as plain values, ready for JSON."""
        if self.exact:
            return {"exact": True, "threshold": self.threshold, "recall": self.recall, "reached": self.reached}
        return {
            "threshold": self.threshold,
            "recall": self.recall,
            "n_hashes": self.n_hashes,
            "n_bands": self.n_bands,
            "rows_per_band": self.rows_per_band,
            "min_matches": self.min_matches,
            "reached": self.reached,
            "step": self.step,
        }


def plan(
    threshold: float = 0.8,
    recall: float = 0.99,
    n_hashes: int | None = None,
    n_bands: int | None = None,
    rows_per_band: int | None = None,
) -> Plan:
    """Choose hashes, bands and rows for a threshold and a recall.

    Parameters
    ----------
    threshold
        Least exact similarity of a reported pair, above 0 and up to 1.
    recall
        Least probability that a pair exactly at the threshold is found, above 0 and below 1.
    n_hashes, n_bands, rows_per_band
        Chosen unless given. Given values that cannot reach the recall are used as they are, with a
        `PlanWarning`; more bands × rows than hashes are refused with an `OptionError`.

    Returns
    -------
    Plan

    Examples
    --------
    >>> chosen = plan(threshold=0.8, recall=0.99)
    >>> chosen.n_hashes, chosen.n_bands, chosen.rows_per_band
    (128, 16, 6)
    >>> for similarity, probability in chosen.curve(points=5):
    ...     print(f"{similarity:.1f} {probability:.3f}")
    0.2 0.000
    0.4 0.000
    0.6 0.033
    0.8 0.992
    1.0 1.000
    """
    asked = PlanOptions.of(
        threshold=threshold, recall=recall, n_hashes=n_hashes, n_bands=n_bands, rows_per_band=rows_per_band
    )
    made = _made(asked, *_choose(asked, asked.recall / (1 - _loss(asked))))
    if made.reached < asked.recall:
        warnings.warn(
            f"{made}, less than the requested recall of {asked.recall:g}; more bands or fewer rows find more",
            PlanWarning,
            stacklevel=2,
        )
    return made


def exact_plan(threshold: float) -> Plan:
    """Give the plan of an exact run, which needs no sketches and finds every pair.

    Examples
    --------
    >>> print(exact_plan(0.8))
    exact: every pair at 0.8 and above is found
    """
    return Plan(PlanOptions.of(threshold=threshold).threshold, 1.0, 0, 0, 0, 0)


def band_probability(similarity: float, n_bands: int, rows_per_band: int) -> float:
    """Give the probability that at least one band agrees: 1-(1-s^r)^b.

    Examples
    --------
    >>> [round(band_probability(s / 10, 20, 5), 4) for s in (3, 5, 8)]
    [0.0475, 0.4701, 0.9996]
    """
    one = similarity**rows_per_band
    return 1.0 if one >= 1 else -math.expm1(n_bands * math.log1p(-one))


@lru_cache(maxsize=1024)
def matches_needed(n_hashes: int, threshold: float, loss: float) -> int:
    """Give the most equal slots that can be demanded of pairs at the threshold, losing no more than `loss`.

    Examples
    --------
    >>> matches_needed(128, 0.8, 2.3e-4)
    86
    """
    match, below = _slot_match(threshold), 0.0
    if match >= 1:
        return n_hashes
    # Shares grow up to the mean. Those so far below the loss that all of them would not change its last digit are left.
    least = math.log(loss) - _NOTHING
    first = bisect_left(range(int(n_hashes * match)), least, key=lambda count: _log_share(count, n_hashes, match))
    for count in range(first, n_hashes):
        below += math.exp(_log_share(count, n_hashes, match))
        if below > loss:
            return count
    return n_hashes


def _loss(asked: PlanOptions) -> float:
    """Give the share of pairs at the threshold that the comparison of sketches may lose."""
    return min(LEAST_LOSS, (1 - asked.recall) / 10)


def _made(asked: PlanOptions, hashes: int, bands: int, rows: int) -> Plan:
    needed = matches_needed(hashes, asked.threshold, _loss(asked))
    return Plan(asked.threshold, asked.recall, hashes, bands, rows, needed)


@lru_cache(maxsize=64)
def _choose(asked: PlanOptions, target: float) -> tuple[int, int, int]:
    """Choose hashes, bands and rows so that the bands alone find the share `target` at the threshold."""
    bands, rows = asked.n_bands, asked.rows_per_band
    if bands and rows:
        return asked.n_hashes or max(FEWEST_HASHES, bands * rows), bands, rows
    if asked.n_hashes:
        cut = _cut(asked, asked.n_hashes, target)
        return asked.n_hashes, *(cut or _loosest(asked, asked.n_hashes))
    sizes = [64 << i for i in range(11) if 64 << i <= MOST_HASHES]
    able = [(k, *cut) for k in sizes if k <= 4096 and (cut := _cut(asked, k, target))]
    if not able:  # above 4096 only where nothing less will do
        able = [(k, *cut) for k in sizes if k > 4096 and (cut := _cut(asked, k, target))][:1]
    if not able:
        hashes = next((k for k in sizes if k >= max(FEWEST_HASHES, bands or 0, rows or 0)), MOST_HASHES)
        hashes = hashes if bands else MOST_HASHES  # with the bands given, more hashes would not help
        return hashes, *_loosest(asked, hashes)
    return min(able, key=lambda one: expected_cost(_made(asked, *one)).total)


def _cut(asked: PlanOptions, hashes: int, target: float) -> tuple[int, int] | None:
    """Give the largest r whose least sufficient b fits, and that b; None if nothing fits."""

    def bands_of(rows: int) -> int:
        bands = _least_bands(asked.threshold, rows, target)
        if asked.n_bands:
            bands = asked.n_bands if asked.n_bands >= bands else hashes + 1
        return bands

    # The more rows, the more bands: from some r on none fits.
    rows = asked.rows_per_band or bisect_right(range(1, hashes + 1), hashes, key=lambda rows: bands_of(rows) * rows)
    return (bands_of(rows), rows) if rows and bands_of(rows) * rows <= hashes else None


def _least_bands(threshold: float, rows: int, target: float) -> int:
    """Give the least b for which b bands of `rows` rows find the share `target` at the threshold."""
    one = threshold**rows
    if one >= 1:
        return 1
    if one < 1e-12:
        return 2**62  # more than any sketch has; the logarithm below would only lose its digits
    bands = max(1, math.ceil(math.log1p(-target) / math.log1p(-one)) - 1)
    while band_probability(threshold, bands, rows) < target:
        bands += 1
    return bands


def _loosest(asked: PlanOptions, hashes: int) -> tuple[int, int]:
    """Give the bands and rows that find most when nothing finds enough."""
    rows = asked.rows_per_band or 1
    return asked.n_bands or max(1, hashes // rows), rows


def _slot_match(similarity: float) -> float:
    """Give the probability that the low 8 bits of two slots are equal."""
    return similarity + (1 - similarity) / 256


def at_least(count: int, n: int, p: float) -> float:
    """Give the probability of at least `count` successes in n trials.

    Examples
    --------
    >>> at_least(1, 2, 0.5)
    0.75
    """
    if count <= 0 or p >= 1:
        return 1.0
    below = math.fsum(_shares(range(count), n, p))
    # The smaller tail is summed, so that neither a small loss nor a small chance is lost in rounding.
    return 1 - below if below < 0.5 else math.fsum(_shares(range(count, n + 1), n, p))


def _shares(counts: range, n: int, p: float) -> Iterator[float]:
    return (math.exp(_log_share(count, n, p)) for count in counts)


def _log_share(count: int, n: int, p: float) -> float:
    ways = math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
    return ways + count * math.log(p) + (n - count) * math.log1p(-p)


def _count(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _shown(probability: float) -> str:
    """Write a probability so that it is never rounded up to a certainty."""
    if 0.0001 <= probability < 1:
        return share(probability)
    return f"{probability:.2g}"
