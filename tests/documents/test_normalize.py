"""Texts as they come, to texts as they are compared."""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset import textbook
from twinset.documents.normalize import hash_bytes, hash_values, lengths, normalize

KINDS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view()]
characters = st.characters(codec="utf-8", exclude_categories=("Cn", "Cs"))
texts = st.lists(st.none() | st.text(characters, max_size=20) | st.text("abcABC ", max_size=20), max_size=8)


def normalized(array: pa.Array, **steps: bool) -> list[str]:
    """The texts in order of their rows. ASCII texts are lower-cased later, by the shingle kernel."""
    found = {}
    for part in normalize(array, **steps).texts:
        for row, start, end in zip(part.rows.tolist(), part.starts, part.ends, strict=True):
            text = bytes(part.data[start:end]).decode()
            assert part.ascii == text.isascii() or not part.ascii
            found[row] = (
                textbook.normalize(text, lowercase=steps.get("lowercase", True), nfc=False) if part.ascii else text
            )
    assert sorted(found) == list(range(len(array)))
    return [found[row] for row in range(len(array))]


@given(texts, st.booleans(), st.booleans(), st.sampled_from(KINDS[:4]))
def test_equals_the_textbook(given_texts: list[str | None], lowercase: bool, nfc: bool, kind: pa.DataType) -> None:
    array = pa.array(given_texts, kind)
    expected = [textbook.normalize(text or "", lowercase=lowercase, nfc=nfc) for text in given_texts]
    assert normalized(array, lowercase=lowercase, nfc=nfc) == expected


@given(texts, st.integers(0, 4), st.integers(0, 4))
def test_a_slice_is_read_from_its_own_place(given_texts: list[str | None], start: int, length: int) -> None:
    array = pa.array(given_texts, pa.string()).slice(start, length)
    assert normalized(array) == [textbook.normalize(text or "") for text in given_texts[start : start + length]]
    assert lengths(array).tolist() == [len(text or "") for text in given_texts[start : start + length]]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_string(kind: pa.DataType) -> None:
    array = pa.array(["Plain", "CAFE\u0301", None, "", "ΣΑΣ"], kind)
    assert normalized(array) == ["plain", "café", "", "", "σασ"]
    assert lengths(array).tolist() == [5, 5, 0, 0, 3]


def test_dictionaries_and_chunks() -> None:
    words = ["Ä", None, "b", "Ä"]
    assert normalized(pa.array(words).dictionary_encode()) == ["ä", "", "b", "ä"]
    chunked = pa.chunked_array([pa.array(words[:1]), pa.array(words[1:])])
    assert normalized(chunked) == ["ä", "", "b", "ä"]


def test_capitals_with_and_without_neighbours() -> None:
    """Simple case mapping: İ is one i, a sigma at the end of a word stays σ, ẞ is ß, Ǆ and ǅ are ǆ."""
    assert normalized(pa.array(["İSTANBUL", "ΟΔΟΣ", "GROẞ", "Ǆǅ", "K\u212a"])) == [
        "istanbul",
        "οδοσ",
        "groß",
        "ǆǆ",
        "kk",
    ]


@pytest.mark.parametrize("plain", range(20))
def test_what_comes_after_some_plain_letters_is_seen(plain: int) -> None:
    texts = ["ä" + "B" * plain + end for end in ("", "É", "E\u0301", "\u0301\u0327", "中文")]
    array = pa.array(texts)
    assert normalized(array) == [textbook.normalize(text) for text in texts]
    others = np.concatenate([part.rows for part in normalize(array).texts if not part.ascii])
    assert lengths(array, others).tolist() == [len(text) for text in texts]
    damaged = pa.array([text.encode() + b"\xff" for text in texts], pa.binary())
    assert normalize(damaged).replaced.tolist() == list(range(len(texts)))


def test_composed_and_decomposed_become_one() -> None:
    forms = ["Ệ", "E\u0323\u0302", "E\u0302\u0323", "\u1eb8\u0302", "각", "\u1100\u1161\u11a8", "\uac00\u11a8"]
    assert normalized(pa.array(forms)) == ["ệ"] * 4 + ["각"] * 3
    apart = normalized(pa.array(forms), nfc=False)
    assert len(set(apart)) == 7


def test_replaced_rows_are_named() -> None:
    array = pa.array([b"fine", b"caf\xe9", None, "\u00e9".encode(), b"\xff\xfe"], pa.binary())
    assert normalize(array).replaced.tolist() == [1, 4]
    assert normalized(array) == ["fine", "caf\ufffd", "", "é", "\ufffd\ufffd"]


@given(st.lists(st.binary(max_size=10), max_size=5))
def test_broken_bytes_are_replaced_as_python_does(raws: list[bytes]) -> None:
    if any(unicodedata.category(c) == "Cn" for raw in raws for c in raw.decode("utf-8", "replace")):
        return
    array = pa.array(raws, pa.binary())
    assert normalized(array) == [textbook.normalize(oracles.text_of(raw)) for raw in raws]


def test_no_rows_and_only_nulls() -> None:
    assert normalize(pa.array([], pa.string())).texts == []
    assert normalized(pa.array([None, None], pa.string())) == ["", ""]
    assert normalized(pa.nulls(2, pa.large_binary())) == ["", ""]


# Values of columns


@given(st.lists(st.none() | st.text(characters, max_size=30), max_size=12), st.integers(1, 2**64 - 1))
def test_equal_values_and_only_they_have_equal_hashes(values: list[str | None], seed: int) -> None:
    hashes = hash_values(pa.array(values, pa.string()), seed).tolist()
    assert len(set(zip(values, hashes, strict=True))) == len(set(hashes)) == len(set(values))


@pytest.mark.parametrize("values", [[1, 2, None, 1], [1.5, 2.5, None, 1.5], [True, False, None, True]])
def test_values_of_other_types(values: list[object]) -> None:
    first, second, null, again = hash_values(pa.array(values), 1).tolist()
    assert first == again
    assert len({first, second, null}) == 3


@given(st.lists(st.none() | st.binary(max_size=70), max_size=12), st.sampled_from([pa.binary(), pa.large_binary()]))
def test_texts_are_hashed_as_by_xxhash(texts: list[bytes | None], kind: pa.DataType) -> None:
    array = pa.array([b"before", *texts], kind)[1:]
    found = hash_bytes(array).tolist()
    known = [xxhash.xxh64_intdigest(text) if text is not None else None for text in texts]
    assert [None if text is None else hash for text, hash in zip(texts, found, strict=True)] == known


def test_length_of_a_value_counts() -> None:
    values = ["a" * n for n in range(40)] + ["\x00" * n for n in range(1, 40)]
    assert len(np.unique(hash_values(pa.array(values), 7))) == len(values)


def test_exactly_what_python_decodes_is_utf8() -> None:
    """Every two bytes, and longer sequences around every border: overlong, surrogates, beyond the last code point."""
    edges = (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
    values = [bytes([0x61, one, other, 0x62]) for one in range(0x80, 0x100) for other in range(0x100)]
    values += [bytes([a, b, c]) for a in range(0xDF, 0xF1) for b in edges for c in edges]
    values += [bytes([a, b, c, d]) for a in range(0xEF, 0xF8) for b in edges for c in edges for d in (0x7F, 0x80, 0xBF)]
    expected = []
    for row, value in enumerate(values):
        try:
            value.decode("utf-8")
        except UnicodeDecodeError:
            expected.append(row)
    assert normalize(pa.array(values, pa.binary())).replaced.tolist() == expected
    assert 0 < len(expected) < len(values)


def test_marks_are_put_in_canonical_order() -> None:
    """Marks that compose with nothing, of every combining class, in every order."""
    marks = "\u0315\u0316\u031b\u0334\u05b0\u05bf\u064b\u0670\u0e38\u0f71\u302a\u302d\u0345\u035c\u0361"
    values = [f"a{one}{other}" for one in marks for other in marks]
    assert normalized(pa.array(values)) == [unicodedata.normalize("NFC", value) for value in values]


def test_what_stands_behind_a_null_is_not_read() -> None:
    """Arrow allows a null to have bytes, which mean nothing."""
    whole = pa.array(["one", "two", "three"])
    valid = pa.py_buffer(b"\x05")  # the second is null
    hidden = pa.Array.from_buffers(pa.string(), 3, [valid, *whole.buffers()[1:]])
    assert hidden.to_pylist() == ["one", None, "three"]
    assert normalized(hidden) == ["one", "", "three"]


def test_a_text_with_replaced_bytes_is_normalised_like_any_other() -> None:
    assert normalized(pa.array([b"Cafe\xcc\x81 \xff"], pa.binary())) == ["caf\u00e9 \ufffd"]
