"""A few documents against all others: every overlap is counted, and what the rarest keys rule out has no pair."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset.pairs.audit.inverted import Inverted, allowed
from twinset.pairs.sets import Sets
from twinset.schema import Shingles

HASHES = st.integers(0, 40).map(lambda n: oracles.fmix64(n + 1))
WIDE = st.integers(1, 2**64 - 1)
ROWS = st.lists(st.lists(st.one_of(HASHES, WIDE), min_size=1, max_size=30, unique=True), min_size=1, max_size=12)
THRESHOLDS = st.sampled_from([0.05, 0.3, 0.5, 2 / 3, 0.8, 0.9, 1.0])


def as_shingles(rows: list[list[int]]) -> Shingles:
    offsets = np.cumsum([0, *map(len, rows)])
    return Shingles(np.arange(len(rows)), offsets, np.array([x for row in rows for x in row], np.uint64))


def as_sets(rows: list[list[int]]) -> Sets:
    sets = Sets.with_room(np.array([len(row) for row in rows]))
    sets.fill(as_shingles(rows), np.arange(len(rows)), np.arange(len(rows)))
    return sets


@given(ROWS, ROWS, THRESHOLDS)
def test_matches_equal_the_oracle(rows: list[list[int]], few: list[list[int]], threshold: float) -> None:
    table = Inverted.of(as_sets(few))
    found = [tuple(row) for part, _ in table.matches(as_sets(rows), threshold) for row in part.tolist()]
    assert sorted(found) == oracles.meetings([*map(set, rows)], [*map(set, few)], threshold)


@given(ROWS, THRESHOLDS)
def test_matches_within_equal_the_oracle(few: list[list[int]], threshold: float) -> None:
    found = [tuple(row) for part in Inverted.of(as_sets(few)).matches_within(threshold) for row in part.tolist()]
    sets = [*map(set, few)]
    assert sorted(found) == [row for row in oracles.meetings(sets, sets, threshold) if row[0] != row[1]]


def test_a_table_larger_than_its_ranges() -> None:
    """Thousands of keys, some in every set, and more matches than there is room for at once."""
    dice = random.Random(3)
    common = [dice.getrandbits(64) | 1 for _ in range(40)]
    rows = [common + [dice.getrandbits(64) | 1 for _ in range(dice.randrange(60))] for _ in range(300)]
    table = Inverted.of(as_sets(rows))
    assert np.all(table.keys[:-2] <= table.keys[1:-1])
    sets = [set(row) for row in rows]
    expected = oracles.meetings(sets, sets, 0.5)
    assert len(expected) > 20_000
    assert sorted(tuple(row) for part, _ in table.matches(as_sets(rows), 0.5) for row in part.tolist()) == expected
    within = sorted(tuple(row) for part in table.matches_within(0.5) for row in part.tolist())
    assert within == [row for row in expected if row[0] != row[1]]


@given(ROWS, ROWS, THRESHOLDS, st.integers(0, 3))
def test_the_rarest_keys_never_drop_a_pair(
    rows: list[list[int]], few: list[list[int]], threshold: float, repeats: int
) -> None:
    table = Inverted.of(as_sets(few)).with_rare(threshold)
    alive = table.meets(as_shingles([row + row[:repeats] for row in rows]))
    paired = {row for row, _, _ in oracles.meetings([*map(set, rows)], [*map(set, few)], threshold)}
    assert all(alive[row] for row in paired)


def test_the_rarest_keys_tell_templates_apart() -> None:
    """Two thirds of each document is everybody's: without a pair, none gets past the rarest keys."""
    dice = random.Random(5)
    form = [dice.getrandbits(64) | 1 for _ in range(200)]
    rows = [form + [dice.getrandbits(64) | 1 for _ in range(100)] for _ in range(60)]
    table = Inverted.of(as_sets(rows[:30])).with_rare(0.8)
    assert table.rare is not None
    assert table.meets(as_shingles(rows)).tolist() == [1] * 30 + [0] * 30


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
def test_allowed_is_never_too_few(threshold: float) -> None:
    """All sizes up to 60: what a pair at the threshold leaves out is allowed."""
    for size in range(1, 61):
        for shared in range(1, size + 1):
            if shared / size >= threshold:  # the other is a subset: no pair leaves out more
                assert allowed(np.array([size]), threshold)[0] >= size - shared
