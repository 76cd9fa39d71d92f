"""The inverted list brings together all bottom-k sketches whose estimate reaches the threshold, each pair once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset.candidates import inverted as module
from twinset.candidates.inverted import InvertedSketches, met

thresholds = st.sampled_from([0.05, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.8, 0.95, 1.0])
# Few values, so that much is shared, and whole sketches are equal.
rows_of_hashes = st.lists(st.lists(st.integers(1, 25), max_size=30), min_size=1, max_size=9)


def inverted(rows: list[list[int]], k: int, threshold: float) -> InvertedSketches:
    sketches = [oracles.bottom_k(row, k) for row in rows]
    starts = np.cumsum([0, *map(len, sketches)])
    values = np.array([x for row in sketches for x in row], np.uint64)
    return InvertedSketches.of(k, threshold, starts, values)


def found(
    rows: list[list[int]], k: int, threshold: float, pieces: int = 1, border: int | None = None
) -> list[list[int]]:
    listed = inverted(rows, k, threshold)
    parts = [part.tolist() for piece in listed.slices(pieces) for part in met(listed, piece, border)]
    return sorted(row for part in parts for row in part)


def expected(rows: list[list[int]], k: int, threshold: float, border: int | None = None) -> list[list[int]]:
    sketches = [oracles.bottom_k(row, k) for row in rows]
    pairs = []
    for left, right in combinations(range(len(rows)), 2):
        estimate = oracles.bottom_k_estimate(sketches[left], sketches[right], k)
        union = {*sketches[left], *sketches[right]}
        seen = min(k, len(union))
        across = border is None or left < border <= right
        if estimate and estimate >= threshold and across:
            pairs.append([left, right, round(estimate * seen), seen])
    return pairs


@given(rows_of_hashes, st.integers(1, 20), thresholds)
def test_pairs_equal_the_oracle(rows: list[list[int]], k: int, threshold: float) -> None:
    assert found(rows, k, threshold) == expected(rows, k, threshold)


@given(rows_of_hashes, st.integers(1, 12), thresholds, st.integers(1, 9), st.integers(0, 9))
def test_slices_and_borders(rows: list[list[int]], k: int, threshold: float, pieces: int, border: int) -> None:
    assert found(rows, k, threshold, pieces) == expected(rows, k, threshold)
    assert found(rows, k, threshold, pieces, border) == expected(rows, k, threshold, border)


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
def test_large_sketches_of_one_family(threshold: float) -> None:
    """Everybody shares low hashes with everybody; the room for pairs fills up and is emptied again."""
    rng = np.random.default_rng(3)
    common = rng.integers(1, 2**64, 200, np.uint64)
    rows = [
        np.concatenate([rng.permutation(common)[:150], rng.integers(1, 2**64, n, np.uint64)]).tolist()
        for n in rng.integers(0, 120, 60)
    ]
    assert found(rows, 64, threshold, 7) == expected(rows, 64, threshold)


def test_room_that_fills_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LEAST_ROOM", 1)
    rows = [list(range(1, 12))] * 30 + [[1, 2, 3]] * 5 + [[]]
    assert found(rows, 8, 0.3) == expected(rows, 8, 0.3)


def test_nothing_to_join() -> None:
    assert found([[]], 4, 0.5) == found([[], []], 4, 0.5) == []
