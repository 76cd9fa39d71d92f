"""Vectors: the definitions, and the product's bits, chances and scores held against them."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset import textbook
from twinset.plan.vector_chances import side_agrees
from twinset.sketches.vectors.hyperplane import project_bits
from twinset.textbook import angle, cosine, euclidean_distance

numbers = st.integers(-9, 9)
some_vectors = st.lists(st.tuples(numbers, numbers, numbers), min_size=2, max_size=2)


@given(some_vectors)
def test_cosine_angle_and_distance(pair: list[tuple[int, ...]]) -> None:
    left, right = pair
    assert euclidean_distance(left, right) == pytest.approx(oracles.distance(left, right))
    if any(left) and any(right):
        assert cosine(left, right) == pytest.approx(oracles.cosine(left, right), abs=1e-12)
        assert math.cos(angle(left, right)) == pytest.approx(cosine(left, right), abs=1e-12)
        # The law of cosines.
        squares = sum(x * x for x in left), sum(x * x for x in right)
        expected = sum(squares) - 2 * math.sqrt(math.prod(squares)) * cosine(left, right)
        assert euclidean_distance(left, right) ** 2 == pytest.approx(expected, abs=1e-9)
    else:
        assert cosine(left, right) == 0


@given(st.floats(0, math.pi), st.floats(0, math.pi))
def test_distance_of_unit_vectors_says_their_cosine(one: float, other: float) -> None:
    left, right = ((math.cos(turn), math.sin(turn)) for turn in (one, other))
    found = textbook.cosine_of_distance(euclidean_distance(left, right))
    assert found == pytest.approx(math.cos(one - other), abs=1e-12)


# Hyperplanes


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=5), st.integers(1, 70), st.integers(0, 99))
def test_the_product_gives_the_bits_of_the_textbook(vectors: list[tuple[int, ...]], bits: int, seed: int) -> None:
    chance = random.Random(seed)
    normals = [[chance.randint(-9, 9) for _ in range(3)] for _ in range(bits)]
    found = project_bits(np.array(vectors, np.float32), np.array(normals, np.float32)).tolist()
    for words, vector in zip(found, vectors, strict=True):
        code = sum(word << 64 * place for place, word in enumerate(words))
        assert tuple(code >> bit & 1 for bit in range(bits)) == textbook.hyperplane_bits(vector, normals)


@pytest.mark.parametrize("degrees", [10, 45, 90, 135])
def test_sides_agree_with_probability_one_less_angle_by_pi(degrees: float) -> None:
    """3,000 hyperplanes in five dimensions; four standard errors."""
    left = [1.0, 0, 0, 0, 0]
    right = [math.cos(math.radians(degrees)), 0, math.sin(math.radians(degrees)), 0, 0]
    chance, planes = random.Random(7), 3000
    agree = 0
    for _ in range(planes):
        normal = [chance.gauss(0, 1) for _ in range(5)]
        agree += textbook.hyperplane_bit(left, normal) == textbook.hyperplane_bit(right, normal)
    expected = textbook.hyperplane_agreement(left, right)
    assert expected == pytest.approx(1 - degrees / 180)
    assert side_agrees(cosine(left, right)) == pytest.approx(expected)
    assert abs(agree / planes - expected) < 4 * math.sqrt(expected * (1 - expected) / planes)


def test_vectors_meet_in_tables_as_often_as_the_formula_says() -> None:
    """400 pairs at a cosine of 0.9, ten tables of six bits drawn anew for each; four standard errors."""
    n_tables, n_bits, pairs, chance = 10, 6, 400, random.Random(2)
    left, right = (1.0, 0.0, 0.0), (0.9, math.sqrt(1 - 0.81), 0.0)
    met = 0
    for _ in range(pairs):
        normals = [[chance.gauss(0, 1) for _ in range(3)] for _ in range(n_tables * n_bits)]
        signatures = {name: textbook.hyperplane_bits(v, normals) for name, v in (("left", left), ("right", right))}
        met += bool(textbook.candidates(signatures, n_tables, n_bits))
    expected = textbook.table_probability(textbook.hyperplane_agreement(left, right), n_bits, n_tables)
    assert abs(met / pairs - expected) < 4 * math.sqrt(expected * (1 - expected) / pairs)


# (R, cR)


@given(some_vectors, st.integers(1, 9), st.integers(1, 4))
def test_near_between_and_far_are_three_cases(pair: list[tuple[int, ...]], radius: int, factor: int) -> None:
    left, right = pair
    distance = euclidean_distance(left, right)
    found = textbook.near_or_far(left, right, radius, factor)
    assert (found == "near") == (distance <= radius)
    assert (found == "far") == (distance > factor * radius)
    assert found != "between" or factor > 1
