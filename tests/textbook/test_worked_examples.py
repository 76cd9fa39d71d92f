"""Every worked example of the founding documents, in their order: by the textbook, and by the product where it can.

Shingles and texts go through the product in tests/shingles/test_worked_examples.py too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import twinset
from twinset import textbook
from twinset.plan import band_probability
from twinset.plan.vector_chances import side_agrees
from twinset.plan.vectors import vector_plan
from twinset.textbook import jaccard, jaccard_distance, shingle_list, shingles

# Shingles


def test_abcab() -> None:
    assert shingles("abcab", "char:2") == {"ab", "bc", "ca"}
    assert shingles("abcab", "char:2", bag=True) == Counter(["ab", "ab", "bc", "ca"])


def test_abcdabd() -> None:
    assert shingles("abcdabd", "char:2") == {"ab", "bc", "cd", "da", "bd"}


def test_nadal_and_nadia() -> None:
    nadal, nadia = (shingles(name, "char:2", lowercase=False) for name in ("Nadal", "Nadia"))
    assert nadal == {"Na", "ad", "da", "al"}
    assert shingles("Nadal", "char:3", lowercase=False) == {"Nad", "ada", "dal"}
    assert nadia == {"Na", "ad", "di", "ia"}
    assert jaccard(nadal, nadia) == 2 / 6
    assert len(set(nadal) & set(nadia)) == 2  # the intersection, which is not the index


def test_a_rose_is_a_rose() -> None:
    rose = shingle_list("a rose is a rose is a rose", "word:4")
    assert len(rose) == 5
    assert set(rose) == {("a", "rose", "is", "a"), ("rose", "is", "a", "rose"), ("is", "a", "rose", "is")}


def test_the_quick_brown_fox() -> None:
    assert len(shingle_list("The quick brown fox jumps over the lazy dog", "word:5")) == 5
    assert len(shingle_list(" ".join(f"w{i}" for i in range(10_000)), "word:5")) == 9_996


# Jaccard


def bits(column: str) -> set[int]:
    return {row for row, bit in enumerate(column) if bit == "1"}


SIMILARITIES = {
    "furniture": ({"chair", "desk", "rug", "keyboard", "mouse"}, {"chair", "rug", "keyboard"}, 3 / 5),
    "three in common of eight in all": (set(range(5)), set(range(2, 8)), 3 / 8),
    "bits 10111 and 10011": (bits("10111"), bits("10011"), 3 / 4),
    "columns of six rows": (bits("011010"), bits("101011"), 2 / 5),
    "columns 1 and 2 of seven rows 1110 … 1010": (bits("1100111"), bits("1110010"), 3 / 6),
    "columns 1 and 3 of seven rows": (bits("1100011"), bits("1000011"), 3 / 4),
    "columns 2 and 4 of seven rows": (bits("0011100"), bits("0111100"), 3 / 4),
    "S1 and S4": ({0, 3}, {0, 2, 3}, 2 / 3),
    "S1 and S3": ({0, 3}, {1, 3, 4}, 1 / 4),
}


@pytest.mark.parametrize(("left", "right", "similarity"), SIMILARITIES.values(), ids=SIMILARITIES.keys())
def test_similarities(left: set[object], right: set[object], similarity: float) -> None:
    assert jaccard(left, right) == similarity
    assert jaccard_distance(left, right) == 1 - similarity
    assert textbook.weighted_jaccard(dict.fromkeys(left, 1.0), dict.fromkeys(right, 1.0)) == similarity
    columns = textbook.characteristic_matrix({"left": left, "right": right})
    assert sum(row == [1, 1] for row in columns) / len(columns) == similarity


@pytest.mark.parametrize(("left", "right", "similarity"), SIMILARITIES.values(), ids=SIMILARITIES.keys())
def test_similarities_of_sets_in_the_product(left: set[object], right: set[object], similarity: float) -> None:
    sets = [sorted(map(str, one)) for one in (left, right)]
    found = twinset.find_pairs(sets, items="x", threshold=similarity, exact=True).pairs.to_pylist()
    assert [one["similarity"] for one in found] == [similarity]
    assert not len(twinset.find_pairs(sets, items="x", threshold=similarity + 1e-9, exact=True).pairs)


# MinHash by permutation

FOUR_SETS = {"S1": "ad", "S2": "c", "S3": "bde", "S4": "acd"}
SEVEN_ROWS = ("1010", "1001", "0101", "0101", "0101", "1010", "1010")
PERMUTATIONS = ((2, 3, 7, 6, 1, 5, 4), (4, 2, 1, 3, 6, 7, 5), (3, 4, 7, 2, 6, 1, 5))


def test_the_characteristic_matrix() -> None:
    matrix = textbook.characteristic_matrix(FOUR_SETS, rows="abcde")
    assert matrix == [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0]]
    assert len(textbook.characteristic_matrix(FOUR_SETS)) == 5


def test_four_sets_in_the_order_b_e_a_d_c() -> None:
    order = "beadc"
    found = [order[textbook.minhash_by_permutation(s, order.index)] for s in FOUR_SETS.values()]
    assert found == ["a", "c", "b", "a"]


def test_rows_sent_to_4_1_5_3_2() -> None:
    sent = dict(zip(range(1, 6), (4, 1, 5, 3, 2), strict=True))
    sets = ({1, 4}, {2, 3, 4}, {3, 5})
    assert [textbook.minhash_by_permutation(s, sent.__getitem__) for s in sets] == [3, 1, 2]


def test_seven_rows_four_columns_three_permutations() -> None:
    columns = [{row for row in range(7) if SEVEN_ROWS[row][c] == "1"} for c in range(4)]
    rows = [[textbook.minhash_by_permutation(column, sent.__getitem__) for column in columns] for sent in PERMUTATIONS]
    assert rows == [[2, 1, 2, 1], [2, 1, 4, 1], [1, 2, 1, 2]]
    signatures = list(zip(*rows, strict=True))
    functions = [sent.__getitem__ for sent in PERMUTATIONS]
    assert [tuple(textbook.minhash_signature(column, functions)) for column in columns] == signatures
    expected = {(0, 2): (0.75, 2 / 3), (1, 3): (0.75, 1.0), (0, 1): (0, 0), (2, 3): (0, 0)}
    for (left, right), (columns_agree, signatures_agree) in expected.items():
        assert jaccard(columns[left], columns[right]) == columns_agree
        assert textbook.signature_similarity(signatures[left], signatures[right]) == signatures_agree


# MinHash by row hashing


def as_rows(sets: list[set[int]], rows: range) -> list[tuple[int, list[int]]]:
    return [(row, [c for c, s in enumerate(sets) if row in s]) for row in rows]


def test_row_hashing_of_four_sets() -> None:
    sets = [{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}]
    hashes = [textbook.universal_hash(1, 1, 5, 5), textbook.universal_hash(3, 1, 5, 5)]
    found = textbook.minhash_by_row_hashing(as_rows(sets, range(5)), hashes, 4)
    assert found == [[1, 3, 0, 1], [0, 2, 0, 0]]
    signatures = list(zip(*found, strict=True))

    def estimate(left: int, right: int) -> float:
        return textbook.signature_similarity(signatures[left], signatures[right])

    assert (estimate(0, 3), jaccard(sets[0], sets[3])) == (1, 2 / 3)
    assert (estimate(0, 2), jaccard(sets[0], sets[2])) == (1 / 2, 1 / 4)
    assert (estimate(0, 1), jaccard(sets[0], sets[1])) == (0, 0)


def test_row_hashing_of_two_columns() -> None:
    hashes = [textbook.universal_hash(1, 0, 5, 5), textbook.universal_hash(2, 1, 5, 5)]
    assert [hash(x) for hash in hashes for x in range(1, 6)] == [1, 2, 3, 4, 0, 3, 0, 2, 4, 1]
    found = textbook.minhash_by_row_hashing(as_rows([{1, 3, 4}, {2, 3, 5}], range(1, 6)), hashes, 2)
    assert list(zip(*found, strict=True)) == [(1, 2), (0, 0)]


# Banding

both_ways = pytest.mark.parametrize("probability", [textbook.band_probability, band_probability])
Probability = Callable[[float, int, int], float]


@both_ways
def test_twenty_bands_of_five_rows(probability: Probability) -> None:
    found = [probability(s / 10, 20, 5) for s in range(2, 8)]
    assert found == pytest.approx([0.006, 0.047, 0.186, 0.470, 0.802, 0.975], abs=0.0006)
    assert probability(0.8, 20, 5) == pytest.approx(0.9996, abs=0.00005)


@both_ways
@pytest.mark.parametrize(
    ("similarity", "one_agrees", "digits", "found"), [(0.8, 0.328, 3, 0.99965), (0.3, 0.00243, 5, 0.0474)]
)
def test_one_band_agrees_and_all_twenty_miss(
    probability: Probability, similarity: float, one_agrees: float, digits: int, found: float
) -> None:
    assert round(probability(similarity, 1, 5), digits) == one_agrees
    # The documents go on from the rounded number, and cut off what follows: 0.99964 and 0.0475 are nearer.
    assert 1 - (1 - one_agrees) ** 20 == pytest.approx(found, abs=0.0001)
    assert probability(similarity, 20, 5) == pytest.approx(found, abs=0.0001)


@both_ways
def test_fifteen_bands_of_five_give_fewer_false_positives_and_more_false_negatives(probability: Probability) -> None:
    threshold = 0.5
    for hundredth in range(1, 100):
        fifteen, twenty = (probability(hundredth / 100, bands, 5) for bands in (15, 20))
        if hundredth / 100 < threshold:
            assert fifteen < twenty, "a false positive is less likely"
        else:
            assert 1 - fifteen >= 1 - twenty, "a false negative is no less likely"
    assert 1 - probability(0.6, 15, 5) > 1.2 * (1 - probability(0.6, 20, 5))


@pytest.mark.parametrize("method", ["fss", "kperm"])
def test_signatures_of_a_hundred_thousand_take_40_mb(method: str) -> None:
    made = twinset.sketch([str(n) for n in range(100_000)], sketch=method, n_hashes=100)
    signatures = made.table["sketch"]
    assert (len(signatures), signatures.type.value_type.byte_width) == (100_000, 4)
    assert sum(chunk.flatten().nbytes for chunk in signatures.chunks) == 40 * 10**6


def test_documents_one_and_three_are_candidates() -> None:
    first = {1: (1, 3, 6, 0), 2: (2, 3, 1, 0), 3: (1, 3, 6, 0), 4: (2, 1, 3, 1)}
    # The other four bands differ everywhere.
    signatures = {name: (*band, *(100 * name + i for i in range(16))) for name, band in first.items()}
    assert textbook.candidates(signatures, n_bands=5, rows_per_band=4) == {(1, 3)}


# Bits and tables: the four families that are plotted, as (bits, tables)

FAMILIES = [
    *((bits, 1) for bits in range(1, 11)),
    *((1, tables) for tables in range(1, 11)),
    *((bits, tables) for bits in (5, 10) for tables in range(1, 51)),
]


def test_families_of_bits_and_tables() -> None:
    for n_bits, n_tables in FAMILIES:
        for agreement in (0.0, 0.1, 0.5, 0.9, 1.0):
            expected = 1 - (1 - agreement**n_bits) ** n_tables
            assert textbook.table_probability(agreement, n_bits, n_tables) == expected
            assert band_probability(agreement, n_tables, n_bits) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("cosine", [0.0, 0.5, 0.9])
def test_families_of_hyperplanes_in_the_product(cosine: float) -> None:
    agreement = 1 - math.acos(cosine) / math.pi
    assert side_agrees(cosine) == agreement
    for n_bits in range(1, 11):
        planned = vector_plan(0.9, dimensions=32, method="hyperplane", functions=n_bits, probes=0)
        expected = textbook.table_probability(agreement, n_bits, planned.tables)
        assert planned.p_table(cosine) == pytest.approx(agreement**n_bits)
        assert 1 - (1 - planned.p_table(cosine)) ** planned.tables == pytest.approx(expected)


# Scale


def test_one_million_documents_have_5e11_pairs() -> None:
    """One pair of two copies is found, and the reduction ratio says how many there are of all."""
    documents = pa.table({"id": np.arange(10**6).astype(str), "text": [*map(str, range(10**6 - 1)), "0"]})
    found = twinset.evaluate(documents, truth=[("0", "999999")], threshold=1.0, n_hashes=1)
    assert (found.best["found_pairs"], found.best["true_pairs_found"]) == (1, 1)
    assert 1 / (1 - found.best["reduction_ratio"]) == pytest.approx(5e11, rel=1e-4)


def round_text(letters: str, k: int) -> str:
    """A text in which each of len(letters)^k words stands once, if its end is followed by its beginning.

    A word that is no greater than its rotations is a power of its shortest root; these roots, in the order of the
    words, make the text. A word is a number with its letters as digits.
    """
    words = np.arange(len(letters) ** k, dtype=np.int32)
    least, length, rotated = np.ones(len(words), bool), np.full(len(words), k), words
    for places in range(1, k):
        rotated = rotated % len(letters) ** (k - 1) * len(letters) + rotated // len(letters) ** (k - 1)
        least &= words <= rotated
        length[(rotated == words) & (length == k)] = places
    digits = words[least][:, None] // len(letters) ** np.arange(k - 1, -1, -1) % len(letters)
    return "".join(np.array(list(letters))[digits[np.arange(k) < length[least][:, None]]])


@pytest.mark.parametrize(
    ("letters", "k", "possible"),
    [
        ("ab", 8, 256),
        ("abc", 5, 243),
        ("abcdefghijklmnopqrstuvwxyz ", 2, 729),
        pytest.param("abcdefghijklmnopqrstuvwxyz ", 5, 14_348_907, marks=pytest.mark.soak),
    ],
)
def test_a_text_can_hold_every_possible_shingle(letters: str, k: int, possible: int) -> None:
    text = round_text(letters, k)
    text += text[: k - 1]
    assert len(text) == possible + k - 1
    made = twinset.sketch([text], shingle=f"char:{k}", squeeze=False)
    assert made.table["shingles"].to_pylist() == [possible]
    if possible < 10_000:
        assert twinset.compare(text, "", shingle=f"char:{k}", squeeze=False).left_shingles == possible
        assert len(set(shingle_list(text, f"char:{k}", squeezed=False))) == possible
