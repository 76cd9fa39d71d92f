"""An index of sets: lists in, near lists out, in both homes."""

from pathlib import Path

import orjson
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
    with pytest.raises(OptionError, match="shingle has no meaning for sets"):
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
    with pytest.raises(OptionError, match="--index has no meaning for sets"):
        twinset.dedup({"a": ["x"]}, items="tags", index=place)
    with pytest.raises(OptionError, match="the index holds sets; dedup --index takes an index of texts"):
        twinset.dedup({"a": "x"}, index=place)
