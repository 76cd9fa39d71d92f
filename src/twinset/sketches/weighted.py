"""Weighted sets to sketches: k slots of 32 bits, equal in two sets with probability Σ min / Σ max of their weights.

That is weighted Jaccard similarity, and the share of equal slots is an unbiased estimate of it. The method is
DartMinHash (Christiani 2020): its work grows with the elements plus k log k, where Ioffe's consistent weighted sampling
(2010) takes k steps for every element. Weights may be of any size. What a set's sketch is depends on its elements and
their weights only, not on their order and not on other sets.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from twinset.errors import OptionError
from twinset.schema import Hashes, Shares, Sketches, WeightedSets
from twinset.sketches import weighted_kernels as kernels

_ROUNDS = 6  # each doubles the ranks; without a dart in some slot after the last there is none in 10^25 sets


def weighted_sketch(sets: WeightedSets, n_hashes: int, seed: int) -> Sketches:
    """One sketch of `n_hashes` 32-bit slots for each set; a set without elements has empty slots.

    Parameters
    ----------
    sets
        Elements and their weights, all above 0 and finite, each element once in a set.
    n_hashes
        Slots of a sketch.
    seed
        Other seeds give other darts.

    Examples
    --------
    >>> import numpy as np
    >>> hashes = np.array([7, 8, 9, 9, 8, 7], np.uint64)
    >>> sets = WeightedSets(np.array([0, 3, 6]), hashes, np.array([0.5, 2, 1e9, 1e9, 2, 0.5]))
    >>> both = weighted_sketch(sets, n_hashes=16, seed=1)
    >>> bool((both[0] == both[1]).all())
    True
    """
    if len(sets.weights) and not (sets.weights.min() > 0 and sets.weights.max() < math.inf):
        raise OptionError(
            f"weights are {sets.weights.min():g} to {sets.weights.max():g}; allowed: finite numbers above 0"
        )
    sketches = np.empty((len(sets.offsets) - 1, n_hashes), np.uint32)
    chances, bounds = _rounds(n_hashes)
    bits = sets.weights.view(np.uint64)
    kernels.darts(sets.hashes, bits, sets.offsets, np.uint64(seed), chances, bounds, sketches)
    return sketches


@lru_cache(maxsize=16)
def _rounds(n_hashes: int) -> tuple[Hashes, Shares]:
    """Up to which rank darts are thrown, by round and by eighth of the total's octave, and their chances by octave.

    k (ln k + 3) darts leave no slot empty with probability 0.95.
    """
    darts = n_hashes * (math.log(n_hashes) + 3.0)
    bounds = np.array([darts * 2**turn / (1 + eighth / 8) for turn in range(_ROUNDS) for eighth in range(8)])
    depths = np.arange(kernels.DEEPEST + 1)
    chance = -np.expm1(-bounds[:, None] * 0.5**depths)
    # A little more than the chance: what is thrown in vain is left out by its rank.
    chances: Hashes = np.minimum(chance * (1 + 1e-9) * 2.0**64, 2.0**64 - 2048).astype(np.uint64)
    return chances, bounds
