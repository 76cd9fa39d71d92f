"""A command that was loaded beforehand is like one that is started: words, folder, variables, streams, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ready

ABOUT_ITSELF = """
import os, sys
print(sys.argv[1:], os.getcwd(), os.environ["COLOUR"], sys.stdin.read(), __name__, os.path.basename(sys.path[0]))
print("and here", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "of its own" / "program.py"
    path.parent.mkdir()
    path.write_text(ABOUT_ITSELF)
    return path


def run(*command: object, **more: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]


@pytest.mark.parametrize("words", [("0", "é", "\udcff"), ("7",)])
def test_a_program_is_as_if_it_were_started(program: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    about = {"cwd": tmp_path, "env": {**os.environ, "COLOUR": "blue", "PYTHONIOENCODING": ":surrogateescape"}}
    started = run(sys.executable, program, *words, input="a line", errors="surrogateescape", **about)
    found = run(ready.folder() / "python-ready", program, *words, input="a line", errors="surrogateescape", **about)
    assert (found.returncode, found.stdout, found.stderr) == (int(words[0]), started.stdout, "and here\n")
    assert started.returncode == found.returncode


def test_the_command_is_as_if_it_were_started(tmp_path: Path) -> None:
    for words in (["--version"], ["pairs", "nowhere.jsonl"], ["compare", "--string", "a b", "--string", "a c"]):
        started = run(sys.executable, "-m", "twinset", *words, cwd=tmp_path)
        found = run(ready.folder() / "twinset", *words, cwd=tmp_path)
        assert (found.returncode, found.stdout, found.stderr) == (
            started.returncode, started.stdout, started.stderr,
        )  # fmt: skip


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_who_is_killed_was_killed(tmp_path: Path, how: signal.Signals) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"import os; os.kill(os.getpid(), {int(how)})")
    assert run(ready.folder() / "python-ready", program).returncode == -how


def test_an_error_that_nobody_catches(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("print('before'); 1 / 0")
    found = run(ready.folder() / "python-ready", "-c", program)
    assert (found.returncode, found.stdout) == (1, "before\n")
    assert found.stderr.endswith("ZeroDivisionError: division by zero\n")
