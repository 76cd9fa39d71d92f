"""Apply small deliberate defects to a copy of the tree, one at a time, and see whether the tests notice.

`python -m tests.soak.mutations` tries all of them and fails under 95 % caught; words after it choose those whose file
or text holds one of them. ``--check`` only says whether the list still fits the source; ``--trusting`` does not run the
tests before there is a defect. TWINSET_MUTATION_SECONDS limits the tests of one defect; TWINSET_MUTATION_FOLDER keeps
the copy, with its kernels, for the next run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.soak.defects import DEFECTS, Defect

ROOT = Path(__file__).parents[2]
LEAST = 0.95
LIMIT = float(os.environ.get("TWINSET_MUTATION_SECONDS", "600"))
"""Seconds for the tests of one defect; one that makes them hang is caught."""


def place_of(defect: Defect) -> str:
    """Return the path of the file of a defect in the repository."""
    return defect.file if defect.file.startswith("website/") else f"src/twinset/{defect.file}"


def fitting(defects: list[Defect]) -> list[str]:
    """What is wrong with the list itself."""
    wrong = []
    for one in defects:
        path = ROOT / place_of(one)
        times = path.read_text("utf-8").count(one.old) if path.is_file() else 0
        if times != 1:
            wrong.append(f"{one.file}: {one.old!r} occurs {times} times; it must occur once")
        named = [word.split("::")[0] for word in one.tests.split(" -k ")[0].split()]
        wrong += [f"{one.file}: there is no {name}" for name in named if not (ROOT / name).exists()]
    wrong += [
        f"{one.file}: {one.old!r} is listed {times} times" for one, times in Counter(defects).items() if times > 1
    ]
    return wrong


class Tree:
    """A copy of the sources and tests, in which one file at a time is another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        built = ("__pycache__", ".venv", ".git", "*.egg-info", ".*_cache", "build", "dist", "site")
        left_out = shutil.ignore_patterns(*built)
        shutil.copytree(ROOT, folder, ignore=left_out, dirs_exist_ok=True)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(folder / "src"),
            "NUMBA_CACHE_DIR": str(folder / "kernels"),  # those with defects go with the tree
            "HYPOTHESIS_PROFILE": "found",
            "CI": "",
        }
        told = self._python("-c", "import twinset; print(twinset.__file__)").stdout.strip()
        if Path(told).parents[2] != folder:
            raise SystemExit(f"the copy in {folder} is not what is tested, but {told}")

    def _python(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True,
            timeout=LIMIT, check=False,
        )  # fmt: skip

    def run(self, tests: str) -> tuple[bool, str]:
        """Whether the tests pass, and the last lines they wrote."""
        paths, _, chosen = tests.partition(" -k ")
        words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *paths.split()]
        words += ["-k", chosen] if chosen else []
        try:
            done = self._python(*words)
        except subprocess.TimeoutExpired:
            return False, f"no end after {LIMIT:.0f} seconds"
        if done.returncode in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise SystemExit(f"pytest {tests} tests nothing:\n{done.stdout}{done.stderr}")
        return done.returncode == 0, (done.stdout.strip().splitlines() or [done.stderr[-300:]])[-1]

    def survives(self, defect: Defect) -> tuple[bool, str]:
        """Whether no test notices a defect."""
        path = self.folder / place_of(defect)
        text, about = path.read_text("utf-8"), path.stat()
        path.write_text(text.replace(defect.old, defect.new), "utf-8")
        try:
            return self.run(defect.tests)
        finally:
            path.write_text(text, "utf-8")
            os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))  # its compiled kernels are still right


def main(words: list[str]) -> int:
    """Check the list, then each defect; prints a table."""
    wrong = fitting(DEFECTS)
    if wrong:
        print(*wrong, sep="\n")
        return 2
    if words == ["--check"]:
        print(f"{len(DEFECTS)} defects fit the source")
        return 0
    trusting = "--trusting" in words
    words = [word for word in words if word != "--trusting"]
    chosen = [one for one in DEFECTS if not words or any(word in one.file or word in one.old for word in words)]
    survived = 0
    with tempfile.TemporaryDirectory(prefix="twinset-mutations-") as folder:
        tree = Tree(Path(os.environ.get("TWINSET_MUTATION_FOLDER") or folder).resolve())
        sound: set[str] = set()
        for one in chosen:
            if one.tests not in sound and not trusting:
                passed, last = tree.run(one.tests)
                if not passed:
                    raise SystemExit(f"without any defect, pytest {one.tests} fails: {last}")
                sound.add(one.tests)
            started = time.monotonic()
            alive, last = tree.survives(one)
            survived += alive
            outcome = "SURVIVED" if alive else "caught"
            place = f"{one.file}: {' '.join(one.old.split())[:60]}"
            print(f"{outcome:8} {time.monotonic() - started:5.0f} s  {place:100}  {last[:80]}", flush=True)
    share = 1 - survived / len(chosen)
    print(
        f"{len(chosen) - survived} of {len(chosen)} defects caught ({100 * share:.1f} %; at least {100 * LEAST:.0f} %)"
    )
    return int(share < LEAST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
