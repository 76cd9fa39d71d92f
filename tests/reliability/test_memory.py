"""Memory stays within the budget given: a large corpus, files that unpack to far more, rows without end."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.reliability.command import environment
from twinset.documents.parts import MAX_ROW_BYTES

MB = 10**6


MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
sys.stdout.buffer.write(done.stdout + b"%d" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""


def peak_of(*words: object, code: int = 0) -> tuple[int, str]:
    """The most memory a run held, in bytes, and what it said.

    A process in between starts it: the system counts what a process held before it became another program.
    """
    command = [sys.executable, "-m", "twinset", *(str(word) for word in words)]
    run = subprocess.run([sys.executable, "-c", MEASURED, *command], capture_output=True, env=environment(None))
    said, _, peak = run.stdout.decode().rpartition("\n")
    assert run.returncode == code, said
    return int(peak) * (1 if sys.platform == "darwin" else 1024), said


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 150 MB of text, a third of it near copies, as JSON lines and as Parquet."""
    folder = tmp_path_factory.mktemp("memory")
    dice = np.random.default_rng(7)
    pool = np.array([b"%05x " % number for number in range(60_000)])
    texts = list[str]()
    for number in range(56_000):
        if number % 3 != 2:
            words = pool[dice.integers(0, len(pool), int(dice.integers(250, 650)))]
        else:
            words[len(words) // 2] = b"other "
        texts.append(words.tobytes().decode("ascii").rstrip())
    ids = [f"d{number}" for number in range(len(texts))]
    with open(folder / "in.jsonl", "w", encoding="ascii") as file:
        file.writelines(f'{{"id": "{id}", "text": "{text}"}}\n' for id, text in zip(ids, texts, strict=True))
    pq.write_table(pa.table({"id": ids, "text": texts}), folder / "in.parquet", row_group_size=8000)
    assert (folder / "in.jsonl").stat().st_size > 140 * MB
    return folder


@pytest.mark.parametrize("name", ["in.jsonl", "in.parquet"])
def test_the_least_budget_is_kept(tmp_path: Path, corpus: Path, name: str) -> None:
    peak, _ = peak_of("dedup", corpus / name, "-o", tmp_path / "out", "--memory", "512MB", "--threads", "2")
    assert peak <= 1.4 * 512 * MB


def test_the_least_budget_is_kept_by_codes(tmp_path: Path, corpus: Path) -> None:
    """By tf-idf there is a table for all shingles besides."""
    words = ("--sketch", "simhash", "--weights", "tf-idf", "--memory", "512MB", "--threads", "2")
    peak, _ = peak_of("sketch", corpus / "in.parquet", *words, "-o", tmp_path / "codes.parquet")
    assert peak <= 1.1 * 512 * MB


@pytest.mark.parametrize("words", [("passages",), pytest.param(("trim",), marks=pytest.mark.soak)])
def test_the_least_budget_is_kept_by_passages(tmp_path: Path, corpus: Path, words: tuple[str, ...]) -> None:
    peak, _ = peak_of(*words, corpus / "in.parquet", "-o", tmp_path / "out", "--memory", "512MB", "--threads", "2")
    assert peak <= 1.4 * 512 * MB


def packed(path: Path, pieces: int, piece: bytes) -> Path:
    """Write a compressed file of equal pieces, in little time: members of gzip and zstd may follow each other."""
    if path.suffix == ".gz":
        member = gzip.compress(piece * 64, 9)
    else:
        member = pa.compress(piece * 64, "zstd", asbytes=True)
    with open(path, "wb") as file:
        for _ in range(pieces // 64):
            file.write(member)
    return path


def zeros(path: Path) -> Path:
    return packed(path, 640, b"\0" * 2**20)


def one_line(path: Path) -> Path:
    return packed(path, 320, b"word " * 200_000)


@pytest.mark.parametrize("bomb", [zeros, one_line])
@pytest.mark.parametrize("name", ["in.jsonl.zst", "in.txt.gz"])
def test_decompression_bombs(tmp_path: Path, name: str, bomb: Callable[[Path], Path]) -> None:
    path = bomb(tmp_path / name)
    assert path.stat().st_size < 4 * MB
    peak, said = peak_of("dedup", path, "-o", tmp_path / "out", "--memory", "512MB", code=2)
    assert "in." in said
    assert "Traceback" not in said
    assert peak <= 512 * MB
    assert not (tmp_path / "out").exists()


def test_a_line_just_short_enough_and_one_too_long(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    words = ["dedup", path, "-o", tmp_path / "out", "--memory", "2GB", "--json", "--quiet"]

    def write(*sizes: int) -> None:
        with open(path, "wb") as file:
            file.writelines(b'{"text":"' + b"one two three " * (size // 14) + b'"}\n' for size in sizes)

    write(14, MAX_ROW_BYTES + 100)
    _, said = peak_of(*words, code=2)
    assert f"in.jsonl, line 2: the line is longer than {MAX_ROW_BYTES // 2**20} MiB" in said
    write(MAX_ROW_BYTES - 100, MAX_ROW_BYTES + 100, 0)
    peak, said = peak_of(*words, "--on-error", "skip")
    counts = json.loads(said)
    assert (counts["documents"], counts["kept"], counts["unreadable"]) == (3, 2, 1)
    assert peak <= 1.4 * 2000 * MB


def codes(folder: Path) -> list[object]:
    numbers = np.random.default_rng(4).integers(0, 2**62, 1_200_000)
    pq.write_table(pa.table({"code": numbers}), folder / "codes.parquet")
    return ["codes.parquet", "--codes", "code"]


def small_sets(folder: Path) -> list[object]:
    dice = np.random.default_rng(5)
    ends = np.concatenate([[0], np.cumsum(dice.integers(2, 8, 300_000))]).astype(np.int32)
    elements = pa.array(dice.integers(0, 2_000_000, int(ends[-1])))
    pq.write_table(pa.table({"s": pa.ListArray.from_arrays(pa.array(ends), elements)}), folder / "sets.parquet")
    return ["sets.parquet", "--items", "s"]


@pytest.mark.parametrize("make", [codes, small_sets])
def test_many_short_items_stay_within_the_budget(tmp_path: Path, make: Callable[[Path], list[object]]) -> None:
    """What is known of an item takes more than the item; of these it is most of the memory."""
    source, *words = make(tmp_path)
    peak, _ = peak_of("dedup", tmp_path / str(source), *words, "-o", tmp_path / "out", "--memory", "512MB")
    assert peak <= 1.1 * 512 * MB
