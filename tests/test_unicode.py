"""The table of code points says what Unicode says, and the quick check for NFC is never too sure."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from twinset import textbook, unicode
from twinset.compiled.bytes_kernels import SINGLE, SPACE, UNSETTLED, WORD
from twinset.documents import normalize_kernels

HEADER = Path(unicode.__file__).with_name("unicode.txt").read_text("ascii").splitlines()[0]
TABLE_VERSION = HEADER.removeprefix("# Unicode ").split(":")[0]
POINTS = [point for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]


def wrong(ours: npt.NDArray[np.uint8], theirs: npt.NDArray[np.uint8]) -> list[int]:
    """Where the table differs from the running Python.

    A Python of another version of Unicode has characters that the table does not: only where the table says nothing of
    a character may they differ.
    """
    differing = ours != theirs
    if unicodedata.unidata_version != TABLE_VERSION:
        differing &= unicode.classes() != 0
    return np.flatnonzero(differing).tolist()


def known_to_python(character: str) -> bool:
    """Whether the table and the running Python agree on a character: one version, or assigned long ago."""
    return unicodedata.unidata_version == TABLE_VERSION or unicodedata.category(character) != "Cn"


def test_words_singles_and_spaces() -> None:
    classes = unicode.classes()
    expected = np.zeros(0x110000, np.uint8)
    for point in POINTS:
        character = chr(point)
        expected[point] = (
            WORD * textbook.is_word_character(character)
            + SINGLE * textbook.is_single(character)
            + SPACE * character.isspace()
        )
    assert wrong(classes & (WORD | SINGLE | SPACE), expected) == []


def test_combining_classes() -> None:
    expected = np.array([unicodedata.combining(chr(point)) for point in range(0x110000)], np.uint8)
    assert wrong(unicode.combining(), expected) == []


def test_what_changes_by_itself_is_unsettled() -> None:
    unsettled = (unicode.classes() & UNSETTLED) != 0
    changed = np.zeros(0x110000, np.bool_)
    changed[POINTS] = [unicodedata.normalize("NFC", chr(point)) != chr(point) for point in POINTS]
    assert wrong(changed & ~unsettled, np.zeros_like(changed)) == []


def test_most_code_points_are_settled() -> None:
    """Else all text would be normalised, which is slow: the property is No or Maybe for about 1,250 code points."""
    assert np.count_nonzero(unicode.classes() & UNSETTLED) < 2000


def test_surrogates_are_nothing() -> None:
    assert not unicode.classes()[0xD800:0xE000].any()


def survey(texts: list[str]) -> list[int]:
    array = pa.array([text.encode() for text in texts], pa.large_binary())
    offsets = np.frombuffer(array.buffers()[1], np.int64).copy()
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    found = np.full(len(texts), 99, np.uint8)
    normalize_kernels.survey(data, offsets, unicode.classes(), unicode.combining(), found)
    return found.tolist()


marks = st.characters(codec="utf-8", categories=("Mn", "Mc", "Me"))
letters = st.characters(codec="utf-8", exclude_categories=("Cs", "Cn"))
jamo = st.characters(min_codepoint=0x1100, max_codepoint=0x11FF)
texts = st.text(st.one_of(letters, marks, marks, jamo, st.sampled_from("aeoçÅ각각")), max_size=12)


@given(texts)
@example("q\u0307\u0323")
@example("a\u0315 \u0300")
@example("\u1100\u1161\u11a8")
@example("\uac00\u11a8")
@example("\u0b47\u0b3e")
def test_a_text_called_settled_is_nfc(text: str) -> None:
    [found] = survey([text])
    if found == 0:
        assert text.isascii()
    elif found == 1 and all(map(known_to_python, text)):
        assert unicodedata.is_normalized("NFC", text)
    assert found != 3


def test_every_two_characters_that_compose_are_noticed() -> None:
    pairs = []
    for point in POINTS:
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            both = [int(part, 16) for part in parts]
            if unicodedata.unidata_version == TABLE_VERSION or unicode.classes()[both].all():
                pairs.append("x" + "".join(map(chr, both)))
    assert len(pairs) > 900
    unnoticed = [pair for pair, found in zip(pairs, survey(pairs), strict=True) if found == 1]
    assert [pair for pair in unnoticed if not unicodedata.is_normalized("NFC", pair)] == []


def test_marks_in_the_wrong_order_are_noticed() -> None:
    """Two marks of each two combining classes, none of which composes with anything: only their order can tell."""
    settled = (unicode.classes() & UNSETTLED) == 0
    one_of_each: dict[int, str] = {}
    for point in np.flatnonzero(settled & (unicode.combining() > 0)).tolist():
        one_of_each.setdefault(int(unicode.combining()[point]), chr(point))
    assert len(one_of_each) > 30
    both = [(a, b) for a in one_of_each for b in one_of_each]
    texts = ["x" + one_of_each[a] + one_of_each[b] for a, b in both]
    assert survey(texts) == [2 if a > b else 1 for a, b in both]
    assert survey([f"x{one_of_each[230]}y{one_of_each[220]}", f"x{one_of_each[230]}é{one_of_each[220]}"]) == [1, 1]


@pytest.mark.parametrize(
    "text", ["naïve café", "ελληνικά", "русский", "日本語テキスト", "한국어", "ภาษาไทย", "العربية", "हिन्दी", "🙂"]
)
def test_ordinary_text_is_settled(text: str) -> None:
    assert survey([text]) == [1]


@given(st.binary(max_size=12))
@example(b"\xe0\x9f\xbf")
@example(b"\xf0\x8f\xbf\xbf")
@example(b"\xf4\x8f\xbf\xbf")
@example(b"\xed\x9f\xbf\xee\x80\x80")
@example(b"\xc1\xbf")
def test_what_is_utf8_and_what_is_not(raw: bytes) -> None:
    array = pa.array([b"before", raw, b"\x80after"], pa.large_binary())
    offsets = np.frombuffer(array.buffers()[1], np.int64).copy()
    found = np.empty(3, np.uint8)
    normalize_kernels.survey(
        np.frombuffer(array.buffers()[2], np.uint8), offsets, unicode.classes(), unicode.combining(), found
    )
    try:
        raw.decode()
    except UnicodeDecodeError:
        assert found[1] == 3
    else:
        assert found[1] in ((0,) if raw.isascii() else (1, 2))
    assert (found[0], found[2]) == (0, 3)
