"""The numbers behind a report: what a result folder says, counted once for the page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.engines.recorded import Recorded
from twinset.wording import DIGITS, MARGIN

Whole = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]

SCALE = 10**DIGITS
"""Similarities travel as whole ten-thousandths, cut as `wording.share` cuts them."""

_WIDTHS = (0.001, 0.002, 0.005, 0.01, 0.02)
_MOST_BINS = 40
_SIZES = (2, 3, 4, 5, 6, 11, 21, 51, 101, 1001, 10_001)


@dataclass(frozen=True)
class Bin:
    """Pairs whose similarity is from `low` up to below `high`."""

    low: float
    high: float
    count: int

    @property
    def middle(self) -> float:
        """The similarity that stands for the bin."""
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class SizeClass:
    """Clusters of `least` to `most` documents, the kept one counted; `most` is None in the last class."""

    least: int
    most: int | None
    clusters: int
    removed: int

    @property
    def label(self) -> str:
        """The class in words."""
        if self.most is None:
            return f"{self.least:,} and more"
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


class Numbers:
    """Counts of a result, made from its tables; clusters are numbered by the first removed document of each.

    Parameters
    ----------
    recorded
        The result folder.
    """

    def __init__(self, recorded: Recorded) -> None:
        self.recorded, self.summary, self.plan = recorded, recorded.summary, recorded.plan
        removed = recorded.removed
        coded = pc.dictionary_encode(removed["because_of"].combine_chunks())
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        self.kept_ids: pa.Array = coded.dictionary
        self.cluster_of: Whole = np.asarray(coded.indices).astype(np.int64)
        self.similarity: Shares = np.asarray(removed["similarity"])

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return len(self.kept_ids)

    @cached_property
    def sizes(self) -> Whole:
        """The documents of each cluster, the kept one counted."""
        return np.bincount(self.cluster_of, minlength=self.clusters).astype(np.int64) + 1

    @cached_property
    def least(self) -> Shares:
        """The similarity of the removed document of each cluster that resembles the kept one least."""
        least = np.ones(self.clusters)
        np.minimum.at(least, self.cluster_of, self.similarity)
        return least

    def largest(self, count: int) -> list[int]:
        """The largest clusters, the earlier of two equal ones first."""
        order: list[int] = np.argsort(-self.sizes, kind="stable")[:count].tolist()
        return order

    def doubtful(self, count: int) -> list[int]:
        """The clusters with the least similar removed documents; those of identical ones only are in no doubt."""
        order = np.argsort(self.least, kind="stable")[:count]
        found: list[int] = order[self.least[order] < 1].tolist()
        return found

    @cached_property
    def pair_similarities(self) -> Shares:
        """The similarity of every scored pair."""
        return np.asarray(self.recorded.pairs["similarity"])

    @property
    def identical(self) -> int:
        """Pairs that share all their shingles."""
        return int(np.count_nonzero(self.pair_similarities >= 1))

    @property
    def floor(self) -> float:
        """The similarity down to which pairs were looked for, and for which the plan was made."""
        return self.plan.threshold

    @cached_property
    def histogram(self) -> list[Bin]:
        """Pairs by similarity, those that are identical apart."""
        different = self.pair_similarities[self.pair_similarities < 1]
        lowest = min(self.floor, float(different.min(initial=1.0)))
        width = next((one for one in _WIDTHS if (1 - lowest) / one <= _MOST_BINS), _WIDTHS[-1])
        per = round(1 / width)
        first = min(int(lowest * per + 1e-9), per - 1)
        # The number of a bin is found by the same product, so that a pair exactly at a border is above it.
        places = np.clip((different * per + 1e-9).astype(np.int64), first, per - 1) - first
        counts = np.bincount(places, minlength=per - first)
        return [Bin((first + i) / per, (first + i + 1) / per, int(count)) for i, count in enumerate(counts)]

    @cached_property
    def expected_missed(self) -> float:
        """How many pairs like those found the plan expects to have been missed: the sum of 1/P(found) - 1."""
        lost = (one.count * (1 / found - 1) for one in self.histogram if (found := self._found(one)) > 0)
        return float(sum(lost))

    def _found(self, one: Bin) -> float:
        return self.plan.p_found(max(one.middle, self.floor))

    @cached_property
    def size_classes(self) -> list[SizeClass]:
        """Clusters by size."""
        classes = []
        for place, least in enumerate(_SIZES):
            after = _SIZES[place + 1] if place + 1 < len(_SIZES) else None
            inside = (self.sizes >= least) & (self.sizes < after if after else True)
            number = int(np.count_nonzero(inside))
            if number:
                removed = int(self.sizes[inside].sum()) - number
                classes.append(SizeClass(least, after - 1 if after else None, number, removed))
        return classes

    @property
    def audit(self) -> dict[str, Any] | None:
        """What the audit of the run found; None where it was off."""
        found: dict[str, Any] | None = self.summary.get("audit")
        return found


def scaled(values: Shares) -> list[int]:
    """Shares as whole ten-thousandths, cut and not rounded.

    Examples
    --------
    >>> scaled(np.array([0.8, 0.99999, 1.0]))
    [8000, 9999, 10000]
    """
    numbers: list[int] = np.floor(values * SCALE + MARGIN).astype(np.int64).tolist()
    return numbers
