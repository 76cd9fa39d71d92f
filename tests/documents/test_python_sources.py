"""Iterators, lists of dicts, lazy tables and data sets as sources."""

from __future__ import annotations

import datetime
import io
import json
import sqlite3
from collections import UserDict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.documents.reading import opened, read_all, write_all
from twinset.errors import ColumnError, RowError, SourceError

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "the quick brown fox jumps over the lazy dog", "n": 1},
    {"id": "b", "text": "the quick brown fox jumps over the lazy dog", "n": 2, "more": {"x": [1]}},
    {"id": "c", "text": None},
]
TEXTS = [row["text"] for row in ROWS]
ENCODED = [None if text is None else text.encode() for text in TEXTS]


# Texts


@pytest.mark.parametrize(
    "given",
    [iter(TEXTS), (text for text in TEXTS), deque(TEXTS), dict(enumerate(TEXTS)).values(), map(str, [])],
    ids=["iterator", "generator", "deque", "view", "nothing"],
)
def test_iterators_of_texts_are_like_lists(tmp_path: Path, given: Any) -> None:
    expected = [] if isinstance(given, map) else ENCODED
    sources = opened(given, scratch=tmp_path / "scratch")
    for _ in range(2):
        rows = read_all(sources)
        assert rows.texts == expected
        assert rows.ids == [str(row) for row in range(len(expected))]
    write_all(sources, tmp_path / "out", lambda part, row: row == 0)
    kept = pq.read_table(tmp_path / "out/kept/iterator.parquet").to_pylist()
    assert kept == [{"id": "0", "text": TEXTS[0]}][: len(expected)]


def test_several_iterators_are_told_apart(tmp_path: Path) -> None:
    rows = read_all(opened(iter(["a"]), iter(["b"]), ["c"], scratch=tmp_path))
    assert rows.ids == ["iterator:0", "iterator-2:0", "list:0"]


def test_more_texts_than_one_portion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_ROWS", 3), ("_BYTES", 10)):
        with monkeypatch.context() as changed:
            changed.setattr(f"twinset.documents.python_sources.{name}", value)
            rows = read_all(opened((f"text {n}" for n in range(10)), scratch=tmp_path / name))
        assert rows.texts == [f"text {n}".encode() for n in range(10)]
        assert rows.ids == [str(n) for n in range(10)]


def test_bytes_and_half_surrogate_pairs_in_an_iterator_are_replaced(tmp_path: Path) -> None:
    texts = ["fine", b"caf\xe9 in the old town of the river", "half \ud800 of a pair in the old town"]
    assert read_all(opened(iter(texts), scratch=tmp_path)).texts[:2] == [b"fine", texts[1]]
    assert twinset.dedup(iter(texts)).summary["replaced"] == 2
    with pytest.raises(RowError, match="bytes that are not UTF-8"):
        twinset.dedup(iter(texts), on_error="stop")


def test_what_an_iterator_must_hold(tmp_path: Path) -> None:
    def failing() -> Iterator[str]:
        yield "one"
        raise LookupError("of the user's own")

    with pytest.raises(SourceError, match=r"iterator\[1\]: .* must hold strings, not int"):
        opened(iter(["a", 3]), scratch=tmp_path)
    with pytest.raises(LookupError, match="of the user's own"):
        twinset.dedup(failing())
    with pytest.raises(SourceError, match=r"a set has no order.*give a list"):
        opened({"a", "b"}, scratch=tmp_path)
    with pytest.raises(SourceError, match=r"an open file cannot be read: give its path"):
        opened(io.StringIO("text"), scratch=tmp_path)
    for given in (7, b"text", object(), twinset.plan(0.8)):
        with pytest.raises(SourceError, match=r"cannot be read: give a path, texts or rows \(dicts\)"):
            opened(given, scratch=tmp_path)
    with pytest.raises(SourceError, match="no columns to group by"):
        opened(iter(["a"]), group="a", item="b", scratch=tmp_path)


def test_other_items_come_from_iterators_too(tmp_path: Path) -> None:
    found = twinset.find_pairs(iter([["a", "b"], ["b", "a"], ["c"]]), items="tags")
    assert found.pairs["right"].to_pylist() == ["1"]
    found = twinset.find_pairs((np.ones(4) * n for n in (1, 2)), vectors=True)
    assert found.pairs["right"].to_pylist() == ["1"]
    found = twinset.find_pairs(iter([{"a": 1.0}, {"a": 1.0}]), items="tags", weight="counts")
    assert found.pairs["right"].to_pylist() == ["1"]


def test_an_iterator_is_compared_against_and_added_to_an_index(tmp_path: Path) -> None:
    assert len(twinset.find_pairs(iter(TEXTS), against=[iter(TEXTS[:1])]).pairs) == 2
    with twinset.Index.create(tmp_path / "one.twinset") as index:
        assert index.add(iter(ROWS)).added == 3
        assert list(index) == ["a", "b", "c"]


# Rows


@pytest.mark.parametrize(
    "make", [list, tuple, iter, lambda rows: [UserDict(row) for row in rows], deque],
    ids=["list", "tuple", "iterator", "mappings", "deque"],
)  # fmt: skip
def test_dicts_are_rows_with_all_their_keys(tmp_path: Path, make: Any) -> None:
    sources = opened(make(ROWS), scratch=tmp_path / "scratch")
    rows = read_all(sources)
    assert (rows.texts, rows.ids) == (ENCODED, ["a", "b", "c"])
    write_all(sources, tmp_path / "out", lambda part, row: row != 0)
    (file,) = (tmp_path / "out/kept").iterdir()
    assert [json.loads(line) for line in file.read_text().splitlines()] == ROWS[1:]
    done = twinset.dedup(make(ROWS), keep="highest:n", output=tmp_path / "result")
    assert done.removed.select(["id", "because_of"]).to_pylist() == [{"id": "a", "because_of": "b"}]


def test_dicts_without_ids_are_named_by_their_position(tmp_path: Path) -> None:
    rows = [{"body": "one"}, {"body": "two"}]
    assert read_all(opened(rows, text="body", scratch=tmp_path)).ids == ["0", "1"]
    assert read_all(opened(rows, iter(rows), text="body", scratch=tmp_path)).ids == [
        "list:0", "list:1", "iterator:0", "iterator:1",
    ]  # fmt: skip
    done = twinset.dedup([{"id": 1, "text": "a"}, {"id": 1, "text": "b"}])
    assert (done.clusters["id"].to_pylist(), done.summary["repeated_ids"]) == (["0", "1"], 1)


def test_rows_with_dates_numbers_of_numpy_and_odd_keys(tmp_path: Path) -> None:
    row = {
        "text": np.str_("one"), "day": datetime.date(2024, 1, 2), "when": pd.Timestamp("2024-01-02 03:04"),
        "n": np.int64(3), "vector": np.array([1.0, 2.0]), 5: "five", "nan": float("nan"),
    }  # fmt: skip
    sources = opened([row], scratch=tmp_path / "scratch")
    write_all(sources, tmp_path / "out")
    assert json.loads((tmp_path / "out/kept/list.jsonl").read_text()) == {
        "text": "one", "day": "2024-01-02", "when": "2024-01-02T03:04:00", "n": 3, "vector": [1.0, 2.0], "5": "five",
        "nan": None,
    }  # fmt: skip


def test_rows_of_a_database(tmp_path: Path) -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    cursor = connection.execute("select 7 as id, 'one' as text union select 8, 'two'")
    assert read_all(opened(cursor, scratch=tmp_path)).ids == ["7", "8"]


def test_rows_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"row 1, counted from 0: .*cannot be written as JSON: .*bytes.*leave it out"):
        opened([{"text": "a"}, {"text": "a", "picture": b"\x89PNG"}], scratch=tmp_path)
    with pytest.raises(SourceError, match=r"list, row 1, counted from 0: the first value is a row .* this is a str"):
        opened([{"text": "a"}, "b"], scratch=tmp_path)
    with pytest.raises(ColumnError, match="no column 'text'; the columns are 'body'"):
        opened([{"body": "a"}], scratch=tmp_path)


def test_rows_of_other_kinds_and_encodings(tmp_path: Path) -> None:
    rows = [{"id": n, "tags": ["x", "y"], "v": [1.0, 0.5], "who": "w", "what": str(n)} for n in range(2)]
    assert twinset.find_pairs(rows, items="tags").pairs["left"].to_pylist() == ["0"]
    assert twinset.find_pairs(iter(rows), vectors="v").pairs["right"].to_pylist() == ["1"]
    assert read_all(opened(rows, group="who", item="what", scratch=tmp_path)).ids == ["w"]
    assert read_all(opened([{"text": "ü"}], encoding="utf-16", scratch=tmp_path)).texts == ["ü".encode()]
    records = [{"a": "one", "b": "two"}, {"a": "one", "b": "two"}]
    for given in (records, iter(records)):
        assert twinset.find_pairs(given, text=["a", "b"]).pairs["left"].to_pylist() == ["0"]


def test_lists_of_messages_are_texts() -> None:
    chat = [{"role": "user", "content": "how do I bake bread at home without yeast"}]
    for given in ([chat, chat], iter([chat, chat])):
        assert twinset.dedup(given).removed["id"].to_pylist() == ["1"]


# Arrays


@pytest.mark.parametrize("kind", ["U", "object", "S", "T"])
def test_arrays_of_strings(kind: str) -> None:
    dtype = np.dtypes.StringDType() if kind == "T" else kind
    rows = read_all(opened(np.array(["one", "two"], dtype)))
    assert (rows.texts, rows.ids) == ([b"one", b"two"], ["0", "1"])


def test_other_arrays_are_refused() -> None:
    for array in (np.array([["a"]]), np.array("a"), np.array([1, 2])):
        with pytest.raises(SourceError, match=r"an array can hold vectors .* or a row of texts"):
            opened(array)


# Tables


TABLE = pa.table({"id": [1, 2, 3], "text": ["one", "two", None], "n": [1, 2, 3]})


@pytest.mark.parametrize(
    "given",
    [
        iter(TABLE.to_batches(max_chunksize=1)),
        TABLE.to_batches(max_chunksize=2),
        (TABLE.slice(at, 2) for at in (0, 2)),
        (TABLE.slice(at, 2).to_pandas() for at in (0, 2)),
        (pl.from_arrow(TABLE.slice(at, 1)) for at in range(3)),
    ],
    ids=["batches", "list of batches", "tables", "pandas", "polars"],
)
def test_iterators_of_tables(tmp_path: Path, given: Any) -> None:
    sources = opened(given, scratch=tmp_path / "scratch")
    rows = read_all(sources)
    assert (rows.texts, rows.ids) == ([b"one", b"two", None], ["1", "2", "3"])
    write_all(sources, tmp_path / "out", lambda part, row: row == 1)
    (file,) = (tmp_path / "out/kept").iterdir()
    assert pq.read_table(file).to_pylist() == [{"id": 2, "text": "two", "n": 2}]


def test_tables_must_have_the_same_columns(tmp_path: Path) -> None:
    other = pa.table({"text": ["a"]})
    with pytest.raises(SourceError, match=r"iterator, table 1, counted from 0: its columns are text, and"):
        opened(iter([TABLE, other]), scratch=tmp_path / "1")
    with pytest.raises(SourceError, match=r"table 1, .*other types"):
        opened(iter([TABLE, TABLE.set_column(0, "id", [["x", "y", "z"]])]), scratch=tmp_path / "2")
    wider = TABLE.set_column(2, "n", pa.array([1, 2, 3], pa.int32()))
    assert read_all(opened(iter([TABLE, wider]), scratch=tmp_path / "3", no_id=True)).texts.count(b"one") == 2
    with pytest.raises(SourceError, match=r"table 1, .*the first value is a table, and this is a dict"):
        opened([TABLE, {"text": "a"}], scratch=tmp_path / "4")


def test_lazy_frames(tmp_path: Path) -> None:
    data = {"id": [1, 2], "text": ["one", "ü"], "about": [{"k": "v"}, None]}
    frame = pl.LazyFrame(data).with_columns(n=pl.col("id") * 2)
    sources = opened(frame, scratch=tmp_path / "scratch")
    rows = read_all(sources)
    assert (rows.texts, rows.ids, sources.parts[0].name) == ([b"one", "ü".encode()], ["1", "2"], "table")
    write_all(sources, tmp_path / "out", lambda part, row: row == 1)
    assert pl.read_parquet(tmp_path / "out/kept/table.parquet").equals(frame.collect()[1:])


def test_data_sets_of_hugging_face(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"id": [1, 2, 3], "text": ["one", "two", "three"], "tags": [["x"], [], None]})
    chosen = data.select([2, 0])
    streamed = datasets.IterableDataset.from_generator(lambda: iter([{"id": n, "text": str(n)} for n in (3, 1)]))
    for number, (given, texts) in enumerate([
        (chosen, [b"three", b"one"]), (chosen.to_iterable_dataset(), [b"three", b"one"]), (streamed, [b"3", b"1"]),
    ]):  # fmt: skip
        rows = read_all(opened(given, scratch=tmp_path / str(number)))
        assert (rows.texts, rows.ids) == (texts, ["3", "1"])
    assert twinset.dedup(chosen).kept.column_names == ["id", "text", "tags"]
    assert read_all(opened(data.select([]), scratch=tmp_path / "none")).texts == []
    says = r"a DatasetDict has splits \('train'\), and .*: choose it, such as data\['train'\]"
    with pytest.raises(SourceError, match=says):
        opened(datasets.DatasetDict({"train": data}), scratch=tmp_path)
