"""Shingle hashes equal the oracle's, bit by bit, over every path through the kernel."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import oracles
from tests.shingles.hashing import hashes_of
from twinset.documents.normalize import normalize
from twinset.options import ShingleOptions
from twinset.shingles import texts as shingle_module
from twinset.shingles.texts import PORTION, shingle

# Arrow knows later versions of Unicode than Python; what either has not assigned yet is left out.
characters = st.characters(codec="utf-8", exclude_categories=("Cn", "Cs"))
SAMPLES = [
    *("The quick brown fox", "ΣΊΣΥΦΟΣ σίσυφος", "Ёлка, ёжик и Й", "東京タワーは333メートル", "한국어 텍스트 ㄱㅏ"),
    *("ภาษาไทยไม่มีช่องว่าง", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာစာ", "اللغة العَرَبِيّة", "हिन्दी में क़िताब", "👩‍👩‍👧 😀👍🏽 🇩🇪 ☃️"),
    *("İstanbul Iıİi", "Straße ẞ ß ſ", "Ǆ ǅ ǆ", "Å Å Å", "ệ ệ ệ", "각 각", "q̣̇ q̣̇", "\u0344 \u0958 \u212b"),
    *("\u2028\u2029\u0085\u00a0\u3000 \x1c\x1f", " \u3000 né \u2028\u2029"),
    *("a\u200bb\u200dc\ufeffd", "\U0001d400\U0001f1e6\U00020000\U000e0100"),
]
words_of_any_script = st.sampled_from([word for sample in SAMPLES for word in sample.split(" ")])
texts = st.one_of(
    st.text(characters, max_size=60),
    st.lists(words_of_any_script, max_size=14).map(" ".join),
    st.text("abAB01_ .\t\n\x00é日🙂́", max_size=90),
)
specs = st.builds(lambda kind, size: f"{kind}:{size}", st.sampled_from(["word", "char"]), st.integers(1, 12))
_SWITCHES = ("bag", "lowercase", "nfc", "squeeze", "spaces", "split")
switches = st.fixed_dictionaries({name: st.booleans() for name in _SWITCHES}).filter(
    lambda on: on["squeeze"] or on["spaces"]
)


@given(st.lists(st.none() | texts, max_size=6), specs, switches, st.integers(0, 2**64 - 1))
def test_any_text(given_texts: list[str | None], spec: str, on: dict[str, bool], seed: int) -> None:
    expected = [oracles.shingle_hashes(text, seed, spec, **on) for text in given_texts]
    assert hashes_of(given_texts, seed, shingle=spec, **on) == expected


@pytest.mark.parametrize("spec", ["word:1", "word:2", "word:5", "char:1", "char:3", "char:9"])
@pytest.mark.parametrize("name", ["", "lowercase", "nfc", "squeeze", "spaces", "split", "bag"])
def test_every_script(spec: str, name: str) -> None:
    on = {name: name == "bag"} if name else {}
    everything = [*SAMPLES, *map(str.upper, SAMPLES), " ".join(SAMPLES)]
    for form in ("NFC", "NFD"):
        forms = [unicodedata.normalize(form, text) for text in everything]
        assert hashes_of(forms, shingle=spec, **on) == [
            oracles.shingle_hashes(text, shingle=spec, **on) for text in forms
        ]


@given(st.lists(texts, min_size=1, max_size=5), specs, switches)
def test_equal_shingles_and_only_they_have_equal_hashes(given_texts: list[str], spec: str, on: dict[str, bool]) -> None:
    hashes = hashes_of(given_texts, shingle=spec, **on)
    one_to_one: dict[Any, int] = {}
    for text, found in zip(given_texts, hashes, strict=True):
        shingles = oracles.shingle_list(text, spec, **on)
        assert len(found) == len(shingles)
        seen: dict[Any, int] = {}
        for one, h in zip(shingles, found, strict=True):
            repeat = seen.setdefault(one, 0) if on["bag"] else 0
            seen[one] = repeat + 1
            assert one_to_one.setdefault((one, repeat), h) == h
    assert len(set(one_to_one.values())) == len(one_to_one)


def test_a_short_text_is_not_a_shingle_of_a_long_one() -> None:
    [[short], long, [other_size]] = hashes_of(["b c", "a b c d e f", "b"], shingle="word:3")
    assert short not in long
    assert short != other_size
    assert short not in hashes_of(["a b c"], shingle="word:2")[0]


# ASCII: eight and sixty-four bytes at a time, from any offset

ASCII = st.text(st.characters(min_codepoint=0, max_codepoint=127), max_size=200)


@given(ASCII, st.integers(0, 9), specs, st.booleans())
@example("a" * 64, 0, "word:1", True)
@example("a" * 63 + " " + "b" * 64, 0, "word:1", True)
@example("a " * 64, 1, "word:5", True)
@example(" " * 128, 0, "word:1", True)
@example("\x00" * 70 + "@[`{/:" * 20, 3, "word:1", False)
def test_the_ascii_path_equals_the_unicode_path(text: str, offset: int, spec: str, lower: bool) -> None:
    """One character that is no part of any word makes the text take the other path."""
    words = {"shingle": spec, "lowercase": lower}
    plain, other = hashes_of(["x" * offset, text], **words)[1], hashes_of([text + "\u2014"], **words)[0]
    if spec.startswith("word"):
        assert plain == other
    else:
        assert plain == oracles.shingle_hashes(text, **words)
        assert other == oracles.shingle_hashes(text + "\u2014", **words)


@pytest.mark.parametrize("length", [*range(34), *range(60, 70), *range(120, 136), 191, 192, 193, 255, 256, 257])
def test_words_of_any_length_at_any_place(length: int) -> None:
    """A run of `length` letters after each number of separators up to 70, in one batch and one by one."""
    letters = "".join(chr(65 + i % 26) for i in range(length))
    given_texts = [" " * before + letters + ("." if before % 2 else " ") + "end" for before in range(70)]
    expected = [oracles.shingle_hashes(text, shingle="word:1") for text in given_texts]
    assert hashes_of(given_texts, shingle="word:1") == expected
    assert hashes_of([given_texts[7]], shingle="word:1") == [expected[7]]


@pytest.mark.parametrize(
    "separators", [" " * n for n in (0, 1, 7, 8, 9, 63, 64, 65, 128)] + ["\x00", ".,;\n" * 40, "—…"]
)
def test_only_separators(separators: str) -> None:
    assert hashes_of([separators], shingle="word:2") == [[]]
    assert hashes_of([" \t" + " " * len(separators)], shingle="char:2") == [[]]


def test_every_ascii_character_in_every_lane() -> None:
    """Each of the 128 characters at each place of a block of 64, between letters."""
    given_texts = ["a" * place + chr(c) + "b" * (70 - place) for c in range(128) for place in range(0, 70, 3)]
    for lower in (True, False):
        expected = [oracles.shingle_hashes(text, shingle="word:1", lowercase=lower) for text in given_texts]
        assert hashes_of(given_texts, shingle="word:1", lowercase=lower) == expected


def test_what_an_earlier_text_left_in_the_scratch_is_not_read() -> None:
    first = hashes_of(["zzzzzzzzzzzzzzzzzzzzzzzz" * 40, "ab"], shingle="word:1")[1]
    assert hashes_of(["ab"], shingle="word:1") == [first]


# Bytes that are not UTF-8

BROKEN = [
    *(b"\xff", b"\x80abc", b"abc\xc3", b"\xc0\xaf", b"\xe0\x80\x80", b"\xed\xa0\x80 surrogate", b"\xf4\x90\x80\x80"),
    *(b"\xf0\x9f\x99 cut", b"caf\xe9 latin", b"ok \xe6\x97\xa5 \xe6\x97 half", b"\xf5\x80\x80\x80", b"\xe2\x82"),
]


@pytest.mark.parametrize("spec", ["word:1", "word:2", "char:1", "char:4"])
def test_broken_utf8_is_replaced_as_python_does(spec: str) -> None:
    mended = [raw.decode("utf-8", "replace") for raw in BROKEN]
    assert hashes_of(BROKEN, shingle=spec) == hashes_of(mended, shingle=spec)
    assert hashes_of(BROKEN, shingle=spec) == [oracles.shingle_hashes(raw, shingle=spec) for raw in BROKEN]


@given(st.binary(max_size=40), specs)
def test_any_bytes(raw: bytes, spec: str) -> None:
    if any(unicodedata.category(c) == "Cn" for c in raw.decode("utf-8", "replace")):
        return
    assert hashes_of([raw], shingle=spec) == [oracles.shingle_hashes(raw, shingle=spec)]


def test_nulls_have_no_shingles_whatever_lies_under_them() -> None:
    """Arrow may leave the old bytes in the place of a null."""
    data = pa.py_buffer("hidden words 東京".encode() + b"\xff" + b"seen")
    offsets = pa.py_buffer(np.array([0, 13, 20, 24], np.int32).tobytes())
    array = pa.Array.from_buffers(pa.binary(), 3, [pa.py_buffer(b"\x04"), offsets, data])
    ready = normalize(array)
    assert len(ready.replaced) == 0
    options = ShingleOptions.of(shingle="word:1")
    found = {
        int(row): int(n)
        for part in ready.texts
        for portion in shingle(part, options, 1)
        for row, n in zip(portion.rows, np.diff(portion.offsets), strict=True)
    }
    assert found == {0: 0, 1: 0, 2: 1}


# Portions

WORDS = 2 * PORTION
"""Bytes of a portion of texts whose words are shingled."""


def test_portions_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    given_texts = [f"text {i} " * (i % 7) + "東京 é" * (i % 3) for i in range(60)] + ["", "long " * 500]
    whole = hashes_of(given_texts, shingle="word:3")
    for size in (1, 100, 1000):
        monkeypatch.setattr(shingle_module, "PORTION", size)
        assert hashes_of(given_texts, shingle="word:3") == whole


@pytest.mark.parametrize("excess", [-1, 0, 1])
def test_texts_that_just_fill_a_portion(excess: int) -> None:
    head = ("word " * PORTION)[: WORDS - 100 + excess]
    given_texts = [head, "x " * 50, "tail of three words", "é " * 10]
    assert hashes_of(given_texts, shingle="word:2") == [hashes_of([one], shingle="word:2")[0] for one in given_texts]
    assert len(hashes_of(given_texts, shingle="word:2")[0]) == len(head.split()) - 1


def test_a_text_longer_than_a_portion() -> None:
    text = " ".join(f"w{i % 1000}" for i in range(WORDS // 3))
    for bag, expected in ((False, 1000), (True, WORDS // 3 - 1)):
        [found] = hashes_of([text], shingle="word:2", bag=bag)
        assert len(found) == WORDS // 3 - 1
        assert len(set(found)) == expected
