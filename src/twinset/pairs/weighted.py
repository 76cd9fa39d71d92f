"""Candidates to pairs of weighted sets: weighted Jaccard similarity, Σ min / Σ max, of the sets themselves.

A set is its elements and their weights. An element that a set does not have has the weight 0 there, so that with all
weights 1 this is the Jaccard similarity of sets. The share of a set that another has is Σ min by its own total weight.
Sums are taken in the order of the hashes and lose nothing by rounding but the last bit, so that they depend neither on
the order in which elements came nor on which set is the left one.
"""

from __future__ import annotations

import numpy as np

from twinset.pairs import weighted_kernels as kernels
from twinset.schema import Numbers, Shares, WeightedSets


def totals(sets: WeightedSets) -> Shares:
    """The total weight of each set.

    Examples
    --------
    >>> import numpy as np
    >>> totals(WeightedSets(np.array([0, 2, 2]), np.array([7, 9], np.uint64), np.array([1, 3.5]))).tolist()
    [4.5, 0.0]
    """
    found = np.empty(len(sets.offsets) - 1, np.float64)
    kernels.totals(sets.weights, sets.offsets, found)
    return found


def overlaps(
    sets: WeightedSets, sums: Shares, lefts: Numbers, rights: Numbers, threshold: float
) -> tuple[Shares, Shares]:
    """Compare pairs of sets: their common weight, Σ min, and their similarity, Σ min / Σ max.

    Parameters
    ----------
    sets
        Each with every element once, ascending by hash, and none of weight 0.
    sums
        Their `totals`.
    lefts, rights
        uint32: which sets.
    threshold
        Where the similarity is below it, both are 0; such a pair is given up as soon as that is certain. With 0 every
        overlap is summed.

    Returns
    -------
    tuple of ndarray
        float64: the common weight and the similarity of each pair. Containment is the common weight by the set's own
        total.

    Examples
    --------
    >>> import numpy as np
    >>> offsets, hashes = np.array([0, 2, 4]), np.array([7, 9, 7, 8], np.uint64)
    >>> sets = WeightedSets(offsets, hashes, np.array([1.0, 2, 3, 1]))
    >>> shared, similarity = overlaps(sets, totals(sets), np.array([0], np.uint32), np.array([1], np.uint32), 0.0)
    >>> shared.tolist(), similarity.tolist()
    ([1.0], [0.16666666666666666])
    """
    shared, similarity = np.empty(len(lefts), np.float64), np.empty(len(lefts), np.float64)
    kernels.overlaps(lefts, rights, sets.offsets, sets.hashes, sets.weights, sums, threshold, shared, similarity)
    return shared, similarity
