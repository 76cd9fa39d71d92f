"""Counts and shares in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import twinset
from twinset.report.numbers import scaled
from twinset.wording import counted, share

ROSE = "a rose is a rose is a rose in any garden of the town"


@given(st.integers(0, 2**20).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(max(whole, 1)))))
def test_shares_are_rounded_exactly(parts: tuple[int, int]) -> None:
    """As whole numbers would have it, on the screen and on the page alike."""
    part, whole = parts
    assume(20_000 * part % (2 * whole) != whole)  # half a digit: a float may be on either side of it
    digits = (20_000 * part + whole) // (2 * whole)
    if digits * whole > 10_000 * part and digits % 10 == 0:
        digits -= 1
    assert share(part / whole) == f"{digits // 10_000}.{digits % 10_000:04d}"
    assert scaled(np.array([part / whole])) == [digits]


@given(st.integers(1, 10**6), st.integers(1, 2**31))
@example(666_670, 3)
def test_what_is_below_a_limit_of_any_digits_is_shown_below_it(millionths: int, whole: int) -> None:
    limit = millionths / 10**6
    part = (millionths * whole - 1) // 10**6
    assert float(share(part / whole, limit=limit)) < limit
    assert share(limit, limit=limit) == share(limit)
    assert scaled(np.array([part / whole]), limit) == [round(float(share(part / whole, limit=limit)) * 10_000)]


@given(st.integers(1, 100), st.integers(1, 2**31))
def test_what_is_below_a_threshold_is_shown_below_it(percent: int, whole: int) -> None:
    threshold = percent / 100
    part = (percent * whole - 1) // 100  # the most that stays below
    assert float(share(part / whole)) < threshold
    assert float(share(threshold)) == threshold


def test_one_of_a_thing_is_one() -> None:
    assert counted(1, "hash", "hashes") == "1 hash"
    assert repr(twinset.find_pairs([ROSE, ROSE])) == "<PairsResult: 1 pair of 2 documents>"
    assert repr(twinset.dedup([ROSE])) == "<DedupResult: 1 of 1 document kept>"
    assert repr(twinset.evaluate([ROSE], exact=True)) == "<Evaluation: 1 document, no pair found and none true>"


def test_one_source_too_many(tmp_path: object) -> None:
    done = twinset.dedup([ROSE], [ROSE + " hall"], output=f"{tmp_path}/out")
    with pytest.raises(twinset.OptionError, match="source= names 1 source, but that run was given 2"):
        done.rethreshold(0.9, source=[[ROSE]], output=f"{tmp_path}/new")


def test_every_share_of_four_digits_is_written_as_it_is() -> None:
    """0.57 × 10,000 is a little below 5,700: cut there, it would be written as 0.5699."""
    values = [number / 10_000 for number in range(10_001)]
    assert [share(value) for value in values] == [f"{value:.4f}" for value in values]
