"""MinHash sketches: `fss` (fast similarity sketching, the default) and `kperm` (k permutations, the textbook's)."""

import math

import numpy as np

from twinset.compiled.bytes_kernels import random_words
from twinset.schema import Numbers, Places, Shares, Shingles, Sketches
from twinset.sketches import minhash_kernels


def sketch(shingles: Shingles, method: str, n_hashes: int, seed: int, out: Sketches | None = None) -> Sketches:
    """Sketch each row of `shingles` by `n_hashes` 32-bit slots; with `out`, write to its rows `shingles.rows`.

    Examples
    --------
    >>> import numpy as np
    >>> sets = Shingles(np.arange(2), np.array([0, 3, 6]), np.array([7, 8, 9, 9, 8, 7], np.uint64))
    >>> both = sketch(sets, "fss", n_hashes=16, seed=1)
    >>> bool((both[0] == both[1]).all())
    True
    """
    if out is None:
        rows = np.arange(len(shingles.rows))
        out = np.empty((len(rows), n_hashes), np.uint32)
    else:
        rows = shingles.rows
    if method == "kperm":
        minhash_kernels.kperm(shingles.hashes, shingles.offsets, rows, _salts(n_hashes, seed), out)
    else:
        minhash_kernels.fss(shingles.hashes, shingles.offsets, rows, np.empty(minhash_kernels.AT_ONCE, np.uint64), out)
    return out


def _salts(n_hashes: int, seed: int) -> Sketches:
    """One salt per slot: the upper half of a word before the last step of SplitMix64, which is undone here."""
    words = random_words(n_hashes, seed)
    return ((words >> np.uint64(32)) ^ (words >> np.uint64(63))).astype(np.uint32)


def estimate(left: Sketches, right: Sketches) -> float:
    """Share of equal slots: an unbiased estimate of Jaccard similarity."""
    return float(minhash_kernels.agreeing(left, right)) / len(left)


def standard_error(similarity: float, n_hashes: int) -> float:
    """Standard error of `estimate` at a similarity, for independent slots; `fss` does no worse."""
    return math.sqrt(similarity * (1.0 - similarity) / n_hashes)


def standard_errors(shared: Numbers, n_hashes: int) -> Shares:
    """Standard errors of estimates of unknown similarity, from the number of equal slots.

    Half a slot is added to the equal ones and to the others, so that estimates of 1 and 0 have an error too.

    Examples
    --------
    >>> import numpy as np
    >>> standard_errors(np.array([128, 64], np.uint32), 128).round(4).tolist()
    [0.0055, 0.0442]
    """
    likely = (shared + 0.5) / (n_hashes + 1.0)
    return np.sqrt(likely * (1.0 - likely) / n_hashes)


def merged(sketches: Sketches, groups: Places, n_groups: int) -> Sketches:
    """Merge sketches of one scheme by group, slot by slot: the sketch of the union of the group's sets.

    sketches: uint32 (n, n_hashes).
    groups: the group of each set, from 0 to n_groups - 1, int64.
    n_groups: number of groups; one without sets has an empty sketch.

    Examples
    --------
    >>> import numpy as np
    >>> sets = Shingles(np.arange(3), np.array([0, 2, 3, 6]), np.array([7, 8, 9, 9, 8, 7], np.uint64))
    >>> one, other, both = sketch(sets, "fss", n_hashes=16, seed=1)
    >>> bool((merged(np.stack([one, other]), np.array([0, 0]), 1)[0] == both).all())
    True
    """
    out = np.full((n_groups, sketches.shape[1]), minhash_kernels.EMPTY, np.uint32)
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    firsts = np.flatnonzero(np.diff(ordered, prepend=-1))
    if len(firsts):
        out[ordered[firsts]] = np.minimum.reduceat(sketches[order], firsts, axis=0)
    return out
