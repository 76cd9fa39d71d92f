"""MinHash, by permutation and by hashing; bottom-k; and the families of hash functions, good and bad.

Seeds are fixed. Estimates of many pairs lie within 4 of their standard errors: by chance that fails once in 16,000.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset import textbook
from twinset.schema import Shingles
from twinset.sketches import bottom_k as product_bottom_k
from twinset.sketches import minhash as product_minhash
from twinset.textbook import hashed, jaccard

PAIRS = 300
hashes = st.integers(1, 2**64 - 1)
few = st.sets(st.integers(0, 5), min_size=1)


@given(few, few)
def test_over_all_permutations_minhashes_agree_as_often_as_the_similarity(a: set[int], b: set[int]) -> None:
    agree = sum(
        textbook.minhash_by_permutation(a, sent.__getitem__) == textbook.minhash_by_permutation(b, sent.__getitem__)
        for sent in permutations(range(6))
    )
    assert Fraction(agree, math.factorial(6)) == Fraction(len(a & b), len(a | b))


@given(st.lists(few, min_size=1, max_size=5), st.lists(st.permutations(range(6)), min_size=1, max_size=4))
def test_both_ways_give_the_same_signatures(sets: list[set[int]], sent: list[list[int]]) -> None:
    functions = [one.__getitem__ for one in sent]
    rows = [(row, [c for c, s in enumerate(sets) if row in s]) for row in range(6)]
    matrix = textbook.minhash_by_row_hashing(rows, functions, len(sets))
    assert matrix == [[textbook.minhash_by_permutation(s, f) for s in sets] for f in functions]
    assert [list(column) for column in zip(*matrix, strict=True)] == [
        textbook.minhash_signature(s, functions) for s in sets
    ]


def test_an_empty_column_stays_at_infinity() -> None:
    assert textbook.minhash_by_row_hashing([(0, [1])], [lambda x: x], 2) == [[math.inf, 0]]


Estimate = Callable[[set[str], set[str], int, int], float]


def estimates(union: int, shared: int, k: int, estimate: Estimate) -> list[float]:
    """Of pairs of sets, all of the same sizes and all of their own elements."""
    found = []
    end = shared + (union - shared) // 2
    for number in range(PAIRS):
        elements = [f"{number} {place}" for place in range(union)]
        found.append(estimate({*elements[:end]}, {*elements[:shared], *elements[end:]}, k, number))
    return found


def by_functions(left: set[str], right: set[str], k: int, seed: int) -> float:
    functions = [lambda x, s=s: hashed(x, s) for s in range(seed * k, seed * k + k)]
    signatures = [textbook.minhash_signature(one, functions) for one in (left, right)]
    return textbook.signature_similarity(*signatures)


def by_bottom_k(left: set[str], right: set[str], k: int, seed: int) -> float:
    sketches = [textbook.bottom_k((hashed(x, seed) for x in one), k) for one in (left, right)]
    return textbook.bottom_k_similarity(*sketches, k)


@pytest.mark.parametrize("estimate", [by_functions, by_bottom_k])
@pytest.mark.parametrize(("union", "shared"), [(21, 9), (60, 50)])
def test_estimates_are_unbiased_and_err_as_theory_says(union: int, shared: int, estimate: Estimate) -> None:
    k, true = 16, shared / union
    found = estimates(union, shared, k, estimate)
    error = textbook.signature_error(true, k)
    assert abs(statistics.mean(found) - true) < 4 * error / math.sqrt(PAIRS)
    # bottom-k draws without putting back, so that it errs less, the more of the union it holds.
    expected = error * (math.sqrt((union - k) / (union - 1)) if estimate is by_bottom_k else 1)
    assert statistics.stdev(found) == pytest.approx(expected, rel=0.2)


@given(st.sets(hashes, max_size=9), st.sets(hashes, max_size=9))
def test_bottom_k_of_the_whole_union_is_exact(left: set[int], right: set[int]) -> None:
    one, other = textbook.bottom_k(left, 18), textbook.bottom_k(right, 18)
    assert textbook.bottom_k_similarity(one, other, 18) == jaccard(left, right)


@given(st.lists(hashes, max_size=30), st.lists(hashes, max_size=30), st.integers(1, 20))
def test_the_product_keeps_the_same_hashes_and_estimates_the_same(left: list[int], right: list[int], k: int) -> None:
    both = [*left, *right]
    sets = Shingles(np.arange(2), np.array([0, len(left), len(both)]), np.array(both, np.uint64))
    sketches = product_bottom_k.bottom_k(sets, k)
    assert [one.tolist() for one in sketches] == [textbook.bottom_k(left, k), textbook.bottom_k(right, k)]
    found, _ = product_bottom_k.estimates(sketches, np.array([0], np.uint32), np.array([1], np.uint32))
    assert found[0] == textbook.bottom_k_similarity(*(one.tolist() for one in sketches), k)


@given(st.lists(hashes, min_size=1, max_size=30), st.integers(1, 20), st.integers(0, 2**32))
def test_kperm_in_the_product_is_the_signature_of_k_hash_functions(row: list[int], k: int, seed: int) -> None:
    one = Shingles(np.arange(1), np.array([0, len(row)]), np.array(row, np.uint64))
    functions = [lambda x, slot=slot: oracles.kperm([x], slot + 1, seed)[slot] for slot in range(k)]
    assert product_minhash.sketch(one, "kperm", k, seed)[0].tolist() == textbook.minhash_signature(row, functions)


# Families


@pytest.mark.parametrize("prime", [5, 7, 101])
def test_universal_hashes_of_a_prime_are_permutations(prime: int) -> None:
    for a in range(1, 5):
        assert sorted(map(textbook.universal_hash(a, 3, prime, prime), range(prime))) == list(range(prime))


def test_collisions() -> None:
    assert textbook.collision_probability(23, 365) == pytest.approx(0.5073, abs=0.00005)
    assert textbook.collision_probability(2, 10) == pytest.approx(0.1)
    assert (textbook.collision_probability(1, 1), textbook.collision_probability(3, 2)) == (0.0, 1.0)


@given(st.sets(st.integers(0, 15), min_size=1))
def test_the_chances_of_the_xor_family_by_counting(values: set[int]) -> None:
    functions = textbook.xor_hashes(lambda x: x, range(16))
    for value, chance in textbook.xor_chances(values, n_bits=4).items():
        least = sum(min(values, key=function) == value for function in functions)
        assert chance == Fraction(least, 16)


@pytest.mark.parametrize(("union", "spread"), [(5, 0.13), (20, 0.075), (100, 0.03)])
def test_the_xor_family_errs_however_many_hashes_there_are(union: int, spread: float) -> None:
    """The share in which minima agree in the limit: over random hashes it is the similarity, but it stays spread."""
    chance, shared, pairs = random.Random(union), round(0.4 * union), 400
    found = []
    for _ in range(pairs):
        values = [chance.getrandbits(64) for _ in range(union)]
        chances = textbook.xor_chances(values)
        found.append(float(sum(chances[x] for x in values[:shared])))
    assert statistics.mean(found) == pytest.approx(0.4, abs=4 * spread / math.sqrt(pairs))
    assert statistics.stdev(found) == pytest.approx(spread, abs=0.01)
    assert statistics.stdev(found) > 3 * textbook.signature_error(0.4, 4096)


def test_xor_first_and_a_hash_after_it_is_fair() -> None:
    values = [0b00, 0b01, 0b10]
    least = [min(values, key=lambda x, r=r: hashed(x ^ r)) for r in range(0, 30_000, 8)]
    for value in values:
        share = least.count(value) / len(least)
        assert abs(share - 1 / 3) < 4 * math.sqrt(1 / 3 * 2 / 3 / len(least))


@pytest.mark.parametrize(
    ("union", "shared", "cut", "fair", "expected"), [(7, 3, (16, 8), 0.018, 0.069), (10, 8, (16, 6), 0.992, 0.948)]
)
def test_what_the_xor_family_does_to_bands(
    union: int, shared: int, cut: tuple[int, int], fair: float, expected: float
) -> None:
    """Averages of 1,500 pairs; their standard errors are 0.003 and less."""
    chance = random.Random(8)
    found = []
    for _ in range(1500):
        values = [chance.getrandbits(64) for _ in range(union)]
        chances = textbook.xor_chances(values)
        found.append(textbook.band_probability(float(sum(chances[x] for x in values[:shared])), *cut))
    assert textbook.band_probability(shared / union, *cut) == pytest.approx(fair, abs=0.0005)
    assert statistics.mean(found) == pytest.approx(expected, abs=0.012)
