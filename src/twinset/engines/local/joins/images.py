"""Join of pictures by colour layout: the nearest of each picture, found by comparing all with all."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from twinset.engines.local.joins.in_memory import Sink
from twinset.engines.local.joins.vectors import VectorJoin
from twinset.pairs.vectors import every_nearest
from twinset.schema import Numbers

_QUERIES = 256  # compared at a time
_BYTES_A_PICTURE = 512  # its vector, a copy for the products, and its numbers


@dataclass(frozen=True)
class LayoutPlan:
    """The plan of an exact search for the nearest of each picture.

    Attributes
    ----------
    top, distance
        Neighbours of each picture, and their maximum distance; None for any.

    Examples
    --------
    >>> print(LayoutPlan(10, None))
    exact, all compared with all: the 10 nearest of each picture
    """

    top: int
    distance: float | None

    def __str__(self) -> str:
        within = "" if self.distance is None else f" within {self.distance:g}"
        return f"exact, all compared with all: the {self.top} nearest of each picture{within}"

    @property
    def reached(self) -> float:
        """The probability that one of the nearest is found."""
        return 1.0

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as plain values, ready for JSON."""
        return {"top": self.top, "distance": self.distance, "reached": 1.0}


class LayoutJoin(VectorJoin):
    """The nearest colour layouts of each: float32 (n, 33)."""

    @property
    def exact(self) -> bool:
        """Whether no pair can be missed."""
        return True

    def _allocate(self, counts: Numbers) -> None:
        super()._allocate(counts // 4)

    def _needed_bytes(self, counts: Numbers) -> int:
        return len(counts) * _BYTES_A_PICTURE

    def _make_plan(self) -> LayoutPlan:  # type: ignore[override]
        options = self.options
        self._top = options.top or 1
        return LayoutPlan(self._top, options.distance)

    def _join(self, sink: Sink) -> None:
        """Pair each picture with its nearest on the other side, or among all others."""
        border = self.border
        queries = len(self.vectors) if border is None else border
        others, shift = (self.vectors, 0) if border is None else (self.vectors[border:], border)

        def work(start: int) -> None:
            rows = np.arange(start, min(start + _QUERIES, queries))
            top = self._top + (border is None)
            numbers, distances, counts = every_nearest(self.vectors[rows], others, top, "distance")
            present = np.arange(numbers.shape[1]) < counts[:, None]
            lefts = np.broadcast_to(rows[:, None], numbers.shape)[present]
            rights, scores = numbers[present].astype(np.int64) + shift, distances[present]
            near = (lefts != rights) & (scores <= self.limit)
            lefts, rights = np.minimum(lefts, rights)[near], np.maximum(lefts, rights)[near]
            sink(lefts.astype(np.uint32), rights.astype(np.uint32), self._codes(scores[near]))

        self.work.threads.run(work, range(0, queries, _QUERIES))
        self.compared = queries * len(others) if border is not None else queries * (queries - 1) // 2
