"""Ctrl-C leaves no output half-written: exit code 130, one line, no traceback. Finished stages stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reliability.command import (
    STATE,
    Done,
    at_once,
    bytes_of,
    documents,
    nothing_left,
    struck,
    twinset,
    write_lines,
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("stopped") / "in.jsonl", documents(3000))


def stopped(done: Done, state: Path | None = None) -> None:
    """Check how a run was stopped; `state` is what stays of it."""
    assert done.code == 130, (done.code, done.err)
    assert done.out == ""
    stays = f"run the same command again to resume, or delete {state} to discard what is done"
    assert done.lines == [f"twinset: stopped; {stays if state else 'no partial output is left'}"], done.err
    assert "Traceback" not in done.err
    assert "Exception ignored" not in done.err


EARLY = [
    ("numba/core/", 20),
    ("in.jsonl", 3),
    (f"result{STATE}/keys", 1),
    ("manifest.json", 1),
]
LATE = [
    ("manifest.json", 3),
    ("/out/kept/in.jsonl", 1),
    ("/out/pairs.parquet", 1),
    ("/out/summary.json", 1),
]


def test_dedup_stopped_before_the_first_stage_is_finished_leaves_nothing(tmp_path: Path, source: Path) -> None:
    def check(number: int, word: str, at: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        done = struck("INT", at, word, "dedup", source, "-o", folder / "result", scratch=folder / "scratch")
        stopped(done)
        nothing_left(folder / "result", folder / "scratch")

    at_once([lambda number=number, one=one: check(number, *one) for number, one in enumerate(EARLY)])


def test_dedup_stopped_later_resumes_when_it_is_run_again(tmp_path: Path, source: Path) -> None:
    assert twinset("dedup", source, "-o", tmp_path / "whole", "--quiet").code == 0

    def check(number: int, word: str, at: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        out, scratch = folder / "result", folder / "scratch"
        done = struck("INT", at, word, "dedup", source, "-o", out, scratch=scratch)
        stopped(done, Path(f"{out}{STATE}"))
        assert not out.exists()
        assert list(scratch.iterdir()) == []
        again = twinset("dedup", source, "-o", out, "--json")
        assert "resuming an interrupted run" in again.err
        assert "sketches" in again.summary["timings"]["resumed"]
        assert bytes_of(out) == bytes_of(tmp_path / "whole")
        assert not Path(f"{out}{STATE}").exists()

    at_once([lambda number=number, one=one: check(number, *one) for number, one in enumerate(LATE)])


def test_what_cannot_be_read_again_leaves_nothing(tmp_path: Path, source: Path) -> None:
    """Rows of standard input are gone, so there is nothing to resume."""
    out = tmp_path / "result"
    with source.open("rb") as rows:
        stopped(struck("INT", 1, "/out/summary.json", "dedup", "-", "-o", out, stdin=rows))
    nothing_left(out)


def test_pairs_stopped(tmp_path: Path, source: Path) -> None:
    scratch = tmp_path / "scratch"
    out = tmp_path / "result.csv"
    done = struck("INT", 3, "manifest.json", "pairs", source, "-o", out, scratch=scratch)
    stopped(done, Path(f"{out}{STATE}"))
    assert not out.exists()
    assert twinset("pairs", source, "-o", out, "--json").summary["timings"]["resumed"]
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
    done = struck("INT", "12,13,14,15", f"result{STATE}", "dedup", source, "-o", out, "--quiet")
    assert (done.code, done.out) == (130, ""), done.err
    assert not out.exists()
    assert twinset("dedup", source, "-o", out).code == 0
    assert not Path(f"{out}{STATE}").exists()


@pytest.mark.parametrize("number", [1, 5])
def test_a_stop_is_not_lost_in_a_callback(tmp_path: Path, source: Path, number: int) -> None:
    """LLVM calls Python back for each kernel, and nothing can be raised out of that."""
    out = tmp_path / "result"
    done = struck("INT", number, "call:_raw_object_cache", "dedup", source, "-o", out, scratch=tmp_path / "scratch")
    state = Path(f"{out}{STATE}")
    stopped(done, state if state.exists() else None)
    assert not out.exists()
    assert list((tmp_path / "scratch").iterdir()) == []


def test_stopping_a_run_that_replaces_leaves_the_old_output(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "result"
    assert twinset("dedup", source, "-o", out, "--threshold", "0.5").code == 0
    before = bytes_of(out)
    done = struck("INT", 1, "/out/summary.json", "dedup", source, "-o", out, "--force")
    stopped(done, Path(f"{out}{STATE}"))
    assert bytes_of(out) == before
    assert twinset("dedup", source, "-o", out, "--force", "--quiet").code == 0
    assert bytes_of(out) != before
    assert not Path(f"{out}{STATE}").exists()
