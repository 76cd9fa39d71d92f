"""Ctrl-C leaves nothing half-written: exit code 130, one line, no traceback, no output, no state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability.command import (
    STATE,
    Done,
    at_once,
    bytes_of,
    documents,
    environment,
    nothing_left,
    struck,
    twinset,
    write_lines,
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("stopped") / "in.jsonl", documents(3000))


def stopped(done: Done) -> None:
    assert done.code == 130, (done.code, done.err)
    assert done.out == ""
    assert done.lines == ["twinset: stopped; nothing half-written is left"], done.err
    assert "Traceback" not in done.err
    assert "Exception ignored" not in done.err


MOMENTS = [
    ("numba/core/", 20),
    ("in.jsonl", 3),
    (f"result{STATE}/keys", 1),
    ("manifest.json", 1),
    ("manifest.json", 3),
    ("/out/kept/in.jsonl", 1),
    ("/out/pairs.parquet", 1),
    ("/out/summary.json", 1),
]


def test_dedup_stopped_at_any_moment(tmp_path: Path, source: Path) -> None:
    def check(number: int, word: str, at: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        done = struck("INT", at, word, "dedup", source, "-o", folder / "result", scratch=folder / "scratch")
        stopped(done)
        nothing_left(folder / "result", folder / "scratch")

    at_once([lambda number=number, one=one: check(number, *one) for number, one in enumerate(MOMENTS)])


def test_pairs_stopped(tmp_path: Path, source: Path) -> None:
    scratch = tmp_path / "scratch"
    out = tmp_path / "result.csv"
    stopped(struck("INT", 2, "manifest.json", "pairs", source, "-o", out, scratch=scratch))
    nothing_left(out, scratch)
    stopped(struck("INT", 1, "out.csv", "pairs", source, scratch=scratch))
    assert list(scratch.iterdir()) == []


def test_stopped_while_kernels_are_compiled(tmp_path: Path, source: Path) -> None:
    cache = tmp_path / "cache"
    for at in (3, 9, 14):
        done = struck(
            "INT", at, str(cache), "dedup", source, "-o", tmp_path / "result", scratch=tmp_path / "scratch",
            env={"XDG_CACHE_HOME": str(cache), "NUMBA_CACHE_DIR": ""},
        )  # fmt: skip
        stopped(done)
        nothing_left(tmp_path / "result", tmp_path / "scratch")
    assert "compiling" in done.err


def test_stopped_again_and_again_while_it_cleans_up(tmp_path: Path, source: Path) -> None:
    """An impatient person: what is not removed then must at least not look like an output."""
    out = tmp_path / "result"
    run = subprocess.Popen(
        [sys.executable, "-m", "twinset", "dedup", str(source), "-o", str(out), "--quiet"],
        stderr=subprocess.PIPE, env=environment(tmp_path / "scratch"), text=True,
    )  # fmt: skip
    state = Path(f"{out}{STATE}")
    while not state.exists() and run.poll() is None:
        pass
    for _ in range(3):
        if run.poll() is None:
            os.kill(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=600)
    assert "Traceback" not in err
    assert run.returncode == 130
    assert not out.exists()
    assert twinset("dedup", source, "-o", out).code == 0
    assert not state.exists()


def test_stopping_a_run_that_replaces_leaves_the_old_output(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "result"
    assert twinset("dedup", source, "-o", out, "--threshold", "0.5").code == 0
    before = bytes_of(out)
    done = struck("INT", 1, "/out/summary.json", "dedup", source, "-o", out, "--force")
    stopped(done)
    assert bytes_of(out) == before
    assert not Path(f"{out}{STATE}").exists()
