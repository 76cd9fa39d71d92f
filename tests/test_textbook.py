"""Every worked example of the founding documents that this part touches, against the textbook."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from twinset import textbook
from twinset.textbook import jaccard, jaccard_distance, shingle_list, shingles, tokens

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


def test_furniture() -> None:
    five = {"chair", "desk", "rug", "keyboard", "mouse"}
    assert jaccard(five, {"chair", "rug", "keyboard"}) == 3 / 5


def test_three_in_common_of_eight_in_all() -> None:
    assert jaccard(range(5), range(2, 8)) == 3 / 8
    assert jaccard_distance(range(5), range(2, 8)) == 5 / 8


def bits(column: str) -> set[int]:
    return {row for row, bit in enumerate(column) if bit == "1"}


def test_bit_columns() -> None:
    assert jaccard(bits("10111"), bits("10011")) == 3 / 4
    assert jaccard_distance(bits("10111"), bits("10011")) == 1 / 4
    assert jaccard(bits("011010"), bits("101011")) == 2 / 5


# MinHash by permutation

FOUR_SETS = {"S1": "ad", "S2": "c", "S3": "bde", "S4": "acd"}
SEVEN_ROWS = ("1010", "1001", "0101", "0101", "0101", "1010", "1010")
PERMUTATIONS = ((2, 3, 7, 6, 1, 5, 4), (4, 2, 1, 3, 6, 7, 5), (3, 4, 7, 2, 6, 1, 5))


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
    rows = [
        [textbook.minhash_by_permutation(column, sent.__getitem__) for column in columns]
        for sent in PERMUTATIONS
    ]
    assert rows == [[2, 1, 2, 1], [2, 1, 4, 1], [1, 2, 1, 2]]
    signatures = list(zip(*rows, strict=True))
    expected = {(0, 2): (0.75, 2 / 3), (1, 3): (0.75, 1.0), (0, 1): (0, 0), (2, 3): (0, 0)}
    for (left, right), (columns_agree, signatures_agree) in expected.items():
        assert jaccard(columns[left], columns[right]) == columns_agree
        assert textbook.signature_similarity(signatures[left], signatures[right]) == signatures_agree


def test_the_characteristic_matrix() -> None:
    matrix = textbook.characteristic_matrix(FOUR_SETS, rows="abcde")
    assert matrix == [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0]]
    assert len(textbook.characteristic_matrix(FOUR_SETS)) == 5


@given(st.sets(st.integers(0, 5), min_size=1), st.sets(st.integers(0, 5), min_size=1))
def test_over_all_permutations_minhashes_agree_as_often_as_the_similarity(a: set[int], b: set[int]) -> None:
    agree = sum(
        textbook.minhash_by_permutation(a, sent.__getitem__)
        == textbook.minhash_by_permutation(b, sent.__getitem__)
        for sent in permutations(range(6))
    )
    assert Fraction(agree, math.factorial(6)) == Fraction(len(a & b), len(a | b))


# MinHash by row hashing


def as_rows(sets: list[set[int]], rows: range) -> list[tuple[int, list[int]]]:
    return [(row, [c for c, s in enumerate(sets) if row in s]) for row in rows]


def test_row_hashing_of_four_sets() -> None:
    sets = [{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}]
    hashes = [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5]
    found = textbook.minhash_by_row_hashing(as_rows(sets, range(5)), hashes, 4)
    assert found == [[1, 3, 0, 1], [0, 2, 0, 0]]
    signatures = list(zip(*found, strict=True))

    def estimate(left: int, right: int) -> float:
        return textbook.signature_similarity(signatures[left], signatures[right])

    assert (estimate(0, 3), jaccard(sets[0], sets[3])) == (1, 2 / 3)
    assert (estimate(0, 2), jaccard(sets[0], sets[2])) == (1 / 2, 1 / 4)
    assert (estimate(0, 1), jaccard(sets[0], sets[1])) == (0, 0)


def test_row_hashing_of_two_columns() -> None:
    hashes = [lambda x: x % 5, lambda x: (2 * x + 1) % 5]
    found = textbook.minhash_by_row_hashing(as_rows([{1, 3, 4}, {2, 3, 5}], range(1, 6)), hashes, 2)
    assert list(zip(*found, strict=True)) == [(1, 2), (0, 0)]


# Banding


def test_twenty_bands_of_five_rows() -> None:
    found = [textbook.band_probability(s / 10, 20, 5) for s in range(2, 8)]
    assert found == pytest.approx([0.006, 0.047, 0.186, 0.470, 0.802, 0.975], abs=0.0006)
    assert textbook.band_probability(0.8, 20, 5) == pytest.approx(0.99965, abs=0.00001)


def test_documents_one_and_three_are_candidates() -> None:
    first = {1: (1, 3, 6, 0), 2: (2, 3, 1, 0), 3: (1, 3, 6, 0), 4: (2, 1, 3, 1)}
    # The other four bands differ everywhere.
    signatures = {name: (*band, *(100 * name + i for i in range(16))) for name, band in first.items()}
    assert textbook.candidates(signatures, n_bands=5, rows_per_band=4) == {(1, 3)}


# Bits and tables: the four families that are plotted, as (tables, bits)

ONE_TABLE = [(1, bits) for bits in range(1, 11)]
ONE_BIT = [(tables, 1) for tables in range(1, 11)]
FIVE_BITS = [(tables, 5) for tables in range(1, 51)]
TEN_BITS = [(tables, 10) for tables in range(1, 51)]


@pytest.mark.parametrize("family", [ONE_TABLE, ONE_BIT, FIVE_BITS, TEN_BITS])
@given(similarity=st.floats(0, 1))
def test_more_bits_are_stricter_and_more_tables_looser(family: list[tuple[int, int]], similarity: float) -> None:
    curve = [textbook.band_probability(similarity, tables, bits) for tables, bits in family]
    by_definition = [1 - (1 - similarity**bits) ** tables for tables, bits in family]
    assert curve == pytest.approx(by_definition, abs=1e-12)
    assert curve == pytest.approx(sorted(curve, reverse=family is ONE_TABLE), abs=1e-12)
    for ends in (0.0, 1.0):
        assert [textbook.band_probability(ends, tables, bits) for tables, bits in family] == [ends] * len(family)


@pytest.mark.parametrize(
    ("tables", "bits", "similarity", "probability"),
    [
        (1, 1, 0.3, 0.3),
        (1, 10, 0.5, 1 / 1024),
        (10, 1, 0.5, 1023 / 1024),
        (50, 5, 0.5, 0.7956),
        (50, 10, 0.5, 0.0477),
        (50, 10, 0.8, 0.9966),
    ],
)
def test_points_of_the_families(tables: int, bits: int, similarity: float, probability: float) -> None:
    assert textbook.band_probability(similarity, tables, bits) == pytest.approx(probability, abs=0.00005)


@pytest.mark.parametrize(("tables", "bits", "similarity"), [(1, 5, 0.8), (10, 1, 0.1), (20, 5, 0.5), (50, 10, 0.7)])
def test_codes_whose_bits_agree_by_chance_meet_as_often_as_the_curve_says(
    tables: int, bits: int, similarity: float
) -> None:
    chance, pairs = random.Random(5), 2000
    met = 0
    for _ in range(pairs):
        left = [chance.random() < 0.5 for _ in range(tables * bits)]
        right = [bit if chance.random() < similarity else not bit for bit in left]
        met += bool(textbook.candidates({"left": left, "right": right}, n_bands=tables, rows_per_band=bits))
    expected = textbook.band_probability(similarity, tables, bits)
    # Four standard errors: with fixed seed this holds or does not, and by chance it would fail once in 16,000.
    assert abs(met / pairs - expected) < 4 * math.sqrt(expected * (1 - expected) / pairs)


# Scale


def test_scale() -> None:
    assert math.comb(10**6, 2) == pytest.approx(5e11, rel=1e-5)
    assert 27**5 == 14_348_907
    assert 100_000 * 100 * 4 == 40 * 10**6


# Text, by its definition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("İstanbul ΣΊΣΥΦΟΣ", "istanbul σίσυφοσ"),
        ("e\u0301E\u0301", "éé"),
        ("ẞ ǅ Ω", "ß ǆ ω"),
    ],
)
def test_lower_case_is_code_point_by_code_point(text: str, expected: str) -> None:
    assert textbook.normalize(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("snake_case don't 3.14", ["snake_case", "don", "t", "3", "14"]),
        ("我爱北京天安门", list("我爱北京天安门")),
        ("カタカナとひらがな", list("カタカナとひらがな")),
        ("ภาษาไทย", list("ภาษาไทย")),
        ("한국어 문장", ["한국어", "문장"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("اللغة العربية", ["اللغة", "العربية"]),
        ("go🚀go 👍🏽", ["go", "🚀", "go", "👍", "🏽"]),
        ("iPhone手机15", ["iPhone", "手", "机", "15"]),
        ("。、!?", []),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_without_splitting_a_run_is_a_word() -> None:
    assert tokens("我爱北京🙂", split=False) == ["我爱北京"]


@given(st.text(alphabet=st.characters(max_codepoint=0x52F, exclude_categories=["M", "Cs"])))
def test_on_latin_greek_and_cyrillic_words_are_those_of_the_regular_expression(text: str) -> None:
    assert tokens(text) == re.findall(r"\w+", text)


def test_short_and_empty_documents() -> None:
    assert shingle_list("two words") == [("two", "words")]
    assert shingle_list("ab", "char:9") == ["ab"]
    assert shingle_list("five words are one shingle") == [("five", "words", "are", "one", "shingle")]
    assert shingle_list("") == shingle_list(" \n", "char:9") == shingle_list("?!") == []


def test_white_space_is_squeezed_for_characters() -> None:
    assert shingle_list("  a\u3000\t b ", "char:3") == ["a b"]
    assert shingle_list(" a ", "char:3", squeezed=False) == [" a "]


# Bags, containment and the search of all pairs


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_a_bag_as_a_set_has_the_similarity_of_the_bags(left: list[str], right: list[str]) -> None:
    a, b = Counter(left), Counter(right)
    least, most = sum((a & b).values()), sum((a | b).values())
    assert jaccard(a, b) == (least / most if most else 0)
    assert jaccard(textbook.bag_as_set(left), textbook.bag_as_set(right)) == jaccard(a, b)


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_similarity_and_containment_agree_with_each_other(a: set[int], b: set[int]) -> None:
    assert jaccard(a, b) == jaccard(b, a) <= max(textbook.containment(a, b), textbook.containment(b, a))
    assert textbook.containment(a, a | b) == (1 if a else 0)


def test_all_pairs_includes_the_threshold_and_leaves_out_the_empty() -> None:
    sets = {"a": "abcde", "b": "cdefgh", "c": "", "d": "", "e": "abcde"}
    found = list(textbook.all_pairs(sets, 3 / 8))
    assert found == [("a", "b", 3 / 8), ("a", "e", 1.0), ("b", "e", 3 / 8)]


# The paper's program: a folder of .txt files and a threshold in, the similar pairs out


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Forty short answers in latin-1, half of them made from an earlier one by leaving out its beginning."""
    chance, folder = random.Random(11), tmp_path / "answers"
    folder.mkdir()
    made: list[str] = []
    for number in range(40):
        if number % 2:
            made.append(made[-1][chance.randrange(120) :])
        else:
            made.append("".join(chance.choice("aeiouéürst \n") for _ in range(300)))
        (folder / f"g{number:02}.txt").write_text(made[-1], "latin-1")
    return folder


@pytest.mark.parametrize("way", [{"recall": 0.9999}, {"exact": True}], ids=["sketches", "exact"])
@pytest.mark.parametrize("threshold", [tenth / 10 for tenth in range(1, 10)])
def test_a_folder_and_a_threshold_give_the_pairs_of_the_naive_search(
    answers: Path, threshold: float, way: dict[str, object]
) -> None:
    texts = {path.name: path.read_text("latin-1") for path in sorted(answers.iterdir())}
    sets = {name: shingles(text, "char:9") for name, text in texts.items()}
    naive = {(left, right): similarity for left, right, similarity in textbook.all_pairs(sets, threshold)}
    words = {"encoding": "latin-1", "shingle": "char:9", "threshold": threshold}
    found = twinset.find_pairs(answers, **words, **way).pairs.to_pylist()
    assert {(one["left"], one["right"]): one["similarity"] for one in found} == naive
    assert 0 < len(naive) <= 20
