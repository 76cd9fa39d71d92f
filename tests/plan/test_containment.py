"""The plan of a search for containment: the fewest draws that keep the recall, known at once."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from twinset.plan.containment import ContainmentPlan


@pytest.mark.parametrize("recall", [0.1, 0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("threshold", [0.05, 0.1, 0.3, 0.5, 0.8, 0.9, 0.99, 1.0])
def test_the_draws_are_the_fewest_that_keep_the_recall(threshold: float, recall: float) -> None:
    plan = ContainmentPlan(threshold, recall)
    for rarest in (1.0, 0.75, 0.5, 0.25, 0.1):
        missing = (1 - Fraction(str(threshold))) / Fraction(str(rarest))
        enough = (draws for draws in itertools.count(1) if float(missing) ** draws <= plan.loss * (1 + 1e-9))
        assert plan.draws_from(rarest) == (None if missing >= 1 else next(enough))


@pytest.mark.timeout(20)
def test_a_share_of_all_that_may_be_missing_is_too_small_however_it_is_rounded() -> None:
    assert (1.0 - 0.9) / 0.1 < 1
    assert ContainmentPlan(0.9, 0.99).draws_from(0.1) is None


@pytest.mark.timeout(20)
def test_a_plan_for_hardly_any_containment_is_made_at_once() -> None:
    plan = ContainmentPlan(1e-12, 0.99)
    assert plan.draws > 10**12
    assert plan.curve()[-1] == (1.0, 1.0)
    assert len(str(plan)) > 0
