"""A disk that is full is an error that names the file, and nothing half-written stays."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.documents.reading import opened, packed
from twinset.documents import KeptWriter, Part
from twinset.documents.formats import typed_columns
from twinset.documents.parquet import row_groups
from twinset.errors import OutputError

NAMES = ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.jsonl.bz2", "a.jsonl.xz", "a.csv", "a.parquet", "a.arrow", "a.txt"]


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let no file grow beyond `size`: what the system then says is what it says of a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def finish(part: Part, writer: KeptWriter) -> None:
    for chunk in part.chunks(2**20):
        block = chunk.read(whole=True)
        writer.write(block, np.ones(block.rows, bool))
    writer.close()


@pytest.mark.parametrize("name", NAMES)
def test_no_space_left(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_columns, "GROUP_BYTES", 2**16)
    path = tmp_path / name
    noise = [np.random.default_rng(row).bytes(2000).hex() for row in range(100)]
    table = pa.table({"text": noise})
    if name == "a.parquet":
        pq.write_table(table, path)
    elif name == "a.arrow":
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    elif name == "a.csv":
        path.write_text("text\n" + "\n".join(noise))
    elif name == "a.txt":
        path.write_text("".join(noise))
    else:
        lines = "".join(f'{{"text":"{text}"}}\n' for text in noise).encode()
        path.write_bytes(packed(lines, path.suffix if path.suffix != ".jsonl" else ""))
    (part,) = opened(path).parts
    with room_for(30_000):
        writer = part.open_writer(tmp_path / "out", copy=True)
        with pytest.raises(OutputError, match=f"{name}: cannot be written: .*(space|large)"):
            finish(part, writer)
        writer.abort()
    assert [one for one in (tmp_path / "out").rglob("*") if one.is_file()] == []


def test_what_the_disk_says_while_rows_are_still_made_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of space that it promised and did not have, a disk tells once, and perhaps long before the end."""
    monkeypatch.setattr(typed_columns, "GROUP_BYTES", 2**16)
    monkeypatch.setattr(row_groups, "_WORTH_A_START", 2**14)
    really, asked = os.fsync, list[int]()

    def full_at_first(file: int) -> None:
        asked.append(file)
        if len(asked) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        really(file)

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [np.random.default_rng(row).bytes(2000).hex() for row in range(300)]}), path)
    (part,) = opened(path).parts
    writer = part.open_writer(tmp_path / "out")
    monkeypatch.setattr(os, "fsync", full_at_first)
    with pytest.raises(OutputError, match=r"a\.parquet: cannot be written: there is no space left"):
        finish(part, writer)
    writer.abort()
    assert [one for one in (tmp_path / "out").rglob("*") if one.is_file()] == []
