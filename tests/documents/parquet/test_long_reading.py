"""Long values read from pages as they are or of Snappy: what Arrow would read, and nothing where a page is unusual."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.documents.parquet.long_texts import ROWS, read, texts
from tests.documents.reading import opened, read_all
from twinset.documents.parquet.long_reading import LongReading
from twinset.documents.parquet.long_values import long_columns
from twinset.documents.parquet.thrift import read_struct, write_struct
from twinset.errors import SourceError


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()], ids=str)
@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("codec", ["snappy", "none"])
def test_it_is_what_arrow_reads(
    tmp_path: Path, kind: Any, nullable: bool, version: Any, dictionary: bool, codec: Any
) -> None:
    path = tmp_path / "in.parquet"
    column = pa.array(texts(1), pa.string()).cast(kind)
    table = pa.table([column], schema=pa.schema([pa.field("text", kind, nullable)]))
    words = {"use_dictionary": dictionary, "dictionary_pagesize_limit": 50_000, "data_page_size": 20_000}
    pq.write_table(table, path, row_group_size=180, data_page_version=version, compression=codec, **words)
    found = read(path)
    assert found is not None
    assert found.type == kind
    assert found.equals(column)
    found.validate(full=True)
    assert read(path, groups=[1]).equals(column.slice(180, 180))


def test_rows_that_repeat_stay_coded_by_their_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    half = pa.array([texts(2)[row if row < 300 else row - 300] for row in range(ROWS)])
    pq.write_table(pa.table({"text": half}), path)
    assert read(path).equals(half)


@pytest.mark.parametrize(
    "words",
    [
        {"column_encoding": "DELTA_BYTE_ARRAY", "use_dictionary": False},
        {"column_encoding": "DELTA_LENGTH_BYTE_ARRAY", "use_dictionary": False},
        {"write_statistics": False},
    ],
    ids=lambda words: "-".join(map(str, words.values())),
)
def test_what_is_unusual_is_left_to_arrow(tmp_path: Path, words: dict[str, Any]) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": texts(3)}), path, **words)
    assert read(path) is None
    assert read_all(opened(path)).texts == [text.encode() for text in texts(3)]


def test_nulls_are_left_to_arrow(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    values = [None if row == 70 else text for row, text in enumerate(texts(4))]
    pq.write_table(pa.table({"text": values, "id": range(ROWS)}), path, row_group_size=100)
    assert read(path) is None
    assert read(path, groups=[3]).to_pylist() == texts(4)[300:400]
    found = read_all(opened(path))
    assert found.texts == [None if text is None else text.encode() for text in values]


def test_whole_rows_keep_their_schema_and_order(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"id": range(ROWS), "text": texts(5), "tags": [["a"]] * ROWS, "more": texts(6)})
    table = table.replace_schema_metadata({"note": "mine"})
    pq.write_table(table, path, row_group_size=120)
    [part] = opened(path).parts
    blocks = [chunk.read(whole=True) for chunk in part.chunks(2**16)]
    assert pa.concat_tables([block.payload for block in blocks]).equals(pq.read_table(path), check_metadata=True)


@pytest.mark.parametrize(
    "words",
    [{}, {"data_page_version": "2.0"}, {"compression": "none"}, {"compression": "zstd"}, {"use_dictionary": False}],
)
def test_the_longest_value_of_a_dictionary(tmp_path: Path, words: dict[str, Any]) -> None:
    path = tmp_path / "in.parquet"
    names = [f"{row % 90:03}" * (row % 7 + 1) for row in range(ROWS)]
    table = pa.table({"id": range(ROWS), "name": names, "gap": [None, *names[1:]], "text": texts(3)})
    pq.write_table(table, path, row_group_size=ROWS // 2, **words)
    metadata = pq.read_metadata(path)
    found = LongReading(path, metadata, long_columns(metadata, pq.read_schema(path)))
    expected = None if "zstd" in words.values() or "use_dictionary" in words else 21
    assert [found.longest_coded(group, 1) for group in range(2)] == [expected] * 2
    assert found.longest_coded(0, 2) is None


@pytest.mark.parametrize("dictionary", [True, False])
def test_some_rows_of_a_large_row_group(tmp_path: Path, dictionary: bool) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"id": range(ROWS), "text": texts(9)})
    words = {"dictionary_pagesize_limit": 100_000, "data_page_size": 9000}
    pq.write_table(table, path, use_dictionary=dictionary, **words)
    metadata = pq.read_metadata(path)
    reading = LongReading(path, metadata, long_columns(metadata, table.schema))
    for start, stop in [(0, 1), (0, ROWS), (3, 90), (90, 91), (ROWS - 1, ROWS), (250, 400)]:
        found = reading.read("text", [0], pa.string(), range(start, stop))
        assert found.to_pylist() == texts(9)[start:stop]
    for batch in (2**10, 2**13, 2**16):
        rows = read_all(opened(path), batch, whole=True)
        assert rows.texts == [text.encode() for text in texts(9)]
        assert rows.ids == [str(row) for row in range(ROWS)]


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
    assert read(path) is None
    assert read_all(opened(path)).texts[5] is None


def test_pages_that_are_large_beside_a_piece_are_left_to_arrow(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"text": texts(12)})
    pq.write_table(table, path, data_page_size=2**30, write_batch_size=ROWS, use_dictionary=False)
    [part] = opened(path).parts
    chunks = list(part.chunks(2**14))
    assert len(chunks) > 10
    blocks = [chunk.read() for chunk in chunks]
    assert sum(block.nbytes for block in blocks) < 2 * table.nbytes
    assert [text for block in blocks for text in block.texts.to_pylist()] == texts(12)


def test_a_file_that_went_away_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    names = [f"some value {row % 50}" * 20 for row in range(20_000)]
    pq.write_table(pa.table({"id": range(20_000), "text": names}), path)
    [part] = opened(path).parts
    path.unlink()
    with pytest.raises(SourceError):
        list(part.chunks(2**12))
