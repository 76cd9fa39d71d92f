"""Processes that start at once, to be killed: a process that has everything loaded waits, and forks for each.

    python -m tests.reliability.nursery

reads requests as JSON lines. What a child reports it appends to a file, line by line, with one write each: the file is
the list of what was acknowledged, and no kill takes a line back.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KILLED = -signal.SIGKILL
WORKS = (
    "tests.reliability.index.index_work",
    "tests.reliability.index.index_answers",
    "tests.reliability.review.review_work",
)
_DEATH_SIGNAL = 1  # Linux, prctl(2): a child ends with the nursery


class Child:
    """One process of the nursery: its id, and what it has said."""

    def __init__(self, nursery: Nursery, pid: int, out: Path) -> None:
        self.nursery, self.pid, self.out = nursery, pid, out
        self.code: int | None = None

    def said(self) -> list[Any]:
        """All that it reported, in order; a line that a kill cut short is none."""
        data = self.out.read_bytes() if self.out.exists() else b""
        return [json.loads(line) for line in data.split(b"\n")[:-1]]

    def until(self, count: int, seconds: float = 300) -> list[Any]:
        """Wait until it has reported so much, or has ended."""
        end = time.monotonic() + seconds
        while len(found := self.said()) < count and self.running():
            assert time.monotonic() < end, f"only {found} after {seconds} s"
            time.sleep(0.002)
        return self.said()

    def running(self) -> bool:
        if self.code is None:
            self.code = self.nursery.ask({"poll": self.pid})["code"]
        return self.code is None

    def kill(self, how: int = signal.SIGKILL) -> int:
        """End it by a signal, if it has not ended, and wait; its exit code."""
        if self.running():
            os.kill(self.pid, how)  # it cannot be another's number: who was not waited for keeps it
        return self.wait()

    def wait(self, seconds: float = 300) -> int:
        """Wait for its end; its exit code."""
        began, pause = time.monotonic(), 0.002
        while self.running():
            if time.monotonic() > began + seconds:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"a child hangs; it said {self.said()[-3:]}")
            time.sleep(pause)
            pause = min(1.2 * pause, 0.05)  # to ask takes two processes
        assert self.code is not None
        return self.code

    def ended_well(self, seconds: float = 300) -> list[Any]:
        """Wait for its end, which must be in good order; what it reported."""
        code = self.wait(seconds)
        assert code == 0, (code, self.said()[-3:], self.complaint())
        return self.said()

    def complaint(self) -> str:
        """What it wrote on stderr."""
        path = self.out.with_suffix(".err")
        return path.read_text("utf-8", "replace") if path.exists() else ""


class Nursery:
    """Starts functions of some modules in processes of their own; one of them has a function `warm_up`."""

    def __init__(self, folder: Path, modules: Sequence[str] = WORKS) -> None:
        self.folder, self.count = folder, 0
        self._children: list[Child] = []
        left = folder / "left-behind"  # who is killed cannot remove a temporary folder
        left.mkdir()
        command, variables = [sys.executable, "-m", __spec__.name, *modules], {**os.environ, "TMPDIR": str(left)}
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def start(self, work: str, *values: Any) -> Child:
        """Start a function with values that JSON can hold."""
        self.count += 1
        out = self.folder / f"child-{self.count}"
        asked = {"start": work, "values": [os.fspath(v) if isinstance(v, Path) else v for v in values], "out": str(out)}
        self._children.append(Child(self, self.ask(asked)["pid"], out))
        return self._children[-1]

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def end_all(self) -> None:
        """Kill those that still run."""
        for child in self._children:
            child.kill()
        self._children = []

    def close(self) -> None:
        self.end_all()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(300)


def _serve() -> None:
    """Answer requests until there are no more."""
    works: dict[str, Callable[..., None]] = {}
    for name in sys.argv[1:]:
        works |= vars(import_module(name))
    works["warm_up"]()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "start" in request:
            pid = os.fork()
            if not pid:
                _live(works[request["start"]], request["values"], request["out"])
            answer: dict[str, Any] = {"pid": pid}
        else:
            done, status = os.waitpid(request["poll"], os.WNOHANG)
            answer = {"code": os.waitstatus_to_exitcode(status) if done else None}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _live(work: Callable[..., None], values: list[Any], out: str) -> None:
    """The life of a child: it does its work, says what it has done, and ends."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    report, complaint = os.open(out, flags), os.open(f"{out}.err", flags)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(complaint, 1)
    os.dup2(complaint, 2)
    code = 1
    try:
        work(lambda what: os.write(report, json.dumps(what).encode() + b"\n"), *values)
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    _serve()
