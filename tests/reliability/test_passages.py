"""Passages and trim under the blows that dedup is tested with: kills, Ctrl-C, full disks, hostile texts, memory."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.command import (
    STATE,
    acts,
    at_once,
    bytes_of,
    documents,
    struck,
    twinset,
    write_lines,
)
from tests.reliability.test_no_space import at_most
from tests.reliability.test_resume import Undisturbed, killed_then_run_again
from tests.reliability.test_stopped import stopped

COMMANDS: dict[str, list[str]] = {
    "passages": ["passages", "--least", "12", "--crowd", "5"],
    "trim": ["trim", "--least", "12", "--keep", "highest:score"],
    "lines": ["trim", "--unit", "line"],
}
both = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Families of near copies: many shared runs, and a header that is a crowd."""
    rows = documents(300)
    for number, row in enumerate(rows):
        row["text"] = (
            "the same twelve words stand at the head of every third text here\n" * (number % 3 == 0) + row["text"]
        )
    return write_lines(tmp_path_factory.mktemp("passages") / "in.jsonl", rows)


def command(name: str, source: Path) -> list[object]:
    first, *others = COMMANDS[name]
    return [first, source, *others]


@both
def test_killed_and_run_again(tmp_path: Path, source: Path, name: str) -> None:
    run = Undisturbed(tmp_path / "whole", command(name, source), "result")
    stages = [number for number, act in enumerate(run.acts, 1) if act.endswith("/manifest.json")]
    assert stages
    points = {
        2,
        *stages,
        *(at + 1 for at in stages),
        len(run.acts) // 2,
        run.number_of("/summary.json w"),
        run.number_of("/result"),
    }
    at_once([lambda at=at: killed_then_run_again(run, tmp_path / str(at), "result", at) for at in sorted(points)])


@pytest.mark.parametrize("name", ["passages", "trim"])
def test_stopped(tmp_path: Path, source: Path, name: str) -> None:
    words = command(name, source)
    assert twinset(*words, "-o", tmp_path / "whole", "--quiet").code == 0
    listed = acts(f"list{STATE}", *words, "-o", tmp_path / "list")

    def check(at: int) -> None:
        folder = tmp_path / str(at)
        folder.mkdir()
        out, scratch = folder / "result", folder / "scratch"
        done = struck("INT", at, f"result{STATE}", *words, "-o", out, scratch=scratch)
        state = Path(f"{out}{STATE}")
        stopped(done, state if state.exists() else None)
        assert not out.exists()
        assert list(scratch.iterdir()) == []
        assert twinset(*words, "-o", out, "--quiet").code == 0
        assert bytes_of(out) == bytes_of(tmp_path / "whole")
        assert not state.exists()

    at_once([lambda at=at: check(at) for at in (6, len(listed) - 6)])


@pytest.mark.parametrize("name", ["passages", "trim"])
def test_a_full_disk(tmp_path: Path, source: Path, name: str) -> None:
    words = command(name, source)
    whole = tmp_path / "whole"
    assert twinset(*words, "-o", whole, "--quiet").code == 0
    largest = max(path.stat().st_size for path in whole.rglob("*") if path.is_file())

    def check(size: int) -> None:
        out = tmp_path / str(size)
        twinset(*words, "-o", out, preexec_fn=at_most(size)).refused("no space left")
        assert not out.exists()
        assert twinset(*words, "-o", out, "--quiet").code == 0
        assert bytes_of(out) == bytes_of(whole)

    at_once([lambda size=size: check(size) for size in (100, 6_000, largest - 1)])


HOSTILE: dict[str, list[Any]] = {
    "one word of a megabyte": ["x" * 10**6, "x" * 10**6, "x" * 10**6 + " y"],
    "one repeated word": ["la " * 100_000, "la " * 100_000],
    "two repeated words": ["a b " * 40_000, "b a " * 40_000],
    "a long period": [" ".join(str(n % 60) for n in range(100_000))] * 2,
    "NUL": ["one\0two\0" * 1000, "\0" * 100_000, "one\0two\0" * 900],
    "marks": ["\u2028" * 50_000, "a\u2028" * 25_000, "a\u2028" * 25_000],
    "combining": ["e" + "\u0301" * 25_000, "e\u0301 " * 25_000, "é " * 25_000],
    "lines": ["\n" * 100_000, "x\n" * 50_000, "x\n\n" * 25_000],
    "naughty ids": ["../../etc/passwd one two three", "<script>alert(1)</script> one two three"],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_end_in_seconds(tmp_path: Path, kind: str) -> None:
    rows = [{"id": f"../../{at} '; drop", "text": text} for at, text in enumerate(HOSTILE[kind])]
    source = write_lines(tmp_path / "in.jsonl", rows)
    for number, words in enumerate(
        [
            ["passages", "--least", "20"],
            ["passages", "--least", "5", "--within"],
            ["passages", "--least", "20", "--gap", "10"],
            ["trim", "--least", "10"],
            ["trim", "--least", "10", "--copies", "3"],
            ["trim", "--unit", "line"],
            ["trim", "--unit", "paragraph"],
        ]
    ):
        since = time.perf_counter()
        done = twinset(words[0], source, *words[1:], "-o", tmp_path / f"out{number}", "--json", "--quiet", timeout=60)
        assert done.code == 0, (words, done.err)
        assert time.perf_counter() - since < 20, words
        assert done.summary["documents"] == len(rows)
        if words[0] == "trim":
            assert done.summary["words"] == done.summary["words_kept"] + done.summary["words_cut"]
    assert {path.name.rstrip("0123456789") for path in tmp_path.iterdir()} == {"in.jsonl", "out"}


@pytest.mark.parametrize("name", ["passages", "trim"])
def test_malformed_rows(tmp_path: Path, name: str) -> None:
    path = tmp_path / "in.jsonl"
    good = json.dumps({"id": "good", "text": "some words", "score": 1}).encode()
    path.write_bytes(
        b"\n".join([good, b'{"text": ' + b"[" * 100_000, b'{"text": 5}', b'{"text": "\\ud800 x"}', b"\xff\xfe"])
    )
    twinset(*command(name, path), "-o", tmp_path / "out").refused("in.jsonl", "line 2")
    done = twinset(*command(name, path), "-o", tmp_path / "out", "--on-error", "skip", "--json", "--quiet")
    assert done.code == 0, done.err
    expected = twinset("dedup", path, "-o", tmp_path / "clean", "--on-error", "skip", "--json", "--quiet").summary
    for count in ("documents", "unreadable", "empty", "replaced"):
        assert done.summary[count] == expected[count]
    assert (expected["documents"], expected["unreadable"]) == (5, 4)
