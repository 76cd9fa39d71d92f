"""Text and words, by their definition."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset import textbook
from twinset.textbook import shingle_list, tokens


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
