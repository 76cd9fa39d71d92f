"""A kernel that writes beyond an array is noticed; one that does not is not disturbed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.guards import call_guarded, copies, guarding
from twinset import unicode
from twinset.compiled import vector_kernels


def reach(array: Any, at: int) -> Any:
    """The bytes of an array and around it, as a kernel without bounds checks reaches them."""
    pointer = np.lib.stride_tricks.as_strided(array, (1,), (array.itemsize,))
    address = pointer.__array_interface__["data"][0] + at * array.itemsize
    return np.ctypeslib.as_array((np.ctypeslib.as_ctypes_type(array.dtype) * 1).from_address(address))


@pytest.mark.parametrize("at", [-1, 3, 20])
def test_a_write_beyond_an_array_is_noticed(at: int) -> None:
    def overrun(out: Any) -> None:
        reach(out, at)[0] = 7

    with pytest.raises(AssertionError, match="beyond an array of 12 bytes were written"):
        call_guarded(overrun, (np.zeros(3, np.int32),), {})


def test_what_is_written_within_is_handed_back() -> None:
    def fill(out: Any, number: int, more: Any) -> int:
        out[1], more[0, 1] = number, number
        return number

    out, more = np.zeros(3, np.int32), np.zeros((2, 2))
    assert call_guarded(fill, (out, 5), {"more": more}) == 5
    assert (out.tolist(), more.tolist()) == ([0, 5, 0], [[0, 5], [0, 0]])


@pytest.mark.parametrize(("before", "after"), [(-0.0, 0.0), (0.0, -0.0)])
def test_zeros_are_handed_back_with_their_sign(before: float, after: float) -> None:
    out = np.full((2, 2), before, np.float32)
    call_guarded(lambda given: given.fill(after), (out,), {})
    assert (np.signbit(out) == np.signbit(after)).all()


def test_arrays_that_share_memory_stay_together() -> None:
    whole = np.arange(6)

    def shift(left: Any, right: Any) -> None:
        left[0] = 9
        assert right[0] == 9

    call_guarded(shift, (whole[1:], whole[1:3]), {})
    assert whole[1] == 9


@pytest.mark.parametrize("table", [unicode.classes, unicode.combining])
@pytest.mark.parametrize(
    ("at", "said"), [(70, "a table was written to"), (-2, "beyond an array"), (unicode.POINTS, "beyond an array")]
)
def test_a_table_is_written_to_neither_within_nor_beyond(table: Any, at: int, said: str) -> None:
    def write(given: Any) -> None:
        reach(given, at)[0] ^= 1

    whole = table().copy()
    assert call_guarded(lambda given: given[65], (table(),), {}) == whole[65]
    try:
        with pytest.raises(AssertionError, match=said):
            call_guarded(write, (table(),), {})
    finally:
        copies.clear()
    assert np.array_equal(table(), whole)


def test_tables_that_were_made_again_are_guarded() -> None:
    """Two threads that ask for them first may each make them; those that stay are guarded."""
    call_guarded(lambda given: given[65], (unicode.classes(),), {})
    unicode._tables.cache_clear()

    def write(given: Any) -> None:
        reach(given, 70)[0] ^= 1

    try:
        with pytest.raises(AssertionError, match="a table was written to"):
            call_guarded(write, (unicode.classes(),), {})
    finally:
        copies.clear()


def test_kernels_are_guarded_and_answer_as_ever() -> None:
    vectors = np.array([[3, 4], [0, 0]], np.float32)
    out = np.empty(2, np.float64)
    with guarding():
        vector_kernels.squares(vectors, out)
    assert out.tolist() == [25.0, 0.0]
