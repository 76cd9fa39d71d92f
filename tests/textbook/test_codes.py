"""Bit codes: the definitions, and the product's codes, joins and chances held against them."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset import textbook
from twinset.candidates.hamming.join import Join
from twinset.candidates.probing import next_keys
from twinset.plan.codes import within_probability
from twinset.schema import Moves, Shingles
from twinset.sketches import simhash as product
from twinset.textbook import hamming_distance, hashed

codes = st.integers(0, 2**64 - 1)


@given(codes, codes, codes)
def test_hamming_distance_is_a_distance(a: int, b: int, c: int) -> None:
    assert hamming_distance(a, b) == hamming_distance(b, a) == f"{a ^ b:b}".count("1")
    assert (hamming_distance(a, b) == 0) == (a == b)
    assert hamming_distance(a, c) <= hamming_distance(a, b) + hamming_distance(b, c)


@given(st.lists(st.integers(0, 255), max_size=12), st.integers(0, 4))
def test_the_join_of_the_product_is_that_of_the_textbook(given_codes: list[int], distance: int) -> None:
    expected = set(textbook.pairs_within(dict(enumerate(given_codes)), distance))
    found = set()
    for portion in Join.within(np.array(given_codes, np.uint64), distance).pairs():
        for (left, right), bits in zip(portion.numbers.tolist(), portion.distances.tolist(), strict=True):
            found.add((left, right, bits))
    assert found == expected


# SimHash


@given(st.dictionaries(codes.filter(bool), st.integers(1, 4), min_size=1, max_size=12), st.integers(0, 99))
def test_the_product_makes_the_codes_of_the_textbook(counts: dict[int, int], seed: int) -> None:
    if sum(counts.values()) % 2 == 0:
        counts[next(iter(counts))] += 1  # with an odd number of votes there is no tie, which the product settles by lot
    row = [x for x, count in counts.items() for _ in range(count)]
    shingles = Shingles(np.arange(1), np.array([0, len(row)]), np.array(row, np.uint64))
    [(code,)] = product.simhash(shingles, bits=64, seed=seed).tolist()
    salt = oracles.bit_salt(0, seed)
    assert code == textbook.simhash(counts, lambda x: oracles.fmix64(x ^ salt))


def test_codes_follow_the_angle() -> None:
    """Two sets of 100 features that share 80: cosine 0.8. Bounds are four standard errors of 40 pairs of 64 bits."""
    differing = 0
    for number in range(40):
        features = [f"{number} {place}" for place in range(120)]
        one, other = (textbook.simhash(dict.fromkeys(some, 1), hashed) for some in (features[:100], features[20:]))
        differing += hamming_distance(one, other)
    expected = math.acos(0.8) / math.pi
    share = differing / (40 * 64)
    assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / (40 * 64))


def test_weights_decide() -> None:
    heavy = {"heavy": 10.0, **{f"light {n}": 1.0 for n in range(9)}}
    assert textbook.simhash(heavy, hashed) == hashed("heavy")
    assert textbook.simhash({}, hashed) == 0


# Probing


@given(st.integers(0, 255), st.integers(0, 3))
def test_probes_are_all_codes_within_the_distance_nearest_first(code: int, distance: int) -> None:
    found = list(textbook.probes(code, 8, distance))
    away = [hamming_distance(code, one) for one in found]
    assert away == sorted(away)
    assert sorted(found) == [one for one in range(256) if hamming_distance(code, one) <= distance]


def test_where_all_bits_are_as_near_the_product_probes_one_bit_away_first_and_then_two() -> None:
    moves = Moves(
        np.array([0b10110], np.uint64),
        np.ones((1, 5), np.float32),
        1 << np.arange(5, dtype=np.uint64).reshape(1, 5),
        np.arange(5, dtype=np.uint8),
    )
    tried = next_keys(moves, probes=15)[0].tolist()
    expected = list(textbook.probes(0b10110, 5, 2))
    assert tried[0] == expected[0]
    assert (sorted(tried[1:6]), sorted(tried[6:])) == (sorted(expected[1:6]), sorted(expected[6:]))


@pytest.mark.parametrize("cosine", [0.5, 0.9, 0.95, 0.98, 0.99])
def test_the_product_reckons_with_the_same_chances(cosine: float) -> None:
    agreement = 1 - math.acos(cosine) / math.pi
    for bits, distance in ((64, 0), (64, 3), (64, 11), (128, 20)):
        assert within_probability(cosine, bits, distance) == pytest.approx(
            textbook.probe_probability(agreement, bits, distance)
        )
    # Without probing it is one table keyed by all bits.
    assert textbook.probe_probability(agreement, 16, 0) == pytest.approx(textbook.table_probability(agreement, 16, 1))
    assert textbook.probe_probability(agreement, 16, 16) == pytest.approx(1)


def test_three_bits_of_simhash_find_near_identical_pages_only() -> None:
    cosines = (0.95, 0.98, 0.99)
    found = [textbook.probe_probability(1 - math.acos(cosine) / math.pi, 64, 3) for cosine in cosines]
    assert found == pytest.approx([0.10, 0.41, 0.67], abs=0.005)


def test_codes_whose_bits_agree_by_chance_are_probed_as_often_as_theory_says() -> None:
    chance, pairs = random.Random(3), 3000
    for distance in (0, 1, 2):
        expected = textbook.probe_probability(0.9, 10, distance)
        met = 0
        for _ in range(pairs):
            flips = sum((chance.random() < 0.1) << place for place in range(10))
            met += flips in textbook.probes(0, 10, distance)
        assert abs(met / pairs - expected) < 4 * math.sqrt(expected * (1 - expected) / pairs)
