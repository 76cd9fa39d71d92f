"""Runs the command line and strikes it with a signal at an exact moment: before its Nth act on certain files.

    python struck.py KILL 7 out.twinset-state dedup in.jsonl -o out

Several numbers, such as ``7,8,9``, are several blows. With ``list`` for the signal the acts are printed instead.
Python's audit events tell of each act before it happens, in whichever thread; nothing of the program is replaced. A
word such as ``call:_notify`` counts calls of functions whose names begin so, in the main thread.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any

from twinset.cli import main

ACTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree", "os.truncate")


def strike(blow: str, numbers: set[int], word: str) -> list[str]:
    """Watch all acts from now on; gives the list they are noted in."""
    seen: list[str] = []

    def note(act: str) -> None:
        seen.append(act)
        if len(seen) in numbers:
            os.kill(os.getpid(), signal.Signals[f"SIG{blow}"])

    def watch(event: str, values: tuple[Any, ...]) -> None:
        if event not in ACTS:
            return
        paths = [os.fsdecode(value) for value in values[:2] if isinstance(value, (str, bytes, os.PathLike))]
        if not any(word in path for path in paths):
            return
        note(" ".join([event, *paths]))

    def call(frame: FrameType, event: str, value: object) -> None:
        if event == "call" and frame.f_code.co_name.startswith(word.removeprefix("call:")):
            note(frame.f_code.co_name)

    if word.startswith("call:"):
        sys.setprofile(call)
    else:
        sys.addaudithook(watch)
    return seen


if __name__ == "__main__":
    # A shell without job control has background commands ignore Ctrl-C, and with them these tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    noted = strike(sys.argv[1], set(map(int, sys.argv[2].split(","))), sys.argv[3])
    code = main(sys.argv[4:])
    if sys.argv[1] == "list":
        sys.stdout.write("\n".join(noted) + "\n")
    sys.exit(code)
