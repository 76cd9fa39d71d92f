"""Measures of pairs and clusters: against scikit-learn, against slow definitions, and against cases done by hand."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import pair_confusion_matrix

from twinset.evaluation.metrics import DEFINITIONS, Overlap, PairCounts, pairs_within
from twinset.evaluation.sweep import COLUMNS

two_clusterings = st.integers(0, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 12), min_size=n, max_size=n), st.lists(st.integers(0, 12), min_size=n, max_size=n)
    )
)


def laid_over(found: list[int], true: list[int]) -> Overlap:
    return Overlap.of(np.array(found, np.int64), np.array(true, np.int64))


@given(two_clusterings)
def test_the_adjusted_rand_index_is_that_of_scikit_learn(both: tuple[list[int], list[int]]) -> None:
    found, true = both
    expected = adjusted_rand_score(true, found) if found else 1.0
    assert laid_over(found, true).adjusted_rand() == pytest.approx(expected, abs=1e-12)


@given(two_clusterings)
def test_pairs_in_one_cluster_are_those_that_scikit_learn_counts(both: tuple[list[int], list[int]]) -> None:
    found, true = both
    counts = laid_over(found, true).pairs()
    if not found:
        assert counts == PairCounts(0, 0, 0)
        return
    (_, only_found), (only_true, same) = pair_confusion_matrix(true, found) // 2
    assert counts == PairCounts(same + only_found, same + only_true, same)


@given(two_clusterings)
def test_b_cubed_and_exact_sets_are_what_their_definitions_say(both: tuple[list[int], list[int]]) -> None:
    found, true = both
    precisions, recalls, right = [], [], 0
    for one in range(len(found)):
        ours = {other for other in range(len(found)) if found[other] == found[one]}
        theirs = {other for other in range(len(true)) if true[other] == true[one]}
        precisions.append(Fraction(len(ours & theirs), len(ours)))
        recalls.append(Fraction(len(ours & theirs), len(theirs)))
        right += ours == theirs
    overlap = laid_over(found, true)
    if not found:
        assert (overlap.b_cubed(), overlap.exact_set_accuracy()) == ((1.0, 1.0, 1.0), 1.0)
        return
    precision, recall, f1 = overlap.b_cubed()
    assert precision == pytest.approx(float(sum(precisions) / len(found)))
    assert recall == pytest.approx(float(sum(recalls) / len(found)))
    assert f1 == pytest.approx(2 * precision * recall / (precision + recall))
    assert overlap.exact_set_accuracy() == pytest.approx(right / len(found))


def test_a_case_of_b_cubed_done_by_hand() -> None:
    # Found {a b c} {d e} {f}; true {a b} {c d e} {f}.
    # precision: a 2/3, b 2/3, c 1/3, d 1, e 1, f 1: 14/3 of 6. recall: a 1, b 1, c 1/3, d 2/3, e 2/3, f 1: 14/3 of 6.
    precision, recall, f1 = laid_over([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 2]).b_cubed()
    assert (precision, recall, f1) == pytest.approx((7 / 9, 7 / 9, 7 / 9))
    # All in one, while each is alone: every document has one of four right, and misses nothing.
    assert laid_over([0] * 4, [0, 1, 2, 3]).b_cubed() == pytest.approx((0.25, 1.0, 0.4))


def test_a_case_of_exact_sets_done_by_hand() -> None:
    # Found {a b} {c d} {e} {f}; true {a b} {c} {d e} {f}: a, b and f are right.
    assert laid_over([5, 5, 6, 6, 7, 8], [1, 1, 2, 3, 3, 4]).exact_set_accuracy() == 0.5
    # A cluster that is only part of the true one is wrong for all its members.
    assert laid_over([0, 0, 1], [0, 0, 0]).exact_set_accuracy() == 0.0


def test_a_case_of_the_rand_index_done_by_hand() -> None:
    # Six documents, 15 pairs; found has 4 of them, the truth 4, both 2: expected 16/15, most 4.
    found, true = [0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 2]
    assert laid_over(found, true).pairs() == PairCounts(4, 4, 2)
    assert laid_over(found, true).adjusted_rand() == pytest.approx((2 - 16 / 15) / (4 - 16 / 15))
    assert laid_over([0, 1, 0, 1], [0, 0, 1, 1]).adjusted_rand() == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (PairCounts(4, 5, 2), (0.5, 0.4, 4 / 9)),
        (PairCounts(0, 5, 0), (None, 0.0, 0.0)),
        (PairCounts(4, 0, 0), (0.0, None, 0.0)),
        (PairCounts(0, 0, 0), (None, None, None)),
        (PairCounts(3, 3, 3), (1.0, 1.0, 1.0)),
    ],
)
def test_shares_that_nothing_is_known_of_are_none(
    counts: PairCounts, expected: tuple[float | None, float | None, float | None]
) -> None:
    assert (counts.precision, counts.recall, counts.f1) == expected


def test_counts_do_not_overflow() -> None:
    assert pairs_within(np.array([2**33, 2**33, 3])) == 2 * (2**33 * (2**33 - 1) // 2) + 3
    many = 1_000_000
    halves = Overlap.of(np.zeros(many, np.uint32), np.arange(many) // (many // 2))
    # 10^12 and more in every product: in 64 bits the adjusted Rand index of one cluster would not be 0.
    assert halves.adjusted_rand() == pytest.approx(0.0, abs=1e-12)
    assert halves.b_cubed() == pytest.approx((0.5, 1.0, 2 / 3))


def test_the_names_of_clusters_do_not_matter() -> None:
    generator = np.random.default_rng(3)
    found, true = generator.integers(0, 50, 300), generator.integers(0, 50, 300)
    plain, other = Overlap.of(found, true), Overlap.of(4_000_000_000 - 7 * found, true + 10**9)
    assert plain.b_cubed() == pytest.approx(other.b_cubed())
    assert plain.adjusted_rand() == pytest.approx(other.adjusted_rand())


def test_every_measure_is_defined() -> None:
    assert set(DEFINITIONS) <= set(COLUMNS)
    assert all(text.endswith(".") for text in DEFINITIONS.values())
    assert len(set(itertools.chain(DEFINITIONS.values()))) == len(DEFINITIONS)
