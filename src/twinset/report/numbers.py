"""The numbers behind a report: what a result folder says, counted once for the page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.plan import Plan
from twinset.plan.codes import CodeJoinPlan
from twinset.results.stored import StoredResult
from twinset.wording import DIGITS, MARGIN, counted, share

Whole = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]

SCALE = 10**DIGITS
"""Similarities travel as whole ten-thousandths, cut as `wording.share` cuts them."""

_WIDTHS = (0.001, 0.002, 0.005, 0.01, 0.02)
_MOST_BINS = 40
_BEYOND = 1.25  # distances as far beyond the one asked for are drawn as no resemblance at all
_SIZES = (2, 3, 4, 5, 6, 11, 21, 51, 101, 1001, 10_001)


@dataclass(frozen=True)
class Bin:
    """Pairs whose similarity, or distance, is from `low` up to below `high`."""

    low: float
    high: float
    count: int

    @property
    def middle(self) -> float:
        """The score that stands for the bin."""
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

    def __init__(self, recorded: StoredResult) -> None:
        self.recorded, self.summary, self.plan = recorded, recorded.summary, recorded.plan
        removed = recorded.removed
        coded = pc.dictionary_encode(removed["because_of"].combine_chunks())
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        self.kept_ids: pa.Array = coded.dictionary
        self.cluster_of: Whole = np.asarray(coded.indices).astype(np.int64)
        self.measure = recorded.options.measure
        self.scores: Shares = np.asarray(removed[self.score]).astype(np.float64)
        self.similarity: Shares = self.closeness(self.scores)

    @property
    def by_distance(self) -> bool:
        """Whether pairs have a distance, not a similarity."""
        return self.measure in ("bits", "distance")

    @property
    def score(self) -> str:
        """The name of what pairs are scored by."""
        return "distance" if self.by_distance else "similarity"

    @property
    def noun(self) -> str:
        """What a document is called here."""
        return "picture" if self.recorded.options.images else "document"

    @property
    def reach(self) -> float:
        """The greatest distance of a pair that something was removed for."""
        return self.recorded.options.reach

    @property
    def ceiling(self) -> float:
        """The greatest distance up to which pairs were looked for."""
        return self.recorded.options.farthest

    @property
    def sketched(self) -> Plan | None:
        """The plan of sketches and bands; None for kinds of items that have none."""
        return self.plan if isinstance(self.plan, Plan) else None

    def closeness(self, scores: Shares) -> Shares:
        """Scores from 0 to 1 by which documents are put in order, and bars drawn: similarities as they are."""
        if not self.by_distance:
            return scores
        return np.where(scores == 0, 1.0, np.clip(1 - scores / (_BEYOND * max(self.reach, 1e-9)), 0.0, 0.9999))

    def told(self, score: float) -> str:
        """A score in words."""
        if self.measure == "bits":
            return counted(round(score), "bit")
        return f"{score:.4g}" if self.by_distance else share(score)

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
        """The closeness of the removed document of each cluster that resembles the kept one least."""
        least = np.ones(self.clusters)
        np.minimum.at(least, self.cluster_of, self.similarity)
        return least

    @cached_property
    def farthest(self) -> Shares:
        """The greatest distance of a removed document of each cluster."""
        most = np.zeros(self.clusters)
        np.maximum.at(most, self.cluster_of, self.scores)
        return most

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

    @cached_property
    def pair_distances(self) -> Shares:
        """The distance of every scored pair, where pairs have one."""
        return np.asarray(self.recorded.pairs["distance"]).astype(np.float64)

    @property
    def identical(self) -> int:
        """Pairs that share all their shingles, or are at no distance."""
        same = self.pair_distances <= 0 if self.by_distance else self.pair_similarities >= 1
        return int(np.count_nonzero(same))

    @property
    def floor(self) -> float:
        """The similarity down to which pairs were looked for, and for which the plan was made."""
        return self.sketched.threshold if self.sketched else self.recorded.options.least

    @cached_property
    def distances(self) -> list[Bin]:
        """Pairs by distance, equal ones too: of bits a bin each."""
        reach = self.ceiling
        if self.measure == "bits":
            apart = self.pair_distances.astype(np.int64)
            # More may have been asked for than a code has bits: those are no bins.
            most = min(int(reach), self.plan.bits) if isinstance(self.plan, CodeJoinPlan) else int(reach)
            counts = np.bincount(apart, minlength=most + 1)
            return [Bin(bits - 0.5, bits + 0.5, int(count)) for bits, count in enumerate(counts)]
        counts, edges = np.histogram(self.pair_distances, _MOST_BINS // 2, (0.0, max(reach, 1e-9)))
        return [Bin(float(edges[i]), float(edges[i + 1]), int(count)) for i, count in enumerate(counts)]

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
        return self.sketched.p_found(max(one.middle, self.floor)) if self.sketched else 1.0

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
