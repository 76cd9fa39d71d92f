"""Columns of long values in Parquet: pages made of the rows as they were read, whatever the rows are."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.documents.reading import opened, write_all
from twinset.documents.formats import typed_columns
from twinset.documents.parquet import long_values
from twinset.documents.parquet.long_values import long_columns
from twinset.documents.parquet.read import ParquetPart
from twinset.documents.parquet.write import SourceWriter

ROWS = 700


def texts(seed: int, shortest: int = 200, longest: int = 900) -> list[str]:
    chance = random.Random(seed)
    alphabet = "abcdefghij klmnopé漢😀"
    return ["".join(chance.choices(alphabet, k=chance.randint(shortest, longest))) for _ in range(ROWS)]


def kept(part: int, row: int) -> bool:
    return row % 7 not in (1, 2) and not 300 <= row < 380


def write(path: Path, out: Path, batch: int = 2**14) -> Path:
    write_all(opened(path), out, kept, batch)
    return out / "kept" / path.name


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_values, "_PAGE", 5000)
    monkeypatch.setattr(typed_columns, "GROUP_BYTES", 2**17)


TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("codec", ["snappy", "zstd", "none"])
def test_rows_come_back_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, nullable: bool, codec: str
) -> None:
    small(monkeypatch)
    schema = pa.schema([pa.field("text", kind, nullable), pa.field("id", pa.int32()), pa.field("more", kind, nullable)])
    columns = [pa.array(texts(1), pa.string()).cast(kind), range(ROWS), pa.array(texts(2), pa.string()).cast(kind)]
    table = pa.table(columns, schema=schema)
    path = tmp_path / "in.parquet"
    pq.write_table(table, path, row_group_size=150, compression=codec)
    assert [one.name for one in long_columns(pq.read_metadata(path), schema)] == ["text", "more"]
    back = write(path, tmp_path / "out")
    file = pq.ParquetFile(back)
    assert file.schema_arrow.equals(pq.read_schema(path), check_metadata=True)
    assert file.read().equals(table.filter(pa.array([kept(0, row) for row in range(ROWS)])))
    column = file.metadata.row_group(1).column(0)
    assert column.compression == pq.read_metadata(path).row_group(0).column(0).compression
    assert column.total_uncompressed_size > 3 * 5000  # several pages
    sizes = [file.metadata.row_group(0).column(at).total_uncompressed_size for at in range(3)]
    assert sum(sizes) == file.metadata.row_group(0).total_byte_size


def test_other_programs_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    path = tmp_path / "in.parquet"
    table = pa.table({"id": range(ROWS), "text": texts(3)})
    pq.write_table(table, path, row_group_size=99)
    back = write(path, tmp_path / "out")
    expected = [text for row, text in enumerate(texts(3)) if kept(0, row)]
    assert polars.read_parquet(back)["text"].to_list() == expected
    assert duckdb.read_parquet(str(back)).project("text").to_arrow_table()["text"].to_pylist() == expected


def test_the_same_bytes_however_rows_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    path = tmp_path / "in.parquet"
    notes = [None if row % 70 == 1 or row > 600 else text for row, text in enumerate(texts(12))]
    pq.write_table(pa.table({"id": range(ROWS), "text": texts(4), "note": notes}), path, row_group_size=300)
    made = {write(path, tmp_path / str(batch), batch).read_bytes() for batch in (2**8, 2**12, 2**16, 2**24)}
    assert len(made) == 1


def test_nulls_empty_values_and_a_value_larger_than_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    values: list[str | None] = list(texts(5))
    values[3], values[10], values[11] = "x" * 40_000, "", ""
    for at in (200, 201, 203, 699):
        values[at] = None
    table = pa.table({"id": range(ROWS), "note": values, "text": texts(6)})
    path = tmp_path / "in.parquet"
    pq.write_table(table, path, row_group_size=200)
    back = pq.read_table(write(path, tmp_path / "out"))
    assert back.equals(table.filter(pa.array([kept(0, row) for row in range(ROWS)])))
    assert back["note"].null_count == 4


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["short"] * ROWS),
        pa.array([["a" * 300]] * ROWS),
        pa.array([{"b": "a" * 300}] * ROWS),
        pa.array(["a" * 300] * ROWS).dictionary_encode(),
        pa.array([b"a" * 300] * ROWS, pa.binary(300)),
    ],
    ids=["short", "list", "struct", "dictionary", "fixed"],
)
def test_what_is_left_to_arrow(tmp_path: Path, column: Any) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"text": texts(7), "other": column})
    pq.write_table(table, path, use_dictionary=False)
    assert [one.name for one in long_columns(pq.read_metadata(path), table.schema)] == ["text"]
    back = pq.read_table(write(path, tmp_path / "out"))
    assert back.equals(table.filter(pa.array([kept(0, row) for row in range(ROWS)])))


def test_names_with_dots_are_not_taken_for_parts_of_others(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"a.b": texts(8), "a": [{"b": text} for text in texts(9)], "text": texts(10), "c.d": texts(11)})
    pq.write_table(table, path)
    assert [one.name for one in long_columns(pq.read_metadata(path), table.schema)] == ["text", "c.d"]
    back = pq.read_table(write(path, tmp_path / "out"))
    assert back.equals(table.filter(pa.array([kept(0, row) for row in range(ROWS)])))


def test_few_kept_rows_do_not_keep_the_others_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"id": range(ROWS), "text": texts(13)})
    pq.write_table(table, path, row_group_size=50)
    [part] = opened(path).parts
    assert isinstance(part, ParquetPart)
    writer = SourceWriter(tmp_path / "out.parquet", part.schema, part.metadata, None, 1)
    for chunk in part.chunks(2**14):
        keep = np.arange(chunk.first_row, chunk.first_row + chunk.rows) % 100 == 7
        writer.write(chunk.read(whole=True), keep)
    held = sum(stretch.table.get_total_buffer_size() for stretch in writer._stretches)
    writer.close()
    assert held < table.nbytes / 20
    assert pq.read_table(tmp_path / "out.parquet")["id"].to_pylist() == list(range(7, ROWS, 100))


def test_an_enormous_value_has_a_page_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    monkeypatch.setattr(long_values, "_MOST", 6000)
    values = texts(14)
    values[20] = "y" * 30_000
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": values}), path)
    back = write(path, tmp_path / "out")
    assert pq.read_table(back)["text"].to_pylist() == [text for row, text in enumerate(values) if kept(0, row)]
