"""Commands timed as a user would: the whole process, best of several, with its peak memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class BenchmarkError(Exception):
    """A command that was to be measured failed, or something it needs is missing."""


@dataclass(frozen=True)
class Setting:
    """Where to work, how much of it, and what the person gave."""

    work: Path
    venvs: Path
    quick: bool
    repeat: int
    memory: str
    mccormick: Path | None
    clough: Path | None
    pages: Path | None = None

    def fresh(self, name: str) -> Path:
        """An output path in the work folder with nothing there yet."""
        path = self.work / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        return path


@dataclass(frozen=True)
class Timing:
    """Seconds of every run, and of the best run its processor time; the highest peak of memory in bytes."""

    seconds: tuple[float, ...]
    cpu: float
    peak: int
    errors: str = ""

    @property
    def best(self) -> float:
        return min(self.seconds)

    def to_dict(self) -> dict[str, Any]:
        return {"seconds": list(self.seconds), "best": self.best, "cpu": self.cpu, "peak": self.peak}


def twinset() -> str:
    """The command of the environment that runs the benchmarks."""
    command = Path(sys.executable).with_name("twinset")
    if not command.exists():
        raise BenchmarkError(f"{command} is not there; install Twinset into this environment: pip install -e .")
    return str(command)


def time_command(command: Sequence[str], repeat: int = 1, env: Mapping[str, str] | None = None) -> Timing:
    """Run `command` `repeat` times and keep every time; a failure stops the benchmark with what it said."""
    runs = [_launch(command, env) for _ in range(repeat)]
    best = min(runs, key=lambda run: float(run["seconds"]))
    return Timing(
        seconds=tuple(float(run["seconds"]) for run in runs),
        cpu=float(best["cpu"]),
        peak=max(int(run["peak"]) for run in runs),
        errors=str(runs[-1]["errors"]),
    )


def _launch(command: Sequence[str], env: Mapping[str, str] | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = [sys.executable, "-m", "benchmarks.launch", str(report), *command]
        done = subprocess.run(words, env=_environment(env), capture_output=True, text=True, check=False)
        result: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {"code": done.returncode}
    if result["code"] != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise BenchmarkError(f"exit code {result['code']} of {' '.join(command)}\n{said}")
    return {**result, "errors": done.stderr}


def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
    """This environment, but modules are compiled to bytecode once, as pip does where a program is installed."""
    found = {**os.environ, **(more or {}), "PYTHONPATH": str(ROOT)}
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


def run_program(python: Path | str, module: str, *words: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run one of our programs under some interpreter; it prints one JSON line, which is returned."""
    command = [str(python), "-m", module, *words]
    done = subprocess.run(command, env=_environment(env), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchmarkError(f"exit code {done.returncode} of {' '.join(command)}\n{done.stderr.strip()[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def time_dedup(setting: Setting, source: Path, *words: str, repeat: int = 1, audit: bool = False) -> Timing:
    """Time `twinset dedup` from start to exit, each time into a folder that is not there yet; its audit if asked."""
    runs = []
    for _ in range(repeat):
        out = setting.fresh("dedup")
        os.sync()  # what an earlier run wrote is not to be written to disk during this one
        options = ["--threshold", "0.8", "--recall", "0.99", "-o", str(out), "--quiet", *words]
        options += [] if audit else ["--audit", "0"]
        runs.append(time_command([twinset(), "dedup", str(source), *options]))
    best = min(runs, key=lambda run: run.best)
    seconds = tuple(run.best for run in runs)
    return Timing(seconds, best.cpu, max(run.peak for run in runs), runs[-1].errors)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
