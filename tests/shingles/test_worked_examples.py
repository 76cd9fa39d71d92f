"""The founding documents' worked examples on shingles and Jaccard similarity, through the product."""

from __future__ import annotations

import pytest

import twinset
from tests import oracles
from tests.shingles.hashing import hashes_of


@pytest.mark.parametrize(
    ("text", "spec", "shingles", "distinct"),
    [
        ("abcab", "char:2", 4, 3),
        ("abcdabd", "char:2", 6, 5),
        ("Nadal", "char:2", 4, 4),
        ("Nadal", "char:3", 3, 3),
        ("Nadia", "char:2", 4, 4),
        ("a rose is a rose is a rose", "word:4", 5, 3),
        ("The quick brown fox jumps over the lazy dog", "word:5", 5, 5),
        (" ".join(f"w{i}" for i in range(10_000)), "word:5", 9_996, 9_996),
    ],
)
def test_counts(text: str, spec: str, shingles: int, distinct: int) -> None:
    [found] = hashes_of([text], shingle=spec)
    assert (len(found), len(set(found))) == (shingles, distinct)
    assert twinset.compare(text, "", shingle=spec).left_shingles == distinct
    assert twinset.compare(text, "", shingle=spec, bag=True).left_shingles == shingles


@pytest.mark.parametrize(
    ("text", "spec", "shingles"),
    [
        ("abcab", "char:2", ["ab", "bc", "ca"]),
        ("abcdabd", "char:2", ["ab", "bc", "cd", "da", "bd"]),
        ("Nadal", "char:2", ["Na", "ad", "da", "al"]),
        ("Nadal", "char:3", ["Nad", "ada", "dal"]),
        ("Nadia", "char:2", ["Na", "ad", "di", "ia"]),
        ("a rose is a rose is a rose", "word:4", ["a rose is a", "rose is a rose", "is a rose is"]),
        (
            "The quick brown fox jumps over the lazy dog",
            "word:5",
            ["The quick brown fox jumps", "quick brown fox jumps over", "brown fox jumps over the",
             "fox jumps over the lazy", "jumps over the lazy dog"],
        ),
    ],
)  # fmt: skip
def test_these_shingles_and_no_others(text: str, spec: str, shingles: list[str]) -> None:
    """A text of k tokens is a single shingle, so each one can be looked for."""
    for one in shingles:
        found = twinset.compare(text, one, shingle=spec, lowercase=False)
        assert (found.left_shingles, found.right_shingles, found.shared) == (len(shingles), 1, 1)


@pytest.mark.parametrize(("twice", "in_set", "in_bag"), [("abab", 1, 2), ("bcbc", 1, 1), ("caca", 1, 1)])
def test_the_bag_of_abcab_has_ab_twice(twice: str, in_set: int, in_bag: int) -> None:
    """Each text has one of the shingles twice, and another one that is not in "abcab"."""
    for bag, shared in ((False, in_set), (True, in_bag)):
        assert twinset.compare("abcab", twice, shingle="char:2", bag=bag).shared == shared


def test_the_very_shingles() -> None:
    seen = dict(zip(["ab", "bc", "ca", "ab"], hashes_of(["abcab"], shingle="char:2")[0], strict=True))
    assert hashes_of(["ab", "bc", "ca"], shingle="char:2") == [[seen["ab"]], [seen["bc"]], [seen["ca"]]]


def test_nadal_and_nadia() -> None:
    both = twinset.compare("Nadal", "Nadia", shingle="char:2")
    assert (both.shared, both.left_shingles, both.right_shingles) == (2, 4, 4)
    assert both.similarity == 2 / 6
    assert both.distance == pytest.approx(4 / 6, abs=1e-15)
    assert (both.left_in_right, both.right_in_left) == (0.5, 0.5)


def test_bags_count_repeats() -> None:
    assert twinset.compare("abcab", "abc", shingle="char:2").similarity == 2 / 3
    assert twinset.compare("abcab", "abc", shingle="char:2", bag=True).similarity == 2 / 4


@pytest.mark.parametrize(
    ("left", "right", "similarity", "distance"),
    [
        ("chair desk rug keyboard mouse", "chair rug keyboard", 3 / 5, 2 / 5),
        ("a b c d e", "c d e f g h", 3 / 8, 5 / 8),
        ("r1 r3 r4 r5", "r1 r4 r5", 3 / 4, 1 / 4),
        ("r2 r3 r5", "r1 r3 r5 r6", 2 / 5, 3 / 5),
        ("r1 r2 r5 r6 r7", "r1 r2 r3 r6", 3 / 6, 3 / 6),
        ("r1 r4", "r2 r3 r4", 1 / 4, 3 / 4),
        ("r1 r2 r6 r7", "r3 r4 r5", 0, 1),
    ],
)
def test_jaccard_of_sets(left: str, right: str, similarity: float, distance: float) -> None:
    found = twinset.compare(left, right, shingle="word:1")
    assert (found.similarity, found.distance) == (similarity, distance)


def test_order_is_nothing_to_single_words_and_something_to_pairs_of_words() -> None:
    assert twinset.compare("man bites dog", "dog bites man", shingle="word:1").similarity == 1
    assert twinset.compare("man bites dog", "dog bites man", shingle="word:2").similarity == 0


@pytest.mark.parametrize("bag", [False, True])
@pytest.mark.parametrize("spec", ["word:1", "word:3", "char:4"])
def test_compare_equals_the_textbook(spec: str, bag: bool) -> None:
    left = "To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer — τὸ εἶναι"
    right = "to be or not to be that is a question whether it is nobler in the mind to suffer ΤῸ ΕἾΝΑΙ to be"
    one, other = (oracles.shingle_set(text, spec, bag=bag) for text in (left, right))
    found = twinset.compare(left, right, shingle=spec, bag=bag)
    assert (found.similarity, found.left_in_right, found.right_in_left) == oracles.scores(one, other)
    assert (found.shared, found.left_shingles, found.right_shingles) == (len(one & other), len(one), len(other))
    assert abs(found.estimate - found.similarity) <= 4 * found.standard_error


@pytest.mark.parametrize(("left", "right"), [("", ""), ("", "words"), ("...", "!?"), ("words", " \n")])
def test_what_has_no_shingles_is_like_nothing(left: str, right: str) -> None:
    found = twinset.compare(left, right)
    assert (found.similarity, found.shared, found.estimate) == (0.0, 0, 0.0)
