"""Hostile ids and odd texts come back as they went in."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.corpora import rows, words
from twinset.errors import OptionError, SourceError, UnknownIdError

IDS = [
    "", " ", "  ", "\t", "\n", "\r\n", "\0", "a\0b", "a\0c", "\0\0", "a", "A", "a ", " a", "0", "00", "-1",
    "1e5", "NULL", "null", "None", "true", "nan", "'", "''", '"', "`", "\\", "\\\\", "\\x00", "\\N", "%s", "%",
    "_", "?", ":id", "$1", "'; DROP TABLE documents; --", '"); DELETE FROM bands; --',
    "Robert'); DROP TABLE documents;--", "x' OR '1'='1", "/*", "*/", "--", ";", "{}", "{0}", "[]",
    "<script>alert(1)</script>", "../../etc/passwd", "C:\\nul", "file:///etc", "é", "e\u0301", "ﬁ", "fi", "Å",
    "\u212b", "A\u030a", "ß", "SS", "İ", "i\u0307", "日本語", "ไทย", "עברית", "\u202eevil\u202c", "العربية",
    "👩‍👩‍👧‍👦", "👩", "🏳️‍🌈", "\U0010ffff", "\ufeff", "\ufffd", "\ufffe", "\uffff", "\uffff\uffff",
    "\uffff0", "\ud7ff", "\ue000", "\u2028", "\u0085", "\x7f", "\x1b[31m", "\x01", "a" * 1024, "é" * 512,
    "😀" * 256, "a" * 1023, "\0" * 1024, "\uffff" * 341,
]  # fmt: skip


def test_ids_come_back_as_they_went_in(place: Place, where: str) -> None:
    assert len(set(IDS)) == len(IDS)
    texts = {id: " ".join(words(12, f"w{number}x")) for number, id in enumerate(IDS)}
    with twinset.Index.create(where, shingle="word:1", seed=1) as index:
        assert index.add(list(texts), list(texts.values())).added == len(IDS)
        assert index.add(list(texts), list(texts.values())).unchanged == len(IDS)
    with twinset.Index.open(where) as index:
        assert list(index) == IDS
        assert index.verify() == []
        assert all(id in index for id in IDS)
        assert index.texts(IDS) == list(texts.values())
        for id, text in texts.items():
            assert [row[0] for row in rows(index.query(text))] == [id]
            assert index.similar_to(id).num_rows == 0
        for id in IDS[:40]:
            assert index.update([id], ["other words " + texts[id]]).replaced == 1
        assert index.remove(IDS[::2]) == len(IDS[::2])
        left = [*(id for id in IDS[40:] if id in IDS[1::2]), *(id for id in IDS[:40] if id in IDS[1::2])]
        assert list(index) == left
        assert index.verify() == []


def test_ids_that_look_alike_are_not_the_same(new_index: NewIndex) -> None:
    index = new_index()
    index.add(["é", "a", "x\0"], ["one", "two", "three"])
    for id in ("e\u0301", "A", "a ", "a\0", "x", "x\0\0", unicodedata.normalize("NFD", "é")):
        assert id not in index
        with pytest.raises(UnknownIdError):
            index.remove([id])
    assert len(index) == 3


def test_any_ids_at_all(new_index: NewIndex) -> None:
    dice = random.Random(1)
    spans = ((0, 0x80), (0, 0x800), (0, 0xD7FF), (0xE000, 0x10FFFF), (0xFFF0, 0xFFFF))
    ids: dict[str, None] = {}
    while len(ids) < 3000:
        low, high = dice.choice(spans)
        length = dice.choice((1, 2, 3, 8, 30))
        ids["".join(chr(dice.choice([0, 0xFFFF, dice.randint(low, high)])) for _ in range(length))] = None
    good = [id for id in ids if not any(0xD800 <= ord(letter) <= 0xDFFF for letter in id)]
    index = new_index(store="none", shingle="word:1")
    index.add(good, ["text"] * len(good))
    assert list(index) == good
    assert index.remove(good) == len(good)
    assert index.verify() == []


NO_IDS: list[tuple[Any, str]] = [
    ("a" * 1025, "has 1025 bytes; the maximum is 1024"),
    ("é" * 513, "has 1026 bytes; the maximum is 1024"),
    ("\ud800", "an unpaired surrogate"),
    ("a\udfffb", "an unpaired surrogate"),
    (None, "ids must be strings or whole numbers, not NoneType"),
    (1.5, "ids must be strings or whole numbers, not float"),
    (b"a", "ids must be strings or whole numbers, not bytes"),
    (True, "ids must be strings or whole numbers, not bool"),
]


def test_what_is_no_id_is_refused(new_index: NewIndex) -> None:
    index = new_index()
    for id, message in NO_IDS:
        acts = [
            lambda id=id: index.add(["good", id], ["text", "text"]), lambda id=id: index.update([id], ["text"]),
            lambda id=id: index.remove([id]), lambda id=id: index.texts([id]), lambda id=id: index.similar_to(id),
        ]  # fmt: skip
        if isinstance(id, str):
            acts.append(lambda id=id: index.add({"good": "text", id: "text"}))
        for act in acts:
            with pytest.raises(SourceError, match=message):
                act()
        assert id not in index
    assert len(index) == 0


def test_whole_numbers_are_ids_by_their_digits(new_index: NewIndex) -> None:
    index = new_index(shingle="word:1")
    index.add([1, 10**30], ["one", "two"])
    index.add(np.array([2, 3]), ["three", "four"])
    index.add(pa.array([4]), pa.array(["five"]))
    index.add({5: "six"})
    assert list(index) == ["1", str(10**30), "2", "3", "4", "5"]
    assert index.texts([2, 5]) == ["three", "six"]
    assert index.remove([1, np.int64(2)]) == 2


@pytest.mark.parametrize("store", ["text", "shingles", "none"])
def test_odd_texts(new_index: NewIndex, store: str) -> None:
    texts = {
        "empty": "", "blank": " \n\t ", "marks": "!?", "None": None,
        "one": "word", "nul": "a\0b c\0d e f g", "bidi": "\u202eevil text here", "emoji": "👩‍👩‍👧‍👦 🗼",
        "bom": "\ufefftext with a mark before it", "lines": "p\r\nq\rr\u2028s\u0085t",
        "long": " ".join(words(150_000, "w")), "word": "x" * 1_000_000, "same": "again " * 200_000,
        "high": "\U0010ffff\U0001f600 " * 50, "nfd": "e\u0301" * 1000,
    }  # fmt: skip
    index = new_index(store=store, shingle="word:2")
    done = index.add(list(texts), list(texts.values()))
    assert done.added == len(texts)
    assert done.empty == 4
    assert index.add(list(texts), list(texts.values())).unchanged == len(texts)
    assert index.verify() == []
    for id, text in texts.items():
        found = [row[:2] for row in rows(index.query(text or ""))]
        assert found == ([] if id in ("empty", "blank", "marks", "None") else [(id, 1.0)]), id
    if store == "text":
        assert index.texts(list(texts)) == [text or "" for text in texts.values()]


def test_lone_surrogates_in_texts_are_refused(new_index: NewIndex) -> None:
    index = new_index()
    asks = (
        lambda: index.add(["a", "b"], ["good", "a \ud800 b"]), lambda: index.update(["a"], ["\udfff"]),
        lambda: index.query("a \ud800 b"), lambda: index.add({"a": "\ud800"}), lambda: index.query(["\ud800"]),
    )  # fmt: skip
    for ask in asks:
        with pytest.raises(SourceError, match="surrogate"):
            ask()
    assert len(index) == 0


def test_bytes_that_are_no_text(new_index: NewIndex, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(b'{"id": "a", "text": "caf\xe9 noir du matin"}\n{"id": "b", "text": "fine"}\n')
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "c.txt").write_bytes(b"caf\xe9 noir du matin")
    index = new_index(shingle="word:1")
    index.add(tmp_path / "bad.jsonl")
    index.add(folder)
    index.add(["d", "e"], pa.array([b"caf\xe9 noir du matin", None], pa.binary()))
    replaced = "caf\ufffd noir du matin"
    assert index.texts(["a", "c.txt", "d", "b", "e"]) == [replaced, replaced, replaced, "fine", ""]
    assert {row[0] for row in rows(index.query(replaced))} == {"a", "c.txt", "d"}
    assert index.add(["d"], pa.array([b"caf\xe9 noir du matin"], pa.binary())).unchanged == 1
    assert index.verify() == []


def test_what_is_no_text_is_refused(new_index: NewIndex) -> None:
    index = new_index()
    for texts in ([1], [b"bytes"], [["nested"]], pa.array([1, 2]), 5):
        with pytest.raises((SourceError, TypeError), match=r"texts must be strings|not iterable"):
            index.add(["a"], texts)
    with pytest.raises(OptionError, match="there are 2 ids and 1 texts; each id needs one text"):
        index.add(["a", "b"], ["one"])
    with pytest.raises(OptionError, match="lines is for sources; leave it out with ids and texts"):
        index.add(["a"], ["one"], lines=True)


def test_arrow_of_every_kind(new_index: NewIndex) -> None:
    index = new_index(shingle="word:1")
    text = ["one two three", None, "four five six"]
    kinds = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
    arrays = [pa.array(text, kind) for kind in kinds]
    arrays += [pa.array(text).dictionary_encode(), pa.array(["x", *text]).slice(1)]
    arrays += [pa.chunked_array([text[:1], text[1:]])]
    for number, array in enumerate(arrays):
        ids = [f"{number}-{row}" for row in range(3)]
        index.add(ids, array)
        assert index.texts(ids) == ["one two three", "", "four five six"]
    index.add(["n"], pa.nulls(1))
    assert index.texts("n") == [""]
    assert index.verify() == []
