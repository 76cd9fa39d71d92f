"""Sources that are Python objects: lists, mappings, and tables of other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.documents.reading import opened, read_all, write_all
from twinset.documents import open_sources
from twinset.errors import RowError, SourceError
from twinset.options import ReadOptions

DATA = {"key": [3, 5, 8], "text": ["a", "ü", None], "score": [0.5, 1.5, 2.5]}


def _reader(table: pa.Table) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(max_chunksize=1)))


class OnlyStream:
    """Something with Arrow's stream and nothing else, to be read once only."""

    def __init__(self, table: pa.Table) -> None:
        self.reader = _reader(table)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "make",
    [
        pa.table,
        lambda data: pa.table(data).to_batches()[0],
        lambda data: _reader(pa.table(data)),
        lambda data: OnlyStream(pa.table(data)),
        lambda data: pd.DataFrame(data),
        lambda data: pl.DataFrame(data),
    ],
    ids=["table", "batch", "reader", "stream", "pandas", "polars"],
)
def test_tables_in_memory(tmp_path: Path, make: Any) -> None:
    sources = opened(make(DATA), scratch=tmp_path / "scratch", id="key")
    (part,) = sources.parts
    part.wanted = frozenset(["score"])
    assert (part.name, part.format) == ("table", "table")
    for _ in range(2):
        rows = read_all(sources, 8)
        assert rows.ids == ["3", "5", "8"]
        assert rows.texts == [b"a", "ü".encode(), None]
        assert rows.columns == {"score": [0.5, 1.5, 2.5]}
    write_all(sources, tmp_path / "out", lambda part, row: row != 1)
    assert pq.read_table(tmp_path / "out/kept/table.parquet")["score"].to_pylist() == [0.5, 2.5]
    block = next(iter(part.chunks(2**20))).read(whole=True)
    kept = part.take_rows(block, np.arange(block.rows) == 0)
    assert kept.column_names == ["key", "text", "score"]
    assert len(part.digest()) == 64
    part.check_unchanged()


def test_nested_views(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["a", "b"], "tags": [["x"], ["y", "z"]], "about": [{"url": "u"}, {"url": "v"}]})
    frame.write_ipc(tmp_path / "in.arrow")
    frame.write_parquet(tmp_path / "in.parquet")
    sources = opened(frame, tmp_path / "in.arrow", tmp_path / "in.parquet")
    write_all(sources, tmp_path / "out", lambda part, row: row == 1)
    for back in (
        pl.read_parquet(tmp_path / "out/kept/table.parquet"),
        pl.read_ipc(tmp_path / "out/kept/in.arrow"),
        pl.read_parquet(tmp_path / "out/kept/in.parquet"),
    ):
        assert back.equals(frame[1:])
    before, after = (pa.ipc.open_file(path).schema for path in (tmp_path / "in.arrow", tmp_path / "out/kept/in.arrow"))
    assert after.equals(before)


def test_duckdb_relations(tmp_path: Path) -> None:
    relation = duckdb.sql("select 'x' || i as id, 'text ' || i as text from range(5) t(i) order by i")
    assert read_all(opened(relation, scratch=tmp_path)).ids == ["x0", "x1", "x2", "x3", "x4"]


def test_series(tmp_path: Path) -> None:
    assert read_all(opened(pl.Series(["a", "b"]), scratch=tmp_path)).texts == [b"a", b"b"]
    assert read_all(opened(pa.chunked_array([["a"], ["b"]]))).texts == [b"a", b"b"]


def test_lists_and_mappings(tmp_path: Path) -> None:
    sources = opened(["a", None, "ü"], {"x": "b", 7: "c"}, ("d",))
    assert read_all(sources).texts == [b"a", None, "ü".encode(), b"b", b"c", b"d"]
    assert read_all(sources).ids == ["list:0", "list:1", "list:2", "x", "7", "list-2:0"]
    assert read_all(opened(["a", "b"], text="body", id="key")).ids == ["0", "1"]
    assert read_all(opened([b"\xff", "b"])).texts == [b"\xff", b"b"]
    write_all(sources, tmp_path / "out", lambda part, row: row == 0)
    kept = {path.name: pq.read_table(path).to_pylist() for path in (tmp_path / "out/kept").iterdir()}
    assert kept == {
        "list.parquet": [{"id": "list:0", "text": "a"}],
        "mapping.parquet": [{"id": "x", "text": "b"}],
        "list-2.parquet": [{"id": "list-2:0", "text": "d"}],
    }


def test_lists_to_compare_against_are_named_apart() -> None:
    against = open_sources([["a"]], ReadOptions(), scratch=Path("unused"), against=True)
    assert read_all(against).ids == ["against-list:0"]


def test_what_a_list_must_hold() -> None:
    with pytest.raises(SourceError, match="must hold strings, not int"):
        opened(["a", 3])
    with pytest.raises(SourceError, match="must hold strings, not list"):
        opened({"x": ["a"]})
    with pytest.raises(SourceError, match="ids in a mapping"):
        opened({1.5: "a"})
    with pytest.raises(RowError, match="surrogate"):
        read_all(opened(["a", "\ud800"]))
    rows = read_all(opened(["a", "\ud800"], on_error="skip"))
    assert (rows.texts, [row for row, _ in rows.unreadable]) == ([b"a", None], [1])


def test_a_frame_that_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="table: "):
        opened(pd.DataFrame({"text": ["a", 3.5]}), scratch=tmp_path)


def test_taking_rows_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"a"}\n{"text":"b"}\n')
    (tmp_path / "b.txt").write_text("words")
    for path, lines in ((tmp_path / "a.jsonl", False), (tmp_path / "b.txt", False), (tmp_path / "b.txt", True)):
        (part,) = opened(path, lines=lines).parts
        block = next(iter(part.chunks(2**20))).read(whole=True)
        kept = part.take_rows(block, np.arange(block.rows) == 0)
        assert kept.column_names == ["id", "text"]
        assert kept.num_rows == 1


def test_values_of_numpy_are_values() -> None:
    """Elements, weights and ids; and arrays of the other order of bytes."""
    sets: dict[Any, Any] = {np.int64(7): set(np.arange(5)), "b": [*range(5)], "c": np.arange(5), "d": {np.str_("x")}}
    found = twinset.find_pairs(sets, items="tags").pairs
    assert {(row["left"], row["right"]) for row in found.to_pylist()} == {("7", "b"), ("7", "c"), ("b", "c")}
    weighted = {"a": {"x": np.float32(2), "y": np.int8(1)}, "b": {"x": 2, "y": 1.0}}
    assert twinset.find_pairs(weighted, items="x", weight="w").pairs["similarity"].to_pylist() == [1.0]
    for kind in (">f4", ">f8", ">i2"):
        array = np.array([[1, 2], [1, 2], [9, -4]], kind)
        assert twinset.find_pairs(array, vectors=True, threshold=0.99).pairs.num_rows == 1
    assert twinset.find_pairs(np.array([5, 5, 2**40], ">u8"), codes="c", distance=0).pairs.num_rows == 1


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([[1, 2], {3}, None], [[1, 2], [3], None]),
        ([[1.5], [2.0]], [[1.5], [2.0]]),
        ([[True]], [[True]]),
        ([[1, "a"]], [["1", "a"]]),
        ([[2**70]], [[str(2**70)]]),
        ([np.array([1, 2])], [[1, 2]]),
        ([["a", None]], [["a"]]),
    ],
)
def test_elements_stay_what_they_are(given: list[Any], kept: list[Any]) -> None:
    assert twinset.dedup(given, items="tags").kept["tags"].to_pylist() == kept


def test_texts_of_records_stay_strings() -> None:
    people = {"a": {"name": "anna", "town": "zürich"}, "b": {"name": "bob", "town": None}}
    kept = twinset.dedup(people, text=["name", "town"]).kept
    assert kept.to_pylist() == [{"id": id, **one} for id, one in people.items()]


def test_what_holds_sketches_holds_no_documents(tmp_path: Path) -> None:
    made = twinset.sketch(["one text", "another"], output=tmp_path / "sketches.parquet")
    for source in (tmp_path / "sketches.parquet", made.table):
        with pytest.raises(SourceError, match="it contains sketches, not documents"):
            opened(source)


def test_the_shingles_of_a_single_column_are_said_apart() -> None:
    with pytest.raises(SourceError, match='for a single column use text="name", shingle="char:2"'):
        opened(pa.table({"name": ["anna"]}), text="name,char:2")
