"""A service of an index: queries of 16 clients, their times at a steady rate, and adding over HTTP.

The clients run in a process of their own on the same machine, so that server and clients share its cores. datasketch
answers behind the same framework and the same server, from memory, and does not verify what it finds.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import twinset as library
from benchmarks.corpora import generated
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.measure import ROOT, BenchmarkError, Setting, run_program, say
from benchmarks.own_load import TOKEN

CLIENTS, STEADY = 16, 100
LEAST_RATE, AIM, MOST_P99, TIMES, SHARE = 300, 600, 50.0, 1.5, 0.5


def measure(setting: Setting) -> dict[str, Any]:
    documents, fewer, seconds = (20_000, 5_000, 3) if setting.quick else (1_000_000, 100_000, 15)
    whole, part = str(generated(setting, documents)), str(generated(setting, fewer))
    result: dict[str, Any] = {"documents": documents, "fewer": fewer, "clients": CLIENTS, "steady": STEADY}
    home = _fresh(setting, "large")
    run_program(sys.executable, "benchmarks.own_index", "add", home, whole, "text")
    with _served(home) as url:
        result["large"] = _load(url, whole, seconds, setting.repeat)
        result["open"] = min(
            (_clients("open", url, whole, str(STEADY), str(seconds)) for _ in range(setting.repeat)),
            key=lambda one: float(one["p99"]),
        )
    say(f"  at {STEADY}/s: p50 {1e3 * result['open']['p50']:.1f} ms, p99 {1e3 * result['open']['p99']:.1f} ms")
    os.unlink(home)
    home = _fresh(setting, "small")
    os.sync()
    result["index add"] = run_program(sys.executable, "benchmarks.own_index", "add", home, part, "text")
    with _served(home) as url:
        result["small"] = _load(url, part, seconds, setting.repeat)
    result["add"] = _add(setting, part)
    result["datasketch"] = _datasketch(setting, part, seconds)
    return result


def _add(setting: Setting, source: str) -> dict[str, Any]:
    home = _fresh(setting, "added")
    library.Index.create(home, threshold=0.8, recall=0.99, seed=1).close()
    os.sync()
    with _served(home) as url:
        added = _clients("add", url, source)
    say(f"  added over HTTP: {added['rate']:,.0f} documents/s")
    return added


def _load(url: str, source: str, seconds: int, repeat: int) -> dict[str, Any]:
    runs = [_clients("closed", url, source, str(CLIENTS), str(seconds)) for _ in range(repeat)]
    best = max(runs, key=lambda one: float(one["rate"]))
    say(f"  {CLIENTS} clients: {best['rate']:,.0f} queries/s, p99 {1e3 * best['p99']:.1f} ms")
    return best


def _clients(*words: str) -> dict[str, Any]:
    return run_program(sys.executable, "benchmarks.own_load", *words)


def _fresh(setting: Setting, name: str) -> str:
    for ending in ("-wal", "-shm", "-lock"):
        setting.fresh(f"{name}/served.twinset{ending}")
    return str(setting.fresh(f"{name}/served.twinset"))


@contextmanager
def _served(home: str) -> Iterator[str]:
    words = ["serve", home, "--port", "0", "--token", TOKEN, "--no-browser"]
    with _running([sys.executable, "-m", "twinset", *words]) as line:
        yield line.split()[-1]


@contextmanager
def _running(command: Sequence[str]) -> Iterator[str]:
    """Start a server, and yield the line that it prints when it answers."""
    server = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        line = server.stdout.readline() if server.stdout is not None else ""
        if not line:
            raise BenchmarkError(f"{' '.join(command[:5])} did not start")
        yield line
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def _datasketch(setting: Setting, source: str, seconds: int) -> dict[str, Any]:
    framework = tuple(f"{name}=={version(name)}" for name in ("fastapi", "uvicorn", "httptools", "orjson"))
    packages = ("datasketch==2.0.0", ARROW, *framework)
    peer = Peer("datasketch, served", packages, "benchmarks.peers.datasketch_serve", 0, 1, "", 0.0, "datasketch-serve")
    try:
        with _running([str(interpreter(peer, setting.venvs)), "-m", peer.module, source, TOKEN]) as line:
            return _load(line.strip(), source, seconds, setting.repeat)
    except BenchmarkError as error:
        say(f"  datasketch left out: {error}")
        return {"failed": str(error)}


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    many, few = (f"{result[name]:,} documents" for name in ("documents", "fewer"))
    rate, p99, rival = result["large"]["rate"], 1e3 * result["open"]["p99"], result["datasketch"]
    share = result["add"]["rate"] / result["index add"]["rate"]
    lines = [
        (f"{CLIENTS} clients, index of {many}", f"≥ {LEAST_RATE}/s", f"{rate:,.0f}/s", rate >= LEAST_RATE),
        (f"the same, aim of {AIM}/s", f"≥ {AIM}/s", f"{rate:,.0f}/s", rate >= AIM),
        (f"the same at {STEADY}/s: p99", f"≤ {MOST_P99:.0f} ms", f"{p99:.1f} ms", p99 <= MOST_P99),
        (f"adding {few} over HTTP, against index add", f"≥ {SHARE}", f"{share:.2f}", share >= SHARE),
    ]
    what = f"{CLIENTS} clients, index of {few}, against datasketch served"
    goal = f"≥ {TIMES:g}×"
    if "failed" in rival:
        return [*lines, (what, goal, "not measured", False)]
    times = result["small"]["rate"] / rival["rate"]
    return [*lines, (what, goal, f"{times:.1f}×", times >= TIMES)]


def table(result: dict[str, Any]) -> str:
    lines = [
        f"`twinset serve` and its {result['clients']} clients share the cores of one machine; queries at the threshold"
        " of the index, 0.8, verified exactly.",
        "",
        "| service | documents | queries/s | p50 | p99 |",
        "|---|---:|---:|---:|---:|",
    ]
    rows = [("Twinset", "documents", result["large"]), ("Twinset", "fewer", result["small"])]
    if "failed" not in result["datasketch"]:
        rows.append(("datasketch MinHashLSH, candidates unverified", "fewer", result["datasketch"]))
    for name, documents, one in rows:
        lines.append(
            f"| {name} | {result[documents]:,} | {one['rate']:,.0f} | {1e3 * one['p50']:.1f} ms"
            f" | {1e3 * one['p99']:.1f} ms |"
        )
    steady = result["open"]
    lines += [
        "",
        f"At a steady {result['steady']} queries a second, {result['documents']:,} documents: p50"
        f" {1e3 * steady['p50']:.1f} ms, p99 {1e3 * steady['p99']:.1f} ms.",
        f"Adding {result['fewer']:,} documents over HTTP: {result['add']['rate']:,.0f}/s; `index add`:"
        f" {result['index add']['rate']:,.0f}/s.",
    ]
    return "\n".join(lines)
