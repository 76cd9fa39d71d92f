"""Shingles to SimHash codes: 64 or 128 bits whose Hamming distance follows the angle between documents.

A document is a vector with one direction for each shingle, as long as its weight. Each bit of the code says on which
side of a random plane the vector lies, so two documents differ in it with probability angle/π. (Charikar: Similarity
Estimation Techniques from Rounding Algorithms, STOC 2002.) The planes have coordinates +1 and -1 only, so that this
holds for documents of some dozen shingles and more; for fewer it is near.

Weights are the number of times that a shingle occurs, or that times its rarity (tf-idf), for which documents are
counted in a first pass.
"""

import numpy as np

from twinset.errors import OptionError
from twinset.schema import Codes, Hashes, Numbers, Shingles
from twinset.sketches import simhash_kernels as kernels

BITS = (64, 128)
_ONE = 1024  # votes of a shingle of weight 1: weights are whole numbers, so that sums do not depend on an order
_MOST_PLACES = 1 << 25


class DocumentFrequencies:
    """In how many documents each shingle occurs, counted in a table whose places several shingles may share.

    counts uint32, of a power of two of places. What shares a place is counted as one. One thread at a time may `add`;
    tables of the same size that counted different documents are brought together by `merge`, in any order.

    Examples
    --------
    >>> frequencies = DocumentFrequencies(shingles=1000)
    >>> frequencies.add(Shingles(np.arange(2), np.array([0, 3, 5]), np.array([7, 7, 9, 9, 4], np.uint64)))
    >>> frequencies.documents, frequencies.counts[[4, 7, 9]].tolist()
    (2, [1, 1, 2])
    """

    def __init__(self, shingles: int) -> None:
        places = 1 << min(_MOST_PLACES.bit_length() - 1, max(10, (2 * shingles).bit_length()))
        self.documents = 0
        self.counts: Numbers = np.zeros(places, np.uint32)
        self._seen: Numbers = np.zeros(places, np.uint32)

    def add(self, shingles: Shingles) -> None:
        """Count documents, each once."""
        kernels.count_documents(shingles.hashes, shingles.offsets, self.documents, self.counts, self._seen)
        self.documents += len(shingles.rows)

    def merge(self, other: "DocumentFrequencies") -> None:
        """Take in what another table counted."""
        if len(other.counts) != len(self.counts):
            raise OptionError(
                f"tables of {len(self.counts)} and of {len(other.counts)} places cannot be merged;"
                " make both for the same number of shingles"
            )
        self.counts += other.counts
        self._seen[:] = 0
        self.documents += other.documents

    def weights(self) -> Numbers:
        """The weight of each place: ln((1 + documents) / (1 + those that have it)) + 1, in steps of 1/1024."""
        rarity = np.log((1.0 + self.documents) / (1.0 + self.counts)) + 1.0
        weights: Numbers = np.rint(_ONE * rarity).astype(np.uint32)
        return weights


def simhash(shingles: Shingles, bits: int = 64, seed: int = 1, weights: Numbers | None = None) -> Codes:
    """One code for each row of `shingles`; a row without any has zeros.

    Parameters
    ----------
    shingles
        Hashes, repeated as often as the shingle occurs (not a bag, whose occurrences have hashes of their own).
    bits
        64 or 128. The first 64 are the same.
    seed
        Other seeds give other planes.
    weights
        `DocumentFrequencies.weights` for tf-idf; a shingle weighs as often as it occurs unless given.

    Returns
    -------
    Codes
        uint64 (rows, bits / 64).

    Examples
    --------
    >>> sets = Shingles(np.arange(2), np.array([0, 3, 6]), np.array([7, 8, 9, 9, 8, 7], np.uint64))
    >>> one, other = simhash(sets, bits=128, seed=1)
    >>> one.tolist() == other.tolist()
    True
    """
    if bits not in BITS:
        raise OptionError(f"bits is {bits}; allowed is 64 or 128")
    codes = np.empty((len(shingles.rows), bits // 64), np.uint64)
    salts = _salts(bits // 64, seed)
    if weights is None:
        kernels.by_count(shingles.hashes, shingles.offsets, salts, codes)
    else:
        kernels.by_weight(shingles.hashes, shingles.offsets, salts, weights, codes)
    return codes


def _salts(words: int, seed: int) -> Hashes:
    """One salt a word, by SplitMix64 (Steele, Lea, Flood 2014) from the seed."""
    state = (np.arange(1, words + 1, dtype=np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    salts: Hashes = state ^ (state >> np.uint64(31))
    return salts
