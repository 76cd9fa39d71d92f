"""PAN's measures of detected passages, against sets of character positions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset.evaluation import passage_measures
from twinset.evaluation.passage_measures import AlignedSpans, PassageScores, score_passages


class Span(NamedTuple):
    """A case or a detection: a document pair, and a span of each side."""

    pair: int
    left_start: int
    left_end: int
    right_start: int
    right_end: int

    def characters(self) -> set[tuple[int, str, int]]:
        """Every character, named by pair, side and position."""
        left = {(self.pair, "left", place) for place in range(self.left_start, self.left_end)}
        return left | {(self.pair, "right", place) for place in range(self.right_start, self.right_end)}

    def detects(self, other: Span) -> bool:
        sides = {side for _, side, _ in self.characters() & other.characters()}
        return sides == {"left", "right"}


def shares(of: list[Span], by: list[Span]) -> list[Fraction]:
    """The share of each span that those which it detects, or which detect it, cover."""
    return [
        Fraction(
            len(one.characters() & set().union(*(other.characters() for other in by if one.detects(other)))),
            len(one.characters()),
        )
        for one in of
    ]


def plagdet(cases: list[Span], detections: list[Span]) -> tuple[float, float, float, float]:
    """Recall, precision, granularity and plagdet, as the paper defines them."""
    recall = float(sum(shares(cases, detections)) / len(cases))
    precision = float(sum(shares(detections, cases)) / len(detections))
    each = [sum(one.detects(case) for one in detections) for case in cases]
    detected = [count for count in each if count]
    if not detected:
        return recall, precision, math.nan, 0.0
    granularity = sum(detected) / len(detected)
    f1 = 2 * precision * recall / (precision + recall)
    return recall, precision, granularity, f1 / math.log2(1 + granularity)


def spans(rows: list[Span]) -> AlignedSpans:
    return AlignedSpans(*np.array(rows, np.int64).reshape(-1, 5).T)


def scored(cases: list[Span], detections: list[Span]) -> PassageScores:
    return score_passages(spans(cases), spans(detections))


def span(most: int) -> st.SearchStrategy[Span]:
    side = st.tuples(st.integers(0, most), st.integers(1, 8)).map(lambda one: (one[0], one[0] + one[1]))
    return st.builds(lambda pair, left, right: Span(pair, *left, *right), st.integers(0, 2), side, side)


some = st.lists(span(20), max_size=8)


@given(some, some)
def test_the_measures_equal_sets_of_characters(cases: list[Span], detections: list[Span]) -> None:
    found = scored(cases, detections)
    assert found.case_recall.tolist() == pytest.approx([float(one) for one in shares(cases, detections)])
    assert found.detection_precision.tolist() == pytest.approx([float(one) for one in shares(detections, cases)])
    assert found.case_detections.tolist() == [sum(one.detects(case) for one in detections) for case in cases]
    assert found.detection_cases.tolist() == [sum(one.detects(case) for case in cases) for one in detections]
    if cases and detections:
        recall, precision, granularity, score = plagdet(cases, detections)
        assert (found.recall, found.precision, found.plagdet) == pytest.approx((recall, precision, score))
        assert found.granularity == (None if math.isnan(granularity) else pytest.approx(granularity))


@given(some, some, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(cases: list[Span], detections: list[Span], chance: object) -> None:
    before = scored(cases, detections).to_dict()
    for rows in (cases, detections):
        chance.shuffle(rows)  # type: ignore[attr-defined]
    assert scored(cases, detections).to_dict() == before


@given(some, some)
def test_blocks_of_any_size_give_the_same(cases: list[Span], detections: list[Span]) -> None:
    whole = scored(cases, detections).to_dict()
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(passage_measures, "_BLOCK", 2)
        assert scored(cases, detections).to_dict() == whole


CASE = Span(0, 100, 200, 300, 400)


def test_a_case_that_is_found_exactly() -> None:
    found = scored([CASE], [CASE])
    assert (found.precision, found.recall, found.granularity, found.plagdet) == (1.0, 1.0, 1.0, 1.0)
    assert (found.to_dict()["cases"], found.detected, found.to_dict()["false_detections"]) == (1, 1, 0)


def test_a_case_in_two_pieces_halves_nothing_but_plagdet() -> None:
    pieces = [Span(0, 100, 150, 300, 350), Span(0, 150, 200, 350, 400)]
    found = scored([CASE], pieces)
    assert (found.precision, found.recall, found.granularity) == (1.0, 1.0, 2.0)
    assert found.plagdet == pytest.approx(1 / math.log2(3))


def test_characters_found_twice_count_once() -> None:
    found = scored([CASE], [Span(0, 100, 160, 300, 360), Span(0, 140, 200, 340, 400)])
    assert (found.precision, found.recall) == (1.0, 1.0)


@pytest.mark.parametrize(
    "near",
    [
        CASE._replace(pair=1),
        CASE._replace(right_start=400, right_end=500),
        CASE._replace(left_start=0, left_end=100),
        CASE._replace(right_start=200, right_end=300),
    ],
)
def test_one_side_alone_detects_nothing(near: Span) -> None:
    found = scored([CASE], [near])
    assert (found.precision, found.recall, found.granularity, found.plagdet) == (0.0, 0.0, None, 0.0)
    assert found.to_dict()["false_detections"] == 1


def test_without_cases_recall_is_not_defined() -> None:
    found = scored([], [CASE])
    assert (found.precision, found.recall, found.granularity, found.plagdet) == (0.0, None, None, 0.0)


def test_without_detections_precision_is_not_defined() -> None:
    found = scored([CASE], [])
    assert (found.precision, found.recall, found.granularity, found.plagdet) == (None, 0.0, None, 0.0)


def test_with_nothing_no_measure_is_defined() -> None:
    found = scored([], [])
    assert (found.precision, found.recall, found.granularity, found.plagdet) == (None, None, None, None)


def test_many_pairs_are_not_all_compared_with_all() -> None:
    """Half a million cases and detections: all with all would be 250 billion comparisons."""
    count = 500_000
    start = np.zeros(count, np.int64)
    cases = AlignedSpans(np.arange(count), start, start + 100, start, start + 100)
    detections = AlignedSpans(np.arange(count)[::-1], start, start + 50, start, start + 50)
    found = score_passages(cases, detections)
    assert (found.precision, found.recall, found.granularity) == (1.0, 0.5, 1.0)
