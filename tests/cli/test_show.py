"""Progress and tables."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from twinset.cli import progress, show


def test_one_line_a_stage(capsys: pytest.CaptureFixture[str]) -> None:
    lines = progress.Lines()
    lines.stage("reading", 10, "documents")
    lines.advance(4)
    lines.advance(6)
    lines.note("something worth saying")
    lines.stage("writing", None, "bytes")
    lines.advance(1_500_000)
    lines.close()
    said = capsys.readouterr()
    assert said.out == ""
    first, second, third = said.err.splitlines()
    assert first == "something worth saying"
    assert second.startswith("reading: 10 documents, ")
    assert third.startswith("writing: 1.5 MB, ")


def test_quiet_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    silent = progress.progress(quiet=True)
    silent.stage("reading", 10, "documents")
    silent.advance(10)
    silent.note("nothing")
    silent.close()
    assert capsys.readouterr() == ("", "")


def test_bars_of_known_and_unknown_length(capsys: pytest.CaptureFixture[str]) -> None:
    bars = progress.Terminal()
    bars.stage("reading", 10, "documents")
    bars.advance(10)
    bars.stage("counting", None, "pairs")
    bars.note("[not markup]")
    bars.close()
    said = capsys.readouterr().err
    assert "[not markup]" in said
    assert "100%" in said


@pytest.mark.parametrize("width", [1, 2, 5, 10, 40])
def test_shortened_text_fits(width: int) -> None:
    for text in ("", "a", "abcdefghij", "x" * 100, "a\nb\x1b[31m"):
        short = show.shortened(text, width)
        assert len(short) <= width
        assert short.isprintable()


def test_a_table_fits_a_narrow_window(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    numbers = {"similarity": 0.9, "left_in_right": 1.0, "right_in_left": 0.9}
    row = {"left": "a" * 90, "right": "[b]" * 30, **numbers}
    show.pairs_table([row] * 3, total=1234)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert "aaaa…aaa" in lines[1]
    assert "[b][…b]" in lines[1] or "…" in lines[1]
    assert lines[-1] == "… and 1,231 more; -o FILE writes all"


def in_a_terminal(command: list[str], folder: Path) -> str:
    """Run a command with its output on a terminal of its own; give all that it wrote there."""
    here, there = pty.openpty()
    written = b""
    with subprocess.Popen(command, cwd=folder, stdin=there, stdout=there, stderr=there) as child:
        os.close(there)
        while select.select([here], [], [], 120)[0]:
            try:
                piece = os.read(here, 65536)
            except OSError:
                break  # the terminal is closed when the command has ended
            if not piece:
                break
            written += piece
    os.close(here)
    assert child.returncode == 0, written.decode()
    return written.decode()


def test_pairs_on_a_terminal_are_a_table_with_bars(corpus: Path) -> None:
    shown = in_a_terminal([sys.executable, "-m", "twinset", "pairs", corpus.name], corpus.parent)
    assert "similarity" in shown
    assert "1.0000" in shown
    assert "━" in shown
