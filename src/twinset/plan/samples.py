"""Choose how many samples of two sets must agree, so that few sets that contain enough of the other are missed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

_SIGMAS = 12
"""Standard deviations on each side of the mean that are computed: the rest is far below the last digit."""


@dataclass(frozen=True)
class Tail:
    """The distribution of a count: values[i] is the probability that it is at least first + i."""

    first: int
    values: npt.NDArray[np.float64]

    def at_least(self, count: int) -> float:
        """Return the probability that the count is at least this one."""
        place = count - self.first
        return 1.0 if place <= 0 else float(self.values[place]) if place < len(self.values) else 0.0

    def needed(self, recall: float) -> int:
        """Return the largest count that is reached with at least the probability `recall`."""
        return self.first + int(np.count_nonzero(self.values >= recall)) - 1


@lru_cache(maxsize=4096)
def drawn(population: int, common: int, draws: int) -> Tail:
    """Count how many of `draws` members, drawn without replacement, are among the `common` ones.

    Examples
    --------
    >>> three = drawn(10, 8, 3)
    >>> three.first, [round(three.at_least(count), 4) for count in (1, 2, 3)], three.needed(0.9)
    (1, [1.0, 0.9333, 0.4667], 2)
    """
    share = common / population
    low, high = max(0, draws - (population - common)), min(draws, common)
    low, high = _window(low, high, draws * share, draws * share * (1.0 - share))
    counts = np.arange(low, high, dtype=np.float64)
    steps = np.log(common - counts) + np.log(draws - counts) - np.log(counts + 1.0)
    return _tail(low, steps - np.log(population - common - draws + counts + 1.0))


@lru_cache(maxsize=4096)
def thinned(common: int, rate: int) -> Tail:
    """Count how many of the `common` members are sampled, if each is sampled with probability 1 / rate.

    Examples
    --------
    >>> round(thinned(2, 8).at_least(1), 4), thinned(400, 8).needed(0.99)
    (0.2344, 35)
    """
    low, high = _window(0, common, common / rate, common / rate)
    counts = np.arange(low, high, dtype=np.float64)
    return _tail(low, np.log(common - counts) - np.log(counts + 1.0) - math.log(rate - 1))


def _window(low: int, high: int, mean: float, variance: float) -> tuple[int, int]:
    """Cut off the counts that are too far from the mean to have a probability."""
    reach = _SIGMAS * (math.sqrt(variance) + _SIGMAS)
    return max(low, math.floor(mean - reach)), min(high, math.ceil(mean + reach))


def _tail(first: int, steps: npt.NDArray[np.float64]) -> Tail:
    """Return the distribution from the logarithms of the ratios of neighbouring probabilities."""
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    shares = np.exp(logs - logs.max())
    tails = np.cumsum(shares[::-1])[::-1]
    return Tail(first, tails / tails[0])


def least_common(size: Any, containment: float) -> Any:
    """Return the least number of common members of sets of these sizes: common / size is at least the containment.

    Examples
    --------
    >>> least_common(np.array([1, 10, 100]), 0.55).tolist()
    [1, 6, 55]
    """
    sizes = np.asarray(size, np.int64)
    common = np.ceil(containment * sizes).astype(np.int64)
    common -= (common - 1) / sizes >= containment  # the product may be rounded up, or down
    common += common / sizes < containment
    return common


def holding_hits(size: int, samples: int, containment: float, recall: float) -> int:
    """Return how many samples of a set another one must have, if it may hold the set; 0 if samples are too few.

    The set has `size` members, of which those with low hashes are samples; the other one has sampled all of these that
    it holds.

    Examples
    --------
    >>> [holding_hits(8 * samples, samples, 0.8, 0.99) for samples in (2, 3, 125)]
    [0, 1, 90]
    """
    return drawn(size, int(least_common(size, containment)), samples).needed(recall)


def held_hits(sizes: npt.NDArray[Any], least: int, containment: float, recall: float) -> npt.NDArray[np.int64]:
    """Return how many samples of sets of these sizes another one must have, if it may hold them.

    A set has `least` samples or more, drawn from all of its members. Smaller sets are all sampled.

    Examples
    --------
    >>> held_hits(np.array([1, 5, 16, 17, 500]), 16, 0.8, 0.99).tolist()
    [1, 4, 13, 13, 9]
    """
    sizes = sizes.astype(np.int64)
    common = least_common(sizes, containment)
    hits: npt.NDArray[np.int64] = common.copy()
    large = np.flatnonzero(sizes > least)
    if len(large):
        hits[large] = _draw_hits(sizes[large].astype(np.float64), common[large].astype(np.float64), least, recall)
    return hits


def _draw_hits(
    sizes: npt.NDArray[np.float64], common: npt.NDArray[np.float64], draws: int, recall: float
) -> npt.NDArray[np.int64]:
    """Return `drawn(size, common, draws).needed(recall)` for many sets of more than `draws` members at once."""
    counts = np.arange(draws + 1, dtype=np.float64)
    logs = np.zeros((len(sizes), draws + 1))
    for count in range(draws):  # ways to draw `count` of the common ones, and the others of the rest
        logs[:, count + 1] = logs[:, count] + _log(common - count)
    rest = np.zeros((len(sizes), draws + 1))
    for count in range(draws):
        rest[:, count + 1] = rest[:, count] + _log(sizes - common - count)
    ways = np.array([math.lgamma(count + 1) for count in counts])
    logs = logs + rest[:, ::-1] - ways - ways[::-1]
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    tails = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1]
    reached: npt.NDArray[np.int64] = np.count_nonzero(tails >= recall * tails[:, :1], axis=1) - 1
    return reached


def _log(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return logarithms; what cannot be drawn has none."""
    logs = np.full(len(values), -np.inf)
    np.log(values, out=logs, where=values > 0)
    return logs
