"""The kernels that compare sketches and codes, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from twinset.index.kinds import kernels


@pytest.mark.parametrize("mask", [0xFF, 0xFFFF, 0xFFFFFFFF])
def test_slots_agree_in_the_bits_of_the_mask(mask: int) -> None:
    dice = np.random.default_rng(3)
    values = np.array([1, 0x101, 0x10001, 0xAB000001, 2], np.uint32)
    left, right = (dice.choice(values, (size, 24)) for size in (7, 9))
    lefts, rights = dice.integers(0, 7, 60), dice.integers(0, 9, 60)
    out = np.empty(60, np.uint32)
    kernels.matches(left, right, lefts, rights, np.uint32(mask), out)
    expected = ((left[lefts] & mask) == (right[rights] & mask)).sum(axis=1)
    assert out.tolist() == expected.tolist()
    assert 0 < expected.sum() < 60 * 24


def test_bits_that_differ() -> None:
    dice = np.random.default_rng(4)
    left, right = (dice.integers(0, 2**64, (size, 2), np.uint64) for size in (5, 6))
    lefts, rights = dice.integers(0, 5, 40), dice.integers(0, 6, 40)
    out = np.empty(40, np.uint32)
    kernels.differing_bits(left, right, lefts, rights, out)
    expected = [
        sum((int(a) ^ int(b)).bit_count() for a, b in zip(left[one], right[other], strict=True))
        for one, other in zip(lefts, rights, strict=True)
    ]
    assert out.tolist() == expected
