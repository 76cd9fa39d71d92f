"""Choose hashes, bands and rows from a threshold and a recall.

A sketch of k hashes is cut into b bands of r rows; two documents are candidates if any band agrees. A pair of
similarity s agrees in one band with probability s^r, so it becomes a candidate with probability 1-(1-s^r)^b.

Recall comes first: every choice finds a pair exactly at the threshold with at least the requested probability. Every
candidate is verified exactly, so the rest is a matter of time, and the cheapest is taken:

- Given k, the largest r whose minimum sufficient b still fits in k: the strictest bands, the fewest candidates.
- Without k, the power of two from 64 to 4096 with the least expected cost for a document of 400 shingles: filling k
  slots (with more slots than shingles, empty ones are filled one by one), sorting b band keys, comparing the slots of
  documents that collide in a band, and verifying the rest. The costs were measured (docs/choosing.md). The number of
  collisions depends on the collection, which the plan does not read. It assumes that 3,000 exp(-15 s) other documents
  are at least s similar to each (33 from 0.3, 2 from 0.5), and that 8 more, of the same template say, lie 0.2 below
  the threshold, where too few hashes cost most.
"""

import math
import warnings
from bisect import bisect_left, bisect_right
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from twinset.errors import PlanWarning
from twinset.options.steps import MOST_HASHES, PlanOptions
from twinset.plan.band_costs import expected_cost
from twinset.wording import share

LEAST_LOSS = 2.3e-4  # a candidate is dropped by its sketch only if 3.5 standard errors too low
FEWEST_HASHES = 128  # where bands and rows are given: with fewer, comparing sketches filters poorly

_NOTHING = 60.0  # as a logarithm: a share that is lost in rounding, even 65,536 times
_SPREAD = 0.7  # variance of the number of equal slots, relative to independent slots


@dataclass(frozen=True)
class Plan:
    """The bands chosen for a threshold and a recall.

    Attributes
    ----------
    threshold, recall
        As requested.
    n_hashes, n_bands, rows_per_band
        Hashes in a sketch, bands, and rows of a band.
    min_matches
        Minimum number of equal slots of a candidate to be verified, by the low 8 bits of the slots.

    An exact plan has neither hashes nor bands: all three are 0, and every pair is found.

    Examples
    --------
    >>> print(plan(threshold=0.8, recall=0.99))
    128 hashes, 16 bands × 6 rows: a pair at 0.8 is found with probability 0.9921
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
        """Return the probability that a pair of this similarity becomes a candidate and is not dropped.

        The two are multiplied as if independent. They are positively correlated, so this is a lower bound.
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
        """Estimate the share of pairs of this similarity that are verified: for counting work, not for guarantees.

        Documents that collide in a band have its rows equal already, and slots vary less than independent ones.
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
        """Return the S-curve: similarities from 1/points to 1, each with the probability of being found."""
        return [(i / points, self.p_found(i / points)) for i in range(1, points + 1)]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON."""
        if self.exact:
            return {"exact": True, "threshold": self.threshold, "recall": self.recall, "reached": self.reached}
        return {**asdict(self), "reached": self.reached, "step": self.step}


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
        Minimum exact similarity of a reported pair, above 0 and up to 1.
    recall
        Minimum probability that a pair exactly at the threshold is found, above 0 and below 1.
    n_hashes, n_bands, rows_per_band
        Chosen unless given. Given values that cannot reach the recall are used with a `PlanWarning`; more bands × rows
        than hashes raise an `OptionError`.

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
    options = PlanOptions.of(
        threshold=threshold, recall=recall, n_hashes=n_hashes, n_bands=n_bands, rows_per_band=rows_per_band
    )
    chosen = _plan_of(options, *_choose(options, options.recall / (1 - _loss(options))))
    if chosen.reached < options.recall:
        warnings.warn(
            f"{chosen}, less than the requested recall of {options.recall:g}; more bands or fewer rows find more",
            PlanWarning,
            stacklevel=2,
        )
    return chosen


def exact_plan(threshold: float) -> Plan:
    """Return the plan of an exact run, without sketches, which finds every pair.

    Examples
    --------
    >>> print(exact_plan(0.8))
    exact: every pair at 0.8 and above is found
    """
    return Plan(PlanOptions.of(threshold=threshold).threshold, 1.0, 0, 0, 0, 0)


def band_probability(similarity: float, n_bands: int, rows_per_band: int) -> float:
    """Return the probability that at least one band agrees: 1-(1-s^r)^b.

    Examples
    --------
    >>> [round(band_probability(s / 10, 20, 5), 4) for s in (3, 5, 8)]
    [0.0475, 0.4701, 0.9996]
    """
    one = similarity**rows_per_band
    return 1.0 if one >= 1 else -math.expm1(n_bands * math.log1p(-one))


@lru_cache(maxsize=1024)
def matches_needed(n_hashes: int, threshold: float, loss: float) -> int:
    """Return the maximum number of equal slots to require of pairs at the threshold, losing no more than `loss`.

    Examples
    --------
    >>> matches_needed(128, 0.8, 2.3e-4)
    86
    """
    match, below = _slot_match(threshold), 0.0
    if match >= 1:
        return n_hashes
    # Shares grow up to the mean. Those too small to change the last digit of the loss are skipped.
    smallest = math.log(loss) - _NOTHING
    first = bisect_left(range(int(n_hashes * match)), smallest, key=lambda count: _log_share(count, n_hashes, match))
    for count in range(first, n_hashes):
        below += binomial(count, n_hashes, match)
        if below > loss:
            return count
    return n_hashes


def _loss(options: PlanOptions) -> float:
    """Return the share of pairs at the threshold that comparing sketches may lose."""
    return min(LEAST_LOSS, (1 - options.recall) / 10)


def _plan_of(options: PlanOptions, hashes: int, bands: int, rows: int) -> Plan:
    needed = matches_needed(hashes, options.threshold, _loss(options))
    return Plan(options.threshold, options.recall, hashes, bands, rows, needed)


@lru_cache(maxsize=64)
def _choose(options: PlanOptions, target: float) -> tuple[int, int, int]:
    """Choose hashes, bands and rows so that the bands alone find the share `target` at the threshold."""
    bands, rows = options.n_bands, options.rows_per_band
    if bands and rows:
        return options.n_hashes or max(FEWEST_HASHES, bands * rows), bands, rows
    if options.n_hashes:
        cut = _cut(options, options.n_hashes, target)
        return options.n_hashes, *(cut or _loosest(options, options.n_hashes))
    sizes = [64 << i for i in range(11) if 64 << i <= MOST_HASHES]
    able = [(k, *cut) for k in sizes if k <= 4096 and (cut := _cut(options, k, target))]
    if not able:  # above 4096 only where nothing smaller suffices
        able = [(k, *cut) for k in sizes if k > 4096 and (cut := _cut(options, k, target))][:1]
    if not able:
        hashes = next((k for k in sizes if k >= max(FEWEST_HASHES, bands or 0, rows or 0)), MOST_HASHES)
        hashes = hashes if bands else MOST_HASHES  # with the bands given, more hashes would not help
        return hashes, *_loosest(options, hashes)
    return min(able, key=lambda one: expected_cost(_plan_of(options, *one)).total)


def _cut(options: PlanOptions, hashes: int, target: float) -> tuple[int, int] | None:
    """Return the largest r whose minimum sufficient b fits, and that b; None if nothing fits."""

    def bands_of(rows: int) -> int:
        bands = _least_bands(options.threshold, rows, target)
        if options.n_bands:
            bands = options.n_bands if options.n_bands >= bands else hashes + 1
        return bands

    # b grows with r: from some r on none fits.
    rows = options.rows_per_band or bisect_right(range(1, hashes + 1), hashes, key=lambda rows: bands_of(rows) * rows)
    return (bands_of(rows), rows) if rows and bands_of(rows) * rows <= hashes else None


def _least_bands(threshold: float, rows: int, target: float) -> int:
    """Return the minimum b for which b bands of `rows` rows find the share `target` at the threshold."""
    one = threshold**rows
    if one >= 1:
        return 1
    if one < 1e-12:
        return 2**62  # more than any sketch has; the logarithm below would lose its digits
    bands = max(1, math.ceil(math.log1p(-target) / math.log1p(-one)) - 1)
    while band_probability(threshold, bands, rows) < target:
        bands += 1
    return bands


def _loosest(options: PlanOptions, hashes: int) -> tuple[int, int]:
    """Return the bands and rows with the highest recall when none reaches the requested one."""
    rows = options.rows_per_band or 1
    return options.n_bands or max(1, hashes // rows), rows


def _slot_match(similarity: float) -> float:
    """Return the probability that the low 8 bits of two slots are equal."""
    return similarity + (1 - similarity) / 256


def at_least(count: int, n: int, p: float) -> float:
    """Return the probability of at least `count` successes in n trials.

    Examples
    --------
    >>> at_least(1, 2, 0.5)
    0.75
    """
    if count <= 0 or p >= 1:
        return 1.0
    below = math.fsum(binomial(i, n, p) for i in range(count))
    # The smaller tail is summed, so that small probabilities are not lost in rounding.
    return 1 - below if below < 0.5 else math.fsum(binomial(i, n, p) for i in range(count, n + 1))


def binomial(count: int, n: int, p: float) -> float:
    """Return the probability of exactly `count` successes in n trials.

    Examples
    --------
    >>> round(binomial(1, 2, 0.5), 12)
    0.5
    """
    return math.exp(_log_share(count, n, p))


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
