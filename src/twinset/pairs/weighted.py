"""Exact weighted Jaccard similarity of candidate pairs: Σ min / Σ max of the weights.

An absent element has weight 0, so that with all weights 1 this is the Jaccard similarity of sets. Containment is Σ min
divided by the set's own total. Compensated sums in hash order depend neither on the order of the elements nor on which
set is the left one.
"""

import numpy as np

from twinset.pairs import weighted_kernels as kernels
from twinset.schema import Numbers, Places, Scores, Shares, WeightedSets


def totals(sets: WeightedSets) -> Shares:
    """Total weight of each set.

    Examples
    --------
    >>> import numpy as np
    >>> totals(WeightedSets(np.array([0, 2, 2]), np.array([7, 9], np.uint64), np.array([1, 3.5]))).tolist()
    [4.5, 0.0]
    """
    sums = np.empty(len(sets.offsets) - 1, np.float64)
    kernels.totals(sets.weights, sets.offsets, sums)
    return sums


def overlaps(
    sets: WeightedSets, sums: Shares, lefts: Numbers, rights: Numbers, threshold: float
) -> tuple[Shares, Shares]:
    """Compare pairs of sets: their common weight, Σ min, and their similarity, Σ min / Σ max.

    sets: elements unique, ascending by hash, with weights above 0.
    sums: their `totals`.
    lefts, rights: positions of the sets, uint32.
    threshold: minimum similarity; below it both results are 0, and the comparison stops early. 0 sums every overlap.
    Returns the common weight and the similarity of each pair, float64.

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


def scores(sets: WeightedSets, sums: Shares, lefts: Places, rights: Places) -> Scores:
    """Return all scores of pairs of weighted sets: containment is the share of a set's weight that the other has."""
    shared, similarity = overlaps(sets, sums, lefts.astype(np.uint32), rights.astype(np.uint32), 0.0)
    return scores_of(similarity, shared, sums[lefts], sums[rights])


def scores_of(similarity: Shares, shared: Shares, left: Shares, right: Shares) -> Scores:
    """Return all scores of pairs by their similarity, their common weight and their total weights.

    Examples
    --------
    >>> import numpy as np
    >>> found = scores_of(*(np.array([value]) for value in (0.25, 1.0, 2.0, 3.0)))
    >>> {name: values.round(2).tolist() for name, values in found.items()}
    {'similarity': [0.25], 'left_in_right': [0.5], 'right_in_left': [0.33]}
    """
    return {"similarity": similarity, "left_in_right": shared / left, "right_in_left": shared / right}
