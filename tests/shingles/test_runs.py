"""Words in their order, their places in texts, and lines and paragraphs, equal to those of the textbook."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from twinset.compiled.bytes_kernels import SINGLE
from twinset.documents.normalize import normalize
from twinset.engines.local.passages.words import original_places
from twinset.shingles.runs import byte_borders, code_points_at, place_words, text_units, word_runs
from twinset.textbook import normalize as by_definition
from twinset.textbook import tokens
from twinset.unicode import classes

characters = st.sampled_from(
    "abC_9 .\n\r\t-éÉ\u0301\u0323ẞİ中文カไ🙂👍🏽\u2028\u3000\0가\u1112\u1161\u11ab"
) | st.characters(codec="utf-8")
texts = st.text(characters, max_size=40)


@given(st.lists(texts, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_word_hashes(some: list[str], lowercase: bool, split: bool) -> None:
    found: dict[int, list[int]] = {}
    for ready in normalize(pa.array(some), lowercase=lowercase, nfc=True).texts:
        runs = word_runs(ready, lowercase, split)
        for at, row in enumerate(runs.rows.tolist()):
            found[row] = runs.hashes[runs.offsets[at] : runs.offsets[at + 1]].tolist()
    for row, text in enumerate(some):
        words = tokens(by_definition(text, lowercase=lowercase), split=split)
        assert found[row] == [oracles.word_hash(word) for word in words]


@given(texts, st.booleans())
def test_borders_and_places(text: str, split: bool) -> None:
    data = text.encode()
    borders = byte_borders(data, text.isascii(), split)
    words = [data[start:end].decode() for start, end in borders.reshape(-1, 2).tolist()]
    assert words == tokens(text, split=split)
    assert code_points_at(data, borders.astype(np.int64)).tolist() == [
        len(data[:at].decode()) for at in borders.tolist()
    ]


@given(texts, st.data())
def test_spans_of_words(text: str, data: st.DataObject) -> None:
    normal = by_definition(text)
    [ready] = normalize(pa.array([text]), lowercase=True, nfc=True).texts
    words = tokens(normal)
    first = data.draw(st.lists(st.integers(0, max(0, len(words) - 1)), max_size=3 if words else 0).map(sorted))
    last = [data.draw(st.integers(at + 1, len(words))) for at in first]
    starts, ends = place_words(
        ready, True, np.array([0, len(first)]), np.array(first, np.uint32), np.array(last, np.uint32)
    )
    placed = oracles.placed_words(normal)
    assert starts.tolist() == [placed[at][1] for at in first]
    assert ends.tolist() == [placed[at - 1][2] for at in last]


@settings(max_examples=200)
@given(texts)
def test_places_in_texts_that_are_not_in_nfc(text: str) -> None:
    normal = by_definition(text, lowercase=False)
    placed = oracles.placed_words(normal, lowercase=False)
    starts, ends = (np.array([one[side] for one in placed], np.int64) for side in (1, 2))
    if not text or not placed:
        return
    begin, end = original_places(text, starts, ends)
    assert (begin >= 0).all()
    assert (end <= len(text)).all()
    for at, (word, _, _) in enumerate(placed):
        assert word in by_definition(text[begin[at] : end[at]], lowercase=False)


@given(st.lists(texts, min_size=1, max_size=3), st.booleans(), st.integers(1, 3))
def test_units(some: list[str], paragraphs: bool, least: int) -> None:
    separator = r"\n[ \t\r]*\n[ \t\r\n]*" if paragraphs else r"\n"
    seen: dict[int, tuple[str, ...]] = {}
    for ready in normalize(pa.array(some), lowercase=True, nfc=True).texts:
        units = text_units(ready, True, True, paragraphs, least)
        found: dict[int, list[tuple[int, int]]] = {}
        for row, first, size, value in zip(
            units.rows.tolist(), units.first.tolist(), units.sizes.tolist(), units.hashes.tolist(), strict=True
        ):
            words = tuple(tokens(by_definition(some[row]))[first : first + size])
            assert seen.setdefault(value, words) == words
            found.setdefault(row, []).append((first, size))
        for row, count in zip(units.row_numbers.tolist(), units.row_words.tolist(), strict=True):
            assert count == len(tokens(by_definition(some[row])))
            expected, at = [], 0
            for piece in re.split(separator, by_definition(some[row])):
                size = len(tokens(piece))
                if size >= least:
                    expected.append((at, size))
                at += size
            assert found.get(row, []) == expected
    assert len(set(seen.values())) == len(seen)


def test_words_without_a_separator_take_two_bytes_each_on_average() -> None:
    """The arrays of hashes are sized by this: a letter of one byte beside a character that is a word by itself."""
    assert not (classes()[:0x800] & SINGLE).any()
