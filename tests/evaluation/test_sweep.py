"""Measures at each threshold, shares by range of similarity, and their intervals: against plain counting and SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from scipy.stats import t as student

import twinset
from twinset.evaluation.sweep import SampledPairs, curves, interval, shares, wilson
from twinset.evaluation.true_pairs import ListedClusters, ScoredPairs
from twinset.plan import plan


def words(count: int, name: str) -> list[str]:
    return [f"{name}{number}" for number in range(count)]


@pytest.mark.parametrize(("hits", "count"), [(0, 10), (1, 10), (9, 10), (10, 10), (37, 200), (1999, 2000)])
def test_wilson_equals_scipy(hits: int, count: int) -> None:
    expected = binomtest(hits, count).proportion_ci(0.95, method="wilson")
    assert wilson(hits / count, count) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_over_families_equals_one_worked_out_by_hand(seed: int) -> None:
    """The variance of a ratio over families, with the factor for a sample of them and Student's quantile of SciPy."""
    dice = np.random.default_rng(seed)
    family = np.sort(dice.integers(0, 30 + 10 * seed, 200))
    chance = dice.uniform(0.2, 1.0, 30 + 10 * seed)
    found = dice.uniform(size=200) < chance[family]
    names = sorted(set(family.tolist()))
    share = found.sum() / 200
    apart = [found[family == name].sum() - share * (family == name).sum() for name in names]
    variance = len(names) / (len(names) - 1) * math.fsum(one**2 for one in apart) / 200**2
    worth = min(200.0, share * (1 - share) / variance)
    worth *= (norm.ppf(0.975) / student.ppf(0.975, len(names) - 1)) ** 2
    assert interval(found, family) == pytest.approx(wilson(float(share), worth), abs=1e-4)


def test_families_found_whole_or_missed_whole_count_as_one_pair() -> None:
    assert interval(np.ones(40, bool), np.repeat(np.arange(4), 10)) == wilson(1.0, 4.0)
    assert interval(np.zeros(40, bool), np.zeros(40, np.int64)) == wilson(0.0, 1.0)


def test_a_range_begins_at_its_lower_end() -> None:
    """Every multiple of 0.05 is the first of its range, though 0.15 × 20 is a little below 3; 1 is in the last."""
    similarity = np.array([number / 20 for number in range(1, 21)])
    found = shares(SampledPairs(similarity, np.ones(20, bool), np.arange(20)), plan(0.8))
    expected = {number / 20: 1 for number in range(1, 19)} | {0.95: 2}
    assert {row["low"]: row["pairs"] for row in found} == expected
    for row in found:
        assert row["low"] <= row["similarity"] <= row["high"]


def evaluated() -> Any:
    """Pairs exactly at 0.5, 0.6, 0.75 and 1, of which the one at 0.6 is not true."""
    texts: dict[str, str] = {}
    for shared, union in ((5, 10), (6, 10), (15, 20), (10, 10)):
        name = f"s{shared}o{union}"
        texts[f"{name}a"] = " ".join(words(shared, name))
        texts[f"{name}b"] = " ".join([*words(shared, name), *words(union - shared, f"{name}x")])
    truth = [(f"{name}a", f"{name}b") for name in ("s5o10", "s15o20", "s10o10")]
    return twinset.evaluate(texts, truth=truth, sweep="0.5:1:0.05", shingle="word:1", recall=0.999999)


def test_thresholds_are_inclusive() -> None:
    rows = {round(row["threshold"], 2): row for row in evaluated().summary["measures"]}
    counted = {
        at: (rows[at]["found_pairs"], rows[at]["true_pairs_found"]) for at in (0.5, 0.55, 0.6, 0.65, 0.75, 0.8, 1.0)
    }
    assert counted == {0.5: (4, 3), 0.55: (3, 2), 0.6: (3, 2), 0.65: (2, 2), 0.75: (2, 2), 0.8: (1, 1), 1.0: (1, 1)}


def test_curves_are_inclusive() -> None:
    """At 1 there are the pairs of identical documents: the last point of every curve of a corpus with copies."""
    left, right = np.array([0, 2, 4], np.uint32), np.array([1, 3, 5], np.uint32)
    found = ScoredPairs.of(left, right, np.array([0.5, 0.75, 1.0]))
    rows = curves(found, ListedClusters(np.array([0, 0, 1, 1, 2, 2], np.uint32)), 0.5)
    points = {round(row["threshold"], 4): row["recall"] for row in rows}
    assert (points[0.5], points[0.75], points[1.0]) == (1.0, 2 / 3, 1 / 3)
