"""Digests of files of any size, and of what is no plain file."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from twinset.errors import SourceError
from twinset.system import digests


def some(size: int) -> bytes:
    return hashlib.shake_128(b"some bytes").digest(size)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 2**18 - 1, 2**18, 2**18 + 1, 3 * 2**20 + 3])
def test_digest_of_a_file_of_any_size(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(some(size))
    assert digests.file_digest(path, "file") == sha256(some(size))


def test_a_file_that_vanished_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"the file.*cannot be read: No such file"):
        digests.file_digest(tmp_path / "file", "the file")


def test_what_tells_no_size_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(some(100_000),))
    writer.start()
    assert digests.file_digest(pipe, "pipe") == sha256(some(100_000))
    writer.join()
