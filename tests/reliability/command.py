"""The command as a user runs it, the corpora it runs on, and what it leaves behind."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests import ready, run_folder

STRUCK = str(Path(__file__).parent / "struck.py")
STATE = ".twinset-state"
_LEFT_BEHIND = tempfile.TemporaryDirectory(prefix=run_folder.KILLED)  # a killed run cannot remove its temporary folder
WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er") for c in ("", "n", "ta")]


class Done(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def summary(self) -> dict[str, Any]:
        """What --json printed."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def lines(self) -> list[str]:
        """What was said on stderr, without progress."""
        return [line for line in self.err.splitlines() if line.startswith("twinset:")]

    def refused(self, *words: str) -> str:
        """Check that it ended with one clear line that holds these words, and give the line."""
        assert self.code == 2, (self.code, self.err)
        assert "Traceback" not in self.err
        assert "Exception ignored" not in self.err
        assert len(self.lines) == 1, self.err
        for word in words:
            assert word in self.lines[0], (word, self.lines[0])
        return self.lines[0]


def run_seed() -> int:
    """The seed of this run of the tests (TWINSET_TEST_SEED): kills come at moments that follow from it."""
    seed = int(os.environ["TWINSET_TEST_SEED"])
    print(f"TWINSET_TEST_SEED={seed}")
    return seed


def environment(scratch: Path | None, **more: str) -> dict[str, str]:
    """The variables of a run; `scratch` is where it puts temporary files, so that what is left there is seen."""
    scratch = scratch or Path(_LEFT_BEHIND.name)
    scratch.mkdir(exist_ok=True)
    return {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TMPDIR": str(scratch), **more}


def twinset(*words: object, scratch: Path | None = None, **more: Any) -> Done:
    """Run ``twinset`` with words: one that was loaded beforehand, or its start would be most of the run.

    A limit that is set on its process (`preexec_fn`) needs one that is started.
    """
    if "preexec_fn" in more:
        return started(*words, scratch=scratch, **more)
    return _run([str(ready.folder() / "twinset")], words, environment(scratch), more)


def started(*words: object, scratch: Path | None = None, **more: Any) -> Done:
    """Run ``twinset`` with words, from the start: no two such runs have anything in common."""
    return _run([sys.executable, "-m", "twinset"], words, environment(scratch), more)


def struck(
    blow: str, at: int | str, word: str, *words: object, scratch: Path | None = None, env: dict[str, str] | None = None,
    **more: Any,
) -> Done:  # fmt: skip
    """Run ``twinset``, and send it a signal just before its act number `at` on a path that holds `word`.

    Several numbers, such as "3,4", are several signals. Ctrl-C may come while it starts, so there it is started; what
    is killed was loaded beforehand.
    """
    loaded = blow in ("KILL", "list") and not env and "preexec_fn" not in more
    python = [str(ready.folder() / "python-ready")] if loaded else [sys.executable]
    return _run([*python, STRUCK, blow, str(at), word], words, environment(scratch, **(env or {})), more)


def acts(word: str, *words: object) -> list[str]:
    """All acts of an undisturbed run on paths that hold `word`, in order; the first is number 1."""
    done = struck("list", 0, word, *words, "--quiet")
    assert done.code == 0, done.err
    return done.out.splitlines()


def _run(command: list[str], words: Iterable[object], variables: dict[str, str], more: dict[str, Any]) -> Done:
    more = {"capture_output": True, "timeout": 600, "check": False, "stdin": subprocess.DEVNULL, **more}
    done = subprocess.run([*command, *(str(word) for word in words)], env=variables, **more)
    return Done(done.returncode, _text(done.stdout), _text(done.stderr))


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def at_once(runs: Sequence[Any]) -> list[Any]:
    """Call each with no words, two at a time: most of a short run is Python getting ready."""
    with ThreadPoolExecutor(2) as pool:
        return [future.result() for future in [pool.submit(run) for run in runs]]


def bytes_of(place: Path) -> dict[str, str]:
    """A digest of every file of an output; of summary.json all but its timings, which say how the run went."""
    files = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
    found = {}
    for path in files:
        data = path.read_bytes()
        if path.name == "summary.json":
            summary = json.loads(data)
            del summary["timings"]
            data = json.dumps(summary).encode()
        found[path.relative_to(place).as_posix()] = hashlib.sha256(data).hexdigest()
    assert found
    return found


def nothing_left(place: Path, scratch: Path | None = None) -> None:
    """Check that neither an output nor anything on the way to one is there."""
    assert not place.exists()
    assert not Path(f"{place}{STATE}").exists()
    if scratch is not None:
        assert list(scratch.iterdir()) == []


def documents(count: int, seed: int = 1, length: int = 60, family: int = 3) -> list[dict[str, Any]]:
    """Rows with id, text and score: families of near copies, a few identical ones, a few empty ones."""
    dice = random.Random(seed)
    rows: list[dict[str, Any]] = []
    words: list[str] = []
    for number in range(count):
        if number % family == 0:
            size = dice.randint(length // 2, 2 * length)
            words = [dice.choice(WORDS) + str(dice.randrange(1000)) for _ in range(size)]
        elif number % 7:
            words = [*words, f"tail{number}"]
        text = "" if number % 97 == 96 else " ".join(words)
        rows.append({"id": f"doc-{number:06d}", "text": text, "score": dice.randrange(5), "year": 2000 + number % 20})
    return rows


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
