"""An index of a million documents that answers which of them hold a text, which it holds, and what both share.

The same corpus is added three times: without more, with samples of the shingles (`--contained`) and with the anchors of
passages (`--passages`). The clock of adding runs from the first text read to the last commit; every commit is durable.
Queries are texts of 1,000 words that stand in the index: a part of one long document, or several short ones in a row.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import twinset
from benchmarks.corpora import generated, text_bytes
from benchmarks.measure import Setting, run_program, say
from benchmarks.own_index import PASSAGE_WORDS, QUERY_WORDS, SHARE

FEATURES = {
    "plain": "neither",
    "contained": f"`--contained`, query at {SHARE}",
    "passages": f"`--passages {PASSAGE_WORDS}`, passages of the query",
}
LEAST_RATE, MOST_P50, MOST_P99 = 0.25, 20.0, 100.0


def measure(setting: Setting) -> dict[str, Any]:
    documents, count = (20_000, 200) if setting.quick else (1_000_000, 1_000)
    source = generated(setting, documents)
    result: dict[str, Any] = {"documents": documents, "bytes": text_bytes(source), "features": {}}
    for feature in FEATURES:
        if feature == "passages" and not hasattr(twinset.Index, "passages"):
            say("  passages skipped: an index of this version does not search passages")
            result["features"][feature] = {"failed": "an index of this version does not search passages"}
            continue
        home = _fresh(setting, feature)
        os.sync()
        line: dict[str, Any] = {"add": _step("add", home, str(source), "text", feature)}
        added = line["add"]
        say(f"  index, {feature}: {added['rate']:,.0f} documents/s, {added['bytes_per_document']:.0f} bytes each")
        if feature != "plain":
            line["query"] = _step("ask", home, str(source), feature, str(count))
            asked = line["query"]
            say(f"  index, {feature}: query p50 {1e3 * asked['p50']:.2f} ms, p99 {1e3 * asked['p99']:.2f} ms")
        result["features"][feature] = line
        _fresh(setting, feature)  # removes it
    return result


def _step(*words: str) -> dict[str, Any]:
    return run_program(sys.executable, "benchmarks.own_index", *words)


def _fresh(setting: Setting, feature: str) -> str:
    for ending in ("-wal", "-shm", "-lock"):
        setting.fresh(f"index-{feature}.twinset{ending}")
    return str(setting.fresh(f"index-{feature}.twinset"))


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    lines: list[tuple[str, str, str, bool]] = []
    plain = result["features"]["plain"]["add"]["rate"]
    for feature, one in result["features"].items():
        if feature == "plain":
            continue
        what = f"index of {result['documents']:,} documents, --{feature}"
        if "failed" in one:
            wanted = f"p50 ≤ {MOST_P50:.0f} ms, p99 ≤ {MOST_P99:.0f} ms, adding ≥ {LEAST_RATE} of the rate without"
            lines.append((what, wanted, "not measured", False))
            continue
        asked, rate = one["query"], one["add"]["rate"] / plain
        for name, most in (("p50", MOST_P50), ("p99", MOST_P99)):
            figure = 1e3 * asked[name]
            words = f"{what}: query of {QUERY_WORDS:,} words, {name}"
            lines.append((words, f"≤ {most:.0f} ms", f"{figure:.2f} ms", figure <= most))
        answered = f"{asked['answered']:,} of {asked['queries']:,}"
        lines.append((f"{what}: queries answered", "all", answered, asked["answered"] == asked["queries"]))
        lines.append((f"{what}: adding", f"≥ {LEAST_RATE} of the rate without", f"{rate:.2f}", rate >= LEAST_RATE))
    return lines


def table(result: dict[str, Any]) -> str:
    lines = [
        f"An index of {result['documents']:,} documents, {result['bytes'] / 1e6:,.0f} MB, that stores texts. Queries"
        f" are texts of {QUERY_WORDS:,} words that stand in it: one half are parts of a document, the others several"
        " documents in a row.",
        "",
        "| index | added | of the rate without | bytes a document | peak memory | query p50 | p99 | answers each |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    plain = result["features"]["plain"]["add"]["rate"]
    for feature, one in result["features"].items():
        if "failed" in one:
            lines.append(f"| {FEATURES[feature]} | not measured: {one['failed']} | | | | | | |")
            continue
        add, times = one["add"], " | | "
        if asked := one.get("query"):
            times = f"{1e3 * asked['p50']:.2f} ms | {1e3 * asked['p99']:.2f} ms | {asked['answers']:.1f}"
        lines.append(
            f"| {FEATURES[feature]} | {add['rate']:,.0f}/s | {add['rate'] / plain:.2f}"
            f" | {add['bytes_per_document']:,.0f} | {add['peak'] / 1e6:.0f} MB | {times} |"
        )
    return "\n".join(lines)
