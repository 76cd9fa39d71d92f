"""The precision at each threshold, from the labels of a sample, with a 95 % interval.

Only the pairs of a sample count, however many other pairs people have judged: those were not drawn at random. Within a
stratum the pairs count up to the first that is not judged, in the order in which they are to be labelled; a pair judged
``unsure`` counts as wrong for the lower end of the interval, and as right for the upper end.

The interval is that of Clopper and Pearson, with the labels weighted by the pairs they stand for: the weighted number
of wrong pairs, with one more of the largest weight, is taken as a binomial number with the mean and the variance of a
Poisson number, as Fay and Feuer do for standardized rates. The lower end of the precision comes from the wrong pairs,
the upper end from the right ones. It is exact where all weights are equal, and wider than needed otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twinset.errors import OptionError
from twinset.pairs.audit.recall_interval import beta_quantile
from twinset.verdicts.events import subject_of
from twinset.verdicts.sample import Sample, limit_of, samples_of
from twinset.verdicts.store import VerdictStore
from twinset.wording import counted

__all__ = ["Labels", "PrecisionAt", "PrecisionEstimate", "estimate_precision", "precision_interval"]

_TAIL = 0.025


@dataclass(frozen=True)
class Labels:
    """Labels of a stratum of `population` pairs: right and wrong ones, and those judged ``unsure``."""

    population: int
    right: int
    wrong: int
    unsure: int = 0

    @property
    def judged(self) -> int:
        """The number of pairs that were judged."""
        return self.right + self.wrong + self.unsure


@dataclass(frozen=True)
class PrecisionAt:
    """The precision of the pairs at least as near as a limit: a threshold, or a distance.

    `pairs` are all pairs at least as near, `judged` those of the sample. `precision` is None while a stratum has none.
    """

    limit: float
    pairs: int
    judged: int
    precision: float | None
    low: float
    high: float


@dataclass(frozen=True)
class PrecisionEstimate:
    """What a sample says: the precision at the lower end of each stratum, the farthest first.

    `sampled` pairs were drawn; `right`, `wrong` and `unsure` of them count, and `left_out` do not yet.
    """

    sample: Sample
    rows: tuple[PrecisionAt, ...]
    sampled: int
    right: int
    wrong: int
    unsure: int
    left_out: int

    def least_limit(self, precision: float) -> PrecisionAt | None:
        """Return the farthest limit at which the lower end of the interval is at least this precision, if any."""
        return next((row for row in self.rows if row.low >= precision), None)


def estimate_precision(store: VerdictStore, number: int | None = None) -> PrecisionEstimate:
    """Estimate the precision from the last sample, or from sample `number`, counted from 1."""
    samples = samples_of(store)
    if not samples:
        raise OptionError(f"{store.name} has no sample; draw one with twinset verdicts sample OUT, and label its pairs")
    if number is not None and number > len(samples):
        raise OptionError(f"sample is {number}, but {store.name} has {counted(len(samples), 'sample')}")
    sample = samples[(number or len(samples)) - 1]
    verdicts = store.verdicts(subject_of(one.left.digest, one.right.digest) for one in sample.pairs)
    by_stratum: list[list[str | None]] = [[] for _ in sample.strata]
    for pair, verdict in zip(sample.pairs, verdicts, strict=True):
        by_stratum[pair.stratum].append(verdict)
    labels = []
    for stratum, found in zip(sample.strata, by_stratum, strict=True):
        usable = found[: found.index(None)] if None in found else found
        kinds = (usable.count(kind) for kind in ("duplicate", "different", "unsure"))
        labels.append(Labels(stratum.population, *kinds))
    rows = tuple(_precision_at(stratum.low, labels[at:], sample) for at, stratum in enumerate(sample.strata))
    right, wrong, unsure = (sum(getattr(one, name) for one in labels) for name in ("right", "wrong", "unsure"))
    drawn = len(sample.pairs)
    return PrecisionEstimate(sample, rows, drawn, right, wrong, unsure, drawn - right - wrong - unsure)


def _precision_at(low: float, labels: Sequence[Labels], sample: Sample) -> PrecisionAt:
    pairs = sum(one.population for one in labels)
    decided = [one for one in labels if one.right + one.wrong]
    precision = None
    if len(decided) == len(labels):
        precision = sum(one.population * one.right / (one.right + one.wrong) for one in labels) / pairs
    judged = sum(one.judged for one in labels)
    return PrecisionAt(limit_of(sample, low), pairs, judged, precision, *precision_interval(labels))


def precision_interval(labels: Sequence[Labels]) -> tuple[float, float]:
    """Return a 95 % interval for the precision of all pairs of some strata.

    Examples
    --------
    >>> [round(one, 3) for one in precision_interval([Labels(1000, 57, 3)])]
    [0.861, 0.99]
    >>> [round(one, 3) for one in precision_interval([Labels(9000, 30, 0), Labels(1000, 27, 3)])]
    [0.888, 1.0]
    >>> precision_interval([Labels(30, 30, 0)]), precision_interval([Labels(30, 0, 0)])
    ((1.0, 1.0), (0.0, 1.0))
    """
    least_right = [(one.population, one.judged, one.right) for one in labels]
    most_right = [(one.population, one.judged, one.right + one.unsure) for one in labels]
    low = 1.0 - _most([(pairs, judged, judged - right) for pairs, judged, right in least_right])
    return max(0.0, low), min(1.0, _most(most_right))


def _most(strata: Sequence[tuple[int, int, int]]) -> float:
    """Return the upper end of the share of some pairs; strata: all pairs, the judged ones, those of them that count.

    A stratum without labels may have any share, and one whose pairs are all judged has a known one.
    """
    total = sum(pairs for pairs, _, _ in strata)
    known = sum(pairs if not judged else hits for pairs, judged, hits in strata if not judged or judged >= pairs)
    open_strata = [(pairs, judged, hits) for pairs, judged, hits in strata if 0 < judged < pairs]
    rest = sum(pairs for pairs, _, _ in open_strata)
    if not rest:
        return known / total
    weights = [pairs / rest / judged for pairs, judged, _ in open_strata]
    largest = max(weights)
    mean = sum(weight * hits for weight, (_, _, hits) in zip(weights, open_strata, strict=True)) + largest
    variance = sum(weight**2 * hits for weight, (_, _, hits) in zip(weights, open_strata, strict=True)) + largest**2
    hits, trials = mean**2 / variance, mean / variance
    share = 1.0 if trials - hits + 1.0 <= 0.0 or mean - largest >= 1.0 else _quantile(hits, trials - hits + 1.0)
    return (known + share * rest) / total


def _quantile(a: float, b: float) -> float:
    return beta_quantile(1.0 - _TAIL, a, b)
