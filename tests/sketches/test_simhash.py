"""SimHash codes equal the oracle's bit by bit, and differ as the angle between documents says.

Seeds are fixed, so nothing here fails by chance from one run to the next. What the bounds allow for:

- the mean share of differing bits of 2,000 pairs lies within 4 standard errors of the value for planes with
  coordinates +1 and -1, which is computed exactly; a wrong bit in a hundred would be seen;
- that value is no more than 2 % of π off the angle, and never above it, for documents of 20 shingles and more; below
  20, by no more than 2.5 % of π;
- the variance of the distance is that of independent bits: its ratio to that has a standard error of 3.2 %, and 0.85
  to 1.15 is asked for. Bits that hang together would exceed it at once.
"""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.shingles.hashing import hashes_of
from twinset.documents.normalize import normalize
from twinset.errors import OptionError
from twinset.options import ShingleOptions
from twinset.plan.codes import bit_differs
from twinset.schema import HASH_SCHEME, Codes, Hashes, Shingles, WeightedSets
from twinset.shingles.texts import shingle
from twinset.sketches.simhash import DocumentFrequencies, simhash, unrepeated, weighted_simhash

PAIRS = 2000
FOX = "The quick brown fox jumps over the lazy dog"
CODES = {
    1: {
        "count": [0xF8FD3E33DA0C76C4, 0xD3D0B90294DDB4AF],
        "tfidf": [0x8CB2555D361D0984, 0xA2039A0D5D0347F4],
    }
}

hashes = st.integers(1, 2**64 - 1)
rows_of_hashes = st.lists(st.lists(hashes | st.integers(1, 4), max_size=30), min_size=1, max_size=4)


def shingles(rows: list[list[int]]) -> Shingles:
    offsets = np.cumsum([0, *map(len, rows)])
    return Shingles(np.arange(len(rows)), offsets, np.array([x for row in rows for x in row], np.uint64))


def ones(codes: Codes) -> npt.NDArray[np.int64]:
    """How many bits of each code are one."""
    bits = np.unpackbits(np.ascontiguousarray(codes).view(np.uint8), axis=1)
    return np.asarray(bits.sum(axis=1, dtype=np.int64))


# The oracle


@given(rows_of_hashes, st.sampled_from([64, 128]), st.integers(0, 2**64 - 1))
def test_equals_its_oracle(rows: list[list[int]], bits: int, seed: int) -> None:
    assert simhash(shingles(rows), bits, seed).tolist() == [oracles.simhash(row, bits // 64, seed) for row in rows]


@pytest.mark.parametrize("n", [1, 2, 3, 254, 255, 256, 510, 511, 1200])
def test_few_and_many_shingles(n: int) -> None:
    """Votes are counted in bytes, 255 at a time."""
    row = np.random.default_rng(n).integers(1, 2**64, n, np.uint64).tolist()
    assert simhash(shingles([row, [7] * n]), 128, 3).tolist() == [
        oracles.simhash(row, 2, 3),
        oracles.simhash([7], 2, 3),
    ]


@given(rows_of_hashes, st.integers(0, 2**64 - 1))
def test_weights_equal_their_oracle(rows: list[list[int]], seed: int) -> None:
    frequencies = DocumentFrequencies(shingles=100)
    frequencies.add(shingles(rows))
    weights = frequencies.weights()

    def weight(x: int) -> int:
        having = sum(any(y % len(weights) == x % len(weights) for y in row) for row in rows)
        return round(1024 * (math.log((1 + sum(map(bool, rows))) / (1 + having)) + 1))

    expected = [oracles.simhash(row, 2, seed, weight) for row in rows]
    assert simhash(shingles(rows), 128, seed, weights).tolist() == expected


@pytest.mark.parametrize("n", [16_383, 16_384, 16_385, 40_000])
def test_weights_of_many_shingles(n: int) -> None:
    """Votes are added in 32 bits, 16,384 at a time."""
    row = np.random.default_rng(n).integers(1, 2**64, n, np.uint64)
    weights = np.random.default_rng(2).integers(20_000, 32_768, 1024).astype(np.uint32)
    signs = 2 * (mixed(row ^ np.uint64(oracles.bit_salt(0, 3)))[:, None] >> np.arange(64, dtype=np.uint64) & 1) - 1.0
    sums = (signs * weights[row & 1023, None]).sum(axis=0)
    assert (sums != 0).all()
    expected = sum(int(one > 0) << bit for bit, one in enumerate(sums))
    assert simhash(shingles([row.tolist()]), 64, 3, weights).tolist() == [[expected]]


def mixed(x: Hashes) -> Hashes:
    """fmix64 of each."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ x >> np.uint64(33)) * np.uint64(factor)
    return x ^ x >> np.uint64(33)


weighted_sets = st.lists(
    st.dictionaries(hashes, st.integers(1, 1000), max_size=20).map(lambda found: dict(sorted(found.items()))),
    min_size=1,
    max_size=4,
)


def weighted(rows: list[dict[int, float]]) -> WeightedSets:
    every = [item for row in rows for item in row.items()]
    return WeightedSets(
        np.cumsum([0, *map(len, rows)]),
        np.array([x for x, _ in every], np.uint64),
        np.array([weight for _, weight in every], np.float64),
    )


@given(weighted_sets, st.integers(0, 2**64 - 1), st.integers(-1000, 900))
def test_weighted_sets_equal_their_oracle(rows: list[dict[int, float]], seed: int, power: int) -> None:
    """Whatever the weights are multiplied by."""
    expected = [oracles.simhash(list(row), 2, seed, lambda x, row=row: int(row[x])) for row in rows]
    assert weighted_simhash(weighted(rows), 128, seed).tolist() == expected
    scaled = [{x: math.ldexp(weight, power) for x, weight in row.items()} for row in rows]
    assert weighted_simhash(weighted(scaled), 128, seed).tolist() == expected


@given(weighted_sets)
def test_weighted_sets_by_rarity(rows: list[dict[int, float]]) -> None:
    weights = np.arange(1, 1025, dtype=np.uint32)
    expected = [oracles.simhash(list(row), 1, 5, lambda x, row=row: int(row[x]) * (x % 1024 + 1)) for row in rows]
    assert weighted_simhash(weighted(rows), 64, 5, weights).tolist() == expected


@given(rows_of_hashes)
def test_repeats_are_dropped(rows: list[list[int]]) -> None:
    once = unrepeated(shingles([[0, *row, 0] for row in rows]))
    expected = [list(dict.fromkeys([0, *row])) for row in rows]
    assert [once.hashes[a:b].tolist() for a, b in pairwise(once.offsets)] == expected


@given(st.lists(hashes, max_size=40), st.integers(0, 99))
def test_order_does_not_matter_and_how_often_does(row: list[int], shuffling: int) -> None:
    other = row.copy()
    random.Random(shuffling).shuffle(other)
    weights = np.arange(1, 1025, dtype=np.uint32)
    for given_weights in (None, weights):
        one, two, twice = simhash(shingles([row, other, row + row]), 128, 1, given_weights)
        assert one.tolist() == two.tolist() == twice.tolist()
    heavy = [*row, *[5] * (len(row) + 1)]
    assert simhash(shingles([heavy, [5]])).tolist() == [oracles.simhash([5], 1, 1)] * 2


def test_the_first_word_is_the_same_for_64_and_128_bits() -> None:
    row = list(range(1, 90))
    assert simhash(shingles([row]), 64)[0, 0] == simhash(shingles([row]), 128)[0, 0]
    assert len(set(simhash(shingles([row]), 128)[0].tolist())) == 2


def test_without_shingles_all_bits_are_zero() -> None:
    assert simhash(shingles([[], [1], []]), 128)[[0, 2]].tolist() == [[0, 0], [0, 0]]
    assert simhash(shingles([])).shape == (0, 1)


def test_seeds_choose_other_planes() -> None:
    row = list(range(1, 200))
    one, other = (simhash(shingles([row]), 128, seed)[0].tolist() for seed in (1, 2))
    assert 40 < oracles.differing_codes(one, other) < 88


def test_rows_do_not_know_of_each_other() -> None:
    rows = np.random.default_rng(3).integers(1, 2**64, (30, 25), np.uint64).tolist()
    together = simhash(shingles(rows), 128)
    assert [simhash(shingles([row]), 128)[0].tolist() for row in rows] == together.tolist()


def test_other_numbers_of_bits_are_refused() -> None:
    with pytest.raises(OptionError, match="bits is 96; allowed: 64 or 128"):
        simhash(shingles([[1]]), 96)


# Frequencies


def test_a_document_is_counted_once_for_a_shingle() -> None:
    frequencies = DocumentFrequencies(shingles=1000)
    frequencies.add(shingles([[7, 7, 7], [7, 9], []]))
    frequencies.add(shingles([[9, 9, 4]]))
    assert frequencies.documents == 3, "without shingles there is nothing to count"
    assert frequencies.counts[[4, 7, 9]].tolist() == [1, 2, 2]
    assert int(frequencies.counts.sum()) == 5
    rare, common = frequencies.weights()[[4, 7]].tolist()
    assert rare == round(1024 * (math.log(4 / 2) + 1))
    assert common == round(1024 * (math.log(4 / 3) + 1))
    weights = frequencies.weights()
    assert frequencies.into_weights().tolist() == weights.tolist()


@given(st.lists(st.lists(st.integers(1, 50), max_size=8), max_size=12), st.lists(st.integers(0, 12), max_size=3))
def test_tables_of_parts_add_up(rows: list[list[int]], cuts: list[int]) -> None:
    whole = DocumentFrequencies(shingles=100)
    whole.add(shingles(rows))
    parts = DocumentFrequencies(shingles=100)
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    for begin, end in pairwise(edges):
        part = DocumentFrequencies(shingles=100)
        part.add(shingles(rows[begin:end]))
        parts.merge(part)
    parts.add(shingles([[1, 1]]))
    whole.add(shingles([[1, 1]]))
    assert parts.documents == whole.documents
    assert parts.counts.tolist() == whole.counts.tolist()


def test_tables_of_different_sizes_are_not_merged() -> None:
    with pytest.raises(OptionError, match="cannot be merged"):
        DocumentFrequencies(shingles=100).merge(DocumentFrequencies(shingles=100_000))


def test_common_words_weigh_less() -> None:
    """Two documents that share what all share, and two that share what no other has."""
    rng = np.random.default_rng(1)
    common = rng.integers(1, 2**64, 20, np.uint64).tolist()
    rare = rng.integers(1, 2**64, 20, np.uint64).tolist()
    others = [common + rng.integers(1, 2**64, 20, np.uint64).tolist() for _ in range(200)]
    rows = [common + rng.integers(1, 2**64, 20, np.uint64).tolist(), rare + others[0][20:], rare + others[1][20:]]
    everything = shingles(others + rows)
    frequencies = DocumentFrequencies(shingles=10_000)
    frequencies.add(everything)
    plain, weighted = simhash(everything, 128), simhash(everything, 128, weights=frequencies.weights())

    def apart(codes: Codes, one: int, other: int) -> int:
        return oracles.differing_codes(codes[one].tolist(), codes[other].tolist())

    assert apart(weighted, 0, 200) > apart(plain, 0, 200)
    assert apart(weighted, 201, 202) < apart(plain, 201, 202)


# Theory


def signs(n: int) -> npt.NDArray[np.float64]:
    """Probabilities of the sums -n … n of n signs."""
    found = np.zeros(2 * n + 1)
    for up in range(n + 1):
        found[2 * up] = math.comb(n, up) / 2.0**n
    return found


def exactly(n: int, shared: int) -> float:
    """The probability that two documents of n shingles, `shared` in common, differ in a bit.

    Of votes C + a and C + b, where C are those in common, one is above zero and the other below; if one alone is zero
    it is settled by a shingle either way; if both are, by the same shingle as often as its share of all, then alike.
    """
    own = n - shared
    common, rest = signs(shared), signs(own)
    total = 0.0
    for i, p in enumerate(common):
        c = i - shared
        above = rest[max(0, own - c + 1) :].sum()
        tie = rest[own - c] if 0 <= own - c < len(rest) else 0.0
        below = 1.0 - above - tie
        total += p * (2 * above * below + tie * (above + below))
        total += p * tie * tie * 0.5 * (1 - shared / (2 * n - shared))
    return total


def distances(n: int, shared: int, bits: int, seed: int) -> npt.NDArray[np.int64]:
    """Differing bits of pairs of random documents of n shingles, `shared` in common."""
    rng = np.random.default_rng([n, shared, seed])
    union = rng.integers(1, 2**64, (PAIRS, 2 * n - shared), np.uint64)
    codes = []
    for part in (union[:, :n], union[:, n - shared :]):
        sets = Shingles(np.arange(PAIRS), np.arange(PAIRS + 1) * n, np.ascontiguousarray(part).reshape(-1))
        codes.append(simhash(sets, bits, seed))
    return ones(codes[0] ^ codes[1])


@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("n", [2, 5, 10, 20, 101, 500])
@pytest.mark.parametrize("cosine", [0.0, 0.5, 0.8, 0.9, 0.98])
def test_bits_differ_as_the_angle_says(n: int, cosine: float, bits: int) -> None:
    shared = round(cosine * n)
    expected = exactly(n, shared)
    angle = bit_differs(shared / n)
    assert angle - (0.02 if n >= 20 else 0.025) <= expected <= angle + 1e-9
    found = distances(n, shared, bits, seed=7)
    if shared == n:
        assert not found.any()
        return
    error = math.sqrt(expected * (1 - expected) / bits / PAIRS)
    assert abs(found.mean() / bits - expected) <= 4 * error
    ratio = found.var() / (bits * expected * (1 - expected))
    assert 0.85 <= ratio <= 1.15


def test_texts_that_differ_in_a_word_are_near() -> None:
    """The whole way from texts, in which words are numbered on: what a poor hash would fall over."""
    texts = []
    for pair in range(300):
        words = [f"w{i}" for i in range(pair * 400, pair * 400 + 300)]
        texts.append(" ".join(words))
        texts.append(" ".join([*words[:150], "another", *words[151:]]))
    ready = normalize(pa.array(texts))
    codes = np.concatenate(
        [simhash(portion, 128, 1) for portion in shingle(ready.texts[0], ShingleOptions.of(shingle="word:3"), 1)]
    )
    near = ones(codes[::2] ^ codes[1::2])
    expected = 128 * bit_differs(295 / 298)
    assert abs(near.mean() - expected) < 1.0
    far = ones(codes[::2] ^ np.roll(codes[::2], 1, axis=0))
    assert abs(far.mean() - 64) < 1.5


# Golden values: another value is another scheme; see tests/sketches/test_golden.py


def fox() -> Shingles:
    return shingles([hashes_of([FOX], shingle="word:2")[0]])


def test_codes_stay_what_they_are() -> None:
    assert simhash(fox(), 128, 1)[0].tolist() == CODES[HASH_SCHEME]["count"]


def test_weighted_codes_stay_what_they_are() -> None:
    texts = [FOX, "a quick brown dog", "the lazy dog", "the lazy fox jumps over the quick dog"]
    rows = hashes_of(texts, shingle="word:1")
    frequencies = DocumentFrequencies(shingles=1000)
    frequencies.add(shingles(rows))
    assert simhash(shingles(rows[:1]), 128, 1, frequencies.weights())[0].tolist() == CODES[HASH_SCHEME]["tfidf"]
