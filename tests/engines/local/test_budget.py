"""What each thing may take is never more than there is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twinset.engines.local.budget import Budget, batch_within, peak_bytes, resident_bytes

GB = 10**9


@given(st.integers(256 * 10**6, 2**44), st.integers(1, 256), st.integers(2**16, 2**30))
def test_shares(total: int, threads: int, batch: int) -> None:
    batch = batch_within(batch, total, threads)
    budget = Budget.of(total, threads, batch)
    assert 0 < budget.free <= total
    # what is held at one time: texts and sketches; texts, sets and pairs; texts, pairs and names
    assert budget.texts + budget.sketches <= budget.free
    assert budget.texts + budget.sets + budget.pairs + budget.names <= budget.free


@given(st.integers(2**16, 2**30), st.integers(256 * 10**6, 2**44), st.integers(1, 256))
def test_a_batch_is_as_asked_or_a_power_of_two_that_fits(asked: int, total: int, threads: int) -> None:
    batch = batch_within(asked, total, threads)
    assert batch <= asked
    assert batch == asked or batch & (batch - 1) == 0
    assert (threads + 2) * 3 * batch <= total // 8 or batch == 2**16


def test_usual_batches() -> None:
    found = [batch_within(2**24, total, 2) for total in (256 * 10**6, GB, 2 * GB, 16 * GB)]
    assert found == [2**21, 2**23, 2**24, 2**24]


def test_what_the_process_holds() -> None:
    assert 10**6 < resident_bytes() <= peak_bytes() + 2**24
