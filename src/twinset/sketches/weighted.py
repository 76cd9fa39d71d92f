"""Sketches of weighted sets: k slots of 32 bits, equal in two sets with probability Σ min / Σ max of their weights.

That is weighted Jaccard similarity, and the share of equal slots is an unbiased estimate of it. The method is
DartMinHash (Christiani 2020): its work grows with the elements plus k log k, where Ioffe's consistent weighted sampling
(2010) takes k steps for every element. Weights may be of any size. A sketch depends only on the elements and weights of
its set.
"""

import math
from functools import lru_cache

import numpy as np

from twinset.errors import OptionError
from twinset.schema import Hashes, Shares, Sketches, WeightedSets
from twinset.sketches import weighted_kernels as kernels

_ROUNDS = 6  # each doubles the ranks; after the last, a slot is empty in fewer than one of 10^25 sets


def weighted_sketch(sets: WeightedSets, n_hashes: int, seed: int) -> Sketches:
    """Sketch each set by `n_hashes` 32-bit slots; an empty set has empty slots.

    sets: elements, unique in a set, and their weights, above 0 and finite.
    n_hashes: slots of a sketch.
    seed: of the darts.

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
    """Maximum rank of darts by round and eighth of the total's octave, and their probabilities by octave.

    k (ln k + 3) darts leave no slot empty with probability 0.95.
    """
    darts = n_hashes * (math.log(n_hashes) + 3.0)
    bounds = np.array([darts * 2**turn / (1 + eighth / 8) for turn in range(_ROUNDS) for eighth in range(8)])
    depths = np.arange(kernels.DEEPEST + 1)
    chance = -np.expm1(-bounds[:, None] * 0.5**depths)
    # Rounded up: superfluous darts are rejected by their rank.
    chances: Hashes = np.minimum(chance * (1 + 1e-9) * 2.0**64, 2.0**64 - 2048).astype(np.uint64)
    return chances, bounds
