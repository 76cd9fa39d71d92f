"""Strips: keys equal the oracle's, values stay what they were, and strips are shared as often as theory says.

Statistical bounds, seeds fixed: shares of 20,000 pairs within 3 standard errors; the variance of the number of
differing parities at most 1.1 of independent bits'.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.directions import away, differing, directions
from twinset.errors import OptionError
from twinset.plan.vector_chances import parity_differs, strip_agrees
from twinset.schema import HASH_SCHEME
from twinset.sketches.vectors.p_stable import moves, parities, strips

KEYS = {1: [0xD821D32F258B0249, 0x4D8592D51EB81C91]}
PARITIES = {1: [0x21B7FCB3867DC0F7]}


@given(
    st.integers(0, 70), st.integers(1, 9), st.integers(1, 5), st.integers(1, 3),
    st.sampled_from([0.5, 1.0, 3.0, 1e-30, 1e30]), st.integers(0, 2**32),
)  # fmt: skip
def test_keys_and_moves_equal_the_oracle(
    n: int, dimensions: int, functions: int, tables: int, width: float, seed: int
) -> None:
    vectors = np.random.default_rng(seed).integers(-9, 10, (n, dimensions)).astype(np.float32)
    drawn = strips(dimensions, functions, width, tables, seed)
    for table, found in enumerate(moves(vectors, drawn, range(tables), probes=1)):
        for i, vector in enumerate(vectors.tolist()):
            key = 0
            for f in range(functions):
                total = 0.0
                for x, w in zip(vector, drawn.directions[table, f, :dimensions].tolist(), strict=True):
                    total += x * w
                place = min(max(total / width + float(drawn.offsets[table, f]), -4e18), 4e18)
                strip = math.floor(place)
                here, below, above = (oracles.strip_hash(f, strip + step) for step in (0, -1, 1))
                key ^= here
                assert found.turns[i, 2 * f : 2 * f + 2].tolist() == [here ^ below, here ^ above]
                inside = place - strip
                squares = [np.float32(inside * inside), np.float32((1 - inside) * (1 - inside))]
                assert found.costs[i, 2 * f : 2 * f + 2].tolist() == squares
            assert int(found.keys[i]) == key
        assert found.groups.tolist() == [f for f in range(functions) for _ in range(2)]


def test_keys_do_not_depend_on_the_rows_beside_or_on_the_tables_asked_for() -> None:
    vectors, drawn = directions(150, 10, 1), strips(10, 5, 0.4, 4, 5)
    together = moves(vectors, drawn, range(4), probes=1)
    for tables in (range(1, 2), range(2, 4)):
        for start, end in ((0, 1), (63, 65), (10, 150)):
            for one, table in zip(moves(vectors[start:end], drawn, tables), tables, strict=True):
                assert one.keys.tolist() == together[table].keys[start:end].tolist()


def test_keys_and_parities_are_what_they_were() -> None:
    vectors = np.sin(np.arange(48, dtype=np.float64)).reshape(3, 16).astype(np.float32)
    assert [int(one.keys[0]) for one in moves(vectors, strips(16, 3, 2.0, 2, 1), range(2))] == KEYS[HASH_SCHEME]
    assert parities(vectors, 2.0, 64, 1)[0].tolist() == PARITIES[HASH_SCHEME]


def test_values_out_of_bounds() -> None:
    with pytest.raises(OptionError, match="functions is 65; allowed: a whole number from 1 to 64"):
        strips(4, 65, 1.0, 1, 1)
    for width in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(OptionError, match=r"width is .*; allowed: a number above 0"):
            strips(4, 2, width, 1, 1)


def test_the_longest_vectors_have_keys() -> None:
    vectors = np.full((2, 3), 3e38, np.float32)
    vectors[1] *= -1
    found = moves(vectors, strips(3, 2, 1e-30, 1, 1), range(1), probes=1)[0]
    assert np.isfinite(found.costs).all()
    assert parities(vectors, 1e-30, 64, 1).shape == (2, 1)


@pytest.mark.parametrize("distance", [0.1, 0.25, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("far_from_origin", [0.0, 1000.0])
def test_strips_are_shared_as_theory_says(distance: float, far_from_origin: float) -> None:
    """Wherever the vectors are; fresh directions for each 100 pairs."""
    left = (directions(20_000, 16, 3) + far_from_origin).astype(np.float32)
    right = away(left, distance, 4)
    met, n = np.zeros(20_000, bool), 20_000
    odd = np.empty(20_000, np.int64)
    for part in range(0, n, 100):
        rows, drawn = slice(part, part + 100), strips(16, 1, 1.0, 1, part)
        met[rows] = moves(left[rows], drawn, range(1))[0].keys == moves(right[rows], drawn, range(1))[0].keys
        odd[rows] = differing(parities(left[rows], 1.0, 64, part), parities(right[rows], 1.0, 64, part))
    expected, apart = strip_agrees(distance), parity_differs(distance)
    assert abs(met.mean() - expected) <= 3 * math.sqrt(expected * (1 - expected) / n)
    assert abs(odd.mean() / 64 - apart) <= 3 * odd.std() / 64 / math.sqrt(n)
    assert odd.var() <= 1.1 * 64 * apart * (1 - apart)


def test_theory_at_its_ends() -> None:
    assert strip_agrees(0.0) == 1.0
    assert strip_agrees(1e6) == pytest.approx(1 / (1e6 * math.sqrt(2 * math.pi)), rel=1e-3)
    assert parity_differs(0.02) == pytest.approx(0.02 * math.sqrt(2 / math.pi), rel=1e-4)
    assert parity_differs(50.0) == 0.5
