"""Digests of files: those begun beforehand are used, unless the file is another by now."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from twinset.errors import SourceError
from twinset.system import digests

PIECE = digests._PIECE


def some(size: int) -> bytes:
    return hashlib.shake_128(b"some bytes").digest(size)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("size", [0, 1, 4095, 4096, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 3])
def test_digest_of_a_file_of_any_size(tmp_path: Path, size: int, begun: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(some(size))
    if begun:
        digests.begin([str(path)])
    assert digests.file_digest(path, "file") == sha256(some(size))


def test_many_files_are_begun_and_those_that_are_none_are_left_out(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(300)]
    for number, path in enumerate(paths):
        path.write_bytes(some(number))
    digests.begin([str(tmp_path), str(tmp_path / "missing"), *map(str, paths)])
    assert [digests.file_digest(path, "") for path in paths] == [sha256(some(number)) for number in range(300)]


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(some(3 * PIECE))
    digests.begin([str(path)])
    path.write_bytes(some(PIECE // 2))
    os.utime(path, ns=(1, 1))
    assert digests.file_digest(path, "file") == sha256(some(PIECE // 2))
    path.write_bytes(some(PIECE // 2)[::-1])
    assert digests.file_digest(path, "file") == sha256(some(PIECE // 2)[::-1])


def test_a_file_that_vanished_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(some(PIECE))
    digests.begin([str(path)])
    path.unlink()
    with pytest.raises(SourceError, match=r"the file.*cannot be read: No such file"):
        digests.file_digest(path, "the file")


def test_what_tells_no_size_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(some(100_000),))
    writer.start()
    assert digests.file_digest(pipe, "pipe") == sha256(some(100_000))
    writer.join()
