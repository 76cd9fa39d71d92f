"""Bit codes: integers compared by Hamming distance, and SimHash, which computes them from features."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import combinations
from typing import TypeVar

__all__ = ["hamming_distance", "pairs_within", "probe_probability", "probes", "simhash"]

Item = TypeVar("Item", bound=Hashable)
Name = TypeVar("Name", bound=Hashable)


def hamming_distance(left: int, right: int) -> int:
    """Return the number of bits in which two codes differ.

    Examples
    --------
    >>> hamming_distance(0b10111, 0b10011)
    1
    """
    return (left ^ right).bit_count()


def pairs_within(codes: Mapping[Name, int], distance: int) -> Iterator[tuple[Name, Name, int]]:
    """Compare all pairs of codes and yield those that differ in at most `distance` bits: the exact search for codes.

    Examples
    --------
    >>> list(pairs_within({"a": 0b1010, "b": 0b1011, "c": 0b0101}, distance=1))
    [('a', 'b', 1)]
    """
    for (left, one), (right, other) in combinations(codes.items(), 2):
        differing = hamming_distance(one, other)
        if differing <= distance:
            yield left, right, differing


def simhash(weights: Mapping[Item, float], bits: Callable[[Item], int], n_bits: int = 64) -> int:
    """Return the SimHash code of a weighted set of features: bit by bit the weighted majority.

    Each feature has its own random bits. Its weight is added where its bit is 1 and subtracted where it is 0; the bit
    of the code is 1 if the sum is above 0. Two sets that share most of their weight have most bits in common: as
    vectors at an angle θ, they differ in a bit with probability θ/π.

    Parameters
    ----------
    weights
        Weight of each feature: its number of occurrences, for example.
    bits
        A hash function that returns the bits of a feature: `hashed`, for example.
    n_bits
        Length of the code.

    Returns
    -------
    int
        The code.

    Examples
    --------
    The first bit is voted for with 3 + 2 against 1, the second with 1 + 2 against 3, which is not enough:

    >>> votes = {"cat": 0b1001, "sat": 0b0100, "mat": 0b1110}
    >>> code = simhash({"cat": 3, "sat": 1, "mat": 2}, votes.__getitem__, n_bits=4)
    >>> f"{code:04b}"
    '1000'
    """
    votes = [(bits(item), weight) for item, weight in weights.items()]
    code = 0
    for place in range(n_bits):
        total = math.fsum(weight if vote >> place & 1 else -weight for vote, weight in votes)
        code |= (total > 0) << place
    return code


def probes(code: int, n_bits: int, distance: int) -> Iterator[int]:
    """Yield the buckets to probe: that of the code itself, then those one bit away, then two, and so on.

    One table that is probed often replaces many tables that are probed once.

    Examples
    --------
    >>> [f"{bucket:03b}" for bucket in probes(0b101, n_bits=3, distance=2)]
    ['101', '100', '111', '001', '110', '000', '011']
    >>> [len(list(probes(0, 16, distance))) for distance in (0, 1, 2)]
    [1, 17, 137]
    """
    for differing in range(distance + 1):
        for places in combinations(range(n_bits), differing):
            yield code ^ sum(1 << place for place in places)


def probe_probability(agreement: float, n_bits: int, distance: int) -> float:
    """Return the probability that a code is at most `distance` bits away, if each bit agrees with a probability.

    Examples
    --------
    Two vectors that agree in a bit with probability 0.9, in one table of 16 bits, without probing and one or two bits
    away; and how many tables would find as much without probing:

    >>> [round(probe_probability(0.9, 16, distance), 3) for distance in (0, 1, 2)]
    [0.185, 0.515, 0.789]
    >>> [round(math.log1p(-found) / math.log1p(-(0.9**16)), 1) for found in (0.515, 0.789)]
    [3.5, 7.6]
    """
    ways = (math.comb(n_bits, d) * agreement ** (n_bits - d) * (1 - agreement) ** d for d in range(distance + 1))
    return math.fsum(ways)
