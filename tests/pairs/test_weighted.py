"""Weighted overlaps equal sums without rounding, and the threshold is inclusive."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset.pairs.weighted import overlaps, totals
from twinset.schema import WeightedSets

elements = st.integers(1, 9) | st.integers(1, 2**64 - 1)
rows_of_sets = st.lists(
    st.lists(st.tuples(elements, st.floats(0, 1e12) | st.sampled_from([0.0, 1.0, 2.0, 0.1])), max_size=20),
    min_size=1,
    max_size=5,
)
Row = list[tuple[int, float]]


def combine(rows: list[Row]) -> WeightedSets:
    sets = [summed(row) for row in rows]
    hashes = np.array([x for one in sets for x in one], np.uint64)
    weights = np.array([w for one in sets for w in one.values()], np.float64)
    return WeightedSets(np.cumsum([0, *map(len, sets)]), hashes, weights)


def summed(row: Row) -> dict[int, float]:
    every = {x: math.fsum(w for y, w in row if y == x) for x, _ in row}
    return {x: every[x] for x in sorted(every) if every[x]}


def compared(rows: list[Row], threshold: float) -> tuple[list[tuple[int, int]], list[float], list[float]]:
    sets = combine(rows)
    pairs = list(product(range(len(rows)), repeat=2))
    lefts, rights = (np.array([pair[side] for pair in pairs], np.uint32) for side in (0, 1))
    shared, similarity = overlaps(sets, totals(sets), lefts, rights, threshold)
    return pairs, shared.tolist(), similarity.tolist()


@given(rows_of_sets)
def test_totals_are_sums_without_rounding(rows: list[Row]) -> None:
    assert totals(combine(rows)).tolist() == pytest.approx([math.fsum(summed(row).values()) for row in rows], rel=1e-15)


@given(rows_of_sets, st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.8, 0.95, 1.0]))
def test_overlaps_equal_the_oracle(rows: list[Row], threshold: float) -> None:
    pairs, shared, similarity = compared(rows, threshold)
    every = [summed(row) for row in rows]
    for (left, right), common, score in zip(pairs, shared, similarity, strict=True):
        true = oracles.weighted_jaccard(every[left], every[right])
        if abs(true - threshold) <= 1e-12 * true:
            continue  # on the border to the last bits: see below
        least = math.fsum(min(w, every[right].get(x, 0.0)) for x, w in every[left].items())
        assert score == pytest.approx(true if true >= threshold else 0.0, rel=1e-14)
        assert common == pytest.approx(least if true >= threshold else 0.0, rel=1e-14)


@given(rows_of_sets)
def test_left_and_right_are_alike_and_a_set_is_itself(rows: list[Row]) -> None:
    pairs, shared, similarity = compared(rows, 0.0)
    found = dict(zip(pairs, zip(shared, similarity, strict=True), strict=True))
    for left, right in pairs:
        assert found[left, right] == found[right, left]
        if left == right:
            assert found[left, right][1] == (1.0 if summed(rows[left]) else 0.0)
    _, _, whole = compared(rows, 1.0)
    assert [whole[pairs.index((i, i))] for i in range(len(rows))] == [float(bool(summed(row))) for row in rows]


@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95])
def test_the_threshold_is_inclusive_for_whole_weights(threshold: float) -> None:
    """Kept where Σ min / Σ max is at least the threshold, as Python divides; whole numbers are summed exactly."""
    for most in range(1, 60):
        for least in range(most + 1):
            rows: list[Row] = [[(7, least), (8, 1.0)], [(7, most), (8, 1.0)]]
            _, shared, similarity = compared(rows, threshold)
            true = (least + 1) / (most + 1)
            assert similarity[1] == (true if true >= threshold else 0.0)
            assert shared[1] == (least + 1 if true >= threshold else 0.0)


def test_with_weights_of_one_it_is_jaccard() -> None:
    rows: list[Row] = [[(x, 1.0) for x in range(1, 6)], [(x, 1.0) for x in (1, 3, 4)]]
    _, shared, similarity = compared(rows, 0.6)
    assert (shared[1], similarity[1]) == (3.0, 3 / 5)


def test_light_elements_count_beside_heavy_ones() -> None:
    """Ten million light ones: added one by one to a heavy one, each would be lost."""
    count = 100_000
    hashes = np.arange(1, count + 2, dtype=np.uint64)
    weights = np.array([1e16] + [1.0] * count)
    sets = WeightedSets(np.array([0, count + 1]), hashes, weights)
    assert totals(sets).tolist() == [1e16 + count]


def test_sets_without_elements_have_nothing_in_common() -> None:
    _, shared, similarity = compared([[], [(4, 0.0)], [(4, 1.0)]], 0.0)
    assert shared == similarity == [0.0] * 8 + [1.0]
