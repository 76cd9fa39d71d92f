"""A cut that is stopped or killed leaves nothing half-written, and the next one is as if nothing had been."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reliability.command import STATE, bytes_of, documents, nothing_left, struck, twinset, write_lines

KILLED = -9
MOMENTS = [
    (f"new{STATE}/scratch-", 2),
    ("/out/removed.parquet", 1),
    ("/out/kept/in.jsonl", 1),
    ("/out/summary.json", 1),
]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recut")
    source = write_lines(folder / "in.jsonl", documents(600))
    assert twinset("dedup", source, "-o", folder / "out", "--floor", ".5", "--quiet").code == 0
    assert twinset("recut", folder / "out", "--threshold", ".9", "-o", folder / "whole", "--quiet").code == 0
    return folder / "out"


@pytest.mark.parametrize(("word", "at"), MOMENTS)
def test_a_cut_that_is_stopped_leaves_nothing(tmp_path: Path, out: Path, word: str, at: int) -> None:
    new, scratch = tmp_path / "new", tmp_path / "scratch"
    done = struck("INT", at, word, "recut", out, "--threshold", ".9", "-o", new, scratch=scratch)
    assert (done.code, done.out) == (130, ""), done.err
    nothing_left(new, scratch)


@pytest.mark.parametrize(("word", "at"), MOMENTS)
def test_a_cut_that_is_killed_is_made_anew(tmp_path: Path, out: Path, word: str, at: int) -> None:
    new = tmp_path / "new"
    words = ("recut", out, "--threshold", ".9", "-o", new)
    assert struck("KILL", at, word, *words).code == KILLED
    assert not new.exists()
    assert twinset(*words, "--quiet").code == 0
    assert bytes_of(new) == bytes_of(out.parent / "whole")
    assert not Path(f"{new}{STATE}").exists()
