"""Recall measured by an audit, and a 95 % confidence interval for the recall of the run.

Documents are sampled at random. Pairs come with their documents, and pairs of one document are often found or missed
together. So the variance is that of a ratio over documents, sampled without replacement. It gives an effective number
of independent observations, for which the Clopper-Pearson interval is taken, as Korn and Graubard do for surveys.
While few misses or none were seen, all pairs of one document count as one observation.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LEVEL = 0.95

_ENOUGH = 15.0
"""Number of documents with missed pairs at which their observed spread gets half the weight."""

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sampled:
    """Pairs of documents sampled from `population`: document i has pairs_of[i] pairs, missed_of[i] of them missed.

    `pairs` and `missed` count every pair once. With `one_sided` only one document of a pair could be sampled.
    """

    population: int
    pairs_of: Counts
    missed_of: Counts
    pairs: int
    missed: int
    one_sided: bool = False


def recall_of(sampled: Sampled) -> tuple[float, float, float] | tuple[None, None, None]:
    """Return the measured recall and the lower and upper bound for the recall of all pairs; None without pairs.

    Where every document was sampled, recall is known and the three are equal.

    Examples
    --------
    >>> ten = Sampled(1000, np.full(10, 3), np.array([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]), 30, 1)
    >>> [round(one, 3) for one in recall_of(ten)]
    [0.967, 0.627, 1.0]
    >>> recall_of(Sampled(1000, np.zeros(10, int), np.zeros(10, int), 0, 0))
    (None, None, None)
    """
    if sampled.pairs == 0:
        return None, None, None
    recall = (sampled.pairs - sampled.missed) / sampled.pairs
    worth = observations(sampled)
    if math.isinf(worth):
        return recall, recall, recall
    low, high = exact_interval(sampled.missed / sampled.pairs * worth, worth)
    return recall, min(recall, 1.0 - high), max(recall, 1.0 - low)


def observations(sampled: Sampled) -> float:
    """Effective number of independent observations; infinite where every document was sampled."""
    rate = sampled.missed / sampled.pairs
    binomial = rate * (1.0 - rate)
    grouped = _spread(sampled, sampled.pairs_of.astype(np.float64), float(sampled.pairs))
    if grouped == 0.0:
        return math.inf
    whole = sampled.pairs**2 / grouped  # as if all pairs of a document were found or missed together
    if binomial == 0.0:
        return whole
    apart = _excess_misses(sampled, rate)
    spread = _spread(sampled, apart, binomial * sampled.pairs)
    if spread == 0.0:  # all documents miss at the same rate
        return whole
    seen = binomial * sampled.pairs**2 / spread
    seen /= (_student(_freedom(apart)) / _student(math.inf)) ** 2
    if seen <= whole:
        return seen
    # The observed spread is as reliable as the number of documents with misses, weighted by their misses. While these
    # are few, the estimate is shrunk towards the worst case.
    missing = float(sampled.missed_of.sum()) ** 2 / float((sampled.missed_of.astype(np.float64) ** 2).sum())
    trust = missing / (missing + _ENOUGH)
    return float(seen**trust * whole ** (1.0 - trust))


def _excess_misses(sampled: Sampled, rate: float) -> npt.NDArray[np.float64]:
    """Missed pairs of each document beyond its share.

    A document with many pairs pulls the rate towards its own, so its rate is that of the others (jackknife).
    """
    weight = np.minimum(sampled.pairs_of / sampled.pairs_of.sum(), 0.5)
    apart: npt.NDArray[np.float64] = (sampled.missed_of - rate * sampled.pairs_of) / (1.0 - weight)
    return apart


def _freedom(excess: npt.NDArray[np.float64]) -> float:
    """Degrees of freedom of a sum of squares (Satterthwaite): low where few documents dominate."""
    squares, fourths = float((excess**2).sum()), float((excess**4).sum())
    over = fourths - squares**2 / len(excess)
    most = max(1.0, len(excess) - 1.0)
    return most if over <= 0.0 else min(most, max(1.0, 2.0 * squares**2 / over))


def _student(freedom: float) -> float:
    """Quantile of Student's distribution for one side of the level."""
    if math.isinf(freedom):
        return 1.959963984540054
    x = beta_quantile(1.0 - LEVEL, freedom / 2.0, 0.5)
    return math.sqrt(freedom * (1.0 - x) / x)


def _spread(sampled: Sampled, of_document: npt.NDArray[np.float64], squares: float) -> float:
    """Variance of a sum over the sampled pairs.

    `of_document` is the sum over the pairs of each sampled document, `squares` the sum of squares over the sampled
    pairs. With a share f of the documents sampled, a pair is sampled with probability 1 - (1-f)², and two pairs of one
    document are both not sampled with probability (1-f)³.
    """
    share = len(sampled.pairs_of) / sampled.population
    rest = 1.0 - share
    by_document = float((of_document**2).sum())
    if sampled.one_sided:
        return rest * by_document
    return rest**3 * by_document + rest**2 * share**2 * squares / (1.0 - rest**2)


def exact_interval(hits: float, trials: float) -> tuple[float, float]:
    """Clopper-Pearson interval for a share; hits and trials need not be integers.

    Examples
    --------
    >>> [round(one, 4) for one in exact_interval(0, 10)]
    [0.0, 0.3085]
    >>> [round(one, 4) for one in exact_interval(5, 10)]
    [0.1871, 0.8129]
    """
    tail = (1.0 - LEVEL) / 2.0
    low = beta_quantile(tail, hits, trials - hits + 1.0) if hits > 0 else 0.0
    high = beta_quantile(1.0 - tail, hits + 1.0, trials - hits) if hits < trials else 1.0
    return low, high


def beta_quantile(share: float, a: float, b: float) -> float:
    """Quantile of the beta distribution of a and b at `share`."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2.0
        if beta_share(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz's method).

    Examples
    --------
    >>> round(beta_share(0.5, 2.0, 3.0), 6)
    0.6875
    """
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - beta_share(1.0 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(tiny, 1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 + term * d
            c = 1.0 + term / c
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return math.exp(front) * value / a
