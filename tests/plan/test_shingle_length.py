"""The similarity that one changed word leaves, against shingle sets of real texts, and the shingle that it selects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset.plan.shingle_length import TextLength, fewest_shingles, longest_shingle, similarity_after_change


@given(st.integers(1, 40), st.integers(1, 9), st.sampled_from(["word", "char"]), st.integers(1, 12))
def test_the_formula_is_the_similarity_of_real_texts(words: int, letters: int, kind: str, size: int) -> None:
    length = TextLength(words, words * (letters + 1) - 1)
    assert length.word_length == letters
    expected = similarity_after_change(length, kind, size)
    tokens = [[f"t{at}" if at != (words - 1) // 2 else f"u{side}" for at in range(words)] for side in range(2)]
    if kind == "char":
        first = (length.characters - letters) // 2
        tokens = [
            [f"t{at}" if not first <= at < first + letters else f"u{side}.{at}" for at in range(length.characters)]
            for side in range(2)
        ]
    sets = [{tuple(one[at : at + size]) for at in range(max(1, len(one) - size + 1))} for one in tokens]
    assert expected == pytest.approx(len(sets[0] & sets[1]) / len(sets[0] | sets[1]))


@pytest.mark.parametrize(
    ("words", "threshold", "shingle"),
    [(9, 0.8, "word:1"), (9, 0.6, "word:2"), (9, 0.5, "word:2"), (16, 0.8, "char:6"), (300, 0.8, "word:5"),
     (49, 0.8, "word:5"),
     (48, 0.8, "char:25"), (43, 0.8, "word:4"), (300, 0.99, "word:1")],
)  # fmt: skip
def test_the_longest_that_leaves_the_threshold(words: int, threshold: float, shingle: str) -> None:
    text = TextLength(words, 6 * words - 1)
    chosen = longest_shingle(text, threshold)
    assert (chosen.shingle, chosen.similarity >= threshold) == (shingle, True)


def test_without_any_the_one_that_leaves_most() -> None:
    chosen = longest_shingle(TextLength(5, 29), 0.8)
    assert (chosen.shingle, chosen.similarity) == ("word:1", pytest.approx(2 / 3))


def test_a_text_of_twenty_words_is_long_enough_for_half() -> None:
    assert fewest_shingles("word", 5, 0.5) + 5 - 1 == 19
    assert similarity_after_change(TextLength(19, 113), "word", 5) == 0.5
    assert similarity_after_change(TextLength(18, 107), "word", 5) < 0.5
