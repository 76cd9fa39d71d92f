"""Bands of rows, and tables of bits: the curves, and signatures that meet as often as the curves say."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from twinset import textbook

# The four families that are plotted, as (tables, bits)

ONE_TABLE = [(1, bits) for bits in range(1, 11)]
ONE_BIT = [(tables, 1) for tables in range(1, 11)]
FIVE_BITS = [(tables, 5) for tables in range(1, 51)]
TEN_BITS = [(tables, 10) for tables in range(1, 51)]


@pytest.mark.parametrize("family", [ONE_TABLE, ONE_BIT, FIVE_BITS, TEN_BITS])
@given(similarity=st.floats(0, 1))
def test_more_bits_are_stricter_and_more_tables_looser(family: list[tuple[int, int]], similarity: float) -> None:
    curve = [textbook.band_probability(similarity, tables, bits) for tables, bits in family]
    by_definition = [1 - (1 - similarity**bits) ** tables for tables, bits in family]
    assert curve == pytest.approx(by_definition, abs=1e-12)
    assert curve == [textbook.table_probability(similarity, bits, tables) for tables, bits in family]
    assert curve == pytest.approx(sorted(curve, reverse=family is ONE_TABLE), abs=1e-12)
    for ends in (0.0, 1.0):
        assert [textbook.band_probability(ends, tables, bits) for tables, bits in family] == [ends] * len(family)


@pytest.mark.parametrize(
    ("tables", "bits", "similarity", "probability"),
    [
        (1, 1, 0.3, 0.3),
        (1, 10, 0.5, 1 / 1024),
        (10, 1, 0.5, 1023 / 1024),
        (50, 5, 0.5, 0.7956),
        (50, 10, 0.5, 0.0477),
        (50, 10, 0.8, 0.9966),
    ],
)
def test_points_of_the_families(tables: int, bits: int, similarity: float, probability: float) -> None:
    assert textbook.band_probability(similarity, tables, bits) == pytest.approx(probability, abs=0.00005)


@pytest.mark.parametrize(("tables", "bits", "similarity"), [(1, 5, 0.8), (10, 1, 0.1), (20, 5, 0.5), (50, 10, 0.7)])
def test_codes_whose_bits_agree_by_chance_meet_as_often_as_the_curve_says(
    tables: int, bits: int, similarity: float
) -> None:
    chance, pairs = random.Random(5), 2000
    met = 0
    for _ in range(pairs):
        left = [chance.random() < 0.5 for _ in range(tables * bits)]
        right = [bit if chance.random() < similarity else not bit for bit in left]
        met += bool(textbook.candidates({"left": left, "right": right}, n_bands=tables, rows_per_band=bits))
    expected = textbook.band_probability(similarity, tables, bits)
    # Four standard errors: with fixed seed this holds or does not, and by chance it would fail once in 16,000.
    assert abs(met / pairs - expected) < 4 * math.sqrt(expected * (1 - expected) / pairs)


@given(st.integers(1, 60), st.integers(1, 20))
def test_at_the_step_two_pairs_of_three_are_found(n_bands: int, rows_per_band: int) -> None:
    found = textbook.band_probability(textbook.band_step(n_bands, rows_per_band), n_bands, rows_per_band)
    assert found == pytest.approx(1 - (1 - 1 / n_bands) ** n_bands)
    assert found > 1 - 1 / math.e


def test_the_old_rule_puts_the_step_on_the_threshold_and_the_plan_does_not() -> None:
    """b from (1/b)^(b/100) = threshold, as in the paper, for thresholds from 0.1 to 0.9."""
    thresholds = [tenth / 10 for tenth in range(1, 10)]
    bands = [textbook.bands_by_step(threshold, 100) for threshold in thresholds]
    assert bands == [57, 43, 34, 28, 22, 18, 14, 10, 6]
    found = [textbook.band_probability(t, b, 100 // b) for t, b in zip(thresholds, bands, strict=True)]
    # Rows come in whole numbers: 57 bands are of one row, which is laxer than was meant.
    assert [round(share, 2) for share in found] == [1.0, 0.83, 0.96, 0.84, 0.76, 0.77, 0.7, 0.68, 0.71]
    assert all(twinset.plan(threshold).reached >= 0.99 for threshold in thresholds)
