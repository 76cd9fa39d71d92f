"""Strips, cross-polytopes and probing: the definitions against the product, and against the theory.

Statistical bounds, seeds fixed: shares within four standard errors of what they estimate.
"""

from __future__ import annotations

import math
import random
from functools import reduce
from itertools import islice
from operator import xor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset import textbook
from twinset.candidates.probing import next_keys
from twinset.plan.vector_chances import corner_agrees, side_agrees, strip_agrees
from twinset.sketches.vectors import cross_polytope, hyperplane, p_stable
from twinset.sketches.vectors.cross_polytope import random_rotations

coordinates = st.integers(-9, 9)


def normals(chance: random.Random, count: int) -> list[float]:
    return [chance.gauss(0, 1) for _ in range(count)]


def beside(chance: random.Random, dimensions: int, distance: float) -> tuple[list[float], list[float]]:
    """Two points of the unit sphere at a distance: random directions, the second at a right angle to the first."""
    one = np.array(normals(chance, dimensions))
    other = np.array(normals(chance, dimensions))
    one /= np.linalg.norm(one)
    other -= (other @ one) * one
    other /= np.linalg.norm(other)
    cosine = textbook.cosine_of_distance(distance)
    return one.tolist(), (cosine * one + math.sqrt(1 - cosine * cosine) * other).tolist()


def is_about(share: float, expected: float, count: int) -> bool:
    return abs(share - expected) <= 4 * math.sqrt(expected * (1 - expected) / count)


# Strips


@given(
    st.lists(st.tuples(*[coordinates] * 3), min_size=1, max_size=9), st.integers(1, 5), st.integers(1, 3),
    st.sampled_from([0.5, 1.0, 4.0]), st.integers(0, 2**32),
)  # fmt: skip
def test_the_keys_of_the_product_are_the_strips_of_the_textbook(
    points: list[tuple[int, ...]], functions: int, tables: int, width: float, seed: int
) -> None:
    drawn = p_stable.strips(3, functions, width, tables, seed)
    found = p_stable.moves(np.array(points, np.float32), drawn, range(tables))
    for table in range(tables):
        directions = drawn.directions[table, :functions, :3].tolist()
        offsets = [width * offset for offset in drawn.offsets[table].tolist()]  # the product counts them in widths
        for row, point in enumerate(points):
            rows = textbook.strips(point, directions, offsets, width)
            hashes = [oracles.strip_hash(f, one % 2**64) for f, one in enumerate(rows)]
            assert int(found[table].keys[row]) == reduce(xor, hashes)


@given(st.floats(0.001, 100), st.floats(0.1, 10))
def test_the_probability_of_a_common_strip_is_that_of_the_plan(distance: float, width: float) -> None:
    assert textbook.strip_agreement(distance, width) == pytest.approx(strip_agrees(distance / width), abs=1e-12)


@pytest.mark.parametrize("distance", [0.5, 2.0, 6.0])
def test_strips_are_shared_as_often_as_theory_says(distance: float) -> None:
    """3,000 directions, in five dimensions, far from the origin."""
    chance, met, count = random.Random(3), 0, 3000
    left = [100.0, -7.0, 3.0, 0.0, 1.0]
    right = [99.0 + 1 - distance, *left[1:]]
    for _ in range(count):
        direction, offset = normals(chance, 5), chance.uniform(0, 4.0)
        met += textbook.strip(left, direction, offset, 4.0) == textbook.strip(right, direction, offset, 4.0)
    assert is_about(met / count, textbook.strip_agreement(distance, 4.0), count)


@given(st.floats(-50, 50), st.floats(0, 0.999), st.integers(-5, 5))
def test_strips_are_as_wide_as_they_say(x: float, share: float, more: int) -> None:
    width = 2.0
    here = textbook.strip([x], [1.0], share * width, width)
    assert here * width <= x + share * width + 1e-9
    assert x + share * width < (here + 1) * width + 1e-9
    assert textbook.strip([float(round(x)) + more * width], [1.0], 0.0, width) == more + math.floor(round(x) / width)


# Cross-polytopes


@given(st.integers(1, 64), st.integers(0, 2**32))
def test_rotations_are_those_of_the_product(dimensions: int, seed: int) -> None:
    """Whole numbers, so that no sum is rounded; the oracle of the product does not divide by the length."""
    vector = np.random.default_rng(seed).integers(-3, 4, dimensions).tolist()
    drawn = random_rotations(1, 64, seed)
    signs, order = drawn.signs[0].tolist(), drawn.orders[0].tolist()
    found = textbook.random_rotation(vector, signs, order)
    assert [x * 64**1.5 for x in found] == oracles.rotated(vector, signs, order)
    assert math.hypot(*found) == pytest.approx(math.hypot(*vector))


@given(st.lists(st.lists(st.integers(-4, 4), min_size=50, max_size=50), min_size=1, max_size=5), st.integers(0, 99))
def test_the_keys_of_the_product_are_the_corners_of_the_textbook(points: list[list[int]], seed: int) -> None:
    polytopes = cross_polytope.cross_polytopes(50, 1, 64, 2, seed)
    found = cross_polytope.moves(np.array(points, np.float32), polytopes, range(2))
    signs, orders = polytopes.rotations.signs.tolist(), polytopes.rotations.orders.tolist()
    for table in range(2):
        for row, point in enumerate(points):
            turned = textbook.random_rotation(point, signs[table], orders[table])
            assert int(found[table].keys[row]) == textbook.cross_polytope_corner(turned)


@pytest.mark.parametrize("distance", [0.3, 0.8])
def test_corners_agree_as_often_as_under_truly_random_rotations(distance: float) -> None:
    """1,500 pairs, each rotated once by signs and transforms; the plan's simulation has an error of 0.006 at most."""
    chance, count, met = random.Random(5), 1500, 0
    for _ in range(count):
        signs = [[chance.choice((-1.0, 1.0)) for _ in range(64)] for _ in range(3)]
        corners = {
            textbook.cross_polytope_corner(textbook.random_rotation(one, signs))
            for one in beside(chance, 64, distance)
        }
        met += len(corners) == 1
    expected = corner_agrees(textbook.cosine_of_distance(distance), 64, 64)
    assert abs(met / count - expected) <= 4 * math.sqrt(expected * (1 - expected) / count) + 4 * 0.006


@pytest.mark.parametrize("dimensions", [64, 1024])
@pytest.mark.parametrize("distance", [0.5, 1.0])
def test_the_leading_term_is_right_up_to_the_logarithm_of_the_logarithm(dimensions: int, distance: float) -> None:
    """Andoni and others: ln 1/p = τ²/(4-τ²)·ln d + O(ln ln d)."""
    exact = -math.log(corner_agrees(textbook.cosine_of_distance(distance), dimensions, dimensions))
    leading = -math.log(textbook.corner_agreement(distance, dimensions))
    assert 0 < exact - leading < math.log(math.log(dimensions))


def test_corners_beat_hyperplanes_and_strips() -> None:
    """Near at 0.5, far at 1: the smaller exponent needs fewer tables."""
    near, far = 0.5, 1.0
    planes = [side_agrees(textbook.cosine_of_distance(d)) for d in (near, far)]
    corners = [corner_agrees(textbook.cosine_of_distance(d), 128, 128) for d in (near, far)]
    assert textbook.search_exponent(*corners) < textbook.search_exponent(*planes) < near / far
    assert textbook.search_exponent(0.5, 0.25) == 0.5


# The order of probing


@given(st.lists(st.integers(0, 50), max_size=7))
def test_moves_come_cheapest_first_and_every_set_comes_once(costs: list[int]) -> None:
    found = list(textbook.cheapest_moves(costs))
    totals = [sum(costs[move] for move in some) for some in found]
    assert totals == sorted(totals)
    assert len(set(found)) == len(found) == 2 ** len(costs) - 1


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 30))
def test_the_product_probes_in_the_order_of_the_textbook(seed: int, bits: int, probes: int) -> None:
    vector = np.random.default_rng(seed).standard_normal((1, 6)).astype(np.float32)
    [here] = hyperplane.moves(vector, hyperplane.hyperplanes(6, bits, 1, seed), range(1), probes)
    costs = [float(cost) for cost in here.costs[0]]
    expected = [sum(1 << bit for bit in some) for some in islice(textbook.cheapest_moves(costs), probes)]
    found = [int(key) ^ int(here.keys[0]) for key in next_keys(here, probes)[0]]
    assert found[: len(expected) + 1] == [0, *expected]
