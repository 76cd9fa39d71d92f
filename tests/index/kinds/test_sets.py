"""An index of sets: lists in, near lists out, in both homes."""

import random
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import twinset
from twinset.errors import OptionError, SourceError

BASKETS = {
    "ann": ["milk", "bread", "eggs", "tea"],
    "cat": ["milk", "bread", "eggs"],
    "dan": [],
    "eve": ["coal", "wood"],
}


@pytest.mark.parametrize("store", ["text", "shingles"])
def test_sets_are_added_asked_for_and_kept(where: str, tmp_path: Path, store: str) -> None:
    file = tmp_path / "baskets.jsonl"
    file.write_bytes(b"\n".join(orjson.dumps({"id": id, "tags": tags}) for id, tags in BASKETS.items()))
    with twinset.Index.create(where, items="tags", threshold=0.6, store=store) as index:
        index.add(file)
        index.add(["fay"], [["milk", "bread", "eggs", "tea", "tea", 5]])
        assert list(index) == [*BASKETS, "fay"]
        found = index.query({"bread", "tea", "eggs", "milk"})
        assert [(row["id"], row["similarity"]) for row in found.to_pylist()] == [
            *(("ann", 1.0), ("fay", 0.8), ("cat", 0.75)),
        ]
        assert index.query("bread|tea|eggs|milk").equals(found)
        assert index.query('["bread", "tea", "eggs", "milk"]').equals(found)
        many = index.query({"q": ["wood", "coal"], "r": ["gold"]}).to_pylist()
        assert [(row["query"], row["id"]) for row in many] == [("q", "eve")]
        assert index.verify() == []
    with twinset.Index.open(where) as index:
        assert index.settings.options.items == "tags"
        assert [row["id"] for row in index.similar_to("ann").to_pylist()] == ["fay", "cat"]
        if store == "text":
            assert index.texts(["cat"]) == ['["milk","bread","eggs"]']


def test_texts_and_sets_are_not_mixed(where: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="shingle does not apply to sets"):
        twinset.Index.create(where, items="tags", shingle="char:3")
    with twinset.Index.create(where, threshold=0.6) as index, pytest.raises(OptionError, match="the index holds texts"):
        index.add({"a": ["x"]}, items="tags")


def test_a_list_that_cannot_be_read(where: str) -> None:
    with twinset.Index.create(where, items="tags", threshold=0.6) as index:
        with pytest.raises(SourceError, match="must be JSON"):
            index.query("[1, 2")
        with pytest.raises(SourceError, match="a list, a tuple or a set"):
            index.add(["a"], [7])
        assert len(index) == 0


def test_arrivals_are_texts(tmp_path: Path) -> None:
    place = tmp_path / "sets.twinset"
    twinset.Index.create(place, items="tags", threshold=0.6).close()
    with pytest.raises(OptionError, match="index does not apply to sets"):
        twinset.dedup({"a": ["x"]}, items="tags", index=place)
    with pytest.raises(OptionError, match="the index holds sets; dedup index needs an index of texts"):
        twinset.dedup({"a": "x"}, index=place)


def test_long_tables(where: str, tmp_path: Path) -> None:
    dice = random.Random(3)
    rows = [(user, item) for user in range(60) for item in {dice.randrange(12) for _ in range(8)}]
    dice.shuffle(rows)
    table = pa.table({"user": [f"u{user}" for user, _ in rows], "movie": [item for _, item in rows]})
    half = len(rows) // 2
    pq.write_table(table.slice(0, half), tmp_path / "first.parquet", row_group_size=50)
    pacsv.write_csv(table.slice(half), tmp_path / "second.csv")
    files, words = (tmp_path / "first.parquet", tmp_path / "second.csv"), {"group": "user", "item": "movie"}
    with twinset.Index.create(where, items="movies", threshold=0.5, recall=0.9999, seed=1) as index:
        assert index.add(files, **words, batch_bytes=1024).added == 60
        assert index.add(files, **words).added == 0
        lists = {f"u{user}": {str(item) for one, item in rows if one == user} for user in range(60)}
        for id, text in zip(lists, index.texts(list(lists)), strict=True):
            assert sorted(orjson.loads(text)) == sorted(lists[id])
        sets = {"u3": lists["u3"], "new": {1, 2, 3}}
        expected = index.query(sets).sort_by([("query", "ascending"), ("id", "ascending")])
        long = pa.table({"user": ["u3"] * len(lists["u3"]) + ["new"] * 3, "movie": [*lists["u3"], "1", "2", "3"]})
        assert index.query(long, **words).sort_by([("query", "ascending"), ("id", "ascending")]).equals(expected)
        answers = index.query(files, **words).to_pylist()
        found = {tuple(sorted((row["query"], row["id"]))): row["similarity"] for row in answers}
        for (one, other), similarity in found.items():
            assert similarity == len(lists[one] & lists[other]) / len(lists[one] | lists[other])
        every = [(a, b) for a in lists for b in lists if a <= b]
        near = {(a, b) for a, b in every if 2 * len(lists[a] & lists[b]) >= len(lists[a] | lists[b])}
        assert len(near) > 200
        assert found.keys() == near
        assert index.verify() == []


def test_long_tables_elsewhere_are_refused(where: str) -> None:
    long, words = pa.table({"user": ["a"], "movie": ["x"]}), {"group": "user", "item": "movie"}
    with twinset.Index.create(where, items="movies", bag=True) as index, pytest.raises(OptionError, match="holds bags"):
        index.add(long, **words)


def test_long_tables_and_texts(where: str) -> None:
    long, words = pa.table({"user": ["a"], "movie": ["x"]}), {"group": "user", "item": "movie"}
    with twinset.Index.create(where) as index, pytest.raises(OptionError, match='group="user" is for sets'):
        index.add(long, **words)
