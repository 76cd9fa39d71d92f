"""Runs on Spark, on two cores of this machine: against MLlib, beside the local engine, and as the rows grow.

The clock of each run starts when its session is there; the start of the session is stated beside it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from benchmarks.corpora import generated, sampled, short_texts
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.measure import Setting, run_program, say, time_dedup

MLLIB = Peer(
    "Spark MLlib", ("pyspark==4.3.0", "numpy", ARROW), "benchmarks.peers.spark_mllib", 200_000, 2,
    "Tokenizer, NGram(5), HashingTF, MinHashLSH with 3 tables, approxSimilarityJoin", 0.992,
)  # fmt: skip
CURATOR = Peer(
    "distributed-curator",
    ("distributed-curator==0.1.6", "pyspark==3.5.9", "pyarrow==17.0.0", "pandas==2.2.3", "numpy==1.26.4"),
    "benchmarks.peers.distributed_curator", 40_000, 2,
    "26 bands of 8 hashes, 9 characters, threshold 0.8 by its estimate, components, not verified", 0.992,
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
    for peer in (MLLIB, CURATOR):
        result[peer.name] = _run_peer(setting, peer, corpus, documents)
    result["short"] = [
        {"documents": count, **_run(setting, "dedup", short_texts(setting, count), 1)}
        for count in (QUICK_GROWTH if setting.quick else GROWTH)
    ]
    return result


def _run(setting: Setting, job: str, corpus: Any, repeat: int) -> dict[str, Any]:
    folder = str(setting.fresh("spark"))
    return run_program(sys.executable, "benchmarks.own_spark", job, str(corpus), folder, "--repeat", str(repeat))


def _run_peer(setting: Setting, peer: Peer, corpus: Any, documents: int) -> dict[str, Any]:
    """Run a peer once: beside hundreds of seconds, the start of Java's compiler is little."""
    few = sampled(corpus, peer.documents)
    run = run_program(interpreter(peer, setting.venvs), peer.module, str(few), str(setting.fresh("spark-peer")))
    count = min(peer.documents, documents)
    say(f"  {peer.name}: {run['best']:.1f} s for {count:,} documents")
    return {**run, "documents": count}


def scaled(result: dict[str, Any], peer: Peer) -> float:
    """Seconds of a peer for as many documents as we had, if its time grew with their number alone."""
    run = result[peer.name]
    return float(run["best"] * result["documents"] / run["documents"])


@dataclass(frozen=True)
class Costs:
    """Seconds on two cores as a start and a share for each document, from two measured sizes."""

    start: float
    each: float

    @classmethod
    def of(cls, small: tuple[int, float], large: tuple[int, float]) -> Costs:
        each = (large[1] - small[1]) / (large[0] - small[0])
        return cls(small[1] - each * small[0], each)

    def seconds(self, documents: float) -> float:
        return self.start + self.each * documents

    def core_hours(self, documents: float) -> float:
        return 2 * self.seconds(documents) / 3600


def short_costs(result: dict[str, Any]) -> Costs:
    """Costs of `dedup` of short texts, from the two smaller sizes; the largest checks them."""
    points = [(point["documents"], point["best"]) for point in result["short"]]
    return Costs.of(points[0], points[1])


def long_costs(result: dict[str, Any]) -> Costs:
    """Costs of `find_pairs` of long texts, from first runs of a session."""
    runs = [result[name]["runs"][0] for name in ("pairs", "larger")]
    small, large = ((run["documents"], run["seconds"]) for run in runs)
    return Costs.of(small, large)


def dedup_share(result: dict[str, Any]) -> float:
    """How much longer `dedup` with its output takes than `find_pairs`, in first runs."""
    return float(result["dedup"]["runs"][0]["seconds"] / result["pairs"]["runs"][0]["seconds"])


def moved(run: dict[str, Any]) -> float:
    """Shuffled bytes for each byte of text."""
    return float(run["shuffled"] / run["runs"][0]["text_bytes"])


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    pairs, dedup, larger = result["pairs"], result["dedup"], result["larger"]
    faster = scaled(result, MLLIB) / pairs["best"]
    first = scaled(result, MLLIB) / pairs["runs"][0]["seconds"]
    curator = scaled(result, CURATOR) / dedup["best"]
    local = dedup["best"] / result["local"]["best"]
    growth = larger["best"] / pairs["best"]
    return [
        ("Spark: find_pairs against MLlib, best", "10×", f"{faster:.1f}×", faster >= 10),
        ("Spark: the same, first run of a session", "10×", f"{first:.1f}×", first >= 10),
        ("Spark: dedup against distributed-curator", "5×", f"{curator:.1f}×", curator >= 5),
        ("Spark: dedup beside the local engine", "at most 6×", f"{local:.1f}×", local <= 6),
        ("Spark: ten times as many documents", "at most 12×", f"{growth:.1f}×", growth <= 12),
        ("Spark: shuffled bytes for each byte of text", "at most 3", f"{moved(dedup):.2f}", moved(dedup) <= 3),
    ]


def table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['documents']:,} documents, two cores, `local[2]`. A session starts in"
        f" {result['pairs']['start']:.1f} seconds, which are not counted. The first run of a session also waits for"
        " Java's compiler.",
        "",
        "| | first run, seconds | best, seconds | documents | shuffled bytes per byte of text | pairs |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for label, name in (("find_pairs", "pairs"), ("dedup", "dedup"), ("find_pairs, ten times as many", "larger")):
        run = result[name]
        one = run["runs"][0]
        cells = (label, f"{one['seconds']:.1f}", f"{run['best']:.1f}", f"{one['documents']:,}", f"{moved(run):.2f}")
        lines.append(f"| {' | '.join(cells)} | {one['pairs']:,} |")
    local = result["local"]
    lines.append(f"| dedup of the local engine | | {local['best']:.1f} | {result['documents']:,} | | |")
    for peer in (MLLIB, CURATOR):
        run = result[peer.name]
        lines.append(f"| {peer.name} | {run['best']:.1f} | | {run['documents']:,} | | |")
    lines += [
        "",
        "Short texts, `dedup` with its output written, first runs:",
        "",
        "| documents | seconds | per million | shuffled bytes per document | spilled bytes per document |",
        "|---:|---:|---:|---:|---:|",
    ]
    for point in result["short"]:
        count = point["documents"]
        cells = (f"{count:,}", f"{point['best']:.0f}", f"{point['best'] / count * 1e6:.0f}")
        lines.append(f"| {' | '.join(cells)} | {point['shuffled'] / count:.0f} | {point['spilled'] / count:.0f} |")
    largest = result["short"][-1]
    foreseen = short_costs(result).seconds(largest["documents"])
    lines += [
        "",
        f"A line through the first two sizes foresees {foreseen:.0f} seconds for {largest['documents']:,} documents;"
        f" measured: {largest['best']:.0f}.",
    ]
    steps = result["dedup"]["runs"][-1]["steps"]
    shown = ", ".join(f"{name} {seconds:.1f}" for name, seconds in steps.items() if name != "total")
    return "\n".join([*lines, "", f"Seconds of the steps of dedup: {shown}."])
