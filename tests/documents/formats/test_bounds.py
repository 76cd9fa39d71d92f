"""Giant rows and decompression bombs cost bounded memory, and are counted like any other unreadable row."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.documents.reading import opened, packed, read_all, write_all
from twinset.documents import MAX_ROW_BYTES
from twinset.documents.formats import byte_rows
from twinset.errors import RowError

# Reads everything in a process of its own and prints the rows, the unreadable ones, and the memory it took.
MEASURE = """
import resource, sys
from pathlib import Path
from twinset.documents import open_sources
from twinset.options import ReadOptions
open_sources([["warm up"]], ReadOptions(), scratch=Path("unused"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = bad = 0
options = ReadOptions(on_error="skip", lines=sys.argv[2] == "lines")
for part in open_sources([sys.argv[1]], options, scratch=Path("unused")).parts:
    for chunk in part.chunks(2**20):
        block = chunk.read()
        rows, bad = rows + block.rows, bad + len(block.unreadable)
print(rows, bad, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def measured(path: Path, how: str = "") -> tuple[int, int, int]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), how], check=True, capture_output=True, text=True, timeout=300
    )
    rows, bad, mebibytes = map(int, done.stdout.split())
    return rows, bad, mebibytes


@pytest.mark.parametrize("kind", ["jsonl", "csv", "txt"])
def test_a_line_of_a_gigabyte(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"in.{kind}"
    head, tail = {"csv": (b"text\n", b"\nfine\n"), "txt": (b"x" * 8192, b"\nfine\n")}.get(
        kind, (b"", b'\n{"text":"fine"}\n')
    )
    size = 2**30 if kind == "jsonl" else 2**28
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(len(head) + size)  # a hole: it reads as zeros and takes no room on the disk
        file.seek(0, os.SEEK_END)
        file.write(tail)
    rows, bad, mebibytes = measured(path, "lines" if kind == "txt" else "")
    assert (rows, bad) == (2, 1)
    assert mebibytes < 4 * MAX_ROW_BYTES // 2**20


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("kind", ["jsonl", "md"])
def test_bombs(tmp_path: Path, kind: str, ending: str) -> None:
    path = tmp_path / f"bomb.{kind}{ending}"
    piece = bytes(2**20) if kind == "jsonl" else b"A" * 2**20
    with (
        gzip.open(path, "wb", compresslevel=1)
        if ending == ".gz"
        else pa.CompressedOutputStream(str(path), "zstd") as file
    ):
        for _ in range(300):
            file.write(piece)
    assert path.stat().st_size < 2**22
    rows, bad, mebibytes = measured(path)
    assert (rows, bad) == (1, 1)
    assert mebibytes < 4 * MAX_ROW_BYTES // 2**20


def test_a_bomb_of_many_rows(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl.xz"
    path.write_bytes(packed(b'{"text":"the same again"}\n' * 1_500_000, ".xz"))
    rows, bad, mebibytes = measured(path)
    assert (rows, bad) == (1_500_000, 0)
    assert mebibytes < 100


@pytest.mark.parametrize("batch", [64, 300, 2**20])
def test_giants_among_other_rows(tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_rows, "MAX_ROW_BYTES", 1000)
    giant = b'{"text":"' + b"x" * 3000 + b'"}\n'
    path = tmp_path / "in.jsonl"
    path.write_bytes(giant + b'{"text":"a"}\n\n' + giant + giant + b'{"text":"b"}\nbad\n' + giant.rstrip())
    with pytest.raises(RowError, match="longer than 128 MiB") as error:
        read_all(opened(path), batch)
    assert error.value.where == f"{path.as_posix()}, line 1"
    sources = opened(path, on_error="skip")
    rows = read_all(sources, batch)
    assert rows.texts == [None, b"a", None, None, b"b", None, None]
    assert [row for row, _ in rows.unreadable] == [0, 2, 3, 5, 6]
    assert [reason.split(":")[0] for _, reason in rows.unreadable] == ["line 1", "line 4", "line 5", "line 7", "line 8"]
    write_all(sources, tmp_path / "out", lambda part, row: row in (1, 4), batch)
    assert (tmp_path / "out/kept/in.jsonl").read_bytes() == b'{"text":"a"}\n{"text":"b"}\n'


@pytest.mark.parametrize("batch", [64, 300, 2**20])
def test_giant_records(tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_rows, "MAX_ROW_BYTES", 1000)
    path = tmp_path / "in.csv"
    giant = b'"' + b"x,\n" * 1000 + b'",1\n'
    path.write_bytes(b"text,n\na,1\n" + giant + b"b,1\nc\n" + giant.rstrip())
    rows = read_all(opened(path, on_error="skip"), batch)
    assert rows.texts == [b"a", None, b"b", None, None]
    assert [reason.split(":")[0] for _, reason in rows.unreadable] == ["line 3", "line 1005", "line 1006"]


def test_a_text_that_is_too_long_can_be_left_out(tmp_path: Path) -> None:
    with open(tmp_path / "a.txt", "wb") as file:
        file.write(b"words")
        file.truncate(MAX_ROW_BYTES + 1)  # a hole takes no room
        file.seek(0)
        file.write(b"words " * 2000)
    (tmp_path / "b.txt").write_text("more words")
    with pytest.raises(RowError, match='longer than 128 MiB, the maximum; use on_error="skip" to skip such files'):
        read_all(opened(tmp_path))
    rows = read_all(opened(tmp_path, on_error="skip"))
    assert (rows.texts, [row for row, _ in rows.unreadable]) == ([None, b"more words"], [0])
