"""Choose bands for existing sketches.

A pair is wanted if its *estimate* reaches the threshold, that is, if at least m of the k slots agree, anywhere. The
probability that they fill a whole band has a bound that does not depend on how the sketches were made.
"""

import math
import warnings
from dataclasses import asdict, dataclass
from typing import Any

from twinset.errors import OptionError, PlanWarning
from twinset.wording import counted, share


@dataclass(frozen=True)
class EstimatePlan:
    """Bands for an estimated similarity; without bands (0) every pair is found.

    Examples
    --------
    >>> print(estimate_plan(0.8, 0.99, 128))
    128 hashes, 16 bands × 6 rows: a pair estimated at 0.8 is found with probability 0.9925
    """

    threshold: float
    recall: float
    n_hashes: int
    n_bands: int
    rows_per_band: int

    @property
    def min_matches(self) -> int:
        """The minimum number of equal slots for an estimate at the threshold."""
        return least_matches(self.threshold, self.n_hashes)

    @property
    def exact(self) -> bool:
        """Whether every pair is found."""
        return self.n_bands == 0

    @property
    def reached(self) -> float:
        """A lower bound on the probability that a pair estimated at the threshold is found."""
        if self.exact:
            return 1.0
        return met_probability(self.min_matches, self.n_hashes, self.n_bands, self.rows_per_band)

    def __str__(self) -> str:
        if self.exact:
            return f"bottom-{self.n_hashes}: every pair estimated at {self.threshold:g} and above is found"
        bands, rows = counted(self.n_bands, "band"), counted(self.rows_per_band, "row")
        return (
            f"{counted(self.n_hashes, 'hash', 'hashes')}, {bands} × {rows}: "
            f"a pair estimated at {self.threshold:g} is found with probability {share(self.reached)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as plain values, ready for JSON."""
        return {**asdict(self), "reached": self.reached}


def least_matches(threshold: float, n_hashes: int) -> int:
    """Return the minimum m for which m / n_hashes, as Python divides, reaches the threshold.

    Examples
    --------
    >>> least_matches(0.8, 128), least_matches(0.6, 5)
    (103, 3)
    """
    start = max(1, math.floor(threshold * n_hashes) - 1)
    return next(m for m in range(start, n_hashes + 1) if m / n_hashes >= threshold)


def met_probability(equal: int, n_hashes: int, n_bands: int, rows: int) -> float:
    """Return a lower bound on the probability that some band is equal, given `equal` equal slots anywhere.

    One band is equal with probability m/k · (m-1)/(k-1) · … (r factors). Unequal bands leave more equal slots to the
    others, so the product of their probabilities bounds that of all bands being unequal (negative association).

    Examples
    --------
    >>> round(met_probability(103, 128, 16, 6), 4), met_probability(128, 128, 1, 128)
    (0.9925, 1.0)
    """
    if equal > n_hashes - n_bands:
        return 1.0  # fewer unequal slots than bands
    one = math.exp(math.fsum(math.log((equal - i) / (n_hashes - i)) for i in range(rows))) if equal >= rows else 0.0
    return -math.expm1(n_bands * math.log1p(-one)) if one < 1.0 else 1.0


def estimate_plan(
    threshold: float, recall: float, n_hashes: int, n_bands: int | None = None, rows: int | None = None
) -> EstimatePlan:
    """Choose the maximum rows, then the minimum bands, that reach the recall with sketches of a given size."""
    if (n_bands or 1) * (rows or 1) > n_hashes:
        raise OptionError(
            f"n_bands × rows_per_band is {n_bands or 1} × {rows or 1}, more than the sketches have hashes, {n_hashes}; "
            "use fewer bands or rows"
        )
    equal = least_matches(threshold, n_hashes)
    for band_rows in [rows] if rows else range(min(equal, n_hashes // (n_bands or 1)), 0, -1):
        max_bands = n_bands or n_hashes // band_rows
        if met_probability(equal, n_hashes, max_bands, band_rows) < recall:
            continue
        low, high = (max_bands, max_bands) if n_bands else (1, max_bands)
        while low < high:
            middle = (low + high) // 2
            if met_probability(equal, n_hashes, middle, band_rows) >= recall:
                high = middle
            else:
                low = middle + 1
        return EstimatePlan(threshold, recall, n_hashes, low, band_rows)
    plan = EstimatePlan(threshold, recall, n_hashes, n_bands or n_hashes // (rows or 1), rows or 1)
    warnings.warn(
        PlanWarning(f"{plan}: less than the requested recall, {recall:g}; leave out --bands and --rows"), stacklevel=3
    )
    return plan
