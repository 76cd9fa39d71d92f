"""Bottom-k sketches equal the oracle's, merge into that of the union, and estimate as theory says.

The estimate is a share among k elements drawn from the union without putting any back, so its variance is
J (1 - J) / k · (N - k) / (N - 1) for a union of N. With 3,000 pairs a variance is known to within 2.6 %, and a mean is
asked to lie within 3 of its standard errors.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.sketches.test_conformance import shared_for
from twinset.errors import OptionError
from twinset.schema import Shingles
from twinset.sketches import bottom_k_kernels, minhash
from twinset.sketches.bottom_k import BottomK, bottom_k, estimates, merged

K, PAIRS = 64, 3000
hashes = st.integers(1, 30) | st.integers(1, 2**64 - 1)
rows_of_hashes = st.lists(st.lists(hashes, max_size=60), min_size=1, max_size=5)


def shingles(rows: list[list[int]]) -> Shingles:
    offsets = np.cumsum([0, *map(len, rows)])
    return Shingles(np.arange(len(rows)), offsets, np.array([x for row in rows for x in row], np.uint64))


def sketched(rows: list[list[int]], k: int) -> list[list[int]]:
    return [one.tolist() for one in bottom_k(shingles(rows), k)]


def standard_error(similarity: float, k: int, union: int | None = None) -> float:
    """Of an estimate at a known similarity; without replacement, if the size of the union is known."""
    rest = 1.0 if union is None else (union - k) / (union - 1)
    return float(np.sqrt(similarity * (1.0 - similarity) / k * rest))


def estimated(sketches: BottomK, left: int, right: int) -> tuple[float, float]:
    found, errors = estimates(sketches, np.array([left], np.uint32), np.array([right], np.uint32))
    return float(found[0]), float(errors[0])


@given(rows_of_hashes, st.integers(1, 70))
def test_sketches_equal_the_oracle(rows: list[list[int]], k: int) -> None:
    assert sketched(rows, k) == [oracles.bottom_k(row, k) for row in rows]


@pytest.mark.parametrize("k", [1, 2, 64, 1000])
def test_long_rows_with_many_repeats(k: int) -> None:
    """The store of small values fills up again and again, and repeats must not push any of them out."""
    rng = np.random.default_rng(k)
    row = rng.integers(1, 2**64, 4000, np.uint64).tolist()
    rows = [sorted(row, reverse=True), row * 3, rng.choice(row[:100], 9000).tolist(), [7] * 5000, sorted(row)]
    assert sketched(rows, k) == [oracles.bottom_k(one, k) for one in rows]


def test_values_that_do_not_change() -> None:
    """The hashes of shingles themselves, which `test_golden` holds fast: nothing is mixed on top of them."""
    row = [2**64 - 1, 0x9889DF9BEDC0EEC0, 0x509CCE6F0D9FA857, 0xD6F36D4DD26D4F1E, 1, 2**63]
    assert sketched([row], 4) == [[1, 0x509CCE6F0D9FA857, 2**63, 0x9889DF9BEDC0EEC0]]


@given(rows_of_hashes, st.integers(1, 40), st.integers(0, 99))
def test_neither_order_nor_repeats_matter(rows: list[list[int]], k: int, shuffling: int) -> None:
    rng = random.Random(shuffling)
    other = [row + rng.choices(row, k=7) if row else [] for row in rows]
    for row in other:
        rng.shuffle(row)
    assert sketched(rows, k) == sketched(other, k)


@given(st.lists(hashes, max_size=60), st.lists(hashes, max_size=60), st.integers(1, 70))
def test_estimates_equal_the_oracle(left: list[int], right: list[int], k: int) -> None:
    found, error = estimated(bottom_k(shingles([left, right]), k), 0, 1)
    one, other = oracles.bottom_k(left, k), oracles.bottom_k(right, k)
    assert found == oracles.bottom_k_estimate(one, other, k)
    union = {*left, *right}
    if len(union) <= k:
        assert found == (len({*left} & {*right}) / len(union) if union else 0.0)
    if len({*one, *other}) < k:
        assert error == 0.0
    else:
        assert error == pytest.approx(standard_error((found * k + 0.5) / (k + 1), k))


@pytest.mark.parametrize("n", [5, 20, 100, 1000])
@pytest.mark.parametrize("similarity", [0.2, 0.5, 0.8])
def test_bias_and_variance(n: int, similarity: float) -> None:
    shared = shared_for(n, similarity)
    union = 2 * n - shared
    true = shared / union
    rng = np.random.default_rng([n, shared])
    drawn = rng.integers(1, 2**64, (PAIRS, union), np.uint64)
    both = np.concatenate([drawn[:, :n], drawn[:, n - shared :]], axis=1).reshape(-1)
    sketches = bottom_k(Shingles(np.arange(2 * PAIRS), np.arange(2 * PAIRS + 1) * n, both), K)
    found, errors = estimates(sketches, *(np.arange(side, 2 * PAIRS, 2, dtype=np.uint32) for side in (0, 1)))
    if union <= K:
        assert found.tolist() == [true] * PAIRS
        assert not errors.any() or union == K
        return
    variance = found.var(ddof=1)
    assert abs(found.mean() - true) <= 3 * np.sqrt(variance / PAIRS)
    assert variance / (true * (1 - true) / K) <= 1.1
    assert np.sqrt(variance) == pytest.approx(standard_error(true, K, union), rel=0.06)
    inside = np.abs(found - true) <= 2 * np.maximum(errors, 1 / K)
    assert inside.mean() >= 0.93


# Merging, of all three


def merges(method: str, rows: list[list[int]], groups: list[int], n_groups: int, k: int) -> list[list[int]]:
    packed, places = shingles(rows), np.array(groups, np.int64)
    if method == "bottom-k":
        return [one.tolist() for one in merged(bottom_k(packed, k), places, n_groups)]
    found: list[list[int]] = minhash.merged(minhash.sketch(packed, method, k, 3), places, n_groups).tolist()
    return found


def at_once(method: str, rows: list[list[int]], k: int) -> list[list[int]]:
    if method == "bottom-k":
        return sketched(rows, k)
    found: list[list[int]] = minhash.sketch(shingles(rows), method, k, 3).tolist()
    return found


methods = pytest.mark.parametrize("method", ["fss", "kperm", "bottom-k"])


@methods
@given(rows=rows_of_hashes, k=st.integers(1, 70), data=st.data())
def test_the_merged_sketch_is_that_of_the_union(
    method: str, rows: list[list[int]], k: int, data: st.DataObject
) -> None:
    groups = [data.draw(st.integers(0, 2)) for _ in rows]
    unions = [[x for row, group in zip(rows, groups, strict=True) if group == g for x in row] for g in range(3)]
    assert merges(method, rows, groups, 3, k) == at_once(method, unions, k)


@methods
def test_merging_large_and_small_sets(method: str) -> None:
    rng = np.random.default_rng(5)
    rows = [rng.integers(1, 2**64, n, np.uint64).tolist() for n in (3, 5000, 20, 300, 60, 90, 1, 1)]
    groups = [0, 0, 1, 1, 2, 2, 3, 3]
    unions = [rows[2 * g] + rows[2 * g + 1] for g in range(4)]
    assert merges(method, rows, groups, 4, 128) == at_once(method, unions, 128)


def test_a_group_is_needed_for_every_sketch() -> None:
    with pytest.raises(OptionError, match="1 groups for 2 sketches"):
        merged(bottom_k(shingles([[1], [2]]), 4), np.array([0]), 1)


def test_neither_threads_nor_batches_matter() -> None:
    rng = np.random.default_rng(4)
    rows = [rng.integers(1, 2**64, n, np.uint64).tolist() for n in rng.integers(0, 300, 60)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda row: sketched([row], 32)[0], rows)) == sketched(rows, 32)


@pytest.mark.parametrize("k", [1, 2, 3, 16])
def test_sets_much_larger_than_the_room_of_the_kernel(k: int) -> None:
    """The kernel holds four times k hashes and a few more, and settles what is least whenever they are full."""
    dice = np.random.default_rng(k)
    rows = [dice.integers(0, 3000, size, np.uint64) << np.uint64(40) for size in (5000, 4 * k + 64, 4 * k + 65, 900)]
    rows += [dice.integers(0, 2**64, 700, np.uint64) for _ in range(200)]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    values, starts = np.empty(offsets[-1], np.uint64), np.empty(len(offsets), np.int64)
    total = bottom_k_kernels.least(np.concatenate(rows), offsets, k, values, starts)
    assert total == starts[-1]
    for row, start, end in zip(rows, starts[:-1], starts[1:], strict=True):
        assert values[start:end].tolist() == sorted(set(row.tolist()))[:k]
