"""Long texts in Parquet: read and written back value by value, within the memory planned for them."""

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

from tests.documents.reading import opened, read_all, write_all
from twinset.documents.formats import typed_columns
from twinset.documents.parquet.read import ParquetPart
from twinset.documents.parquet.thrift import read_struct, read_varint, varint, write_struct
from twinset.errors import SourceError

ROWS = 500


def texts(seed: int) -> list[str]:
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijé漢", k=chance.randint(1, 12))) for _ in range(300)]
    found = [" ".join(chance.choices(words, k=chance.randint(60, 400))) for _ in range(ROWS)]
    found[7], found[8], found[9] = "", "a" * 70_000, "xy" * 9_000
    return found


def kept(part: object, row: int) -> bool:
    return row % 7 not in (1, 2) and not 300 <= row < 380


def kept_of(table: Any) -> Any:
    return table.filter(pa.array([kept(0, row) for row in range(table.num_rows)]))


def written(path: Path, out: Path, batch: int = 2**14) -> Path:
    write_all(opened(path), out, kept, batch)
    return out / "kept" / path.name


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_columns, "GROUP_BYTES", 2**17)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()], ids=str)
@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("codec", ["snappy", "zstd", "none"])
@pytest.mark.usefixtures("small_groups")
def test_rows_come_back_as_they_were(tmp_path: Path, kind: Any, nullable: bool, codec: Any) -> None:
    schema = pa.schema([pa.field("text", kind, nullable), pa.field("id", pa.int32()), pa.field("more", kind, nullable)])
    columns = [pa.array(texts(1), pa.string()).cast(kind), range(ROWS), pa.array(texts(2), pa.string()).cast(kind)]
    table = pa.table(columns, schema=schema)
    path = tmp_path / "in.parquet"
    pq.write_table(table, path, row_group_size=150, compression=codec)
    assert read_all(opened(path)).texts == [text.encode() for text in texts(1)]
    file = pq.ParquetFile(written(path, tmp_path / "out"))
    assert file.metadata.num_row_groups > 3
    assert file.schema_arrow.equals(pq.read_schema(path), check_metadata=True)
    assert file.read().equals(kept_of(table))
    column = file.metadata.row_group(1).column(0)
    assert column.compression == pq.read_metadata(path).row_group(0).column(0).compression


@pytest.mark.usefixtures("small_groups")
def test_other_programs_read_it(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"id": range(ROWS), "text": texts(3)}), path, row_group_size=99)
    back = written(path, tmp_path / "out")
    expected = [text for row, text in enumerate(texts(3)) if kept(0, row)]
    assert polars.read_parquet(back)["text"].to_list() == expected
    assert duckdb.read_parquet(str(back)).project("text").to_arrow_table()["text"].to_pylist() == expected


@pytest.mark.usefixtures("small_groups")
def test_the_same_bytes_however_rows_come(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    notes = [None if row % 70 == 1 or row > 400 else text for row, text in enumerate(texts(12))]
    pq.write_table(pa.table({"id": range(ROWS), "text": texts(4), "note": notes}), path, row_group_size=300)
    made = {written(path, tmp_path / str(batch), batch).read_bytes() for batch in (2**8, 2**12, 2**16, 2**24)}
    assert len(made) == 1


@pytest.mark.usefixtures("small_groups")
def test_nulls_empty_values_and_a_value_larger_than_a_page(tmp_path: Path) -> None:
    values: list[str | None] = list(texts(5))
    values[3], values[10], values[11] = "x" * 2_000_000, "", ""
    for at in (200, 201, 203, 499):
        values[at] = None
    table = pa.table({"id": range(ROWS), "note": values, "text": texts(6)})
    path = tmp_path / "in.parquet"
    pq.write_table(table, path, row_group_size=200)
    assert read_all(opened(path, text="note")).texts == [None if one is None else one.encode() for one in values]
    back = pq.read_table(written(path, tmp_path / "out"))
    assert back.equals(kept_of(table))
    assert back["note"].null_count == 3


def test_names_with_dots_are_not_taken_for_parts_of_others(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"a.b": texts(8), "a": [{"b": text} for text in texts(9)], "text": texts(10), "c.d": texts(11)})
    pq.write_table(table, path)
    assert pq.read_table(written(path, tmp_path / "out")).equals(kept_of(table))


def test_whole_rows_keep_their_schema_and_order(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"id": range(ROWS), "text": texts(5), "tags": [["a"]] * ROWS, "more": texts(6)})
    pq.write_table(table.replace_schema_metadata({"note": "mine"}), path, row_group_size=120)
    [part] = opened(path).parts
    blocks = [chunk.read(whole=True) for chunk in part.chunks(2**16)]
    assert pa.concat_tables([block.payload for block in blocks]).equals(pq.read_table(path), check_metadata=True)


@pytest.mark.parametrize("dictionary", [True, False])
def test_some_rows_of_a_large_row_group(tmp_path: Path, dictionary: bool) -> None:
    path = tmp_path / "in.parquet"
    sizes = {"dictionary_pagesize_limit": 100_000, "data_page_size": 9000}
    pq.write_table(pa.table({"id": range(ROWS), "text": texts(9)}), path, use_dictionary=dictionary, **sizes)
    for batch in (2**10, 2**13, 2**16):
        rows = read_all(opened(path), batch, whole=True)
        assert rows.texts == [text.encode() for text in texts(9)]
        assert rows.ids == [str(row) for row in range(ROWS)]


def test_pieces_of_a_row_group_of_one_page_take_no_more_than_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"text": texts(12)})
    pq.write_table(table, path, data_page_size=2**30, write_batch_size=ROWS, use_dictionary=False)
    [part] = opened(path).parts
    chunks = list(part.chunks(2**14))
    assert len(chunks) > 10
    blocks = [chunk.read() for chunk in chunks]
    assert sum(block.nbytes for block in blocks) < 2 * table.nbytes
    assert [text for block in blocks for text in block.texts.to_pylist()] == texts(12)


def test_few_kept_rows_do_not_keep_the_others_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"id": range(ROWS), "text": texts(13)})
    pq.write_table(table, path, row_group_size=50)
    [part] = opened(path).parts
    assert isinstance(part, ParquetPart)
    writer: Any = part.open_writer(tmp_path)
    for chunk in part.chunks(2**14):
        keep = np.arange(chunk.first_row, chunk.first_row + chunk.rows) % 100 == 17
        writer.write(chunk.read(whole=True), keep)
    held = sum(one.get_total_buffer_size() for one in writer._buffered)
    writer.close()
    assert 0 < held < table.nbytes / 20
    assert pq.read_table(tmp_path / "kept/in.parquet")["id"].to_pylist() == list(range(17, ROWS, 100))


def test_a_file_that_went_away_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    names = [f"some value {row % 50}" * 20 for row in range(20_000)]
    pq.write_table(pa.table({"id": range(20_000), "text": names}), path)
    [part] = opened(path).parts
    path.unlink()
    with pytest.raises(SourceError, match=r"in\.parquet"):
        list(part.chunks(2**12))


def test_a_checksum_that_does_not_hold_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": texts(7)}), path, write_page_checksum=True, use_dictionary=False)
    assert read_all(opened(path)).texts == [text.encode() for text in texts(7)]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"in\.parquet"):
        read_all(opened(path))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_statistics_that_hide_a_null_are_not_believed(tmp_path: Path, version: Any) -> None:
    path = tmp_path / "in.parquet"
    values = [None if row == 5 else text for row, text in enumerate(texts(11)[10:34])]
    pq.write_table(pa.table({"text": values}), path, data_page_version=version)
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = read_struct(data[-8 - length : -8], 0)
    statistics = footer[4][1][1][0][1][1][1][0][3][1][12][1]
    assert statistics[3] == (6, 1)
    statistics[3] = (6, 0)
    made = write_struct(footer)
    path.write_bytes(data[: -8 - length] + made + len(made).to_bytes(4, "little") + b"PAR1")
    assert pq.read_metadata(path).row_group(0).column(0).statistics.null_count == 0
    assert read_all(opened(path)).texts[5] is None


def test_a_number_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="64 bits"):
        read_varint(b"\xff" * 100, 0)
    with pytest.raises(IndexError):
        read_struct(bytes([0x19, 0xF7, *varint(1 << 60)]), 0)  # a list of that many doubles
