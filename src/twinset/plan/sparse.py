"""The plan of an exact search of sparse vectors, which has nothing to choose."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SparsePlan:
    """The plan of an exact search.

    threshold: the minimum cosine; None for any.
    columns: columns with a number in any vector, or up to the last of them.
    top: number of neighbours; None for all pairs.

    Examples
    --------
    >>> print(SparsePlan(0.8, columns=30_000))
    exact, by lists of rare columns: every pair at cosine 0.8 is found
    """

    threshold: float | None
    columns: int
    top: int | None = None

    def __str__(self) -> str:
        if self.top is None:
            return f"exact, by lists of rare columns: every pair at cosine {self.threshold:g} is found"
        end = "" if self.threshold is None else f" with a cosine of at least {self.threshold:g}"
        return f"exact, by lists of columns: the {self.top} nearest of each vector{end}"

    @property
    def reached(self) -> float:
        """The probability that a pair exactly at the threshold is found."""
        return 1.0

    def p_found(self, cosine: float) -> float:
        """Return the probability that a pair of this cosine is found."""
        return 1.0

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as plain values, ready for JSON."""
        limits = {"threshold": self.threshold, "columns": self.columns, "top": self.top}
        return {"measure": "cosine", "method": "exact", **limits, "reached": self.reached}
