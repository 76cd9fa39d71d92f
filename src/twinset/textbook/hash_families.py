"""Hash functions instead of permutations: a good one, one that collides, and an unfair one."""

import hashlib
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import TypeVar

__all__ = ["collision_probability", "hashed", "universal_hash", "xor_chances", "xor_hashes"]

Item = TypeVar("Item", bound=Hashable)


def hashed(item: object, seed: int = 0) -> int:
    """Return 64 pseudorandom bits, determined by item and seed.

    Each seed is a hash function. Items are distinguished by their `repr`.

    Examples
    --------
    >>> hashed("rose") == hashed("rose"), hashed("rose") == hashed("roses"), hashed("rose") == hashed("rose", seed=1)
    (True, False, False)
    >>> hashed("rose") < 2**64
    True
    """
    digest = hashlib.blake2b(repr(item).encode(), digest_size=8, salt=seed.to_bytes(16, "little"))
    return int.from_bytes(digest.digest(), "little")


def universal_hash(a: int, b: int, prime: int, n_values: int) -> Callable[[int], int]:
    """Return the function x → ((a·x + b) mod p) mod N, with random a and b.

    With a prime p, N = p and a > 0 it is a permutation of 0 … p-1. N must be far larger than the number of elements:
    see `collision_probability`.

    Examples
    --------
    >>> h1, h2 = universal_hash(1, 1, 5, 5), universal_hash(3, 1, 5, 5)
    >>> [h1(x) for x in range(5)], [h2(x) for x in range(5)]
    ([1, 2, 3, 4, 0], [1, 4, 2, 0, 3])
    """
    return lambda x: (a * x + b) % prime % n_values


def collision_probability(n_items: int, n_values: int) -> float:
    """Return the probability that any two of `n_items` hashed to `n_values` values collide.

    Examples
    --------
    A text of 1,000 shingles, hashed to as many values as there are documents, to 4 bytes and to 8 bytes:

    >>> [float(f"{collision_probability(1000, n):.2g}") for n in (10**6, 2**32, 2**64)]
    [0.39, 0.00012, 2.7e-14]
    """
    if n_items > n_values:
        return 1.0
    return -math.expm1(math.fsum(math.log1p(-i / n_values) for i in range(n_items)))


def xor_hashes(h: Callable[[Item], int], numbers: Sequence[int]) -> list[Callable[[Item], int]]:
    """Return the hash functions x → h(x) XOR rᵢ. They look independent, but are a bad family for MinHash.

    The family costs one hash per shingle and a number per slot, and is common in lectures and programs. `xor_chances`
    shows the flaw. XOR followed by a good hash is sound.

    Examples
    --------
    >>> bad = xor_hashes(lambda x: x, [0b00, 0b01, 0b10, 0b11])
    >>> [[h(x) for x in (0b00, 0b01, 0b10)] for h in bad]
    [[0, 1, 2], [1, 0, 3], [2, 3, 0], [3, 2, 1]]
    """

    def function(number: int) -> Callable[[Item], int]:
        return lambda item: h(item) ^ number

    return [function(number) for number in numbers]


def xor_chances(values: Iterable[int], n_bits: int = 64) -> dict[int, Fraction]:
    """Return the probability of each hash to be the minimum after XOR with a random number.

    By halves: the first bit of the random number puts those first that begin with 0, or those that begin with 1, each
    with probability 1/2, however many they are; and so on, bit by bit. In a fair family all probabilities are equal.

    Examples
    --------
    Of three hashes, the only one that begins with 1 is the minimum with probability 1/2:

    >>> [str(chance) for chance in xor_chances([0b00, 0b01, 0b10], n_bits=2).values()]
    ['1/4', '1/4', '1/2']

    So {00} and {00, 01, 10}, with a similarity of 1/3, agree in 1/4 of all minima, however many there are.
    """
    if not n_bits or len(set(values := list(values))) == 1:
        return dict.fromkeys(values, Fraction(1))
    ones = {x for x in values if x >> (n_bits - 1) & 1}
    halves = [half for half in ([x for x in values if x not in ones], [x for x in values if x in ones]) if half]
    return {x: chance / len(halves) for half in halves for x, chance in xor_chances(half, n_bits - 1).items()}
