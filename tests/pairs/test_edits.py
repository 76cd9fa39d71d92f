"""Edit similarity and cosine of counts, as `compare` gives them, against their definitions."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from tests import oracles
from twinset import textbook
from twinset.pairs import edits

texts = st.text("abé \n東", max_size=24)
letters = st.lists(st.sampled_from(["a", "rose", "red", "東"]), max_size=12)


@given(texts | letters, texts | letters)
def test_edits_are_those_of_the_definition(left: str | list[str], right: str | list[str]) -> None:
    longest = max(len(left), len(right))
    expected = 1 - oracles.edit_distance(left, right) / longest if longest else 1.0
    assert edits.edit_similarity(left, right) == pytest.approx(expected, abs=1e-15)


@given(texts, texts, st.sampled_from(["word:1", "char:2"]), st.booleans(), st.booleans())
def test_compare_tells_all_measures(left: str, right: str, shingle: str, bag: bool, spaces: bool) -> None:
    found = twinset.compare(left, right, shingle=shingle, bag=bag, spaces=spaces)
    forms = [textbook.normalize(text) for text in (left, right)]
    forms = [textbook.squeeze(form) if spaces else "".join(form.split()) for form in forms]
    longest = max(map(len, forms))
    expected = 1 - oracles.edit_distance(*forms) / longest if longest else 1.0
    assert found.edit_similarity == pytest.approx(expected, abs=1e-15)
    words = [textbook.tokens(textbook.normalize(text)) for text in (left, right)]
    most = max(map(len, words))
    assert found.word_edit_similarity == pytest.approx(
        1 - oracles.edit_distance(*words) / most if most else 1.0, abs=1e-15
    )
    ours, theirs = (Counter(textbook.shingle_list(text, shingle, spaces=spaces)) for text in (left, right))
    product = sum(ours[one] * theirs[one] for one in ours)
    lengths = math.sqrt(sum(n * n for n in ours.values()) * sum(n * n for n in theirs.values()))
    assert found.cosine == pytest.approx(product / lengths if lengths else 0.0, abs=1e-12)


def test_texts_that_are_too_long_have_no_edit_similarity() -> None:
    long = "a rose is a rose " * 20_000
    assert edits.edit_similarity(long, long) is None
    found = twinset.compare(long, long)
    assert (found.similarity, found.edit_similarity, found.word_edit_similarity) == (1.0, None, None)


def test_the_line_of_a_long_text_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    from twinset.cli import main

    assert main(["compare", "--string", "a rose is a rose", "--string", "a rose was a rose"]) == 0
    shown = capsys.readouterr().out
    assert "edit similarity of words" in shown
    assert "0.800000" in shown
    long = "word " * 50_000
    assert main(["compare", "--string", long, "--string", long]) == 0
    assert capsys.readouterr().out.count("the texts are too long") == 2
