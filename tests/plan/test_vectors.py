"""Threshold and recall in, tables out: what the plan promises is what is found.

Statistical bounds, seeds fixed: a share of n pairs that should be found with probability p is allowed 3 standard errors
of a binomial, below the promise or beside the prediction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from benchmarks import vector_join
from tests.directions import away, beside, directions
from twinset.errors import OptionError, PlanWarning
from twinset.plan import band_probability
from twinset.plan.vector_chances import Ranks, corner_agrees, side_agrees, strip_agrees
from twinset.plan.vector_costs import background, expected_cost
from twinset.plan.vectors import METHODS, VectorPlan, vector_plan
from twinset.schema import Vectors
from twinset.sketches.vectors import keys

PAIRS = 2000


def found_share(left: Vectors, right: Vectors, plan: VectorPlan, seed: int) -> float:
    """Of planted pairs, row by row, the share that the whole join finds."""
    lefts, rights, scores = vector_join.pairs(np.concatenate([left, right]), plan, seed)
    assert (scores >= plan.threshold if plan.measure == "cosine" else scores <= plan.threshold).all()
    return int(np.count_nonzero(rights == lefts + len(left))) / len(left)


def planted(plan: VectorPlan, likeness: float, seed: int, pairs: int = PAIRS) -> tuple[Vectors, Vectors]:
    """Pairs of a likeness: a hair nearer than that, so that rounding does not push them over the threshold."""
    left = directions(pairs, plan.dimensions, seed)
    if plan.measure == "cosine":
        return left, beside(left, min(1.0, likeness + 1e-6), seed + 1)
    left = (left * np.float32(30) + np.float32(5)).astype(np.float32)
    return left, away(left, likeness * (1 - 1e-5), seed + 1)


# What is promised is found


@pytest.mark.parametrize(
    ("threshold", "recall", "words"),
    [
        (0.9, 0.95, {"dimensions": 128}),
        (0.9, 0.95, {"dimensions": 128, "method": "hyperplane", "functions": 12, "probes": 0}),
        (0.9, 0.95, {"dimensions": 128, "method": "hyperplane", "functions": 12, "probes": 8}),
        (0.9, 0.95, {"dimensions": 128, "method": "cross-polytope", "functions": 2, "probes": 0}),
        (0.9, 0.95, {"dimensions": 128, "method": "cross-polytope", "functions": 2, "probes": 6}),
        (0.8, 0.9, {"dimensions": 50}),
        (0.7, 0.8, {"dimensions": 20, "method": "cross-polytope"}),
        (0.95, 0.99, {"dimensions": 300}),
        (0.9, 0.9, {"dimensions": 3, "method": "cross-polytope"}),
        (2.0, 0.95, {"dimensions": 64, "measure": "distance", "others": [40.0] * 10}),
        (2.0, 0.9, {"dimensions": 10, "measure": "distance", "others": [20.0] * 10, "functions": 6, "probes": 4}),
        (2.0, 0.9, {"dimensions": 10, "measure": "distance", "others": [20.0] * 10, "functions": 6, "probes": 0}),
    ],
)
def test_pairs_at_the_threshold_are_found_as_often_as_asked_for(
    threshold: float, recall: float, words: dict[str, Any]
) -> None:
    """Over three seeds; and no more often than the plan itself says, beyond what may be chance."""
    plan = vector_plan(threshold, recall, **words)
    assert plan.reached >= recall
    shares = [found_share(*planted(plan, threshold, seed), plan, seed) for seed in (1, 20, 300)]
    error = math.sqrt(recall * (1 - recall) / (3 * PAIRS))
    assert np.mean(shares) >= recall - 3 * error
    # Pairs that share hash functions are not independent: the mean of few dimensions may be off by more than that.
    assert abs(np.mean(shares) - plan.reached) <= 3 * error + (0.03 if plan.dimensions < 32 else 0.015)


@pytest.mark.parametrize("probes", [0, 4])
@pytest.mark.parametrize("likeness", [0.6, 0.75, 0.85, 0.95])
def test_the_curve_is_what_is_found_beyond_the_threshold(probes: int, likeness: float) -> None:
    """The threshold lowered for verifying alone: signatures and tables stay those of the plan.

    ±0.05 is asked for: below the threshold signatures let some more pass than independent bits would.
    """
    plan = vector_plan(0.85, 0.9, dimensions=64, method="hyperplane", functions=10, probes=probes)
    below = VectorPlan(**{**vars(plan), "threshold": 0.5})
    share = np.mean([found_share(*planted(plan, likeness, seed), below, seed) for seed in (4, 50, 600)])
    assert abs(share - plan.p_found(likeness)) <= (0.02 if likeness >= 0.85 else 0.05)


@pytest.mark.parametrize("words", [{"measure": "cosine"}, {"measure": "distance", "others": [40.0]}])
def test_queries_find_their_neighbours(words: dict[str, Any]) -> None:
    threshold = 0.9 if words["measure"] == "cosine" else 2.0
    plan = vector_plan(threshold, 0.9, dimensions=64, sides=1, probes=6, **words)
    held, queries = planted(plan, threshold, 7)
    numbers, scores, counts = vector_join.Index(held, plan, seed=3).nearest(queries, 1)
    right = (counts > 0) & (numbers[:, 0] == np.arange(len(queries)))
    assert right.mean() >= 0.9 - 3 * math.sqrt(0.9 * 0.1 / len(queries))
    best = scores[right, 0]
    assert np.allclose(best, threshold, atol=1e-3)


def test_threads_and_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in ({}, {"measure": "distance", "others": [40.0]}):
        plan = vector_plan(0.9 if not words else 2.0, 0.9, dimensions=40, **words)  # type: ignore[arg-type]
        vectors = np.concatenate(planted(plan, plan.threshold, 9, 700))
        one = vector_join.pairs(vectors, plan, threads=1)
        with monkeypatch.context() as patch:
            patch.setattr(vector_join, "ROWS", 97)
            other = vector_join.pairs(vectors, plan, threads=3)
        assert [part.tolist() for part in one] == [part.tolist() for part in other]


def test_vectors_without_direction_are_in_no_pair() -> None:
    vectors = directions(300, 16, 1)
    vectors[[0, 7, 299]] = 0
    vectors[20] = vectors[21]
    for words in ({"method": "exact"}, {"method": "hyperplane", "functions": 4}):
        found = vector_join.pairs(vectors, vector_plan(0.999, dimensions=16, **words))  # type: ignore[arg-type]
        assert [part.tolist() for part in found] == [[20], [21], [1.0]]


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_an_exact_plan_finds_everything(measure: str) -> None:
    plan = vector_plan(0.9 if measure == "cosine" else 2.0, dimensions=12, measure=measure, method="exact")
    assert found_share(*planted(plan, plan.threshold, 3, 300), plan, 1) == 1.0


# What is chosen


def test_probing_takes_a_third_of_the_tables_or_less() -> None:
    for method, functions in (("hyperplane", 12), ("hyperplane", 16), ("cross-polytope", 2)):
        words: dict[str, Any] = {"dimensions": 128, "method": method, "functions": functions}
        few, many = (vector_plan(0.9, 0.95, probes=probes, **words).tables for probes in (6, 0))
        assert many >= 3 * few, (method, functions, few, many)


def test_without_probes_it_is_the_textbook() -> None:
    plan = vector_plan(0.9, 0.95, dimensions=128, method="hyperplane", functions=14, probes=0)
    chance = side_agrees(0.9)
    assert plan.p_table(0.9) == pytest.approx(chance**14)
    assert band_probability(chance, plan.tables, 14) >= 0.95 > band_probability(chance, plan.tables - 1, 14) - 0.001
    plan = vector_plan(2.0, 0.95, dimensions=128, measure="distance", functions=6, probes=0)
    assert plan.p_table(2.0) == pytest.approx(strip_agrees(2.0 / plan.width) ** 6)


def test_more_recall_takes_more_tables() -> None:
    words: dict[str, Any] = {"dimensions": 64, "method": "hyperplane", "functions": 10, "probes": 2}
    counts = [vector_plan(0.9, recall, **words).tables for recall in (0.5, 0.9, 0.99, 0.9999)]
    assert counts == sorted(set(counts))


def test_chances_rise_with_likeness_and_probes() -> None:
    for method, functions, size in (("hyperplane", 10, {}), ("cross-polytope", 2, {"width": 32, "size": 64})):
        chances = [
            [Ranks(method, cosine, functions, 16, **size).chance(probes, 2) for probes in (0, 1, 4, 16)]
            for cosine in (0.3, 0.6, 0.9, 1.0)
        ]
        assert all(row == sorted(row) for row in chances)
        assert all(list(column) == sorted(column) for column in zip(*chances, strict=True))
        assert chances[-1] == [1.0] * 4
    assert Ranks("p-stable", 0.0, 5, 4).chance(0, 1) == 1.0
    ranks = Ranks("hyperplane", 0.8, 10, 8)
    assert ranks.chance(8, 1) < ranks.chance(8, 2)
    assert ranks.least_chance(8, 2) < ranks.chance(8, 2)
    assert ranks.least_chance(0, 2) == ranks.chance(0, 2) == side_agrees(0.8) ** 10
    assert corner_agrees(0.0, 64, 64) < corner_agrees(0.5, 64, 64) < corner_agrees(0.9, 64, 64)


def test_few_vectors_and_low_thresholds_are_compared_with_all() -> None:
    assert vector_plan(0.9, dimensions=64, vectors=50).method == "exact"
    assert vector_plan(0.3, dimensions=64, vectors=20_000, others=[0.2] * 9).method == "exact"
    plan = vector_plan(2.0, dimensions=8, measure="distance", vectors=10)
    assert (plan.method, plan.reached, plan.p_found(9.0)) == ("exact", 1.0, 1.0)
    assert str(plan) == "exact: every pair at distance 2 is found"
    with pytest.raises(OptionError, match="an exact plan has no tables"):
        keys.draw(plan, 1)


def test_a_crowded_collection_gets_longer_keys() -> None:
    words: dict[str, Any] = {"dimensions": 128, "method": "hyperplane", "probes": 0}
    assert (
        vector_plan(0.9, others=[0.0] * 50, **words).functions < vector_plan(0.9, others=[0.6] * 50, **words).functions
    )


def test_costs_count_what_is_met() -> None:
    plan = vector_plan(0.9, 0.5, dimensions=64, method="hyperplane", functions=10, probes=3, tables=7)
    cost = expected_cost(plan, 1024, [(2.0**-10, 0.5)])
    assert (cost.meetings, cost.candidates) == (28.0, 14.0)
    assert cost.total == cost.hashing + cost.looking + cost.verifying > 0


def test_a_sample_becomes_shares() -> None:
    for measure in ("cosine", "distance"):
        assert math.fsum(share for _, share in background(None, measure, 0.9)) == pytest.approx(1)
    sample = np.random.default_rng(1).normal(0.2, 0.1, 1000)
    found = background(sample.tolist(), "cosine", 0.9)
    assert math.fsum(share for _, share in found) == pytest.approx(1)
    assert math.fsum(value * share for value, share in found) == pytest.approx(sample.mean())
    assert background([3.0], "distance", 1.0) == [(3.0, 1.0)]


def test_words_and_values() -> None:
    plan = vector_plan(0.9, 0.95, dimensions=128, method="cross-polytope", functions=2, probes=4)
    assert str(plan).startswith("cross-polytope: ")
    assert ", 4 more keys tried: a pair at cosine 0.9 is found with probability 0.9" in str(plan)
    assert plan.to_dict()["tables"] == plan.tables
    curve = plan.curve(5)
    assert [round(cosine, 6) for cosine, _ in curve] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert [share for _, share in curve] == sorted(share for _, share in curve)
    far = vector_plan(2.0, dimensions=8, measure="distance", others=[9.0], functions=4).curve(4)
    assert [round(distance, 6) for distance, _ in far] == [1.0, 2.0, 3.0, 4.0]
    assert [share for _, share in far] == sorted((share for _, share in far), reverse=True)


def test_bounds_of_what_can_be_given() -> None:
    """The longest keys of each method, and samples with everything in them."""
    for method, functions in (("hyperplane", 48), ("cross-polytope", 8)):
        with pytest.warns(PlanWarning):
            plan = vector_plan(0.3, dimensions=300, method=method, functions=functions, probes=1, tables=1)
        keys.draw(plan, 1)
    assert vector_plan(0.9, dimensions=64, functions=20, probes=0).method == "hyperplane"
    crowd = [-1.0, 0.0, 1.0, math.nan, math.inf]
    assert vector_plan(0.9, dimensions=64, others=crowd).reached >= 0.99
    assert vector_plan(0.9, dimensions=64, others=[]) == vector_plan(0.9, dimensions=64)
    assert vector_plan(1.0, dimensions=64, others=[0.1]).reached >= 0.99
    far = [0.0, 1e-30, 1e30]
    assert vector_plan(1e-20, dimensions=64, measure="distance", others=far).reached >= 0.99
    assert vector_plan(1e38, dimensions=64, measure="distance").method == "exact"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"threshold": 0.0}, "threshold is 0.0; allowed: a number above 0 and up to 1"),
        ({"threshold": math.nan}, "threshold is nan"),
        ({"threshold": 1.5}, "threshold is 1.5"),
        ({"threshold": -1.0, "measure": "distance"}, "threshold is -1.0; allowed: a number above 0"),
        ({"threshold": 1e38, "measure": "distance", "tables": 3}, r"threshold is 1e\+38; allowed: .* below 1e\+30"),
        ({"recall": 1.0}, "recall is 1.0; allowed: a number above 0 and below 1"),
        ({"measure": "dot"}, "measure is 'dot'; allowed: cosine or distance"),
        (
            {"method": "p-stable"},
            "method is 'p-stable'; allowed for the measure cosine is hyperplane or cross-polytope",
        ),
        ({"dimensions": 0}, "dimensions is 0; allowed: a whole number from 1 to 65536"),
        ({"sides": 3}, "sides is 3; allowed: a whole number from 1 to 2"),
        ({"tables": 0}, "tables is 0; allowed: a whole number from 1 to 1024"),
        ({"probes": 256}, "probes is 256; allowed: a whole number from 0 to 255"),
        ({"functions": 99}, "functions is 99; allowed: a whole number from 1 to 48"),
        ({"functions": 9, "method": "cross-polytope"}, "functions is 9; allowed: a whole number from 1 to 8"),
    ],
)
def test_nonsense_is_refused(words: dict[str, Any], said: str) -> None:
    asked: dict[str, Any] = {"threshold": 0.9, "dimensions": 64, **words}
    with pytest.raises(OptionError, match=said):
        vector_plan(asked.pop("threshold"), **asked)


def test_given_tables_that_cannot_reach_the_recall_say_so() -> None:
    with pytest.warns(
        PlanWarning, match="less than the requested recall of 0.99; more tables, more probes or fewer bits"
    ):
        plan = vector_plan(0.9, 0.99, dimensions=64, method="hyperplane", functions=16, probes=0, tables=3)
    assert plan.tables == 3
    assert plan.reached < 0.3
    assert set(METHODS) == {"cosine", "distance"}
