"""Flags are added to every row in the format's own way, and refused where they cannot be."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tests.documents.reading import opened, read_all, write_all
from twinset.errors import OptionError

FLAGS = pa.table(
    {
        "cluster": ["a", 'x,"y"', None],
        "duplicate_of": [None, "a", None],
        "similarity": pa.array([None, 0.875, None], pa.float64()),
    }
)


@pytest.mark.parametrize("batch", [64, 2**20])
def test_rows_of_bytes(tmp_path: Path, batch: int) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "1"}\n  {"text":"2", "n": {"x": 1} }  \r\n{"text":"3"}')
    (tmp_path / "b.csv").write_bytes(b'text,n\r\n1,x\r\n"2\n",y\r\n3,z')
    sources = opened(tmp_path)
    for part in sources.parts:
        part.check_flag()
    write_all(sources, tmp_path / "out", None, batch, FLAGS, flag=True)
    data = (tmp_path / "out/kept/a.jsonl").read_bytes()
    assert data.startswith(b'{"text": "1","cluster":"a","duplicate_of":null,"similarity":null}\n  {"text":"2"')
    assert not data.endswith(b"\n")
    rows = [json.loads(line) for line in data.splitlines()]
    assert rows[1] == {"text": "2", "n": {"x": 1}, "cluster": 'x,"y"', "duplicate_of": "a", "similarity": 0.875}
    with open(tmp_path / "out/kept/b.csv", newline="") as file:
        records = list(csv.reader(file))
    assert records == [
        ["text", "n", "cluster", "duplicate_of", "similarity"],
        ["1", "x", "a", "", ""],
        ["2\n", "y", 'x,"y"', "a", "0.875"],
        ["3", "z", "", "", ""],
    ]


@pytest.mark.parametrize("kind", ["parquet", "feather", "object"])
def test_tables(tmp_path: Path, kind: str) -> None:
    table = pa.table({"text": ["1", "2", "3"]})
    path = tmp_path / f"in.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "feather":
        pa.feather.write_feather(table, path)
    sources = opened(table if kind == "object" else path)
    sources.parts[0].check_flag()
    write_all(sources, tmp_path / "out", None, 8, FLAGS, flag=True)
    (kept,) = (tmp_path / "out/kept").iterdir()
    back = pa.feather.read_table(kept) if kind == "feather" else pq.read_table(kept)
    assert back.column_names == ["text", "cluster", "duplicate_of", "similarity"]
    assert back.select(FLAGS.column_names).equals(FLAGS)


def test_names_that_are_taken(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"1","cluster":3}\n')
    (tmp_path / "b.csv").write_bytes(b"text,similarity\n1,2\n")
    pq.write_table(pa.table({"text": ["1"], "duplicate_of": ["2"]}), tmp_path / "c.parquet")
    for part in opened(tmp_path).parts:
        with pytest.raises(OptionError, match="a column of that name exists"):
            part.check_flag()
    # Further down in a file of JSON lines the name is met when the row is first read, long before writing.
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"1"}\n' * 5000 + b'{"text":"1","cluster":3}\n')
    sources = opened(tmp_path / "a.jsonl")
    sources.parts[0].check_flag()
    with pytest.raises(OptionError, match="a row has a key of that name"):
        read_all(sources)


def test_texts_have_no_columns_to_add_to(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    for lines in (False, True):
        with pytest.raises(OptionError, match=r"leave it out and see clusters\.parquet"):
            opened(tmp_path, lines=lines).parts[0].check_flag()
