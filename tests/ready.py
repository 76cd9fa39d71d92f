"""The command without its start: a process that has everything loaded waits, and forks for each call.

To load Python, Arrow and the kernels takes several times as long as a short run itself. `folder` gives a folder with a
program ``twinset``, which hands its words, folder, variables and streams over to that process and ends as the fork
does, by whatever signal. Whoever sends a signal to a process, or looks at what a start does, or at runs that have
nothing in common, needs the real command.

    python -m tests.ready SOCKET

is the waiting process; it ends when its stdin does.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import selectors
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from twinset.cli import script
from twinset.cli.command_line import COMMANDS
from twinset.compiled import Kernel
from twinset.jobs.warm import kernel_modules

ROOT = Path(__file__).resolve().parents[1]
_LARGEST = 2**20
_STAND_IN = """#!{python} -IS
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    asked = json.dumps([{program!r}, sys.argv, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(line, [len(asked).to_bytes(8, "big")], [0, 1, 2])
    line.sendall(asked)
    code = int(line.recv(8) or b"70")
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@cache
def folder() -> Path:
    """A folder, for the PATH, with `twinset` and `python-ready`; the latter runs a file, after -c as if a text."""
    place = tempfile.TemporaryDirectory(prefix="twinset-ready-")
    address = str(Path(place.name) / "line")
    for name in ("twinset", "python-ready"):
        program = Path(place.name) / name
        program.write_text(_STAND_IN.format(python=sys.executable, address=address, program=name))
        program.chmod(0o755)
    command = [sys.executable, "-m", "tests.ready", address]
    waiting = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    _to_end.callback(place.cleanup)
    _to_end.callback(waiting.communicate)
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == b"ready\n"
    return Path(place.name)


_to_end = ExitStack()


@atexit.register
def close() -> None:
    """End the waiting process, if there is one."""
    _to_end.close()
    folder.cache_clear()


def _serve(address: str) -> None:
    """Answer calls until stdin ends."""
    jobs = (f"jobs.{name}" for name in ("dedup", "evaluate", "pairs", "query_files"))
    for name in (*jobs, *(f"cli.{command}" for command in COMMANDS)):
        import_module(f"twinset.{name}")
    for name in kernel_modules():
        for one in vars(import_module(name)).values():
            if isinstance(one, Kernel):
                one.load()
    gc.freeze()
    atexit.unregister(close)
    with socket.socket(socket.AF_UNIX) as door, selectors.DefaultSelector() as either:
        door.bind(address)
        door.listen(64)
        either.register(door, selectors.EVENT_READ)
        either.register(0, selectors.EVENT_READ)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while all(key.fileobj is door for key, _ in either.select()):
            line, _ = door.accept()
            if not os.fork():
                _answer(line)
            line.close()
            _reap()
    _reap()


def _reap() -> None:
    """Wait for those who have answered: what they used is then counted as this process's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _answer(line: socket.socket) -> NoReturn:
    """Let a fork do what is asked, and tell how it ended."""
    size, streams, _, _ = socket.recv_fds(line, 8, 3)
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += line.recv(_LARGEST)
    pid = os.fork()
    if not pid:
        line.close()
        program, words, where, variables = json.loads(asked)
        _be(program, words, where, variables, streams)
    for stream in streams:
        os.close(stream)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    line.sendall(str(code).encode())
    os._exit(0)


def _be(program: str, words: list[str], where: str, variables: dict[str, str], streams: list[int]) -> NoReturn:
    """Be the process that was asked for, from its first line on."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(where)
    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = None
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - until the end
    sys.stdout = open(1, "w", 1 if os.isatty(1) else -1, "utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = words
    code = 1
    try:
        if program == "twinset":
            script()
        else:
            _run(words[1:])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(end.code + "\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    atexit._run_exitfuncs()
    os._exit(code)


def _run(words: list[str]) -> None:
    """Run a Python program by its name; after ``-c`` as if its text had been given."""
    given = words[0] == "-c"
    path = words[given]
    sys.argv = ["-c", *words[2:]] if given else words
    sys.path.insert(0, "" if given else os.path.dirname(os.path.abspath(path)))
    runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    _serve(sys.argv[1])
