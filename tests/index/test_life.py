"""What an index does, whatever it keeps of a document and whatever a shingle is; in each back end."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.corpora import Model, families, rows, rows_by_query, same, words
from twinset.errors import OptionError, StateError, UnknownIdError

STORES = ("text", "shingles", "none")
KINDS: dict[str, dict[str, Any]] = {
    "words": {"shingle": "word:3"},
    "characters": {"shingle": "char:5"},
    "permutations": {"shingle": "word:4", "sketch": "kperm", "n_hashes": 64},
    "bags": {"shingle": "word:1", "bag": True, "lowercase": False},
    "as they are": {"shingle": "char:4", "nfc": False, "squeeze": False, "lowercase": False},
    "unsplit": {"shingle": "word:2", "split": False, "bag": True},
}
TEXTS = families(60)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("store", STORES)
def test_a_life(place: Place, where: str, store: str, kind: str) -> None:
    options = {"threshold": 0.6, "store": store, "seed": 7, **KINDS[kind]}
    texts = dict(TEXTS)
    with twinset.Index.create(where, **options) as index:
        assert len(index) == 0
        assert list(index) == index.verify() == []
        done = index.add(texts)
        assert (done.added, done.replaced, done.unchanged) == (60, 0, 0)
        assert done.empty == sum(not text for text in texts.values())
        check(index, texts, store)
    changed = {"d3": TEXTS["d50"], "d7": "", "d8": "something else altogether", "new": "Rose is"}
    with twinset.Index.open(where, **options) as index:
        for name, value in options.items():
            assert getattr(index.settings.options, name) == value
        done = index.update(changed)
        assert (done.added, done.replaced, done.unchanged) == (1, 3, 0)
        # What is replaced is as if it had been removed and added.
        texts = {id: text for id, text in texts.items() if id not in changed} | changed
        check(index, texts, store)
        gone = ["d0", "d59", "new", "d22"]
        assert index.remove(gone) == 4
        texts = {id: text for id, text in texts.items() if id not in gone}
        check(index, texts, store)
        if kind == "words":
            index.compact()
            check(index, texts, store)
    with twinset.Index.open(where, read_only=True) as index:
        check(index, texts, store)


def check(index: twinset.Index, texts: dict[str, str], store: str) -> None:
    """Whether an index holds these texts, in this order, and answers as it has to."""
    assert index.verify() == []
    assert len(index) == len(texts)
    assert list(index) == list(texts)
    assert all(id in index for id in texts)
    assert not any(id in index for id in ("", "D1", "nothing", "d1 ", 1, None, b"d1"))
    if store == "text":
        assert index.texts(list(reversed(texts))) == list(reversed(texts.values()))
    else:
        with pytest.raises(OptionError, match=f"stores no texts .store is '{store}'"):
            index.texts(["d1"])
    stats = index.stats()
    assert (stats["documents"], stats["options"]["store"]) == (len(texts), store)
    if store == "none":
        return
    model = Model(texts, index.settings.options)
    for id in ("d1", "d2", "d4", "d10"):
        candidates = model.candidates(texts[id])
        assert same(rows(index.query(texts[id])), model.answers(texts[id], 0.6, among=candidates))
        assert same(rows(index.similar_to(id)), model.answers(texts[id], 0.6, among=candidates - {id}))
        assert same(rows(index.similar_to(id, k=3)), model.nearest(texts[id], 3, without=id))


def test_what_can_be_asked_with(new_index: NewIndex, tmp_path: Path) -> None:
    import pyarrow as pa

    index = new_index(shingle="word:3", threshold=0.6)
    index.add(TEXTS)
    asked = {id: TEXTS[id] for id in ("d1", "d22", "d41")}
    lines = [json.dumps({"id": id, "text": text}) for id, text in asked.items()]
    (tmp_path / "asked.jsonl").write_text("\n".join(lines))
    expected = {id: rows(index.query(text)) for id, text in asked.items() if text}
    table = pa.table({"id": list(asked), "text": list(asked.values())})
    for what in (asked, table, tmp_path / "asked.jsonl"):
        found = index.query(what)
        assert found.column_names[0] == "query"
        assert rows_by_query(found) == expected
        assert pa.concat_tables(index.each_query(what)).equals(found)
    numbered = rows_by_query(index.query(list(asked.values())))
    assert numbered == {str(place): expected[id] for place, id in enumerate(asked) if id in expected}
    assert index.query([]).num_rows == index.query("").num_rows == index.query({"a": None}).num_rows == 0
    assert index.query([]).schema == index.query(asked).schema
    renamed = table.rename_columns(["name", "body"])
    assert rows_by_query(index.query(renamed, id="name", text="body")) == expected
    with pytest.raises(OptionError, match="leave it out with a single text"):
        index.query("a text", text="body")


def test_many_queries_are_answered_as_each_alone(new_index: NewIndex) -> None:
    index = new_index(shingle="word:1", threshold=0.5)
    texts = {f"{family}-{one}": " ".join(words(30 + one, f"f{family}x")) for family in range(40) for one in range(4)}
    index.add(texts)
    many = {f"{id} {again}": text for again in range(8) for id, text in texts.items()}
    together = rows_by_query(index.query(many, threads=2, batch_bytes=4096))
    assert list(together) == list(many)
    for id, found in itertools.islice(together.items(), 0, None, 37):
        assert found == rows(index.query(many[id]))


@pytest.mark.parametrize("store", STORES)
def test_an_empty_index_has_no_answers(new_index: NewIndex, store: str) -> None:
    index = new_index(store=store)
    for asked in ({}, {"k": 3}, {"threshold": 1.0}):
        assert index.query("the rose is in the garden", **asked).num_rows == 0
    with pytest.raises(UnknownIdError, match="no document with the id 'a'"):
        index.similar_to("a")
    index.add(["a", "b"], ["", None])
    assert index.similar_to("a").num_rows == index.query("", k=5).num_rows == 0
    assert len(index) == 2
    assert index.verify() == []


def test_removing_what_is_not_there_removes_nothing(new_index: NewIndex) -> None:
    index = new_index()
    index.add(["a", "b"], ["one text", "another"])
    with pytest.raises(UnknownIdError, match=r"no document with the id 'x' \(nor 1 more of the given ids\)"):
        index.remove(["a", "x", "y"])
    with pytest.raises(UnknownIdError, match="no document with the id 'z'"):
        index.texts(["a", "z"])
    assert list(index) == ["a", "b"]
    assert index.remove(["a", "a"]) == 1
    assert index.remove("b") == 1
    assert index.remove([]) == len(index) == 0


def test_removing_and_compacting_gives_space_back(new_index: NewIndex) -> None:
    index = new_index(shingle="word:1")
    index.add({str(number): " ".join(words(200, f"w{number}x")) for number in range(600)})
    index.compact()
    before = index.stats()["bytes"]["total"]
    index.remove([str(number) for number in range(550)])
    index.compact()
    assert index.stats()["bytes"]["total"] < before / 2
    assert index.verify() == []
    assert len(index) == 50


@pytest.mark.parametrize("store", STORES)
def test_read_only_refuses_every_change(place: Place, where: str, store: str) -> None:
    with twinset.Index.create(where, store=store) as index:
        index.add(["a"], ["the rose is in the garden of the town"])
    with twinset.Index.open(where, read_only=True) as index:
        changes = (
            lambda: index.add(["b"], ["text"]), lambda: index.add({"b": "text"}), lambda: index.update(["a"], ["text"]),
            lambda: index.remove("a"), lambda: index.compact(),
        )  # fmt: skip
        for change in changes:
            with pytest.raises(StateError, match="opened read-only and cannot be changed"):
                change()
        assert list(index) == ["a"]
        assert index.query("the rose is in the garden of the town").num_rows == 1


def test_what_was_closed_says_so(new_index: NewIndex) -> None:
    index = new_index()
    index.add(["a"], ["text"])
    index.close()
    index.close()
    for act in (lambda: len(index), lambda: index.query("text"), lambda: index.add(["b"], ["t"]), index.verify):
        with pytest.raises(StateError, match="closed") as raised:
            act()
        assert type(raised.value) is StateError
