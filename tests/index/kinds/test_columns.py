"""An index of records, or of weighted sets, answers as `find_pairs` does over the same rows, and as the definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.kinds.column_sources import KINDS, Columns, nearest
from twinset.errors import ColumnError, OptionError, SourceError
from twinset.index import content_lists

CERTAIN = {"threshold": 0.4, "recall": 0.9999, "n_hashes": 64, "n_bands": 64, "rows_per_band": 1, "seed": 1}
Row = tuple[str, float, float, float]


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Columns:
    """Each kind by turns."""
    return KINDS[request.param]


def rows(table: pa.Table) -> list[Row]:
    names = ("id", "similarity", "query_in_document", "document_in_query")
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def pairs_by_left(found: Any) -> dict[str, list[Row]]:
    by_left: dict[str, list[Row]] = {}
    for row in found.pairs.to_pylist():
        by_left.setdefault(row["left"], []).append(
            (row["right"], row["similarity"], row["left_in_right"], row["right_in_left"])
        )
    return by_left


@pytest.mark.parametrize("store", ["text", "shingles"])
def test_answers_above_a_threshold_are_the_pairs(
    new_index: NewIndex, tmp_path: Path, kind: Columns, store: str
) -> None:
    source = kind.write(tmp_path, kind.documents)
    index = new_index(**kind.options, **CERTAIN, store=store)
    assert index.add(source).added == len(kind.documents)
    expected = pairs_by_left(twinset.find_pairs(source, **kind.options, **CERTAIN, audit=0))
    for left, right, similarity, inside, around in [(left, *row) for left, some in expected.items() for row in some]:
        expected.setdefault(right, []).append((left, similarity, around, inside))
    answers = index.query(source)
    for id in kind.documents:
        mine = rows(answers.filter(pc.equal(answers["query"], id)))
        assert mine == sorted(mine, key=lambda row: (-row[1], row[0]))
        others = [row for row in mine if row[0] != id]
        assert sorted(others) == sorted(expected.get(id, [])), id  # to the last digit
        by_definition = {other: score for other, score in nearest(kind, id).items() if score >= 0.4 - 1e-12}
        assert {one[0]: one[1] for one in others} == pytest.approx(by_definition)
        assert rows(index.similar_to(id)) == others
    assert sum(map(len, expected.values())) > 100
    assert index.query(source, threshold=0.9).num_rows < answers.num_rows


@pytest.mark.parametrize("store", ["text", "shingles"])
def test_the_k_nearest_are_those_of_pairs(
    new_index: NewIndex, tmp_path: Path, kind: Columns, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = kind.write(tmp_path, kind.documents)
    index = new_index(**kind.options, **{**CERTAIN, "threshold": 0.9}, store=store)
    index.add(source)
    expected = pairs_by_left(twinset.find_pairs(source, **kind.options, top=4))
    assert index.nearest_by() == "all"
    for id in kind.documents:
        assert rows(index.similar_to(id, k=4)) == expected.get(id, []), id
        every = rows(index.similar_to(id, k=1000))
        assert every == sorted(every, key=lambda row: (-row[1], row[0]))
        assert {row[0]: row[1] for row in every} == pytest.approx(nearest(kind, id))
    answers = index.query(source, k=5)
    assert set(answers["recall"].to_pylist()) == {1.0}
    assert min(answers["similarity"].to_pylist()) < 0.3
    # Without lists in memory the contents are compared one by one.
    with monkeypatch.context() as patch:
        patch.setattr(content_lists, "MOST_LISTED", 0)
        other = twinset.Index.open(index.name, read_only=True) if Path(index.name).exists() else index
        content_lists._OF_BACKENDS.clear()
        content_lists._BY_NAME.clear()
        for id in list(kind.documents)[::6]:
            assert rows(other.similar_to(id, k=4)) == expected.get(id, [])
        assert sorted(rows(other.query(source, k=5))) == sorted(rows(answers))
        content_lists._OF_BACKENDS.clear()
        content_lists._BY_NAME.clear()
        if other is not index:
            other.close()


def test_single_queries_in_python(new_index: NewIndex) -> None:
    index = new_index(items="tags", weight="counts", threshold=0.5)
    index.add(["a", "b", "none"], [{"Ran": 4.5, "Alien": 3, "Solaris": 0}, '{"Ran": 1}', None])
    index.add({"c": {"Ran": 2, 7: 1}})
    assert index.query({"Ran": 4.5, "Alien": 3}).to_pylist()[0]["similarity"] == 1
    assert [row[:2] for row in rows(index.query('{"Ran": 2, "7": 1}', k=2))] == [("c", 1.0), ("b", 1 / 3)]
    assert index.query([{"Ran": 2}, {"7": 1}], k=1)["id"].to_pylist() == ["c", "c"]
    assert index.query({"q": {"Ran": 1}}, k=1).to_pylist()[0]["query"] == "q"
    assert index.texts(["a", "none"]) == ['{"Alien":3.0,"Ran":4.5}', "{}"]
    for wrong, why in (
        ({"a": float("nan")}, "a weight is nan"), ('{"a": -1}', "a weight is -1"), ("[1]", "must be a mapping"),
        ("Ran", "is not JSON"), ('{"a": "b"}', "must hold a list|finite|number"), ({"a": 1e300, "b": 1e300}, "add up"),
    ):  # fmt: skip
        with pytest.raises(SourceError, match=why):
            index.query(wrong)
    people = new_index(text=("name,char:2", "city,char:2"), threshold=0.5)
    people.add(["a", "b", "none"], [{"name": "Anna", "city": "Bonn"}, '{"name": "Bert"}', None])
    people.add({"c": {"name": "Anna", "city": "Köln"}})
    assert people.query({"name": "Anna", "city": "Bonn"})["id"].to_pylist() == ["a"]
    assert people.query('{"name": "anna"}', k=2)["id"].to_pylist() == ["a", "c"]
    assert people.query({"q": {"name": "Bert"}}).to_pylist()[0]["query"] == "q"
    assert people.texts(["b", "none"]) == ['{"name":"Bert","city":""}', '{"name":"","city":""}']
    for wrong, why in (
        ({"nom": "Anna"}, "has the columns 'name' and 'city'; this one has 'nom'"), ("Anna", "is not JSON"),
        ('["Anna"]', "must be a mapping"), ({"name": 7}, "must be a string"),
    ):  # fmt: skip
        with pytest.raises(SourceError, match=why):
            people.query(wrong)


def test_other_columns_are_refused(new_index: NewIndex, tmp_path: Path) -> None:
    """In words, and before anything is added."""
    for name, kind in KINDS.items():
        index = new_index(**kind.options)
        source = kind.write(tmp_path, kind.documents)
        others = {
            "long table": [({"group": "user", "item": "movie"}, "group is given without weight="),
                           ({"text": "a"}, "text does not fit: the index holds weighted sets")],
            "lists": [({"items": "tags"}, "items is given without weight="), ({"codes": "c"}, "codes does not fit")],
            "records": [({"text": ("name", "city")}, "'name' and 'city', and the index holds records of"),
                        ({"text": "text"}, "the index holds records of 'name,char:2,2' and 'street'"),
                        ({"items": "name"}, "items does not fit: the index holds records")],
        }[name]  # fmt: skip
        for words, why in others:
            for call in (index.add, index.query):
                with pytest.raises(OptionError, match=why):
                    call(source, **words)
        with pytest.raises(OptionError, match=r"contained needs an index|passages are found in an index"):
            index.query(source, contained=0.5) if name != "records" else index.passages("x")
        with pytest.raises(ColumnError, match="there is no column"):
            index.query(pa.table({"id": ["a"], "movie": ["x"]}))
        assert len(index) == 0
    texts, sets = new_index(), new_index(items="tags")
    for index, name in ((texts, "texts"), (sets, "sets")):
        with pytest.raises(OptionError, match=f"weight does not fit: the index holds {name}"):
            index.add({"a": ["x"]}, items="tags", weight="w")


def test_options_that_make_no_sense_together(place: Place) -> None:
    for words, why in (
        ({"text": ("a", "a")}, "names the column 'a' twice"),
        ({"text": ("a", "b"), "items": "c"}, "each select a kind"), ({"weight": "w"}, "weight needs"),
        ({"group": "g"}, "group needs item="), ({"items": "a", "weight": "w", "store": "none"}, "store is 'none'"),
        ({"items": "a", "weight": "w", "contained": True}, "contained does not apply to weighted sets"),
        ({"items": "a", "weight": "w", "bag": True}, "bag does not apply to weighted sets"),
        ({"group": "g", "item": "i", "bag": True}, "bag= cannot|bag cannot"),
        ({"text": ("a", "b"), "passages": 9}, "passages does not apply to records"),
        ({"text": ("a", "b"), "shingle": "auto", "sample": ["a"]}, "which measures one text column"),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=why):
            twinset.Index.create(place.new(), **words)


def test_an_index_of_long_tables_knows_their_columns(new_index: NewIndex) -> None:
    table = pa.table({"user": ["a", "b", "a", "b"], "movie": ["x", "x", "y", "z"], "w": [1, 2, 3, 4]})
    index = new_index(group="user", item="movie", threshold=0.3)
    assert index.settings.format == 6
    assert index.add(table).added == 2
    assert index.query(table, k=2)["similarity"].to_pylist() == [1, 1 / 3, 1, 1 / 3]
    assert index.add({"c": ["x", "z"]}).added == 1
    assert index.add({"c": ["x", "z"]}, items="list").unchanged == 1
    assert index.query([["x", "z"], None, {"y"}], k=1)["id"].to_pylist() == ["b", "a"]
    assert index.query([{"user": "q", "movie": "y"}], k=1).to_pylist()[0]["query"] == "q"  # a row
    assert index.query({"x", "z"})["id"].to_pylist() == ["b", "c", "a"]
    assert index.verify() == []
    rated = new_index(group="user", item="movie", weight="w", threshold=0.3)
    assert rated.add(table).added == 2
    assert rated.add({"c": {"x": 1, "z": 4}}).added == 1
    assert rated.query([{"x": 2, "z": 4}], k=2)["id"].to_pylist() == ["b", "c"]
    assert rated.query({"q": {"y": 3}}, k=1)["query"].to_pylist() == ["q"]


def test_an_index_of_texts_knows_their_column(new_index: NewIndex, tmp_path: Path) -> None:
    rows_of_texts = [{"id": "a", "body": "one two three", "title": "four five six"}]
    index = new_index(text="body", shingle="word:1")
    assert index.settings.format == 6
    assert index.add(rows_of_texts).added == 1
    assert index.texts(["a"]) == ["one two three"]
    assert index.query(rows_of_texts, text="title").num_rows == 0
    assert index.query(rows_of_texts)["id"].to_pylist() == ["a"]
    result = twinset.dedup([*rows_of_texts, {"id": "b", "body": "seven", "title": "x"}], index=index)
    assert result.summary["kept"] == 2
    assert index.texts(["b"]) == ["seven"]
    with pytest.raises(OptionError, match="text does not fit: the index holds texts"):
        index.add(rows_of_texts, text=("body", "title"))
    assert new_index(text="body", shingle="auto", sample=[rows_of_texts]).settings.options.shingle == "word:1"


def test_records_contain_and_are_contained(new_index: NewIndex, tmp_path: Path) -> None:
    kind = KINDS["records"]
    source = kind.write(tmp_path, kind.documents)
    expected = twinset.find_pairs(source, **kind.options, contained=0.9).pairs.to_pylist()
    index = new_index(**kind.options, contained=True)
    index.add(source)
    answers = index.query(source, contained=0.9).to_pylist()
    found = {frozenset((row["query"], row["id"])) for row in answers if row["query"] != row["id"]}
    assert found == {frozenset((row["left"], row["right"])) for row in expected}
    assert len(found) > 20
    sketches = new_index(**kind.options, store="none", threshold=0.5)
    sketches.add(source)
    assert set(sketches.query(source, k=2)["estimate"].to_pylist()) == {True}
