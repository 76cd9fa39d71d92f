"""Columns of items, packed: what is equal stays equal, whatever the file."""

from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from twinset.documents.items import packed, record_columns, split_list
from twinset.errors import ColumnError, OptionError, RowError, SourceError
from twinset.options import ReadOptions

ITEMS = ReadOptions.of(items="tags")
RECORDS = ReadOptions.of(text=["a", "b"])
BASKETS = {
    "ann": ["milk", "bread", "eggs", "tea"],
    "ben": ["bread", "milk", "eggs", "tea"],
    "cat": ["milk", "bread", "eggs"],
    "dan": [],
    "eve": ["coal"],
}


def rows_of(array: pa.Array) -> list[list[int] | None]:
    return [None if row is None else np.frombuffer(row, "<u8").tolist() for row in array.to_pylist()]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([["1", "2"], [], None, ["2"]], pa.list_(pa.string())),
        pa.array([[1, 2], [], None, [2]], pa.large_list(pa.int16())),
        pa.array([["1", None, "2"], [None], None, ["2"]], pa.list_(pa.string_view())),
        pa.array([["1", "2"], [], None, ["2"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        pa.array(['["1", 2]', "", None, "2"], pa.string()),
        pa.array([b"1|2", b" ", None, b"2"], pa.binary()),
        pa.chunked_array([[["0"]], [["1", "2"], [], None, ["2"]]], pa.list_(pa.string())).slice(1).combine_chunks(),
    ],
    ids=["strings", "numbers", "nulls", "dictionary", "json", "separated", "sliced"],
)
def test_elements_written_alike_are_equal(column: pa.Array) -> None:
    rows, bad = packed(ITEMS, [column])
    expected = rows_of(packed(ITEMS, [pa.array([["1", "2"], [], None, ["2"]])])[0])
    assert rows_of(rows) == expected
    assert bad == []
    assert expected[0] != expected[3]


def test_a_fixed_number_of_elements() -> None:
    rows, _ = packed(ITEMS, [pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2))])
    assert [None if row is None else len(row) for row in rows_of(rows)] == [2, None, 2]


def test_values_behind_a_null_are_no_elements() -> None:
    hidden = pa.ListArray.from_arrays(pa.array([0, 2, 3]), pa.array(["a", "b", "c"]), mask=pa.array([True, False]))
    assert rows_of(packed(ITEMS, [hidden])[0]) == [None, rows_of(packed(ITEMS, [pa.array([["c"]])])[0])[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b,c", ["a", "b,c"]),
        ("a; b", ["a", "b"]),
        ("a,b", ["a", "b"]),
        ("a b", ["a b"]),
        ("[1, null, true]", ["1", "true"]),
    ],
)
def test_lists_written_as_text(text: str, expected: list[str]) -> None:
    assert split_list(text) == expected


def test_a_list_that_is_not_json_is_a_bad_row() -> None:
    _, bad = packed(ITEMS, [pa.array(["[1", "a|b"])])
    assert [row for row, _ in bad] == [0]


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=9))
def test_records_come_back_as_they_went(rows: list[tuple[str, str]]) -> None:
    columns = [pa.array([row[at] for row in rows], pa.string()) for at in (0, 1)]
    back = record_columns(packed(RECORDS, columns)[0], 2)
    assert [column.cast(pa.string()).to_pylist() for column in back] == [column.to_pylist() for column in columns]


def written(folder: Path) -> dict[str, Path]:
    """The same baskets in every kind of file."""
    files = {name: folder / f"baskets.{name}" for name in ("jsonl", "csv", "tsv", "parquet", "arrow")}
    lines = [orjson.dumps({"id": id, "tags": tags}) for id, tags in BASKETS.items()]
    files["jsonl"].write_bytes(b"\n".join(lines))
    files["csv"].write_text("id,tags\n" + "".join(f'{id},"{",".join(tags)}"\n' for id, tags in BASKETS.items()))
    files["tsv"].write_text("id\ttags\n" + "".join(f"{id}\t{'|'.join(tags)}\n" for id, tags in BASKETS.items()))
    table = pa.table({"id": list(BASKETS), "tags": pa.array(list(BASKETS.values()), pa.list_(pa.string()))})
    pq.write_table(table, files["parquet"])
    with pa.ipc.new_file(files["arrow"], table.schema) as file:
        file.write_table(table)
    return files


def test_every_kind_of_file_gives_the_same_pairs(tmp_path: Path) -> None:
    expected = twinset.find_pairs(BASKETS, items="tags", threshold=0.7).pairs.to_pylist()
    assert [(row["left"], row["right"], row["similarity"]) for row in expected] == [
        ("ann", "ben", 1.0),
        ("ann", "cat", 0.75),
        ("ben", "cat", 0.75),
    ]
    for name, path in written(tmp_path).items():
        found = twinset.find_pairs(str(path), items="tags", threshold=0.7)
        assert found.pairs.to_pylist() == expected, name
        assert found.summary["empty"] == 1


def test_clean_sets_keep_their_format(tmp_path: Path) -> None:
    for name, path in written(tmp_path).items():
        out = tmp_path / f"out-{name}"
        done = twinset.dedup(str(path), items="tags", threshold=0.7, output=out)
        assert done.kept["id"].to_pylist() == ["ann", "dan", "eve"]
        kept = (out / "kept" / path.name).read_bytes()
        assert b"coal" in kept
        assert b"ben" not in kept


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id": "x", "tags": "milk"}', "must hold a list"),
        (b'{"id": "x", "tags": [["milk"]]}', "must hold strings or numbers"),
        (b'{"id": "x"}', "there is no key 'tags'"),
    ],
)
def test_what_is_no_list_is_said(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b'{"id": "y", "tags": ["a"]}\n' + line)
    with pytest.raises(RowError, match=reason):
        twinset.find_pairs(str(path), items="tags")
    skipped = twinset.find_pairs(str(path), items="tags", on_error="skip")
    assert skipped.summary["unreadable"] == 1


def test_sources_that_have_no_such_column(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("milk bread")
    with pytest.raises(SourceError, match="no tables in this folder, and --items needs one"):
        twinset.find_pairs(str(tmp_path), items="tags")
    with pytest.raises(OptionError, match="--items tags names a column, but text files have none"):
        twinset.find_pairs(str(tmp_path / "a.txt"), items="tags")
    with pytest.raises(ColumnError, match="must hold lists of strings or numbers, it holds int64"):
        twinset.find_pairs(pa.table({"tags": [1, 2]}), items="tags")
    with pytest.raises(ColumnError, match="there is no column 'tags'"):
        twinset.find_pairs(pa.table({"words": [["a"]]}), items="tags")
    with pytest.raises(SourceError, match="an item must be a list, a tuple or a set"):
        twinset.find_pairs({"a": "milk"}, items="tags")
    with pytest.raises(SourceError, match="a record must be a mapping"):
        twinset.find_pairs({"a": "milk"}, text=["a", "b"])


@given(
    st.lists(st.lists(st.none() | st.integers(-9, 9) | st.integers(-(2**63), 2**63 - 1), max_size=6), max_size=8),
    st.sampled_from([pa.int64(), pa.int32(), pa.float64(), pa.decimal128(38, 0)]),
)
def test_numbers_are_hashed_as_they_are_written(lists: list[list[int | None]], kind: pa.DataType) -> None:
    """By a table, by their distinct values or one by one: it is the same."""
    if kind == pa.int32():
        lists = [[one if one is None else one % 1000 - 500 for one in many] for many in lists]
    if kind == pa.float64():
        lists = [[one if one is None else one % 2**40 for one in many] for many in lists]
    column = pa.array(lists, pa.list_(kind))
    written = pa.array(
        [[one.cast(pa.string()).as_py() for one in many.values if one.is_valid] for many in column],
        pa.list_(pa.string()),
    )
    options = ReadOptions.of(items="tags")
    assert packed(options, [column])[0].equals(packed(options, [written])[0])
