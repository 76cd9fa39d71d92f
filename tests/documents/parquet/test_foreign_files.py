"""Parquet files of other programs and versions: kept rows are compared with Arrow's reading of the source."""

from __future__ import annotations

import datetime
import decimal
import itertools
from pathlib import Path
from typing import Any

import duckdb
import fastparquet
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset

ROWS = 90
COPIES = 10  # the last rows repeat the texts of the first


def text(row: int) -> str:
    number = row % (ROWS - COPIES)
    return " ".join(f"wörd{number * 31 + place}" for place in range(12))


def columns() -> dict[str, Any]:
    """One column of each kind; every fourth value is null."""

    def some(values: Any, kind: Any) -> Any:
        return pa.array([None if row % 4 == 3 else value for row, value in enumerate(values)], kind)

    rows = range(ROWS)
    moment = datetime.datetime(2024, 2, 29, 12, 30)
    inner = pa.struct([("score", pa.float64()), ("names", pa.list_(pa.string()))])
    return {
        "id": pa.array(rows, pa.int64()),
        "text": pa.array([text(row) for row in rows]),
        "flag": some([row % 2 == 0 for row in rows], pa.bool_()),
        "small": some([row - 40 for row in rows], pa.int32()),
        "ratio": some([row / 7 for row in rows], pa.float64()),
        "note": some([f"note {row % 5}" for row in rows], pa.string()),
        "bytes": some([bytes([row, 255]) for row in rows], pa.binary()),
        "day": some([moment.date() + datetime.timedelta(row) for row in rows], pa.date32()),
        "moment": some([moment + datetime.timedelta(hours=row) for row in rows], pa.timestamp("us")),
        "zoned": some([moment + datetime.timedelta(hours=row) for row in rows], pa.timestamp("ms", "UTC")),
        "price": some([decimal.Decimal(row) / 8 for row in rows], pa.decimal128(12, 3)),
        "tags": some([["a", None, "b"][: row % 4] for row in rows], pa.list_(pa.string())),
        "about": some([{"score": row / 2, "names": ["x"] * (row % 3)} for row in rows], inner),
        "pairs": some([[("k", row), ("l", None)][: row % 3] for row in rows], pa.map_(pa.string(), pa.int64())),
    }


def arrow_columns() -> dict[str, Any]:
    """Those, and types that only Arrow's own files tell apart."""
    table = columns()
    table["kind"] = pa.array([("en", "de", None)[row % 3] for row in range(ROWS)]).dictionary_encode()
    table["large"] = pa.array([text(row) for row in range(ROWS)], pa.large_string())
    table["view"] = pa.array([None if row % 4 == 3 else text(row) for row in range(ROWS)], pa.string_view())
    table["lists"] = pa.array(
        [[[row], None, []][: row % 4] for row in range(ROWS)], pa.large_list(pa.list_(pa.int16()))
    )
    return table


def check(source: Path, out: Path) -> None:
    """Compare what is kept with Arrow's reading of the source, file by file."""
    result = twinset.dedup(str(source), output=out, threads=1)
    paths = [source] if source.is_file() else sorted(source.rglob("*.parquet"))
    removed = result.removed["id"].to_pylist()
    assert len(removed) == COPIES
    total = 0
    for path in paths:
        before = pq.ParquetFile(path).read()
        expected = [row for row in before.to_pylist() if str(row["id"]) not in removed]
        inside = path.name if source.is_file() else path.relative_to(source)
        [kept] = [one for one in (out / "kept").rglob("*.parquet") if str(one).endswith(str(inside))]
        after = pq.ParquetFile(kept).read()
        assert after.schema.equals(before.schema)
        assert after.to_pylist() == expected
        total += after.num_rows
    assert total == ROWS - COPIES


@pytest.mark.parametrize(
    ("version", "pages", "codec", "dictionary"),
    list(
        itertools.product(
            ["1.0", "2.4", "2.6"], ["1.0", "2.0"], ["none", "snappy", "gzip", "zstd", "lz4", "brotli"], [True, False]
        )
    ),
)
def test_every_version_and_codec_of_arrow(
    tmp_path: Path, version: Any, pages: Any, codec: Any, dictionary: bool
) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(
        pa.table(arrow_columns()), path, version=version, data_page_version=pages, compression=codec,
        use_dictionary=dictionary, row_group_size=40,
    )  # fmt: skip
    check(path, tmp_path / "out")


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "lz4_raw", "brotli"])
def test_files_of_duckdb(tmp_path: Path, codec: str) -> None:
    path, source = tmp_path / "in.parquet", pa.table(columns())
    with duckdb.connect() as connection:
        connection.register("source", source)
        connection.execute(f"COPY source TO '{path}' (FORMAT parquet, COMPRESSION {codec}, ROW_GROUP_SIZE 40)")
    check(path, tmp_path / "out")


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_files_of_polars(tmp_path: Path, codec: Any) -> None:
    frame: Any = polars.from_arrow(pa.table(columns()))
    frame.write_parquet(tmp_path / "in.parquet", compression=codec, row_group_size=40)
    check(tmp_path / "in.parquet", tmp_path / "out")


@pytest.mark.parametrize("codec", ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4", "BROTLI"])
@pytest.mark.parametrize("times", ["int64", "int96"])
def test_files_of_fastparquet(tmp_path: Path, codec: str, times: str) -> None:
    names = ["id", "text", "flag", "small", "ratio", "note", "bytes", "moment"]
    frame = pa.table({name: columns()[name] for name in names}).to_pandas()
    encodings = {"text": "utf8", "note": "utf8", "bytes": "bytes", "flag": "bool"}
    path = str(tmp_path / "in.parquet")
    fastparquet.write(path, frame, compression=codec, times=times, row_group_offsets=40, object_encoding=encodings)
    check(tmp_path / "in.parquet", tmp_path / "out")


@pytest.mark.parametrize("old_times", [True, False])
@pytest.mark.parametrize("required", [True, False])
def test_a_folder_as_spark_writes_it(tmp_path: Path, old_times: bool, required: bool) -> None:
    """Part files beside a marker and hidden checksums; no Arrow schema, lists of `element`, timestamps of 96 bits."""
    folder = tmp_path / "in"
    folder.mkdir()
    element = pa.field("element", pa.string(), nullable=not required)
    table = pa.table({name: column for name, column in columns().items() if name != "zoned"})
    tags = [["a", "b"][: row % 3] if required else [None, "b"][: row % 3] for row in range(ROWS)]
    table = table.append_column(pa.field("labels", pa.list_(element), not required), pa.array(tags, pa.list_(element)))
    for number, start in enumerate(range(0, ROWS, 30)):
        name = f"part-0000{number}-4b1c-c000.snappy.parquet"
        pq.write_table(
            table.slice(start, 30), folder / name, compression="snappy", store_schema=False, version="1.0",
            use_deprecated_int96_timestamps=old_times,
        )  # fmt: skip
        (folder / f".{name}.crc").write_bytes(b"crc\0\0\0\2\0\1\2\3\4")
    (folder / "_SUCCESS").touch()
    (folder / "._SUCCESS.crc").write_bytes(b"crc\0\0\0\2\0")
    check(folder, tmp_path / "out")
