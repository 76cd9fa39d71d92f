"""Metrics at every threshold from the scored pairs of one run, and the share found at every similarity."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.evaluation.metrics import DEFINITIONS, Overlap, PairCounts
from twinset.evaluation.true_pairs import MOST_SAMPLED, ExactPairs, ScoredPairs, TruePairs
from twinset.plan import Plan
from twinset.plan.containment import ContainmentPlan
from twinset.schema import Flags, Numbers

Values = npt.NDArray[np.float64]

COLUMNS = (
    *("threshold", "found_pairs", "true_pairs", "true_pairs_found", "precision", "recall", "f1"),
    *("reduction_ratio", "found_clusters", "true_clusters", "exact_set_accuracy", "adjusted_rand"),
    *("b_cubed_precision", "b_cubed_recall", "b_cubed_f1"),
)
BIN_COLUMNS = ("low", "high", "similarity", "pairs", "found", "share", "share_low", "share_high", "expected")
BINS = 20
_Z = 1.959963984540054  # 97.5 % quantile of the normal distribution
_CUTS = 200  # thresholds of the curves, besides the requested ones

TRUE_PAIRS = {
    "pairs": "The pairs that the truth lists; true clusters are their connected components.",
    "clusters": "All pairs of documents in one true cluster; documents that the truth does not name are singletons.",
    "exact": "All pairs whose exact similarity reaches the threshold, by the exact join; true clusters are built from "
    "them as in a run. So precision is 1 wherever a pair was found.",
}
TRUE_BETWEEN = {
    "pairs": "The pairs that the truth lists, of two documents on different sides.",
    "clusters": "All pairs of documents on different sides in one true cluster.",
    "exact": "All pairs of documents on different sides whose exact similarity reaches the threshold, by the exact "
    "join. So precision is 1 wherever a pair was found.",
}
"""The true pairs where one source is compared against another."""
BETWEEN = {
    "found_pairs": "Pairs found whose exact similarity is at least the threshold, of two documents on different sides.",
    "reduction_ratio": "Share of all pairs between the two sides that need no further comparison: 1 − pairs found / "
    "(documents of one side × documents of the other). The recall of pairs beside it is their pair completeness. Null "
    "where a side has no documents.",
}
"""Definitions that differ where one source is compared against another."""
WORDS = {
    "found_pairs": "Pairs found whose exact similarity is at least the threshold, identical documents included.",
    "true_pairs_found": "Pairs that are both found and true.",
    "found_clusters": "Clusters of two documents or more that dedup would make of the pairs found.",
    "true_clusters": "True clusters of two documents or more.",
    **DEFINITIONS,
    "share": "Share of the true pairs of different documents in a range of similarity that shared a band and were "
    "compared: such a pair is reported at any threshold that it reaches. share_low and share_high are the ends of a "
    "95 % Wilson interval, widened because pairs connected through documents are found or missed together. "
    f"Of more than {MOST_SAMPLED:,} true pairs this many are compared, at even steps through their list.",
    "expected": "The share that the plan's S-curve expects of the same pairs.",
}


@dataclass(frozen=True)
class SampledPairs:
    """True pairs of different contents: exact similarity, whether each became a candidate, and its family.

    Pairs connected through documents have the same family.
    """

    similarity: Values
    found: Flags
    family: Numbers


def measures(
    found: ScoredPairs, known: TruePairs, thresholds: tuple[float, ...], method: str | None, readable: Flags,
    border: int | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Compute the metrics at each threshold by cutting the pairs found.

    found: the pairs of one run at or below the lowest threshold.
    method: how clusters are made of them; None where they make none.
    border: the first document of the source compared against; pairs between two sides make no clusters, so their
        columns are None.
    Returns one row per threshold, with the columns of `COLUMNS`.
    """
    true = known.holds(found.left, found.right)
    every = _pairs_of(readable, border)
    rows = []
    for threshold in thresholds:
        counts = _counts(found, true, known, threshold)
        values: list[Any] = [
            *(threshold, counts.found, counts.true, counts.both, counts.precision, counts.recall, counts.f1),
            1 - counts.found / every if every else None,
        ]
        if border is None and method is not None:
            clusters = found.clusters(len(readable), threshold, method)[readable]
            overlap = Overlap.of(clusters, known.clusters(threshold)[readable])
            values += (_several(overlap.found_sizes), _several(overlap.true_sizes))
            values += (overlap.exact_set_accuracy(), overlap.adjusted_rand(), *overlap.b_cubed())
        rows.append({**dict.fromkeys(COLUMNS), **dict(zip(COLUMNS, values, strict=False))})
    return rows


def _counts(found: ScoredPairs, true: Flags, known: TruePairs, threshold: float) -> PairCounts:
    enough = found.similarity >= threshold
    return PairCounts(int(np.count_nonzero(enough)), known.count(threshold), int(np.count_nonzero(enough & true)))


def _pairs_of(readable: Flags, border: int | None) -> int:
    """Count all pairs of documents; with a border, those across it."""
    documents = int(np.count_nonzero(readable))
    if border is None:
        return documents * (documents - 1) // 2
    own = int(np.count_nonzero(readable[:border]))
    return own * (documents - own)


def _several(sizes: npt.NDArray[np.int64]) -> int:
    return int(np.count_nonzero(sizes > 1))


def curves(found: ScoredPairs, known: TruePairs, floor: float) -> list[dict[str, Any]]:
    """Return precision, recall and F1 of pairs at many thresholds from the floor to 1, for plots."""
    true = known.holds(found.left, found.right)
    cuts = np.linspace(floor, 1.0 if floor > 0 else 0.0, _CUTS + 1)
    every, right = np.sort(found.similarity), np.sort(found.similarity[true])
    exact = np.sort(known.pairs.similarity) if isinstance(known, ExactPairs) else None
    rows = []
    for cut in cuts.tolist():
        total = _from(exact, cut) if exact is not None else known.count(cut)
        counts = PairCounts(_from(every, cut), total, _from(right, cut))
        rows.append({"threshold": abs(cut), "precision": counts.precision, "recall": counts.recall, "f1": counts.f1})
    return rows


def _from(ordered: Values, cut: float) -> int:
    return len(ordered) - int(np.searchsorted(ordered, cut, side="left"))


def shares(sampled: SampledPairs, plan: Any, lowest: float = 0.0, verified: bool = False) -> list[dict[str, Any]]:
    """Return the share of true pairs found per range of similarity, beside what the plan expects.

    Where found means `verified`, only pairs from the `lowest` threshold on count. Distances have no such ranges.

    Examples
    --------
    >>> import numpy as np
    >>> from twinset.plan import plan
    >>> pairs = SampledPairs(np.array([0.81, 0.82, 0.97]), np.array([True, False, True]), np.arange(3))
    >>> [(row["low"], row["pairs"], row["share"]) for row in shares(pairs, plan(0.8))]
    [(0.8, 2, 0.5), (0.95, 1, 1.0)]
    """
    # Probabilities of vectors are simulated one by one.
    grid = np.linspace(0, 1, 1001) if isinstance(plan, (Plan, ContainmentPlan)) else np.linspace(lowest, 1, 41)
    if verified:
        enough = sampled.similarity >= lowest
        sampled = SampledPairs(sampled.similarity[enough], sampled.found[enough], sampled.family[enough])
    curve = np.array([plan.p_found(float(at)) for at in grid])
    expected = np.interp(sampled.similarity, grid, curve)
    # A range includes its lower end; 1 belongs to the last. The margin is for rounding: 0.15 × 20 is below 3.
    bins = np.minimum((sampled.similarity * BINS + 1e-9).astype(np.int64), BINS - 1)
    rows = []
    for number in np.unique(bins).tolist():
        in_range = bins == number
        pairs, found_pairs = int(in_range.sum()), int(sampled.found[in_range].sum())
        low, high = interval(sampled.found[in_range], sampled.family[in_range])
        ends = (number / BINS, (number + 1) / BINS, float(sampled.similarity[in_range].mean()))
        values = (*ends, pairs, found_pairs, found_pairs / pairs, low, high, float(expected[in_range].mean()))
        rows.append(dict(zip(BIN_COLUMNS, values, strict=True)))
    return rows


def interval(found: Flags, family: Numbers) -> tuple[float, float]:
    """Return a 95 % interval of the share found, where pairs of one family are found or missed together.

    The variance of the share is taken over families, not over pairs, with Student's factor for their number. Wilson's
    interval then uses the equivalent number of independent pairs. With all found or none, each family counts as one
    pair.

    Examples
    --------
    >>> import numpy as np
    >>> nine = np.arange(10) < 9
    >>> [round(end, 4) for end in interval(nine, np.arange(10))]
    [0.5234, 0.9866]
    >>> [round(end, 4) for end in interval(nine, np.zeros(10))]
    [0.1677, 0.9975]
    """
    _, place = np.unique(family, return_inverse=True)
    pairs, hits = np.bincount(place).astype(np.float64), np.bincount(place, found)
    families, total = len(pairs), float(pairs.sum())
    share = float(hits.sum()) / total
    independent = float(families)
    if families > 1 and 0 < share < 1:
        varied = families / (families - 1) * float(((hits - share * pairs) ** 2).sum()) / total**2
        independent = min(total, share * (1 - share) / varied) if varied > 0 else independent
        independent *= (_Z / _student(families - 1)) ** 2  # the variance is estimated from the families
    return wilson(share, independent)


def wilson(share: float, count: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share of `count` trials.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(0.9, 10)]
    [0.5958, 0.9821]
    """
    spread = _Z * _Z / count
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    # At the ends the formula gives 0 and 1 up to rounding.
    return (0.0 if share == 0 else middle - half), (1.0 if share == 1 else middle + half)


def _student(degrees: int) -> float:
    """Student's factor for 95 %, by the Cornish-Fisher series."""
    first = (_Z**3 + _Z) / 4
    second = (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96
    third = (3 * _Z**7 + 19 * _Z**5 + 17 * _Z**3 - 15 * _Z) / 384
    return _Z + first / degrees + second / degrees**2 + third / degrees**3
