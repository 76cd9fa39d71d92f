"""The distance of SimHash codes: what is promised of it, and what was measured."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset.errors import OptionError
from twinset.plan.codes import bit_differs, plan_codes, within_probability

shares = st.floats(0.001, 0.999)


@given(st.floats(0.01, 1.0), shares, st.sampled_from([64, 128]))
def test_the_recall_is_reached_and_no_bit_is_given_away(threshold: float, recall: float, bits: int) -> None:
    chosen = plan_codes(threshold, recall, bits)
    assert chosen.reached >= recall
    assert chosen.distance == 0 or within_probability(threshold, bits, chosen.distance - 1) < recall
    assert chosen.curve(4)[-1] == (1.0, 1.0)


@pytest.mark.parametrize(("cosine", "found"), [(0.95, 0.10), (0.98, 0.41), (0.99, 0.67)])
def test_within_three_bits_only_the_nearly_identical_are_found(cosine: float, found: float) -> None:
    """The figures that were measured for this project."""
    assert within_probability(cosine, 64, 3) == pytest.approx(found, abs=0.005)


def test_bits_differ_by_the_angle() -> None:
    assert [bit_differs(cosine) for cosine in (1.0, 0.0, -1.0)] == [0.0, 0.5, 1.0]
    assert bit_differs(math.cos(0.3)) == pytest.approx(0.3 / math.pi)
    assert bit_differs(1.0000001) == 0.0


@given(st.floats(0.0, 1.0), st.integers(0, 64))
def test_probabilities_are_those_of_a_binomial(cosine: float, distance: int) -> None:
    found = within_probability(cosine, 64, distance)
    assert 0.0 <= found <= 1.0 + 1e-9
    assert within_probability(cosine, 64, 64) == 1.0
    if distance:
        assert found >= within_probability(cosine, 64, distance - 1)


def test_what_is_written_of_a_plan() -> None:
    chosen = plan_codes(0.9, 0.9, bits=128)
    assert chosen.to_dict()["distance"] == chosen.distance
    assert str(chosen).startswith(f"128 bits, within {chosen.distance}: a pair at cosine 0.9 is found")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"threshold": 0.0}, "threshold is 0.0; allowed: a cosine"),
        ({"threshold": math.nan}, "threshold is nan"),
        ({"recall": 1.0}, "recall is 1.0; allowed"),
        ({"bits": 32}, "bits is 32; allowed: 64 or 128"),
    ],
)
def test_nonsense_is_refused(words: dict[str, float], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        plan_codes(**words)  # type: ignore[arg-type]
