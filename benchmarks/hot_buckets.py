"""Corpora whose documents crowd into the same buckets, against as many unrelated documents."""

from __future__ import annotations

from typing import Any

from benchmarks.corpora import filled_forms, generated, identical, text_bytes
from benchmarks.measure import Setting, say, time_dedup

FIVE_FORMS = (0.3, 0.38, 0.45, 0.52, 0.6)
MOST = 3.0


def measure(setting: Setting) -> dict[str, Any]:
    many, some = (10_000, 2_000) if setting.quick else (100_000, 20_000)
    cases = (
        (f"{many:,} unrelated documents", generated(setting, many, copies=0), None),
        (f"{some:,} unrelated documents", generated(setting, some, copies=0), None),
        (f"{many:,} identical documents", identical(setting, many), 0),
        (f"{some:,} documents of one form, mutual J ≈ 0.5", filled_forms(setting, some, (0.5,)), 1),
        (f"5 forms of {some:,} documents, mutual J 0.3 to 0.6", filled_forms(setting, some, FIVE_FORMS), 0),
    )
    results: list[dict[str, Any]] = []
    for name, corpus, baseline in cases:
        size = text_bytes(corpus)
        timing = time_dedup(setting, corpus, repeat=setting.repeat)
        say(f"  {name}: {timing.best:.2f} s")
        results.append({"name": name, "bytes": size, "baseline": baseline, **timing.to_dict()})
    for result in results:
        if result["baseline"] is not None:
            result["times"] = result["best"] / results[result["baseline"]]["best"]
    return {"cases": results}


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    return [
        (case["name"], f"≤ {MOST:.0f}× unrelated", f"{case['times']:.2f}×", case["times"] <= MOST)
        for case in result["cases"]
        if "times" in case
    ]


def table(result: dict[str, Any]) -> str:
    lines = ["| | text | seconds | × unrelated | peak memory |", "|---|---:|---:|---:|---:|"]
    for case in result["cases"]:
        times = f"{case['times']:.2f}" if "times" in case else ""
        lines.append(
            f"| {case['name']} | {case['bytes'] / 1e6:,.0f} MB | {case['best']:.2f} | {times}"
            f" | {case['peak'] / 1e9:.2f} GB |"
        )
    return "\n".join(lines)
