"""What the figures were measured on, and of."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.measure import ROOT

QUIET = 0.1  # cores that other programs may use before a measurement is called noisy


def describe() -> dict[str, Any]:
    return {
        "cpu": _field("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def others_load(seconds: float = 1.0) -> float:
    """Cores kept busy by other programs, watched for a moment while this one sleeps; -1 where that is unknown."""
    try:
        first = _busy_ticks()
        time.sleep(seconds)
        return (_busy_ticks() - first) / os.sysconf("SC_CLK_TCK") / seconds
    except (OSError, ValueError):
        return -1.0


def _busy_ticks() -> int:
    with open("/proc/stat", encoding="ascii") as lines:
        ticks = [int(word) for word in lines.readline().split()[1:]]
    idle, waiting = ticks[3], ticks[4]
    return sum(ticks[:8]) - idle - waiting


def versions() -> dict[str, str]:
    found = {}
    for name in ("twinset", "numpy", "numba", "pyarrow", "orjson"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def commit() -> str:
    """The commit measured, with a mark when the tree differs from it."""
    name = _git("rev-parse", "HEAD")
    if not name:
        return "unknown"
    changed = _git("status", "--porcelain", "--", "src", "benchmarks", "pyproject.toml")
    return f"{name} with changes" if changed else name


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _field(path: str, name: str) -> str:
    try:
        with open(path, encoding="utf-8") as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")
    except OSError:
        return ""
