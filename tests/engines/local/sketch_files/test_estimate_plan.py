"""Bands for estimates: the probability is no more than the share of arrangements, and the recall is reached."""

from __future__ import annotations

from itertools import combinations

import pytest

from twinset.engines.local.sketch_files.estimate_plan import EstimatePlan, estimate_plan, least_matches, met_probability
from twinset.errors import OptionError, PlanWarning


@pytest.mark.parametrize(("k", "bands", "rows"), [(8, 4, 2), (9, 3, 3), (7, 2, 2), (6, 6, 1), (8, 1, 5)])
def test_the_probability_bounds_the_share_of_arrangements(k: int, bands: int, rows: int) -> None:
    for equal in range(k + 1):
        arrangements = list(combinations(range(k), equal))
        met = sum(
            any(set(range(b * rows, (b + 1) * rows)) <= set(places) for b in range(bands)) for places in arrangements
        )
        true, least = met / len(arrangements), met_probability(equal, k, bands, rows)
        assert least <= true + 1e-12
        assert least == pytest.approx(true, abs=1e-12 if bands == 1 else 0.2)


@pytest.mark.parametrize("threshold", [0.01, 0.1, 1 / 3, 0.5, 0.6, 0.8, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("k", [1, 5, 16, 64, 128, 250, 1024])
def test_the_recall_is_reached(threshold: float, k: int) -> None:
    plan = estimate_plan(threshold, 0.99, k)
    assert plan.n_bands * plan.rows_per_band <= k
    assert plan.reached >= 0.99
    more = [met_probability(m, k, plan.n_bands, plan.rows_per_band) for m in range(plan.min_matches, k + 1)]
    assert more == sorted(more)


def test_the_least_number_of_equal_slots() -> None:
    for k in range(1, 200):
        for tenth in range(1, 11):
            m = least_matches(tenth / 10, k)
            assert m / k >= tenth / 10 > (m - 1) / k


def test_given_bands_are_taken_with_a_warning() -> None:
    with pytest.warns(PlanWarning, match="less than the requested recall, 0.99"):
        plan = estimate_plan(0.5, 0.99, 128, n_bands=4, rows=8)
    assert (plan.n_bands, plan.rows_per_band) == (4, 8)
    assert estimate_plan(0.5, 0.99, 128, rows=2).rows_per_band == 2
    with pytest.raises(OptionError, match="16 × 9, more than the sketches have hashes, 128"):
        estimate_plan(0.5, 0.99, 128, n_bands=16, rows=9)


def test_words() -> None:
    assert str(EstimatePlan(0.5, 0.99, 64, 0, 0)) == "bottom-64: every pair estimated at 0.5 and above is found"
    assert EstimatePlan(0.5, 0.99, 64, 0, 0).reached == 1.0
