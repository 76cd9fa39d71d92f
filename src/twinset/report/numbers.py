"""Counts of a result for the report page."""

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
from twinset.schema import limited_columns, limited_score
from twinset.wording import DIGITS, MARGIN, counted, share

Whole = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]

SCALE = 10**DIGITS
"""Similarities are sent to the page as integer ten-thousandths, rounded as by `wording.share`."""

_WIDTHS = (0.001, 0.002, 0.005, 0.01, 0.02)
_MOST_BINS = 40
_BEYOND = 1.25  # distances this factor beyond the threshold are drawn as no resemblance
_NOUNS = {
    "records": "record", "items": "set", "groups": "set", "weighted": "set", "codes": "code", "vectors": "vector",
    "sparse": "vector", "images": "picture",
}  # fmt: skip
_SIZES = (2, 3, 4, 5, 6, 11, 21, 51, 101, 1001, 10_001)


@dataclass(frozen=True)
class Bin:
    """Pairs whose similarity, or distance, is from `low` up to below `high`."""

    low: float
    high: float
    count: int

    @property
    def middle(self) -> float:
        """Score that represents the bin."""
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class SizeClass:
    """Clusters of `least` to `most` documents, including the kept one; `most` is None in the last class."""

    least: int
    most: int | None
    clusters: int
    removed: int

    @property
    def label(self) -> str:
        """Label of the class."""
        if self.most is None:
            return f"{self.least:,} and more"
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


class Numbers:
    """Counts of a result, from its tables; clusters are ordered by their first removed document."""

    def __init__(self, recorded: StoredResult) -> None:
        self.recorded, self.summary, self.plan = recorded, recorded.summary, recorded.plan
        removed = recorded.removed
        coded = pc.dictionary_encode(removed["because_of"].combine_chunks())
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        self.kept_ids: pa.Array = coded.dictionary
        self.cluster_of: Whole = np.asarray(coded.indices).astype(np.int64)
        self.measure = recorded.options.measure
        column = "in_kept" if self.contained else self.score
        self.scores: Shares = np.asarray(removed[column]).astype(np.float64)
        self.similarity: Shares = self.closeness(self.scores)

    @property
    def by_distance(self) -> bool:
        """Whether pairs have a distance instead of a similarity."""
        return self.measure in ("bits", "distance")

    @property
    def contained(self) -> bool:
        """Whether pairs were found by containment."""
        return self.measure == "containment"

    @property
    def score(self) -> str:
        """Name of the score of pairs."""
        return "distance" if self.by_distance else "containment" if self.contained else "similarity"

    def score_of(self, pair: dict[str, Any]) -> float:
        """Return the score of a missed pair."""
        if self.contained:
            return float(max(pair["left_in_right"], pair["right_in_left"]))
        return float(pair[self.score])

    @property
    def noun(self) -> str:
        """Noun for an item."""
        return _NOUNS.get(self.recorded.options.item_kind, "document")

    @property
    def reach(self) -> float:
        """Maximum distance of a pair that removed something."""
        return self.recorded.options.reach

    @property
    def ceiling(self) -> float:
        """Maximum distance of the search."""
        return self.recorded.options.farthest

    @property
    def sketched(self) -> Plan | None:
        """The plan of sketches and bands; None for other kinds of items."""
        return self.plan if isinstance(self.plan, Plan) else None

    def closeness(self, scores: Shares) -> Shares:
        """Scores from 0 to 1, for sorting and bars: similarities unchanged."""
        if not self.by_distance:
            return scores
        return np.where(scores == 0, 1.0, np.clip(1 - scores / (_BEYOND * max(self.reach, 1e-9)), 0.0, 0.9999))

    def format_score(self, score: float) -> str:
        """Format a score."""
        if self.measure == "bits":
            return counted(round(score), "bit")
        return f"{score:.4g}" if self.by_distance else share(score, limit=self.recorded.options.threshold)

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return len(self.kept_ids)

    @cached_property
    def sizes(self) -> Whole:
        """Number of documents of each cluster, including the kept one."""
        return np.bincount(self.cluster_of, minlength=self.clusters).astype(np.int64) + 1

    @cached_property
    def least(self) -> Shares:
        """Closeness of the least similar removed document of each cluster."""
        least = np.ones(self.clusters)
        np.minimum.at(least, self.cluster_of, self.similarity)
        return least

    @cached_property
    def farthest(self) -> Shares:
        """Maximum distance of a removed document of each cluster."""
        most = np.zeros(self.clusters)
        np.maximum.at(most, self.cluster_of, self.scores)
        return most

    def largest(self, count: int) -> list[int]:
        """The largest clusters, ties by number."""
        order: list[int] = np.argsort(-self.sizes, kind="stable")[:count].tolist()
        return order

    def doubtful(self, count: int) -> list[int]:
        """The clusters with the least similar removed documents, except those of identical documents only."""
        order = np.argsort(self.least, kind="stable")[:count]
        clusters: list[int] = order[self.least[order] < 1].tolist()
        return clusters

    @cached_property
    def pair_similarities(self) -> Shares:
        """Similarity, or containment, of every scored pair."""
        table = self.recorded.pairs
        return limited_score({name: np.asarray(table[name]) for name in limited_columns(self.measure)}, self.measure)

    @cached_property
    def pair_distances(self) -> Shares:
        """Distance of every scored pair, if pairs have one."""
        return np.asarray(self.recorded.pairs["distance"]).astype(np.float64)

    @property
    def identical(self) -> int:
        """Number of pairs that share all shingles, or have distance 0; with containment, all of the smaller one."""
        same = self.pair_distances <= 0 if self.by_distance else self.pair_similarities >= 1
        return int(np.count_nonzero(same))

    @property
    def floor(self) -> float:
        """Minimum similarity of the search, which the plan was made for."""
        return self.sketched.threshold if self.sketched else self.recorded.options.least

    @cached_property
    def distances(self) -> list[Bin]:
        """Pairs by distance, including equal ones; for codes, one bin per bit."""
        reach = self.ceiling
        if self.measure == "bits":
            apart = self.pair_distances.astype(np.int64)
            # The requested distance may exceed the bits of a code.
            most = min(int(reach), self.plan.bits) if isinstance(self.plan, CodeJoinPlan) else int(reach)
            counts = np.bincount(apart, minlength=most + 1)
            return [Bin(bits - 0.5, bits + 0.5, int(count)) for bits, count in enumerate(counts)]
        counts, edges = np.histogram(self.pair_distances, _MOST_BINS // 2, (0.0, max(reach, 1e-9)))
        return [Bin(float(edges[i]), float(edges[i + 1]), int(count)) for i, count in enumerate(counts)]

    @cached_property
    def histogram(self) -> list[Bin]:
        """Pairs by similarity, identical ones excluded."""
        different = self.pair_similarities[self.pair_similarities < 1]
        lowest = min(self.floor, float(different.min(initial=1.0)))
        width = next((one for one in _WIDTHS if (1 - lowest) / one <= _MOST_BINS), _WIDTHS[-1])
        per = round(1 / width)
        first = min(int(lowest * per + 1e-9), per - 1)
        # Bins are numbered by the same product, so that a pair exactly at a border is above it.
        places = np.clip((different * per + 1e-9).astype(np.int64), first, per - 1) - first
        counts = np.bincount(places, minlength=per - first)
        return [Bin((first + i) / per, (first + i + 1) / per, int(count)) for i, count in enumerate(counts)]

    @cached_property
    def expected_missed(self) -> float:
        """Expected number of missed pairs like those found: the sum of 1/P(found) - 1."""
        lost = (one.count * (1 / probability - 1) for one in self.histogram if (probability := self._p_found(one)) > 0)
        return float(sum(lost))

    def _p_found(self, one: Bin) -> float:
        return self.sketched.p_found(max(one.middle, self.floor)) if self.sketched else 1.0

    @cached_property
    def size_classes(self) -> list[SizeClass]:
        """Number of clusters by size."""
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
        """Result of the audit; None if it was off."""
        audit_result: dict[str, Any] | None = self.summary.get("audit")
        return audit_result


def scaled(values: Shares, limit: float | None = None) -> list[int]:
    """Shares as integer ten-thousandths, rounded as by `wording.share`.

    Examples
    --------
    >>> scaled(np.array([0.8, 65 / 75, 0.99999, 1.0])), scaled(np.array([0.66666]), limit=0.6667)
    ([8000, 8667, 9999, 10000], [6666])
    """
    units, below = np.floor(values * SCALE + 0.5), np.floor(values * SCALE + MARGIN)
    crosses = (units > below) & (units % (SCALE // 1000) == 0)
    if limit is not None:
        crosses |= (values < limit) & (limit <= (units + MARGIN) / SCALE)
    numbers: list[int] = np.where(crosses, below, units).astype(np.int64).tolist()
    return numbers
