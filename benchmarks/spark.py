"""Runs on Spark, on two cores of this machine: against MLlib, beside the local engine, and as the rows grow.

The clock of each run starts when its session is there; the start of the session is stated beside it.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.corpora import generated, sampled, short_texts
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.measure import Setting, run_program, say, time_dedup

MLLIB = Peer(
    "Spark MLlib", ("pyspark==4.3.0", "numpy", ARROW), "benchmarks.peers.spark_mllib", 8_000, 2,
    "Tokenizer, NGram(5), HashingTF, MinHashLSH with 3 tables, approxSimilarityJoin", 0.992,
)  # fmt: skip
FULL, QUICK = 200_000, 5_000
GROWTH = (100_000, 1_000_000, 10_000_000)
QUICK_GROWTH = (2_000, 20_000)


def measure(setting: Setting) -> dict[str, Any]:
    documents = QUICK if setting.quick else FULL
    corpus = generated(setting, documents)
    result: dict[str, Any] = {"documents": documents}
    for job in ("pairs", "dedup"):
        result[job] = _run(setting, job, corpus, setting.repeat)
        say(f"  {job}: {result[job]['best']:.1f} s")
    larger = generated(setting, 10 * documents)
    result["larger"] = _run(setting, "pairs", larger, 1)
    say(f"  pairs of ten times as many: {result['larger']['best']:.1f} s")
    local = time_dedup(setting, corpus, repeat=setting.repeat, audit=True)
    result["local"] = local.to_dict()
    few = sampled(corpus, MLLIB.documents)
    folder = str(setting.fresh("mllib"))
    peer = run_program(interpreter(setting.venvs, MLLIB), MLLIB.module, str(few), folder)
    result["mllib"] = {**peer, "documents": min(MLLIB.documents, documents)}
    say(f"  MLlib: {peer['best']:.1f} s for {result['mllib']['documents']:,} documents")
    result["short"] = [
        {"documents": count, **_run(setting, "dedup", short_texts(setting, count), 1)}
        for count in (QUICK_GROWTH if setting.quick else GROWTH)
    ]
    return result


def _run(setting: Setting, job: str, corpus: Any, repeat: int) -> dict[str, Any]:
    folder = str(setting.fresh("spark"))
    return run_program(sys.executable, "benchmarks.own_spark", job, str(corpus), folder, "--repeat", str(repeat))


def scaled(result: dict[str, Any]) -> float:
    """Seconds of MLlib for as many documents as we had, if its time grew with their number alone."""
    mllib = result["mllib"]
    return float(mllib["best"] * result["documents"] / mllib["documents"])


def moved(run: dict[str, Any]) -> float:
    """Shuffled bytes for each byte of text."""
    return float(run["shuffled"] / run["runs"][0]["text_bytes"])


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    pairs, dedup, larger = result["pairs"], result["dedup"], result["larger"]
    faster = scaled(result) / pairs["best"]
    local = dedup["best"] / result["local"]["best"]
    growth = larger["best"] / pairs["best"]
    return [
        ("Spark: find_pairs against MLlib", "10×", f"{faster:.1f}×", faster >= 10),
        ("Spark: dedup beside the local engine", "at most 6×", f"{local:.1f}×", local <= 6),
        ("Spark: ten times as many documents", "at most 12×", f"{growth:.1f}×", growth <= 12),
        ("Spark: shuffled bytes for each byte of text", "at most 3", f"{moved(dedup):.2f}", moved(dedup) <= 3),
    ]


def table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['documents']:,} documents, two cores, `local[2]`. A session starts in"
        f" {result['pairs']['start']:.1f} seconds, which are not counted.",
        "",
        "| | seconds | documents | shuffled bytes per byte of text | pairs |",
        "|---|---:|---:|---:|---:|",
    ]
    for label, name in (("find_pairs", "pairs"), ("dedup", "dedup"), ("find_pairs, ten times as many", "larger")):
        run = result[name]
        one = run["runs"][0]
        lines.append(f"| {label} | {run['best']:.1f} | {one['documents']:,} | {moved(run):.2f} | {one['pairs']:,} |")
    mllib, local = result["mllib"], result["local"]
    lines += [
        f"| dedup of the local engine | {local['best']:.1f} | {result['documents']:,} | | |",
        f"| Spark MLlib, scaled from {mllib['documents']:,} | {scaled(result):.0f} | {result['documents']:,} | | |",
        "",
        "Short texts, `dedup` with its output written:",
        "",
        "| documents | seconds | per million | shuffled bytes per document | spilled bytes per document |",
        "|---:|---:|---:|---:|---:|",
    ]
    for point in result["short"]:
        count = point["documents"]
        cells = (f"{count:,}", f"{point['best']:.0f}", f"{point['best'] / count * 1e6:.0f}")
        lines.append(f"| {' | '.join(cells)} | {point['shuffled'] / count:.0f} | {point['spilled'] / count:.0f} |")
    steps = result["dedup"]["runs"][-1]["steps"]
    shown = ", ".join(f"{name} {seconds:.1f}" for name, seconds in steps.items() if name != "total")
    return "\n".join([*lines, "", f"Seconds of the steps of dedup: {shown}."])
