"""Random hyperplanes: keys equal the oracle's, values stay what they were, and bits differ with probability θ/π.

Statistical bounds, seeds fixed: the mean of 3,000 pairs within 3 of its own standard errors of θ/π; the variance of the
number of differing bits at most 1.1 of independent bits' (3,000 pairs give it to within 2.6 %); the S-curve of 10,000
pairs within ±0.02, which is 4 standard errors.
"""

from __future__ import annotations

import math
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.directions import beside, differing, directions
from twinset.compiled import vector_kernels
from twinset.errors import OptionError
from twinset.plan import band_probability
from twinset.plan.vector_chances import side_agrees
from twinset.schema import HASH_SCHEME, Vectors
from twinset.sketches.vectors.hyperplane import codes, hyperplanes, moves, project_bits

NORMALS = {1: [-2108, 3920, -3128, 1189, 2066, 5402, -855, -114]}
KEYS = {1: [[37440, 12067], [32695, 22748], [41068, 42755]]}
CODES = {1: [0xF02AE83C2F239240, 0x11]}


def whole(count: int, dimensions: int, seed: int) -> Vectors:
    """Vectors of few different whole numbers: scalar products are often exactly 0."""
    return np.random.default_rng(seed).integers(-2, 3, (count, dimensions)).astype(np.float32)


def product(vector: list[float], direction: list[float]) -> np.float32:
    """A scalar product in 32-bit floats, one dimension after the other."""
    total = np.float32(0)
    for x, w in zip(vector, direction, strict=True):
        total = np.float32(total + np.float32(np.float32(x) * np.float32(w)))
    return total


# Numbers from a seed


def test_normal_numbers_are_what_they_were() -> None:
    drawn = np.empty(8, np.float32)
    vector_kernels.normals(np.uint64(1), np.uint64(0), drawn)
    assert (drawn * 4096).astype(int).tolist() == NORMALS[HASH_SCHEME]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40), st.integers(0, 9))
def test_normal_and_uniform_numbers_equal_the_oracles(seed: int, first: int, count: int) -> None:
    normal, even = np.empty(count, np.float32), np.empty(count, np.float64)
    vector_kernels.normals(np.uint64(seed), np.uint64(first), normal)
    vector_kernels.uniforms(np.uint64(seed), np.uint64(first), even)
    assert normal.tolist() == [oracles.normal_number(seed, first + i) for i in range(count)]
    assert even.tolist() == [oracles.uniform_number(seed, first + i) for i in range(count)]


def test_normal_numbers_are_normal() -> None:
    """Moments of 400,000 within 4 standard errors, of all and of neighbours."""
    drawn = np.empty(400_000, np.float32)
    vector_kernels.normals(np.uint64(3), np.uint64(0), drawn)
    values, n = drawn.astype(np.float64), len(drawn)
    assert abs(values.mean()) <= 4 / math.sqrt(n)
    assert abs((values**2).mean() - 1) <= 4 * math.sqrt(2 / n)
    assert abs((values**4).mean() - 3) <= 4 * math.sqrt(96 / n)
    assert abs((values[1:] * values[:-1]).mean()) <= 4 / math.sqrt(n)


# Keys


@given(st.integers(0, 70), st.integers(1, 9), st.integers(1, 9), st.integers(1, 3), st.integers(0, 2**32))
def test_keys_and_costs_equal_the_oracles(n: int, dimensions: int, bits: int, tables: int, seed: int) -> None:
    vectors = whole(n, dimensions, seed)
    planes = hyperplanes(dimensions, bits, tables, seed)
    for table, found in enumerate(moves(vectors, planes, range(tables), probes=1)):
        for i, vector in enumerate(vectors.tolist()):
            products = [product(vector, planes.directions[table, b, :dimensions].tolist()) for b in range(bits)]
            assert int(found.keys[i]) == sum(int(p >= 0) << b for b, p in enumerate(products))
            assert found.costs[i].tolist() == [p * p for p in products]
        assert found.turns.tolist() == [[1 << b for b in range(bits)]]
        assert found.groups.tolist() == list(range(bits))


@given(st.integers(1, 200), st.integers(1, 40), st.lists(st.integers(0, 200), max_size=3))
def test_keys_do_not_depend_on_the_rows_beside_or_on_the_tables_asked_for(n: int, bits: int, cuts: list[int]) -> None:
    vectors, planes = directions(n, 11, n), hyperplanes(11, bits, 3, 5)
    together = [one.keys.tolist() for one in moves(vectors, planes, range(3))]
    edges = sorted({0, n, *(cut for cut in cuts if cut < n)})
    for table in range(3):
        parts = [
            moves(vectors[a:b], planes, range(table, table + 1), probes=2)[0].keys.tolist()
            for a, b in pairwise(edges)
        ]
        assert [*chain(*parts)] == together[table]


def test_read_only_vectors_will_do() -> None:
    vectors = directions(5, 7, 1)
    vectors.flags.writeable = False
    assert len(moves(vectors, hyperplanes(7, 4, 1, 1), range(1))[0].keys) == 5


def test_more_tables_begin_with_the_same() -> None:
    few, many = hyperplanes(6, 5, 2, 1), hyperplanes(6, 5, 7, 1)
    assert (many.directions[:2] == few.directions).all()
    assert (hyperplanes(6, 5, 2, 2).directions != few.directions).any()


def test_without_probes_there_are_no_moves() -> None:
    assert moves(directions(3, 4, 1), hyperplanes(4, 8, 1, 1), range(1))[0].costs.shape == (3, 0)


@pytest.mark.parametrize("bits", [0, 63])
def test_bits_out_of_bounds(bits: int) -> None:
    with pytest.raises(OptionError, match=f"bits is {bits}; allowed"):
        hyperplanes(4, bits, 1, 1)


def test_keys_and_codes_are_what_they_were() -> None:
    vectors = np.sin(np.arange(48, dtype=np.float64)).reshape(3, 16).astype(np.float32)
    found = moves(vectors, hyperplanes(16, 16, 2, 1), range(2))
    assert np.stack([one.keys for one in found], axis=1).tolist() == KEYS[HASH_SCHEME]
    assert codes(vectors, 71, 1)[0].tolist() == CODES[HASH_SCHEME]


def test_codes_are_the_sides_of_directions() -> None:
    vectors = directions(300, 5, 2)
    sides = project_bits(vectors, np.eye(5, dtype=np.float32))
    assert sides[:, 0].tolist() == [sum(int(x >= 0) << b for b, x in enumerate(row)) for row in vectors.tolist()]


# Against theory


@pytest.mark.parametrize("cosine", [-0.5, 0.0, 0.2, 0.5, 0.8, 0.9, 0.99])
@pytest.mark.parametrize("dimensions", [3, 20, 128])
def test_bits_differ_as_often_as_the_angle_says(dimensions: int, cosine: float) -> None:
    left = directions(3000, dimensions, 1)
    right = beside(left, cosine, 2)
    expected, bits = math.acos(cosine) / math.pi, 64
    # Fresh hyperplanes for each five pairs: pairs that share them are not independent where dimensions are few.
    found = np.concatenate(
        [differing(codes(left[i : i + 5], bits, i), codes(right[i : i + 5], bits, i)) for i in range(0, 3000, 5)]
    )
    assert abs(found.mean() / bits - expected) <= 3 * found.std() / bits / math.sqrt(3000)
    assert found.var() <= 1.1 * bits * expected * (1 - expected)


@pytest.mark.parametrize(("left", "right"), [((1, 0), (0, 1)), ((1, 0), (1, 1)), ((3, 1), (3, -1)), ((1, 0), (9, 1))])
def test_two_given_vectors_and_many_hyperplanes(left: tuple[int, int], right: tuple[int, int]) -> None:
    """Vectors of few coordinates, where only truly normal directions give the angle: 40,000 bits, 3 standard errors."""
    both = np.array([left, right], np.float32)
    first, second = codes(both, 40_000, 3)
    angle = math.acos(np.dot(left, right) / math.hypot(*left) / math.hypot(*right)) / math.pi
    share = int(differing(first[None], second[None])[0]) / 40_000
    assert abs(share - angle) <= 3 * math.sqrt(angle * (1 - angle) / 40_000)


@pytest.mark.parametrize(("bits", "tables"), [(1, 1), (1, 10), (5, 1), (5, 20), (10, 50), (16, 35)])
@pytest.mark.parametrize("cosine", [0.5, 0.8, 0.9])
def test_tables_of_bits_are_on_the_s_curve(bits: int, tables: int, cosine: float) -> None:
    """1-(1-s^k)^L, where s is the chance that one bit agrees."""
    left = directions(10_000, 24, 4)
    right = beside(left, cosine, 5)
    met = np.zeros(10_000, bool)
    for part in range(0, 10_000, 500):
        rows, planes = slice(part, part + 500), hyperplanes(24, bits, tables, part)
        pairs = zip(moves(left[rows], planes, range(tables)), moves(right[rows], planes, range(tables)), strict=True)
        for one, other in pairs:
            met[rows] |= one.keys == other.keys
    assert abs(met.mean() - band_probability(side_agrees(cosine), tables, bits)) <= 0.02
