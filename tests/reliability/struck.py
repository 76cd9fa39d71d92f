"""Runs the command line and strikes it with a signal at an exact moment: before its Nth act on certain files.

    python struck.py KILL 7 out.twinset-state dedup in.jsonl -o out

With ``list`` for the signal the acts are printed instead. Python's audit events tell of each act before it happens, in
whichever thread; nothing of the program is replaced.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from twinset.cli import main

ACTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree", "os.truncate")


def strike(blow: str, number: int, word: str) -> list[str]:
    """Watch all acts from now on; gives the list they are noted in."""
    seen: list[str] = []

    def watch(event: str, values: tuple[Any, ...]) -> None:
        if event not in ACTS:
            return
        paths = [os.fsdecode(value) for value in values[:2] if isinstance(value, (str, bytes, os.PathLike))]
        if not any(word in path for path in paths):
            return
        seen.append(" ".join([event, *paths]))
        if len(seen) == number:
            os.kill(os.getpid(), signal.Signals[f"SIG{blow}"])

    sys.addaudithook(watch)
    return seen


if __name__ == "__main__":
    noted = strike(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    code = main(sys.argv[4:])
    if sys.argv[1] == "list":
        sys.stdout.write("\n".join(noted) + "\n")
    sys.exit(code)
