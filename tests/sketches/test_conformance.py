"""Both sketches against the bar for any: no bias, no more variance than k permutations, bands on the S-curve.

Seeds are fixed, so nothing here fails by chance from one run to the next. What the bounds allow for:

- bias: the mean of 3,000 estimates lies within 3 of its own standard errors of the true similarity;
- variance: 3,000 pairs give the variance to within 2.6 % (one standard error), so a sketch exactly as good as
  k independent permutations lies 4 standard errors below the bound of 1.1;
- S-curve: with 10,000 pairs a share has a standard error of 0.005 at most, so ±0.02 is 4 of them. For `kperm` at
  n = 10,000 there are 3,000 pairs, one standard error is up to 0.0091, and ±0.03 is asked for.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from twinset.documents.normalize import normalize
from twinset.options import ShingleOptions
from twinset.schema import Hashes, Shingles, Sketches
from twinset.shingles.texts import shingle
from twinset.sketches.minhash import sketch
from twinset.textbook import band_probability

K = 128
PAIRS = 3000
NEAREST_TO = (0.2, 0.5, 0.8)
BANDS = ((16, 8), (32, 4))

methods = pytest.mark.parametrize("method", ["fss", "kperm"])


def shared_for(n: int, similarity: float) -> int:
    """How many of n shingles two sets of n must share for a Jaccard similarity nearest to the one asked for."""
    return min(range(n + 1), key=lambda s: abs(s / (2 * n - s) - similarity))


def sketched(rows: Hashes, method: str) -> Sketches:
    """Sketches of sets of equal size, one a row, the work spread over two threads."""
    n = rows.shape[1]

    def work(part: Hashes) -> Sketches:
        return sketch(Shingles(np.arange(len(part)), np.arange(len(part) + 1) * n, part.reshape(-1)), method, K, 1)

    edges = np.linspace(0, len(rows), 3).astype(int)
    with ThreadPoolExecutor(2) as pool:
        return np.concatenate(list(pool.map(work, [rows[a:b] for a, b in pairwise(edges)])))


def agreements(method: str, n: int, shared: int, pairs: int, seed: int) -> npt.NDArray[np.bool_]:
    """(pairs, K): the slots in which the sketches of two random sets of n, `shared` in common, agree."""
    rng = np.random.default_rng([n, shared, seed])
    found = []
    at_once = max(1, 2_000_000 // n)
    for start in range(0, pairs, at_once):
        union = rng.integers(1, 2**64, (min(at_once, pairs - start), 2 * n - shared), np.uint64)
        left, right = np.ascontiguousarray(union[:, :n]), np.ascontiguousarray(union[:, n - shared :])
        found.append(sketched(left, method) == sketched(right, method))
    return np.concatenate(found)


@methods
@pytest.mark.parametrize("n", [5, 20, 100, 1000, 10000])
@pytest.mark.parametrize("similarity", NEAREST_TO)
def test_bias_and_variance(method: str, n: int, similarity: float) -> None:
    shared = shared_for(n, similarity)
    true = shared / (2 * n - shared)
    equal = agreements(method, n, shared, PAIRS, seed=1)
    estimates = equal.mean(axis=1)
    variance = estimates.var(ddof=1)
    assert abs(estimates.mean() - true) <= 3 * np.sqrt(variance / PAIRS)
    assert variance / (true * (1 - true) / K) <= 1.1
    if n == 10000 and method == "kperm":
        check_curve(equal, true, 0.03)


def check_curve(equal: npt.NDArray[np.bool_], true: float, allowed: float) -> None:
    for bands, rows in BANDS:
        found = equal[:, : bands * rows].reshape(len(equal), bands, rows).all(axis=2).any(axis=1).mean()
        assert abs(found - band_probability(true, bands, rows)) <= allowed, (bands, rows, true, found)


@methods
@pytest.mark.parametrize("n", [5, 20, 100, 1000])
def test_s_curve(method: str, n: int) -> None:
    for shared in sorted({shared_for(n, s) for s in (NEAREST_TO if n == 1000 else (0.2, 0.4, 0.5, 0.7, 0.8))}):
        check_curve(agreements(method, n, shared, 10_000, seed=2), shared / (2 * n - shared), 0.02)


@pytest.mark.parametrize("similarity", NEAREST_TO)
def test_s_curve_of_fss_for_long_documents(similarity: float) -> None:
    shared = shared_for(10000, similarity)
    check_curve(agreements("fss", 10000, shared, 10_000, seed=3), shared / (20000 - shared), 0.02)


@methods
@pytest.mark.parametrize("spec", ["word:1", "word:5", "char:9"])
def test_shingles_of_text_are_as_good_as_random_numbers(method: str, spec: str) -> None:
    """Words that differ in a digit or two, numbered on: what a poor hash of words would fall over.

    Similarity is measured on the hashed sets, so that the sketch alone is judged; the mean of the squared,
    standardised errors of 3,000 pairs has a standard error of 2.6 %.
    """
    texts = []
    for pair in range(PAIRS):
        first = pair * 150
        texts.append(" ".join(f"w{i}" for i in range(first, first + 100)))
        texts.append(" ".join(f"w{i}" for i in range(first + 30, first + 130)))
    ready = normalize(pa.array(texts))
    sketches: list[Sketches] = []
    sets: list[frozenset[int]] = []
    for portion in shingle(ready.texts[0], ShingleOptions.of(shingle=spec), 1):
        sketches.append(sketch(portion, method, K, 1))
        sets += [frozenset(portion.hashes[a:b].tolist()) for a, b in pairwise(portion.offsets.tolist())]
    slots = np.concatenate(sketches)
    estimates = (slots[::2] == slots[1::2]).mean(axis=1)
    true = np.array([len(a & b) / len(a | b) for a, b in zip(sets[::2], sets[1::2], strict=True)])
    errors = (estimates - true) / np.sqrt(true * (1 - true) / K)
    assert abs(errors.mean()) <= 3 * errors.std() / np.sqrt(PAIRS)
    assert (errors**2).mean() <= 1.1
