"""Time and memory of `dedup` as the corpus grows, and under a memory limit."""

from __future__ import annotations

import os
from typing import Any

from benchmarks.corpora import generated, text_bytes
from benchmarks.measure import Setting, say, time_dedup

FULL = (10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK = (2_000, 5_000, 20_000, 50_000)


def measure(setting: Setting) -> dict[str, Any]:
    points = []
    for documents in QUICK if setting.quick else FULL:
        corpus = generated(setting, documents)
        size = text_bytes(corpus)  # reads the whole file, so that it is in the page cache for every run
        budget = _available() // 2
        timing = time_dedup(setting, corpus, repeat=setting.repeat)
        say(f"  {documents:,} documents: {timing.best:.2f} s, {timing.peak / 1e9:.2f} GB")
        points.append({"documents": documents, "bytes": size, "budget": budget, **timing.to_dict()})
    return {"points": points}


def measure_limited(setting: Setting) -> dict[str, Any]:
    documents = (QUICK if setting.quick else FULL)[-1]
    corpus = generated(setting, documents)
    size = text_bytes(corpus)
    free = time_dedup(setting, corpus, repeat=setting.repeat)
    limited = time_dedup(setting, corpus, "--memory", setting.memory, repeat=setting.repeat)
    say(f"  no limit: {free.best:.2f} s, {free.peak / 1e9:.2f} GB")
    say(f"  {setting.memory}: {limited.best:.2f} s, {limited.peak / 1e9:.2f} GB")
    return {
        "documents": documents,
        "bytes": size,
        "memory": setting.memory,
        "unlimited": free.to_dict(),
        "limited": limited.to_dict(),
    }


def _available() -> int:
    with open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    by_size = {point["documents"]: point for point in result["points"]}
    largest = max(by_size)
    tenth = min(by_size, key=lambda documents: abs(documents - largest / 10))
    ratio = by_size[largest]["best"] / by_size[tenth]["best"]
    most = 12 * largest / (10 * tenth)
    inside = all(point["peak"] <= point["budget"] for point in result["points"])
    peak = by_size[largest]["peak"]
    return [
        (f"time, {tenth:,} to {largest:,} documents", f"≤ {most:.1f}×", f"{ratio:.1f}×", ratio <= most),
        (f"peak memory at {largest:,}", "within the budget", f"{peak / 1e9:.2f} GB", inside),
    ]


def goals_limited(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    what = f"--memory {result['memory']}, {result['documents']:,} documents"
    limit = parse_size(result["memory"])
    peak = result["limited"]["peak"]
    ratio = result["limited"]["best"] / result["unlimited"]["best"]
    most = f"≤ {1.4 * limit / 1e9:.2f} GB"
    return [
        (f"{what}: peak resident", most, f"{peak / 1e9:.2f} GB", peak <= 1.4 * limit),
        (f"{what}: time", "≤ 2× unlimited", f"{ratio:.2f}×", ratio <= 2),
    ]


def parse_size(text: str) -> int:
    """Bytes of '1GB' or '512MB'."""
    return int(float(text[:-2]) * {"KB": 10**3, "MB": 10**6, "GB": 10**9}[text[-2:].upper()])


def table(result: dict[str, Any]) -> str:
    lines = ["| documents | text | seconds | MB/s | peak memory |", "|---:|---:|---:|---:|---:|"]
    for point in result["points"]:
        rate = point["bytes"] / point["best"] / 1e6
        lines.append(
            f"| {point['documents']:,} | {point['bytes'] / 1e6:,.0f} MB | {point['best']:.2f} | {rate:,.0f}"
            f" | {point['peak'] / 1e9:.2f} GB |"
        )
    return "\n".join(lines)


def table_limited(result: dict[str, Any]) -> str:
    lines = [
        f"{result['documents']:,} documents, {result['bytes'] / 1e9:.2f} GB of text.",
        "",
        "| | seconds | peak memory |",
        "|---|---:|---:|",
    ]
    for name, label in (("unlimited", "no limit given"), ("limited", f"--memory {result['memory']}")):
        lines.append(f"| {label} | {result[name]['best']:.2f} | {result[name]['peak'] / 1e9:.2f} GB |")
    return "\n".join(lines)
