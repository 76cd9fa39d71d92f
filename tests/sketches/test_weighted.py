"""Sketches of weighted sets: equal to the oracle's, at home on every scale, and as good as Ioffe's sampling.

The bar is that of `test_conformance`: the mean of the estimates lies within 3 standard errors of the truth; their
variance, known to within 2.6 % or better, is at most 1.1 of that of consistent weighted sampling, whose slots are
independent; with 6,000 pairs a share has a standard error of 0.0065 at most, and bands are within 0.02 of the S-curve
(3,000 pairs for sets of 1,000 elements: 0.0091, and 0.03).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from twinset.errors import OptionError
from twinset.schema import HASH_SCHEME, Shares, Sketches, WeightedSets
from twinset.sketches.minhash import estimate
from twinset.sketches.weighted import weighted_sketch
from twinset.textbook import band_probability

K = 128
GOLDEN = {
    1: [
        *(0x30382C42, 0x0C123E95, 0x69AD1FF1, 0x3F6B926C, 0xFFB9DFBE, 0x0DE7DEAB, 0xD8FB5AA8, 0x8373707A),
        *(0x428D7245, 0xDFB4CF60, 0x96D9FAEF, 0x10F99F9E, 0x5C41E382, 0x52D200DD, 0x5CA4FD22, 0xB3B64C19),
    ]
}

hashes = st.integers(1, 2**64 - 1)
weights = st.floats(5e-324, 1e300) | st.sampled_from([1.0, 2.0, 0.5, 3.0, 2.0**-1074, 2.0**-1022, 1e-12, 1e12])
sets = st.dictionaries(hashes, weights, max_size=12)


def packed(rows: list[dict[int, float]]) -> WeightedSets:
    offsets = np.cumsum([0, *map(len, rows)])
    elements = np.array([x for row in rows for x in row], np.uint64)
    return WeightedSets(offsets, elements, np.array([w for row in rows for w in row.values()], np.float64))


def sketched(rows: list[dict[int, float]], k: int, seed: int = 1) -> list[list[int]]:
    found: list[list[int]] = weighted_sketch(packed(rows), k, seed).tolist()
    return found


@settings(max_examples=40)
@given(st.lists(sets, min_size=1, max_size=3), st.integers(1, 40), st.integers(0, 2**64 - 1))
def test_sketches_equal_the_oracle(rows: list[dict[int, float]], k: int, seed: int) -> None:
    assert sketched(rows, k, seed) == [oracles.dart_sketch(row, k, seed) for row in rows]


@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 200), (40, 300), (400, 16)])
def test_few_and_many_elements(n: int, k: int) -> None:
    rng = np.random.default_rng([n, k])
    row = dict(zip(rng.integers(1, 2**64, n, np.uint64).tolist(), rng.lognormal(0, 3, n).tolist(), strict=True))
    assert sketched([row], k) == [oracles.dart_sketch(row, k, 1)]


@given(sets, st.randoms(use_true_random=False), st.integers(1, 64))
def test_the_order_of_elements_does_not_matter(row: dict[int, float], rng: object, k: int) -> None:
    other = list(row.items())
    rng.shuffle(other)  # type: ignore[attr-defined]
    first, second = sketched([row, dict(other)], k)
    assert first == second


@pytest.mark.parametrize("power", [-1000, -300, -20, 0, 20, 300, 980])
def test_estimates_do_not_depend_on_the_scale(power: int) -> None:
    """The same sets with all weights times a power of two: other darts, the same similarity."""
    rng = np.random.default_rng(7)
    left = rng.lognormal(0, 2, 50) * 2.0**power
    right = left * rng.uniform(0.4, 1.6, 50)
    check_curve(agreements(left, right, 2000, seed=power + 2000), true_similarity(left, right), 0.035)


def test_weights_of_many_orders_of_magnitude_in_one_set() -> None:
    """The heavy elements decide; those that are 10^30 times lighter are not there."""
    rng = np.random.default_rng(8)
    left = 10.0 ** rng.uniform(-40, 40, 60)
    right = left * rng.uniform(0.3, 1.0, 60)
    equal = agreements(left, right, 2000, seed=1)
    check_bias_and_variance(equal, true_similarity(left, right))


def test_sets_whose_totals_differ_widely() -> None:
    """One within the other, a thousand times heavier: nearly nothing in common, and no slot more."""
    left = np.array([1.0, 2.0, 3.0])
    equal = agreements(left, left * 1000, 2000, seed=2)
    assert equal.mean() == pytest.approx(0.001, abs=3 * math.sqrt(0.001 * 0.999 / equal.size))


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e-3, 1.0, 7.5, 1e300, 1.7976931348623157e308])
def test_one_element(weight: float) -> None:
    half = weight / 2 or weight
    one, same, other = sketched([{9: weight}, {9: weight}, {9: half}], 4000)
    assert one == same
    assert oracles.EMPTY_SLOT not in one
    share = np.mean(np.array(one) == np.array(other))
    assert share == pytest.approx(half / weight, abs=4 * math.sqrt(0.25 / 4000))


def test_weights_that_add_up_to_more_than_a_float_holds() -> None:
    rng = np.random.default_rng(3)
    row = dict(zip(rng.integers(1, 2**64, 9, np.uint64).tolist(), [1.5e308] * 9, strict=True))
    lighter = {x: w / 2**60 for x, w in row.items()}
    found, other = sketched([row, lighter], 64)
    assert oracles.EMPTY_SLOT not in found
    assert found != other


def test_without_elements_all_slots_are_empty_and_agree_with_nothing() -> None:
    empty, full = weighted_sketch(packed([{}, {5: 1.0}]), 16, 1)
    assert set(empty.tolist()) == {oracles.EMPTY_SLOT}
    assert estimate(empty, empty) == 0.0
    assert estimate(full, full) == 1.0


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan, math.inf])
def test_weights_that_are_none_are_refused(weight: float) -> None:
    with pytest.raises(OptionError, match="allowed: finite numbers above 0"):
        weighted_sketch(packed([{1: 2.0, 2: weight}]), 4, 1)


def test_neither_threads_nor_batches_matter() -> None:
    rng = np.random.default_rng(4)
    rows = [
        dict(zip(rng.integers(1, 2**64, n, np.uint64).tolist(), rng.lognormal(0, 4, n).tolist(), strict=True))
        for n in rng.integers(0, 60, 40)
    ]
    together = sketched(rows, 64)
    with ThreadPoolExecutor(4) as pool:
        apart = list(pool.map(lambda row: sketched([row], 64)[0], rows))
    assert apart == together


def test_the_seed_chooses_other_darts() -> None:
    row = dict.fromkeys(range(1, 50), 1.0)
    one, other = sketched([row], 64, 1)[0], sketched([row], 64, 2)[0]
    assert sum(a == b for a, b in zip(one, other, strict=True)) == 0


def test_values_that_do_not_change() -> None:
    """Another value is another scheme; see `test_golden`."""
    row = {0x1E3674A78E712682: 0.25, 0xC79E1F112788808F: 3.0, 0x46784F58543A4091: 17.5, 0x3E2BE0A34E932C3A: 1e-9}
    assert sketched([row], 16) == [GOLDEN[HASH_SCHEME]]


# Against theory, and against consistent weighted sampling


def true_similarity(left: Shares, right: Shares) -> float:
    return oracles.weighted_jaccard(dict(enumerate(left.tolist())), dict(enumerate(right.tolist())))


def pair_of(n: int, similarity: float) -> tuple[Shares, Shares, float]:
    """Two lists of weights whose similarity is near the one asked for, some elements in one of them only."""
    rng = np.random.default_rng([n, int(100 * similarity)])
    left, turns = rng.lognormal(0, 1.5, n), rng.normal(0, 1, n)
    only = max(1, n // 20)

    def right_of(spread: float) -> Shares:
        right: Shares = left * np.exp(spread * turns)
        right[:only] *= max(0.01, 1.0 - spread)
        return right

    spread = min(np.linspace(0.0, 9.0, 400), key=lambda s: abs(true_similarity(left, right_of(s)) - similarity))
    right = right_of(float(spread))
    return left, right, true_similarity(left, right)


def sketches_of(elements: npt.NDArray[np.uint64], given: Shares) -> Sketches:
    """Sketches of sets of the same weights, one a row of elements, over two threads."""
    n = elements.shape[1]

    def work(part: npt.NDArray[np.uint64]) -> Sketches:
        every = WeightedSets(np.arange(len(part) + 1) * n, part.reshape(-1), np.tile(given, len(part)))
        return weighted_sketch(every, K, 1)

    edges = np.linspace(0, len(elements), 3).astype(int)
    with ThreadPoolExecutor(2) as pool:
        return np.concatenate(list(pool.map(work, [elements[a:b] for a, b in pairwise(edges)])))


def agreements(left: Shares, right: Shares, pairs: int, seed: int) -> npt.NDArray[np.bool_]:
    elements = np.random.default_rng(seed).integers(1, 2**64, (pairs, len(left)), np.uint64)
    return np.asarray(sketches_of(elements, left) == sketches_of(elements, right))


def check_bias_and_variance(equal: npt.NDArray[np.bool_], true: float) -> None:
    estimates = equal.mean(axis=1)
    variance = estimates.var(ddof=1)
    assert abs(estimates.mean() - true) <= 3 * np.sqrt(variance / len(equal))
    assert variance / (true * (1 - true) / equal.shape[1]) <= 1.1


def check_curve(equal: npt.NDArray[np.bool_], true: float, allowed: float) -> None:
    for bands, rows in ((16, 8), (32, 4)):
        found = equal[:, : bands * rows].reshape(len(equal), bands, rows).all(axis=2).any(axis=1).mean()
        assert abs(found - band_probability(true, bands, rows)) <= allowed, (bands, rows, true, found)


@pytest.mark.parametrize("n", [5, 20, 100, 1000])
@pytest.mark.parametrize("similarity", [0.2, 0.5, 0.8])
def test_bias_variance_and_s_curve(n: int, similarity: float) -> None:
    left, right, true = pair_of(n, similarity)
    pairs, allowed = (3000, 0.03) if n == 1000 else (6000, 0.02)
    equal = agreements(left, right, pairs, seed=n)
    check_bias_and_variance(equal, true)
    check_curve(equal, true, allowed)


def test_with_weights_of_one_it_is_jaccard() -> None:
    left, right = np.array([1.0] * 30 + [0.0] * 10), np.array([0.0] * 10 + [1.0] * 30)
    elements = np.random.default_rng(6).integers(1, 2**64, (3000, 40), np.uint64)
    one = sketches_of(np.ascontiguousarray(elements[:, :30]), left[:30])
    other = sketches_of(np.ascontiguousarray(elements[:, 10:]), right[10:])
    check_bias_and_variance(np.asarray(one == other), 20 / 40)


def test_consistent_weighted_sampling_is_no_better() -> None:
    """Ioffe's samples measured beside ours: no bias, and the variance of independent slots, by which ours is judged."""
    left, right, true = pair_of(8, 0.5)
    rng = np.random.default_rng(11)
    pairs, slots = 150, 32
    draws = np.stack([rng.gamma(2, 1, (pairs, slots, 8)), rng.gamma(2, 1, (pairs, slots, 8))], axis=-1)
    equal = np.zeros((pairs, slots), bool)
    for i in range(pairs):
        for j in range(slots):
            three = [(r, c, b) for (r, c), b in zip(draws[i, j].tolist(), rng.random(8).tolist(), strict=True)]
            equal[i, j] = oracles.icws(left.tolist(), three) == oracles.icws(right.tolist(), three)
    estimates = equal.mean(axis=1)
    assert abs(estimates.mean() - true) <= 3 * math.sqrt(true * (1 - true) / (pairs * slots))
    ratio = estimates.var(ddof=1) / (true * (1 - true) / slots)
    assert abs(ratio - 1) <= 3 * math.sqrt(2 / pairs)
    ours = agreements(left, right, 3000, seed=12)[:, :slots].mean(axis=1).var(ddof=1)
    assert ours / estimates.var(ddof=1) <= 1.1 * (1 + 3 * math.sqrt(2 / pairs))
