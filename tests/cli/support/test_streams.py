"""Streams that are closed or full: one line that says which, and nothing that looks like a mistake of the program."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CLOSED = "twinset: standard output is closed; name a file for the result with -o FILE"
FULL = "twinset: cannot write to standard output: no space left on device"
CASES = {
    "pairs corpus.jsonl --quiet >&-": CLOSED,
    "pairs corpus.jsonl --quiet --json >&-": CLOSED,
    "index query any.twinset --string a --quiet >&-": CLOSED,
    "pairs - --quiet <&-": "twinset: standard input is closed, and - reads from it; name a file, a folder or a pattern",
    "pairs corpus.jsonl --quiet >/dev/full": FULL,
    "compare --string a --string b >/dev/full": FULL,
    "explain --string 'a b' --string b >/dev/full": FULL,
    "--version >/dev/full": FULL,
}


def test_each_is_told_in_one_line(corpus: Path) -> None:
    def run(words: str) -> tuple[str, int, str]:
        command = f"{sys.executable} -m twinset {words}"
        environment = {**os.environ, "COLUMNS": "80"}
        done = subprocess.run(
            command, shell=True, cwd=corpus.parent, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
        return words, done.returncode, done.stderr

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, CASES)) == [(words, 2, f"{said}\n") for words, said in CASES.items()]
