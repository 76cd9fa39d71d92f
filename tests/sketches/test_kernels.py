"""Sketches equal the oracle's slot by slot, and are what they are called: minima."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset.schema import Hashes, Shingles, Sketches
from twinset.sketches import minhash_kernels
from twinset.sketches.minhash import estimate, sketch, standard_error

hashes = st.integers(1, 2**64 - 1)
rows_of_hashes = st.lists(st.lists(hashes, max_size=40), min_size=1, max_size=4)
methods = pytest.mark.parametrize("method", ["fss", "kperm"])


def shingles(rows: list[list[int]]) -> Shingles:
    offsets = np.cumsum([0, *map(len, rows)])
    return Shingles(np.arange(len(rows)), offsets, np.array([x for row in rows for x in row], np.uint64))


def sketched(rows: list[list[int]], method: str, k: int, seed: int = 1) -> Sketches:
    return sketch(shingles(rows), method, k, seed)


@given(rows_of_hashes, st.integers(1, 140))
def test_fss_equals_its_oracle(rows: list[list[int]], k: int) -> None:
    assert sketched(rows, "fss", k).tolist() == [oracles.fss(row, k) for row in rows]


@given(rows_of_hashes, st.integers(1, 70), st.integers(0, 2**64 - 1))
def test_kperm_equals_its_oracle(rows: list[list[int]], k: int, seed: int) -> None:
    assert sketched(rows, "kperm", k, seed).tolist() == [oracles.kperm(row, k, seed) for row in rows]


@pytest.mark.parametrize("n", [1, 2, 127, 128, 500, 1500])
@pytest.mark.parametrize("k", [1, 8, 64, 128, 250, 1024])
def test_fss_with_few_and_many_shingles(n: int, k: int) -> None:
    row = np.random.default_rng(n * k).integers(1, 2**64, n, np.uint64).tolist()
    assert sketched([row], "fss", k).tolist() == [oracles.fss(row, k)]


@methods
@given(row=st.lists(hashes, max_size=60), k=st.integers(1, 130), shuffling=st.integers(0, 99))
def test_neither_order_nor_repeats_matter(method: str, row: list[int], k: int, shuffling: int) -> None:
    rng = random.Random(shuffling)
    other = row + rng.choices(row, k=7) if row else []
    rng.shuffle(other)
    first, second = sketched([row, other], method, k)
    assert first.tolist() == second.tolist()


@methods
@given(left=st.lists(hashes, max_size=60), right=st.lists(hashes, max_size=400), k=st.integers(1, 130))
def test_the_slotwise_minimum_is_the_sketch_of_the_union(
    method: str, left: list[int], right: list[int], k: int
) -> None:
    one, other, union = sketched([left, right, left + right], method, k)
    assert np.minimum(one, other).tolist() == union.tolist()


@methods
def test_the_union_of_a_small_and_a_large_set(method: str) -> None:
    """One fills its slots in the first round, the other needs all three and the permutations after them."""
    rng = np.random.default_rng(5)
    for n_left, n_right in ((3, 5000), (20, 300), (60, 90), (1, 1)):
        left, right = (rng.integers(1, 2**64, n, np.uint64).tolist() for n in (n_left, n_right))
        one, other, union = sketched([left, right, left + right], method, 128)
        assert np.minimum(one, other).tolist() == union.tolist()


@methods
def test_without_shingles_all_slots_are_empty_and_agree_with_nothing(method: str) -> None:
    empty, other, full = sketched([[], [], [5, 6, 7]], method, 16)
    assert set(empty.tolist()) == {oracles.EMPTY_SLOT}
    assert estimate(empty, other) == 0.0
    assert estimate(empty, full) == 0.0
    assert estimate(full, full) == 1.0


@methods
def test_rows_do_not_know_of_each_other(method: str) -> None:
    rows = np.random.default_rng(3).integers(1, 2**64, (30, 25), np.uint64).tolist()
    rows[7] = []
    together = sketched(rows, method, 100)
    assert [sketched([row], method, 100)[0].tolist() for row in rows] == together.tolist()


@methods
def test_sketches_at_the_places_of_their_rows(method: str) -> None:
    rows = np.random.default_rng(4).integers(1, 2**64, (3, 25), np.uint64).tolist()
    packed, places = shingles(rows), [4, 0, 3]
    out = np.full((6, 40), 7, np.uint32)
    sketch(Shingles(np.array(places), packed.offsets, packed.hashes), method, 40, 1, out)
    assert out[places].tolist() == sketched(rows, method, 40).tolist()
    assert set(out[[1, 2, 5]].ravel().tolist()) == {7}


def test_the_seed_chooses_other_permutations() -> None:
    row = list(range(1, 50))
    one, other = sketched([row], "kperm", 64, 1)[0], sketched([row], "kperm", 64, 2)[0]
    assert np.count_nonzero(one == other) < 5


def test_estimate_is_the_share_of_equal_slots() -> None:
    left, right = np.array([1, 2, 3, 4], np.uint32), np.array([1, 2, 9, 8], np.uint32)
    assert estimate(left, right) == 0.5
    assert standard_error(0.5, 100) == 0.05


# Digests and low bytes


@given(st.lists(st.lists(st.integers(1, 5) | hashes, max_size=12), min_size=1, max_size=6))
def test_digests_are_equal_for_equal_bags_and_only_for_them(rows: list[list[int]]) -> None:
    packed = shingles(rows)
    digests = np.zeros((len(rows) + 1, 2), np.uint64)
    minhash_kernels.digest(packed.hashes, packed.offsets, np.arange(len(rows), 0, -1), digests)
    assert not digests[0].any()
    found = [tuple(pair) for pair in digests[:0:-1].tolist()]
    assert found == [oracles.digest(row) for row in rows]
    assert len(set(found)) == len({tuple(sorted(row)) for row in rows})


def test_low_bytes() -> None:
    slots: Sketches = np.arange(0, 3000, 7, dtype=np.uint32)[:400].reshape(4, 100)
    low = np.empty((4, 100), np.uint8)
    minhash_kernels.low_bytes(slots, low)
    assert low.tolist() == (slots & 0xFF).tolist()


def test_large_values_survive() -> None:
    """Values at the top of 64 bits, where a float would lose digits."""
    row: Hashes = np.array([2**64 - 1, 2**64 - 2, 2**63, 2**53 + 1], np.uint64)
    for method, oracle in (
        ("fss", oracles.fss(row.tolist(), 32)),
        ("kperm", oracles.kperm(row.tolist(), 32, 2**64 - 1)),
    ):
        assert sketched([row.tolist()], method, 32, 2**64 - 1)[0].tolist() == oracle
