"""The command, run as a user runs it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from twinset.cli import main

Run = Callable[..., subprocess.CompletedProcess[str]]
Call = Callable[..., "Called"]


@pytest.fixture
def process(tmp_path: Path) -> Run:
    """Run ``twinset`` with words, in a process and a folder of its own; `more` are words of `subprocess.run`."""

    def call(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "twinset", *(str(word) for word in words)]
        environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", **more.pop("env", {})}
        more = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 300, "check": False, **more}
        return subprocess.run(command, env=environment, **more)

    return call


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """As `process`, but within this one, which need not be loaded each time; there is no word but `env`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*words: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        arguments = [str(word) for word in words]
        capfd.readouterr()
        with monkeypatch.context() as changed:
            for name, value in {"COLUMNS": "80", **(env or {})}.items():
                changed.setenv(name, value)
            code = main(arguments)
        return subprocess.CompletedProcess(arguments, code, *capfd.readouterr())

    return call


class Called(NamedTuple):
    """How a command ended that was called within this process."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What ``--json`` printed."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def refusal(self) -> str:
        """The one line on stderr that says what is wrong, progress apart."""
        lines = [line for line in self.err.splitlines() if line.startswith("twinset: ")]
        assert (self.code, len(lines)) == (2, 1), (self.code, self.err)
        assert "Traceback" not in self.err
        return lines[0]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Call:
    """Call ``twinset`` with words, in a folder of its own: as `run`, but without a process for each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*words: object, stdin: bytes | None = None) -> Called:
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        return Called(main([str(word) for word in words]), *capfd.readouterr())

    return call


WORDS = [f"{a}{b}" for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]


def text(seed: int, length: int = 60) -> str:
    """Make a text of words that no other seed makes."""
    return " ".join(f"{WORDS[(seed * 31 + i * i * 7 + i) % len(WORDS)]}{seed}" for i in range(length))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Six documents: two the same, one a near copy of them, one unrelated, one of one word, one empty."""
    near = text(1).replace(" ", " and ", 1)
    texts = {"a": text(1), "b": text(2), "c": text(1), "d": near, "e": "hello", "f": ""}
    file = tmp_path / "corpus.jsonl"
    file.write_text("".join(json.dumps({"id": id, "text": t}) + "\n" for id, t in texts.items()))
    return file
