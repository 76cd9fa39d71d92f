"""Progress and tables."""

from __future__ import annotations

import fcntl
import itertools
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len

from twinset.cli.screen import pairs_table, show
from twinset.cli.support import progress
from twinset.schema import SCORES, SHOWN


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
    monkeypatch.setenv("COLUMNS", "70")
    numbers = {"similarity": 0.9, "left_in_right": 1.0, "right_in_left": 0.9}
    row = {"left": "a" * 90, "right": "[b]" * 30, **numbers}
    pairs_table.print_rows([row] * 3, total=1234)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 70 for line in lines)
    assert lines[0].split() == ["left", "right", "similarity"]
    assert "aaaaaaaaaaaa…aaaaaaaaaaaa" in lines[1]
    assert "[b][b][b]" in lines[1]
    assert lines[-2:] == [
        "the most similar 3 of 1,234 pairs; -o FILE writes all",
        "a wider window also shows: left in right, right in left",
    ]


def test_each_kind_of_score_is_shown_in_its_own_way(capsys: pytest.CaptureFixture[str]) -> None:
    scores = {"similarity": 0.99996, "standard_error": 0.0123, "estimate": True}
    pairs_table.print_rows([{"left": "a", "right": "b", **scores}], total=1)
    pairs_table.print_rows([{"left": "a", "right": "b", "distance": 12.5}], total=1)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [lines[1], lines[3]] == [["a", "b", "0.9999", "0.0123", "true"], ["a", "b", "12.5"]]


def test_a_name_is_shown_in_one_way() -> None:
    for column in itertools.chain.from_iterable(SCORES.values()):
        assert {SHOWN[name] for name in (column.name, column.removed, column.answer)} == {column.shown}


def test_the_table_shows_the_best_pairs_and_ids_that_differ(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    start, end = "https://example.org/archive/of/the/news/2024/", "/a-long-title-that-both-of-them-have.html"
    similarities = [0.8 + (number * 37 % 100) / 1000 for number in range(100)]
    table = pa.table(
        {
            "left": [f"{start}{number:03}a{end}" for number in range(100)],
            "right": [f"{start}{number:03}b{end}" for number in range(100)],
            "similarity": similarities,
            "left_in_right": [1.0] * 100,
            "right_in_left": [1.0] * 100,
        }
    )
    pq.write_table(table, tmp_path / "pairs.parquet", row_group_size=7)
    pairs_table.print_pairs(tmp_path / "pairs.parquet", 100, sort=True)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    shown = [float(line[2]) for line in lines[1:51]]
    assert shown == pytest.approx(sorted(similarities, reverse=True)[:50], abs=1e-4)
    assert all(left != right for left, right, _ in lines[1:51])
    assert pq.read_table(tmp_path / "pairs.parquet")["similarity"].to_pylist() == similarities


def test_wide_letters_align(capsys: pytest.CaptureFixture[str]) -> None:
    show.facts([("书店", 1), ("book", 2), ("ตลาดน้ำ", 3)])
    lines = capsys.readouterr().out.splitlines()
    assert {cell_len(line) for line in lines} == {cell_len(lines[0])}
    for width in (3, 7, 8, 30):
        assert cell_len(show.shortened("映画館の上映時間は毎日変わります", width)) <= width


@pytest.mark.parametrize("width", [60, 40, 30, 24])
def test_a_table_has_fewer_numbers_where_not_all_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    row = {"left": "", "right": "b" * 90, "similarity": 0.99996, "left_in_right": 1.0, "right_in_left": 0.9}
    pairs_table.print_rows([row], total=1)
    head, first, *rest = capsys.readouterr().out.splitlines()
    assert all(len(line) <= width for line in (head, first, *rest))
    assert head.split() == ["left", "right", "similarity"]
    assert first.split()[::2] == ["''", "0.9999"]
    assert " ".join(" ".join(rest).split()) == "a wider window also shows: left in right, right in left"


def in_a_terminal(command: list[str], folder: Path, width: int | None = None) -> str:
    """Run a command with its output on a terminal of its own; give all that it wrote there."""
    here, there = pty.openpty()
    environment = dict(os.environ)
    if width is not None:
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        environment.pop("COLUMNS", None)
    written = b""
    with subprocess.Popen(command, cwd=folder, stdin=there, stdout=there, stderr=there, env=environment) as child:
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


@pytest.mark.parametrize("width", [100, 60, 50, 40, 30, 16])
def test_bars_fit_any_window(corpus: Path, width: int) -> None:
    """A line that is longer than the window is broken by the terminal, and the bars would be drawn over each other."""
    command = [sys.executable, "-m", "twinset", "dedup", corpus.name, "-o", "OUT"]
    shown = in_a_terminal(command, corpus.parent, width).partition("documents\r\n")[0]
    lines = [re.sub(r"\x1b\[[\d;?]*\w", "", line) for line in re.split(r"[\r\n]|\x1b\[\d*[AJK]", shown)]
    assert max(map(len, lines)) <= width
    last = [line.rstrip() for line in lines if line.startswith("writing")][-1]
    assert last.split()[0] == "writing"
    assert "100%" in last
    assert ("━" in last) is (width >= 40)
    assert (re.search(r"\d:\d\d:\d\d", last) is not None) is (width >= 50)
    assert any(line.startswith("reading and sketching"[: width - 6]) for line in lines)


def test_long_lines_are_folded_in_a_window(corpus: Path) -> None:
    command = [sys.executable, "-m", "twinset", "pairs", corpus.name, "-o", "pairs.csv"]
    shown = in_a_terminal(command, corpus.parent, 40).partition("pairs of 6 documents")[2].replace("\r", "")
    lines = shown.splitlines()
    assert max(map(len, lines[1:])) <= 40
    assert "audit: 4 distinct documents compared exactly with all others" in " ".join(lines)


def test_counts_of_one() -> None:
    assert progress.amount(1, "thresholds") == "1 threshold"
    assert progress.amount(0.6, "documents") == "1 document"
    assert progress.amount(2, "bands") == "2 bands"


def test_similarities_are_cut_in_tables_as_everywhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is below 1, or below a threshold, is not shown as if it were at it."""
    monkeypatch.setenv("COLUMNS", "100")
    row = {"left": "a", "right": "b", "similarity": 0.99996, "left_in_right": 0.79996, "right_in_left": 1.0}
    pairs_table.print_rows([row], total=1)
    assert capsys.readouterr().out.splitlines()[-1].split() == ["a", "b", "0.9999", "0.7999", "1.0000"]
    missed = {"left": "a", "right": "b", "similarity": 0.79996}
    seen = {"documents": 9, "pairs": 7, "found": 4, "recall": 0.57, "low": 0.2, "high": 0.99999, "missed": [missed] * 3}
    first, second = show.audit(seen)
    assert "recall 0.57 (95 %: 0.2 to 0.9999)" in first
    assert second.endswith("such as 'a', 'b' at 0.7999")
