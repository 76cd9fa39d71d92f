"""A replaced text of a table leaves its schema and all other values, in files, in memory and in one file of rows."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.documents.reading import opened, replaced, write_all
from twinset.documents.formats import typed_columns
from twinset.documents.frames import take_rows
from twinset.engines.local.write.kept_file import KeptFile
from twinset.errors import ColumnError, OptionError, OutputError, SourceError

TEXTS = ["one", None, "two words", "", "one", "日本"] * 5
NEW = {0: "", 2: 'a "b"\n', 9: "two words", 10: "new", 28: "é\u2028"}
EXPECTED = [NEW.get(row, text) for row, text in enumerate(TEXTS)]


def of_type(kind: pa.DataType) -> pa.Array:
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, of_type(kind.storage_type))
    if pa.types.is_dictionary(kind):
        coded = pa.array(TEXTS).dictionary_encode()
        values = coded.dictionary.cast(kind.value_type)
        return pa.DictionaryArray.from_arrays(coded.indices.cast(kind.index_type), values, ordered=kind.ordered)
    return pa.array(TEXTS).cast(kind)


def table_of(kind: pa.DataType, nested: bool) -> pa.Table:
    """A table with texts, one struct of which is null where they are nested."""
    texts = of_type(kind)
    fields = [pa.field("n", pa.int64(), False), pa.field("text", texts.type, metadata={"of": "text"})]
    if nested:
        numbers = pa.array(range(len(TEXTS)), pa.int64())
        null = pa.array([row == 7 for row in range(len(TEXTS))])
        texts = pa.StructArray.from_arrays([numbers, texts], fields=fields, mask=null)
        fields[1] = pa.field("meta", texts.type)
    schema = pa.schema([*fields, pa.field("list", pa.list_(pa.float32()))], metadata={"of": "table"})
    return pa.table([range(len(TEXTS)), texts, [[row / 3] for row in range(len(TEXTS))]], schema=schema)


def plain(column: Any) -> list[Any]:
    values = [one if not isinstance(one, dict) else one["text"] for one in column.to_pylist()]
    return [one.decode() if isinstance(one, bytes) else one for one in values]


KINDS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_string(), ordered=True),
    pa.json_(pa.string()),
]


@pytest.mark.parametrize("batch", [600, 2**20])
@pytest.mark.parametrize("form", ["parquet", "file", "stream", "memory"])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_schema_and_other_values_stay(tmp_path: Path, kind: Any, nested: bool, form: str, batch: int) -> None:
    table = table_of(kind, nested)
    path = tmp_path / ("in.parquet" if form == "parquet" else "in.arrow")
    if form == "parquet":
        # Arrow cannot cut nested views, nor read nested dictionaries of several groups together.
        pq.write_table(table, path, row_group_size=len(TEXTS) if nested else 7)
    else:
        make = pa.ipc.new_stream if form == "stream" else pa.ipc.new_file
        with make(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=9)
    sources = opened(table if form == "memory" else path, text="meta.text" if nested else "text")
    sources.parts[0].check_texts_replaceable()
    write_all(sources, tmp_path / "out", batch_bytes=batch, texts=NEW)
    written = tmp_path / "out/kept" / ("table.parquet" if form == "memory" else path.name)
    if form == "memory":
        path = tmp_path / "as.parquet"
        pq.write_table(table, path)
    found, given = read(written), read(path)
    column = "meta" if nested else "text"
    assert found.schema.equals(given.schema, check_metadata=True)
    assert found.drop([column]).equals(given.drop([column]))
    assert plain(found[column]) == [None if nested and row == 7 else text for row, text in enumerate(EXPECTED)]
    if nested:
        assert [one and one["n"] for one in found["meta"].to_pylist()] == [
            one and one["n"] for one in given["meta"].to_pylist()
        ]


def read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    with pa.OSFile(str(path)) as file:
        head = file.read(6)
        file.seek(0)
        return (pa.ipc.open_file if head == b"ARROW1" else pa.ipc.open_stream)(file).read_all()


@pytest.mark.parametrize("form", ["file", "stream", "parquet"])
@pytest.mark.parametrize("nested", [False, True])
def test_dictionaries_grow_from_batch_to_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nested: bool, form: str
) -> None:
    monkeypatch.setattr(typed_columns, "GROUP_BYTES", 300)
    test_schema_and_other_values_stay(tmp_path, pa.dictionary(pa.int32(), pa.string()), nested, form, 600)
    written = tmp_path / "out/kept" / ("in.parquet" if form == "parquet" else "in.arrow")
    assert form == "parquet" or read(written).column(1).num_chunks > 2


def test_an_index_that_is_too_small(tmp_path: Path) -> None:
    values = [f"text {number}" for number in range(120)]
    table = pa.table({"text": of_small_codes(values), "row": range(120)})
    new = {row: f"new {row}" for row in range(20)}
    with pytest.raises(SourceError, match="table: a dictionary of int8 has no room for the new texts; convert it"):
        write_all(opened(table), tmp_path / "out", texts=new)
    with pytest.raises(OutputError, match=r"table\.parquet: cannot be written: .*larger index type"):
        write_all(opened(table), tmp_path / "more", batch_bytes=2000, texts=new)


def of_small_codes(values: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(range(len(values)), pa.int8()), pa.array(values))


ROWS = [{"id": f"r{row}", "text": text, "n": row} for row, text in enumerate(["one", "two", None, "four"])]
ONLY = {0: "1", 3: 'f "4"\n'}
AFTER = ["1", "two", None, 'f "4"\n']
GIVEN: dict[str, Callable[[], Any]] = {
    "rows": lambda: [dict(row) for row in ROWS],
    "iterator of rows": lambda: iter([dict(row) for row in ROWS]),
    "texts": lambda: [row["text"] for row in ROWS],
    "mapping": lambda: {row["id"]: row["text"] for row in ROWS},
    "iterator of texts": lambda: (row["text"] for row in ROWS),
    "table": lambda: pa.Table.from_pylist(ROWS),
    "batches": lambda: iter(pa.Table.from_pylist(ROWS).to_batches(max_chunksize=1)),
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas categories": lambda: pd.DataFrame(ROWS).astype({"text": "category"}),
    "polars": lambda: pl.DataFrame(ROWS),
    "polars categories": lambda: pl.DataFrame(ROWS, schema_overrides={"text": pl.Categorical}),
    "lazy": lambda: pl.DataFrame(ROWS).lazy(),
    "data set": lambda: datasets.Dataset.from_list(ROWS),
}


@pytest.mark.parametrize("name", GIVEN)
def test_objects_of_a_program(tmp_path: Path, name: str) -> None:
    sources = opened(GIVEN[name](), scratch=tmp_path / "scratch")
    (part,) = sources.parts
    part.check_texts_replaceable("\u2028\n")
    collector = part.collector()
    unchanged = part.collector()
    for chunk in part.chunks(2**20):
        block = chunk.read(whole=True)
        changed = replaced(part, block, ONLY)
        assert changed.texts.type == block.texts.type
        collector.write(changed, np.ones(block.rows, bool))
        unchanged.write(block, np.ones(block.rows, bool))
    table, before = (pa.concat_tables(one.tables()) for one in (collector, unchanged))
    assert table["text"].to_pylist() == AFTER
    assert table.schema.equals(before.schema, check_metadata=True)
    assert table.drop(["text"]).equals(before.drop(["text"]))
    assert before["text"].to_pylist() == [row["text"] for row in ROWS]
    if name == "polars categories":
        return  # Arrow cannot write a dictionary of views as Parquet
    write_all(sources, tmp_path / "out", texts=ONLY)
    (written,) = (tmp_path / "out/kept").iterdir()
    rows = read(written).to_pylist() if written.suffix == ".parquet" else _lines(written)
    assert [row["text"] for row in rows] == AFTER


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_column_of_a_frame_is_replaced_by_one_of_its_name() -> None:
    texts = pa.table({"text": AFTER})
    for frame in (pd.DataFrame(ROWS, index=[3, 1, 4, 1]), pl.DataFrame(ROWS)):
        found = take_rows(frame, np.ones(len(ROWS), bool), texts)
        assert list(found.columns) == ["id", "text", "n"]
        assert [one if isinstance(one, str) else None for one in found["text"]] == AFTER


@pytest.mark.parametrize("output", ["clean.jsonl", "clean.csv", "clean.parquet", "clean.arrow", "clean.jsonl.gz"])
@pytest.mark.parametrize("name", ["in.jsonl", "in.json", "in.csv", "in.parquet", "in.txt", "texts"])
def test_one_file(tmp_path: Path, name: str, output: str) -> None:
    path = tmp_path / name
    rows = [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}, {"id": "c", "text": "three"}]
    if name == "in.parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif name == "texts":
        path.mkdir()
        for row in rows:
            (path / f"{row['id']}.txt").write_text(row["text"])
    else:
        lines = "\n".join(json.dumps(row) for row in rows)
        path.write_text(
            {
                "in.jsonl": lines,
                "in.json": json.dumps(rows),
                "in.csv": "id,text\na,one\nb,two\nc,three",
                "in.txt": "one\ntwo\nthree",
            }[name]
        )
    sources = opened(path, lines=name == "in.txt")
    (tmp_path / "out").mkdir()
    file = KeptFile(sources.parts, output, tmp_path / "out", False)
    for part in sources.parts:
        writer = file.open_writer(part)
        for chunk in part.chunks(2**20):
            writer.write(replaced(part, chunk.read(whole=True), {1: 'a "b", ü'}), np.ones(chunk.rows, bool))
        writer.close()
    assert texts_of(file.finish()) == ["one", 'a "b", ü', "three"]


def texts_of(path: Path) -> list[str]:
    if path.suffix in (".parquet", ".arrow"):
        return list(read(path)["text"].to_pylist())
    if path.suffix == ".csv":
        with open(path, newline="", encoding="utf-8") as file:
            return [row["text"] for row in csv.DictReader(file)]
    if path.suffix == ".gz":
        return [json.loads(line)["text"] for line in gzip.decompress(path.read_bytes()).splitlines()]
    return [row["text"] for row in _lines(path)]


def test_chats_and_other_kinds_are_refused(tmp_path: Path) -> None:
    chats = pa.table({"chat": [[{"role": "user", "content": "Hello"}]], "text": [[1.0, 2.0]]})
    with pytest.raises(
        ColumnError, match="table: the text 'chat' is a list of messages, which cannot be changed; name"
    ):
        opened(chats, text="chat").parts[0].check_texts_replaceable()
    with pytest.raises(OptionError, match="table: vectors cannot select vectors here: only texts of one column can"):
        opened(chats, vectors="text").parts[0].check_texts_replaceable()
    np.save(tmp_path / "in.npy", np.eye(3))
    (part,) = opened(tmp_path / "in.npy", vectors=True).parts
    with pytest.raises(OptionError, match=r"in\.npy: vectors cannot select vectors here"):
        part.check_texts_replaceable()
    (chunk,) = part.chunks(2**20)
    with pytest.raises(SourceError, match=r"in\.npy: its rows have no texts to replace"):
        replaced(part, chunk.read(whole=True), {0: "a"})


def test_a_null_text_cannot_be_replaced() -> None:
    (part,) = opened(pa.table({"meta": [{"text": "a"}, None]}), text="meta.text").parts
    (chunk,) = part.chunks(2**20)
    with pytest.raises(SourceError, match="table, row 1, counted from 0: the row has no text to replace"):
        replaced(part, chunk.read(whole=True), {1: "a"})
