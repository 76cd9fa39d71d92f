"""SimHash codes: 64 or 128 bits whose Hamming distance follows the angle between documents.

A document is a vector with one dimension per shingle, of the shingle's weight. Each bit of the code is the side of a
random hyperplane, so two documents differ in it with probability angle/π. (Charikar: Similarity Estimation Techniques
from Rounding Algorithms, STOC 2002.) The hyperplanes have coordinates +1 and -1 only, so this holds for documents of
some dozen shingles and more, and approximately for fewer.

Weights are the number of occurrences of a shingle, or that times its rarity (tf-idf), which takes a first pass to count
documents; or the weights of the elements of a weighted set.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.compiled.bytes_kernels import random_words
from twinset.errors import OptionError
from twinset.schema import Codes, Hashes, Numbers, Places, Shingles, WeightedSets
from twinset.sketches import simhash_kernels as kernels

BITS = (64, 128)
_ONE = 1024  # votes of a shingle of weight 1: weights are integers, so that sums do not depend on the order
_MOST_PLACES = 1 << 24
_HEAVIEST = 38  # bits of the votes of the heaviest element: a set has fewer than 2^23 elements
_AT_ONCE = 1 << 20


class DocumentFrequencies:
    """Document frequencies of shingles, counted in a hash table without collision handling.

    counts uint32, a power of two of slots, at most and by default 16,777,216; fewer for a given number of `shingles`.
    Colliding shingles are counted as one. Documents without shingles do not count. One thread at a time may `add`;
    tables of the same size that counted different documents are added by `merge`, in any order.

    Examples
    --------
    >>> frequencies = DocumentFrequencies(shingles=1000)
    >>> frequencies.add(Shingles(np.arange(2), np.array([0, 3, 5]), np.array([7, 7, 9, 9, 4], np.uint64)))
    >>> frequencies.documents, frequencies.counts[[4, 7, 9]].tolist()
    (2, [1, 1, 2])
    """

    def __init__(self, shingles: int = _MOST_PLACES) -> None:
        places = 1 << min(_MOST_PLACES.bit_length() - 1, max(10, (2 * shingles).bit_length()))
        self.documents = 0
        self.counts: Numbers = np.zeros(places, np.uint32)

    def add(self, shingles: Shingles) -> None:
        """Count documents, each once."""
        kernels.count_documents(shingles.hashes, shingles.offsets, self.counts, _room(shingles.offsets))
        self.documents += int(np.count_nonzero(np.diff(shingles.offsets)))

    def merge(self, other: "DocumentFrequencies") -> None:
        """Add the counts of another table."""
        if len(other.counts) != len(self.counts):
            raise OptionError(
                f"tables of {len(self.counts)} and of {len(other.counts)} places cannot be merged;"
                " make both for the same number of shingles"
            )
        self.counts += other.counts
        self.documents += other.documents

    def weights(self) -> Numbers:
        """Weight of each slot: ln((1 + documents) / (1 + those that have it)) + 1, in steps of 1/1024."""
        return self._rarities(np.empty_like(self.counts))

    def into_weights(self) -> Numbers:
        """The weights in place of the counts, which are lost: a table is large."""
        weights = self._rarities(self.counts)
        self.counts, self.documents = np.zeros(0, np.uint32), 0
        return weights

    def _rarities(self, out: Numbers) -> Numbers:
        for start in range(0, len(out), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            most = int(self.counts[some].max()) + 1
            every = self._rarity(np.arange(most)) if most <= _AT_ONCE // 8 else None
            out[some] = self._rarity(self.counts[some]) if every is None else every[self.counts[some]]
        return out

    def _rarity(self, counts: npt.NDArray[Any]) -> Numbers:
        rarity = np.log((1.0 + self.documents) / (1.0 + counts)) + 1.0
        weights: Numbers = np.rint(_ONE * rarity).astype(np.uint32)
        return weights


def unrepeated(shingles: Shingles) -> Shingles:
    """Drop repeated shingles of each row, for codes of sets.

    Examples
    --------
    >>> rows = Shingles(np.arange(2), np.array([0, 3, 4]), np.array([7, 9, 7, 7], np.uint64))
    >>> once = unrepeated(rows)
    >>> once.offsets.tolist(), once.hashes.tolist()
    ([0, 2, 3], [7, 9, 7])
    """
    hashes, offsets = np.empty(len(shingles.hashes), np.uint64), np.empty(len(shingles.offsets), np.int64)
    count = kernels.distinct(shingles.hashes, shingles.offsets, _room(shingles.offsets), hashes, offsets)
    return Shingles(shingles.rows, offsets, hashes[:count])


def _room(offsets: Places) -> Hashes:
    """Scratch for the longest of some rows."""
    longest = int(np.diff(offsets).max(initial=0))
    room: Hashes = np.empty(5 * longest + 2, np.uint64)
    return room


def simhash(shingles: Shingles, bits: int = 64, seed: int = 1, weights: Numbers | None = None) -> Codes:
    """Compute the code of each row of `shingles`; a row without shingles has zeros.

    shingles: hashes with repeats (not a bag, whose occurrences have different hashes).
    bits: 64 or 128. The first 64 are the same in both.
    seed: of the hyperplanes.
    weights: `DocumentFrequencies.weights` for tf-idf; by default the number of occurrences.
    Returns uint64 (rows, bits / 64).

    Examples
    --------
    >>> sets = Shingles(np.arange(2), np.array([0, 3, 6]), np.array([7, 8, 9, 9, 8, 7], np.uint64))
    >>> one, other = simhash(sets, bits=128, seed=1)
    >>> one.tolist() == other.tolist()
    True
    """
    if bits not in BITS:
        raise OptionError(f"bits is {bits}; allowed: 64 or 128")
    codes = np.empty((len(shingles.rows), bits // 64), np.uint64)
    salts = random_words(bits // 64, seed)
    if weights is None:
        kernels.by_count(shingles.hashes, shingles.offsets, salts, codes)
    else:
        kernels.by_weight(shingles.hashes, shingles.offsets, salts, weights, codes)
    return codes


def weighted_simhash(sets: WeightedSets, bits: int = 64, seed: int = 1, weights: Numbers | None = None) -> Codes:
    """Compute the code of each weighted set; an empty set has zeros.

    sets: elements, unique in a set, and their weights, above 0 and finite. A common factor of the weights does not
        matter. Elements 2^38 times lighter than the heaviest of their set do not count.
    bits: 64 or 128. The first 64 are the same in both.
    seed: of the hyperplanes.
    weights: `DocumentFrequencies.weights` to multiply the weights by, for tf-idf.
    Returns uint64 (rows, bits / 64).

    Examples
    --------
    >>> sets = WeightedSets(np.array([0, 3]), np.array([7, 8, 9], np.uint64), np.array([2.0, 1.0, 1.0]))
    >>> counted = Shingles(np.arange(1), np.array([0, 4]), np.array([7, 7, 8, 9], np.uint64))
    >>> weighted_simhash(sets).tolist() == simhash(counted).tolist()
    True
    """
    if bits not in BITS:
        raise OptionError(f"bits is {bits}; allowed: 64 or 128")
    heavy = sets.weights
    if weights is not None:
        heavy = heavy * weights[sets.hashes & np.uint64(len(weights) - 1)]
    counts = np.diff(sets.offsets)
    most = np.ones(len(counts))
    some = np.flatnonzero(counts)
    if len(some):
        most[some] = np.maximum.reduceat(heavy, sets.offsets[some])
    # A power of two per set, so that only weights far below the heaviest are rounded.
    scale = _HEAVIEST - np.frexp(most)[1]
    votes = np.rint(np.ldexp(heavy, np.repeat(scale, counts))).astype(np.int64)
    codes = np.empty((len(counts), bits // 64), np.uint64)
    kernels.by_votes(sets.hashes, sets.offsets, random_words(bits // 64, seed), votes, codes)
    return codes
