"""Repeated shingles: counted as far as they are remembered, never too many, whatever stands beside a text."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset.options import ShingleOptions
from twinset.schema import Shingles
from twinset.shingles.texts import repeat_often, repeats

HASHES = st.integers(0, 30).map(lambda n: oracles.fmix64(n + 1))
ROWS = st.lists(st.lists(st.one_of(HASHES, st.integers(1, 2**64 - 1)), max_size=60), min_size=1, max_size=8)


def counted(rows: list[list[int]]) -> list[int]:
    offsets = np.cumsum([0, *map(len, rows)])
    hashes = np.array([x for row in rows for x in row], np.uint64)
    return repeats(Shingles(np.arange(len(rows)), offsets, hashes)).tolist()


@given(ROWS)
def test_never_too_many_and_the_same_alone(rows: list[list[int]]) -> None:
    """What a text repeats does not depend on its neighbours, even if these have the same shingles."""
    found = counted(rows)
    assert all(count <= len(row) - len(set(row)) for count, row in zip(found, rows, strict=True))
    assert found == [counted([row])[0] for row in rows]
    assert counted(rows + rows) == found + found


def test_nearly_all_are_seen() -> None:
    """Texts of 3,000 shingles out of 1,500, and one that is longer than what is remembered."""
    dice = random.Random(2)
    known = [oracles.fmix64(n + 1) for n in range(1500)]
    rows = [[dice.choice(known) for _ in range(3000)] for _ in range(5)]
    rows.append([dice.getrandbits(64) | 1 for _ in range(60_000)] + rows[0])
    found = counted(rows)
    for row, count in zip(rows, found, strict=True):
        assert 0.8 * (len(row) - len(set(row))) < count <= len(row) - len(set(row))


@pytest.mark.parametrize(
    ("kind", "bag", "often"),
    [("char:3", False, True), ("char:4", False, True), ("char:5", False, False), ("char:3", True, False),
     ("word:1", False, True), ("word:2", False, False)],
)  # fmt: skip
def test_of_short_shingles(kind: str, bag: bool, often: bool) -> None:
    assert repeat_often(ShingleOptions.of(shingle=kind, bag=bag)) is often
