"""Columns of items, packed: what is equal stays equal, whatever the file."""

import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from twinset.documents.items.pack import packed
from twinset.documents.items.records import record_columns
from twinset.errors import ColumnError, OptionError, RowError, SourceError
from twinset.options import ReadOptions
from twinset.options.index import SourceOptions

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
    assert rows_of(packed(ITEMS, [pa.array([text])])[0]) == rows_of(packed(ITEMS, [pa.array([expected])])[0])


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
    with pytest.raises(SourceError, match="no tables in this folder, but items needs tables"):
        twinset.find_pairs(str(tmp_path), items="tags")
    with pytest.raises(OptionError, match='items="tags" names a column, but text files have none'):
        twinset.find_pairs(str(tmp_path / "a.txt"), items="tags")
    with pytest.raises(ColumnError, match="must hold lists of strings or numbers, not int64"):
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


ODD = {
    "float32": (pa.array([[0.1, 0.2, None]], pa.list_(pa.float32())), ["0.1", "0.2"]),
    "dates": (pa.array([[datetime.date(2026, 1, 2)]], pa.list_(pa.date32())), ["2026-01-02"]),
    "decimals": (pa.array([[Decimal("1.50")]], pa.list_(pa.decimal128(5, 2))), ["1.50"]),
    "bytes": (pa.array([[b"a\xff", b"b"]], pa.list_(pa.binary())), ["a\ufffd", "b"]),
    "fixed": (pa.array([[b"\xff\xff"]], pa.list_(pa.binary(2))), ["\ufffd\ufffd"]),
    "dictionary": (pa.array([["x", "y", "x"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))), ["x", "y", "x"]),
    "sliced": (pa.array([[False], [True], [False]], pa.list_(pa.bool_())).slice(1, 1), ["true"]),
}


@pytest.mark.parametrize("name", ODD)
def test_elements_are_written_as_they_are_hashed(name: str) -> None:
    column, elements = ODD[name]
    (text,) = packed(SourceOptions.of(items="tags"), [column])[0].to_pylist()
    assert orjson.loads(text) == elements
    assert packed(ITEMS, [column])[0].equals(packed(ITEMS, [pa.array([text])])[0])


def test_a_set_of_any_type_is_found_in_an_index_and_explained(tmp_path: Path) -> None:
    with twinset.Index.create(tmp_path / "sets.twinset", items="tags") as index:
        for name, (column, _) in ODD.items():
            pq.write_table(pa.table({"id": [name], "tags": column}), tmp_path / f"{name}.parquet")
            index.add(tmp_path / f"{name}.parquet")
        assert [row["id"] for row in index.query([[0.1, 0.2]]).to_pylist()] == ["float32"]
    dates = pa.table({"id": ["a", "b"], "tags": pa.array([[datetime.date(2026, 1, 2)]] * 2, pa.list_(pa.date32()))})
    pq.write_table(dates, tmp_path / "two.parquet")
    done = twinset.dedup(tmp_path / "two.parquet", items="tags", output=tmp_path / "out")
    found = done.explain("a", "b").explanation
    assert found is not None
    assert found.shared == ("2026-01-02",)


def test_what_cannot_be_written_is_no_element() -> None:
    spans = pa.table({"tags": pa.nulls(1, pa.list_(pa.month_day_nano_interval()))})
    with pytest.raises(ColumnError, match="must hold lists of strings or numbers, not list<"):
        twinset.find_pairs(spans, items="tags")


def test_a_null_element_has_no_weight(tmp_path: Path) -> None:
    """In a table, in JSON and in text; so many weights as elements there must be all the same."""
    table = pa.table({"id": ["a", "b"], "t": [["x", None, "y"], ["x", "y"]], "w": [[1.0, None, 2.0], [1.0, 2.0]]})
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"id":"a","t":["x",null,"y"],"w":[1,5,2]}\n{"id":"b","t":["x","y"],"w":[1,2]}\n')
    texts = tmp_path / "a.csv"
    texts.write_text('id;t;w\na;["x",null,"y"];1 5 2\nb;x|y;1 2\n'.replace(";", "\t"))
    texts = texts.rename(tmp_path / "a.tsv")
    for source in (table, lines, texts):
        found = twinset.find_pairs(source, items="t", weight="w").pairs
        assert found["similarity"].to_pylist() == [1.0], source
    few = pa.table({"t": [["x", None, "y"]], "w": [[1.0, 2.0]]})
    with pytest.raises(RowError, match="3 elements and 2 weights"):
        twinset.find_pairs(few, items="t", weight="w")
