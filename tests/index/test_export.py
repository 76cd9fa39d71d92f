"""An index as a Parquet file, and back: the same index, in either back end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.corpora import families
from twinset.errors import DamagedError, OutputError, TwinsetError

TEXTS = families(90, seed=4) | {"": "the empty id", "a\0b": "NUL", "\uffff0": "no character", "é\n": "line"}


def answered(index: twinset.Index) -> list[Any]:
    asked = (index.query(TEXTS), index.query(TEXTS, k=3))
    return [list(index), *(table.to_pydict() for table in asked), index.settings.options]


@pytest.mark.parametrize("store", ["text", "shingles", "none"])
def test_there_and_back(place: Place, new_index: NewIndex, tmp_path: Path, store: str) -> None:
    index = new_index(shingle="word:2", threshold=0.6, store=store)
    index.add(TEXTS)
    index.remove(["d3", "d70"])
    index.update({"d5": TEXTS["d6"]})
    path = tmp_path / "news.parquet"
    assert index.export(path) == len(index)
    with twinset.Index.import_from(path, place.new()) as again:
        assert answered(again) == answered(index)
        assert again.verify() == []
        if store == "text":
            assert again.texts(list(again)) == index.texts(list(index))
        # It goes on living as the first would have.
        for one in (index, again):
            one.add(["later"], [TEXTS["d1"]])
            one.remove(["d1"])
        assert answered(again) == answered(index)
        # And what is exported of it is the same again, to the byte.
        index.export(tmp_path / "one.parquet")
        again.export(tmp_path / "other.parquet")
        assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()
    columns = pq.read_table(path)
    content = {"text": ["text"], "shingles": ["hashes"], "none": []}[store]
    assert columns.column_names == ["id", *content, "shingles", "slots"]
    assert columns.column("id").to_pylist()[:3] == ["d0", "d1", "d2"]


def test_from_one_home_to_the_other(tmp_path: Path, postgres_url: str) -> None:
    with twinset.Index.create(tmp_path / "a.twinset", shingle="word:2", threshold=0.6) as index:
        index.add(TEXTS)
        expected = answered(index)
        index.export(tmp_path / "a.parquet")
    with twinset.Index.import_from(tmp_path / "a.parquet", postgres_url) as index:
        assert answered(index) == expected
        index.export(tmp_path / "b.parquet")
    with twinset.Index.import_from(tmp_path / "b.parquet", tmp_path / "b.twinset") as index:
        assert answered(index) == expected
        assert index.verify() == []
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_an_empty_index(place: Place, new_index: NewIndex, tmp_path: Path) -> None:
    index = new_index()
    assert index.export(tmp_path / "none.parquet") == 0
    with twinset.Index.import_from(tmp_path / "none.parquet", place.new()) as again:
        assert len(again) == 0
        assert again.settings.options == index.settings.options
        assert again.add(["a"], ["text"]).added == 1


def test_what_is_there_is_not_written_over(place: Place, new_index: NewIndex, tmp_path: Path) -> None:
    index = new_index()
    index.add(["a"], ["text"])
    path = tmp_path / "a.parquet"
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        index.export(path)
    assert path.read_text() == "mine"
    assert index.export(path, force=True) == 1
    with pytest.raises(OutputError, match=r"must end in \.parquet"):
        index.export(tmp_path / "a.csv")
    with pytest.raises(OutputError, match=r"cannot write .*none/a\.parquet"):
        index.export(tmp_path / "none" / "a.parquet")
    where = place.new()
    twinset.Index.create(where).close()
    with pytest.raises(OutputError, match="already"):
        twinset.Index.import_from(path, where)
    with twinset.Index.open(where) as other:
        assert len(other) == 0
    assert [name for name in os.listdir(tmp_path) if name.endswith(".new")] == []


def test_files_that_were_not_exported_are_refused(place: Place, new_index: NewIndex, tmp_path: Path) -> None:
    index = new_index(shingle="word:1")
    index.add({"a": "one text", "b": "another text"})
    index.export(tmp_path / "good.parquet")
    good = pq.read_table(tmp_path / "good.parquet")
    whole = (tmp_path / "good.parquet").read_bytes()
    columns = good.schema.names
    wrong: dict[str, Any] = {
        "plain": pa.table({"id": ["a"], "text": ["b"]}),
        "fewer": good.drop_columns(["slots"]),
        "types": good.set_column(2, "shingles", good.column("shingles").cast(pa.int64())),
        "nulls": pa.table({name: good.column(name) for name in columns}).replace_schema_metadata(good.schema.metadata),
        "order": good.select(list(reversed(columns))),
        "settings": good.replace_schema_metadata({b"twinset.index": b"{}"}),
        "no JSON": good.replace_schema_metadata({b"twinset.index": b"\xff"}),
        "a list": good.replace_schema_metadata({b"twinset.index": b"[1, 2]"}),
    }
    for name, table in wrong.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.parquet").write_text("no Parquet at all")
    (tmp_path / "empty.parquet").write_bytes(b"")
    for name in (*wrong, "cut", "text", "empty", "missing"):
        where = place.new()
        with pytest.raises(DamagedError) as raised:
            twinset.Index.import_from(tmp_path / f"{name}.parquet", where)
        assert f"{name}.parquet" in str(raised.value)
        with pytest.raises(TwinsetError, match="there is no"):
            twinset.Index.open(where)  # nothing was made of it


def test_contents_that_do_not_fit_are_refused(place: Place, new_index: NewIndex, tmp_path: Path) -> None:
    index = new_index(shingle="word:1", store="shingles")
    index.add({"a": "one text", "b": "another text"})
    index.export(tmp_path / "good.parquet")
    good = pq.read_table(tmp_path / "good.parquet")
    short = [one[8:] for one in good.column("hashes").to_pylist()]
    changes = {
        "hashes": (1, pa.array(short, pa.large_binary())),
        "id": (0, pa.array(["a" * 1025, "b"], pa.string())),
    }
    for name, (place_of, column) in changes.items():
        changed = good.set_column(place_of, good.schema.field(place_of), column)
        pq.write_table(changed.cast(good.schema), tmp_path / "bad.parquet")
        where = place.new()
        with pytest.raises(TwinsetError):
            twinset.Index.import_from(tmp_path / "bad.parquet", where)
        # What was begun is not taken for whole.
        with pytest.raises(TwinsetError):
            twinset.Index.open(where)
        assert name


def test_damage_is_not_exported(new_index: NewIndex, tmp_path: Path) -> None:
    for store in ("text", "shingles", "none"):
        index = new_index(shingle="word:1", store=store)
        index.add({"a": "one text", "b": "another text", "c": "the third text"})
        db = index._backend._db  # type: ignore[attr-defined]
        db.execute("BEGIN")
        db.execute("DELETE FROM sketches WHERE document = 2")
        with pytest.raises(DamagedError, match="run twinset index verify"):
            index.export(tmp_path / "bad.parquet")
        db.execute("ROLLBACK")
        assert os.listdir(tmp_path) == [] or not (tmp_path / "bad.parquet").exists()
