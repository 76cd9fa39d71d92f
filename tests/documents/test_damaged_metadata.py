"""Files whose metadata have one byte changed: rows that are correct, or an error that names the file; no abort."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import duckdb
import fastparquet
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import ready
from tests.documents import damage
from tests.documents.reading import opened, read_all
from twinset.documents.parquet.thrift import I32, read_struct, write_struct
from twinset.errors import SourceError

ROWS = 12
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int32()),
        "text": [f"word {row % 5} of the text" for row in range(ROWS)],
        "tags": [["a", "b"][: row % 3] for row in range(ROWS)],
    }
)


# Every third byte has one of four values in every run, and every byte all four in the long runs.
few_or_all = pytest.mark.parametrize("values", ["few", pytest.param("all", marks=pytest.mark.soak)])


def sweep(path: Path, values: str, spans: list[tuple[int, int]]) -> None:
    ends = [str(at) for span in spans for at in span]
    command = [str(ready.folder() / "python-ready"), damage.__file__, str(path), values, *ends]
    ended = subprocess.run(command, capture_output=True, timeout=500, check=False)
    lines = [line for line in ended.stdout.decode().split("\n") if not line.endswith("\r") and line.strip()]
    assert ended.returncode == 0, f"ended with {ended.returncode} at {lines[-1:]}: {ended.stderr[-300:]!r}"
    assert len(lines) == 1, lines[:20]
    assert lines[0].startswith("done")


def write_parquet(path: Path, writer: str) -> None:
    if writer == "polars":
        polars.from_arrow(TABLE).write_parquet(path)  # type: ignore[union-attr]
    elif writer == "duckdb":
        duckdb.from_arrow(TABLE).write_parquet(str(path))
    elif writer == "fastparquet":
        fastparquet.write(str(path), TABLE.drop_columns(["tags"]).to_pandas(), compression="SNAPPY")
    else:
        words: dict[str, Any] = {
            "arrow": {},
            "arrow 2.0 zstd": {"data_page_version": "2.0", "compression": "zstd", "row_group_size": 7},
            "arrow page index": {"write_page_index": True, "use_dictionary": False},
        }
        pq.write_table(TABLE, path, **words[writer])


@pytest.mark.parametrize("writer", ["arrow", "arrow 2.0 zstd", "arrow page index", "polars", "duckdb", "fastparquet"])
@few_or_all
def test_a_parquet_footer(tmp_path: Path, writer: str, values: str) -> None:
    path = tmp_path / "in.parquet"
    write_parquet(path, writer)
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    sweep(path, values, [(len(data) - 8 - length, len(data))])


def metadata_spans(data: bytes) -> list[tuple[int, int]]:
    """Where an Arrow file, or stream, has anything but the buffers of columns."""
    spans, at = list[tuple[int, int]](), 8 if data.startswith(b"ARROW1") else 0
    begin = 0
    while (length := int.from_bytes(data[at + 4 : at + 8], "little")) > 0:
        message = pa.ipc.read_message(pa.py_buffer(data[at:]))
        body = 0 if message.body is None else message.body.size
        spans.append((begin, at + 8 + length))
        at = begin = at + 8 + length + body
    return [*spans, (begin, len(data))]


# The messages of a file and of a stream are the same, and a codec is one field of them: every run has each once.
@pytest.mark.parametrize(
    ("format", "codec", "values"),
    [
        ("file", None, "few"),
        ("stream", "zstd", "few"),
        *(
            pytest.param(format, codec, "all", marks=pytest.mark.soak)
            for format in ("file", "stream")
            for codec in (None, "zstd")
        ),
    ],
)
def test_the_metadata_of_an_arrow_file(tmp_path: Path, format: str, codec: str | None, values: str) -> None:
    path = tmp_path / "in.arrow"
    table = TABLE.append_column("kind", pa.array(["x", "y"] * (ROWS // 2)).dictionary_encode())
    make = pa.ipc.new_file if format == "file" else pa.ipc.new_stream
    with (
        pa.OSFile(str(path), "wb") as file,
        make(file, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer,
    ):
        writer.write_table(table, max_chunksize=7)
    spans = metadata_spans(path.read_bytes())
    assert len(spans) > 3
    sweep(path, values, spans)


def test_a_name_in_an_arrow_file_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "in.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, TABLE.schema) as writer:
        writer.write_table(TABLE)
    path.write_bytes(path.read_bytes().replace(b"tags", b"t\xffgs"))
    with pytest.raises(SourceError, match=r"in\.arrow"):
        read_all(opened(path))


@pytest.mark.parametrize("codec", [9, 22, -1])
def test_an_unknown_codec_of_parquet(tmp_path: Path, codec: int) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(TABLE, path)
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = read_struct(data[-8 - length : -8], 0)
    footer[4][1][1][0][1][1][1][0][3][1][4] = (I32, codec)
    made = write_struct(footer)
    path.write_bytes(data[: -8 - length] + made + len(made).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(SourceError, match=r"in\.parquet"):
        opened(path)
