"""`twinset dedup`, from a file to clean files, against the peers from text in memory to candidate pairs.

The peers' clocks cover neither reading nor verifying nor writing. Slow ones run on a sample of whole families
and are scaled by the number of documents, which flatters them: none grows slower than linearly.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpora import generated, sampled, text_bytes
from benchmarks.environments import PEERS, Peer, interpreter
from benchmarks.measure import BenchmarkError, Setting, run_program, say, time_command, time_dedup, twinset
from benchmarks.truth import load_truth

GOALS = {"rensa": 5, "gaoya": 3, "datasketch": 30, "text-dedup": 60, "datatrove": 300}


def goal_of(name: str) -> int:
    """The goal against a peer, whatever its settings."""
    return GOALS[name.partition(",")[0].partition(" ")[0]]


def measure(setting: Setting) -> dict[str, Any]:
    documents = 20_000 if setting.quick else 200_000
    corpus = generated(setting, documents)
    truth = load_truth(corpus)
    say(f"  {len(truth):,} true pairs")
    contestants = [_measure_own(setting, corpus, truth)]
    arrow_alone = _measure_arrow(setting, corpus)
    stored = {codec: _measure_stored(setting, corpus, codec) for codec in ("none", "lz4", "zstd")}
    for peer in PEERS:
        try:
            contestants.append(_measure_peer(setting, peer, corpus, documents))
            if peer.name == "text-dedup":
                contestants[-1]["command"] = _time_text_dedup(setting, peer, corpus, documents)
        except BenchmarkError as error:
            say(f"  {peer.name} left out: {error}")
            contestants.append({"name": peer.name, "failed": str(error)})
    in_memory = run_program(sys.executable, "benchmarks.own_pairs", str(corpus), "--repeat", str(setting.repeat))
    say(f"  twinset, texts in memory to verified pairs {in_memory['best']:.2f} s")
    own = contestants[0]["scaled"]
    for contestant in contestants:
        if "scaled" in contestant:
            contestant["times"] = contestant["scaled"] / own
            contestant["times_in_memory"] = contestant["scaled"] / in_memory["best"]
    return {
        "documents": documents,
        "bytes": text_bytes(corpus),
        "true_pairs": len(truth),
        "in_memory": in_memory,
        "arrow_alone": arrow_alone,
        "stored": stored,
        "contestants": contestants,
    }


def _measure_arrow(setting: Setting, corpus: Path) -> dict[str, Any]:
    """Arrow alone, reading the corpus and writing the rows that the last run kept."""
    words = (str(corpus), str(setting.work / "out" / "dedup"), str(setting.fresh("arrow.parquet")))
    allocator = {"MIMALLOC_PURGE_DELAY": "-1", "MIMALLOC_ALLOW_THP": "0"}  # as the command sets it
    runs = [run_program(sys.executable, "benchmarks.arrow_alone", *words, env=allocator) for _ in range(setting.repeat)]
    best = min(runs, key=lambda run: float(run["seconds"]))
    say(f"  Arrow alone, reading and writing: {best['seconds']:.2f} s")
    return best


def _measure_own(setting: Setting, corpus: Path, truth: pa.Table) -> dict[str, Any]:
    time_dedup(setting, corpus)  # compiles, and brings the corpus into the page cache
    timing = time_dedup(setting, corpus, repeat=setting.repeat)
    audited = time_dedup(setting, corpus, repeat=setting.repeat, audit=True).best
    say(f"  twinset dedup {timing.best:.2f} s, with its audit {audited:.2f} s")
    listing = setting.fresh("pairs.parquet")
    words = ["--threshold", "0.8", "--recall", "0.99", "-o", str(listing), "--quiet", "--audit", "0"]
    time_command([twinset(), "pairs", str(corpus), *words])
    table = pq.read_table(listing, columns=["left", "right"])
    found = np.column_stack([_row_numbers(table["left"]), _row_numbers(table["right"])])
    return {
        "name": "twinset",
        "setup": "file to clean file: read, sketch, verify exactly, cluster, write; --recall 0.99",
        "cores": 2,
        "documents": pq.read_metadata(corpus).num_rows,
        "scaled": timing.best,
        "audited": audited,
        **timing.to_dict(),
        **score(found, truth),
    }


def _measure_stored(setting: Setting, corpus: Path, codec: str) -> float:
    """Seconds for the same rows in the same row groups under another codec."""
    copy = setting.fresh(f"stored-{codec}.parquet")
    with pq.ParquetFile(corpus) as file, pq.ParquetWriter(copy, file.schema_arrow, compression=codec) as writer:
        for group in range(file.num_row_groups):
            writer.write_table(file.read_row_group(group))
    seconds = time_dedup(setting, copy, repeat=setting.repeat).best
    copy.unlink()
    say(f"  twinset dedup, stored with {codec}: {seconds:.2f} s")
    return seconds


def _row_numbers(ids: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Rows of the corpus from its ids, which are a letter and the row."""
    return np.array([int(name[1:]) for name in ids.to_pylist()], dtype=np.int64)


def _measure_peer(setting: Setting, peer: Peer, corpus: Path, documents: int) -> dict[str, Any]:
    sample = sampled(corpus, peer.documents // 10 if setting.quick else peer.documents)
    truth = load_truth(sample)
    python = interpreter(peer, setting.venvs)
    listing = setting.fresh(f"{peer.name}.parquet")
    words = ("--pairs", str(listing), "--repeat", str(setting.repeat), "--processes", str(peer.cores))
    result = run_program(python, peer.module, str(sample), *words)
    best = min(result["seconds"])
    scaled = best * documents / result["documents"]
    say(f"  {peer.name} {best:.2f} s for {result['documents']:,} documents, {scaled:.1f} s for all")
    table = pq.read_table(listing)
    found = np.column_stack([table["left"].to_numpy(), table["right"].to_numpy()])
    return {
        "name": peer.name,
        "packages": list(peer.packages),
        "setup": peer.setup,
        "cores": peer.cores,
        "found_in_theory": peer.found,
        "goal": goal_of(peer.name),
        "scaled": scaled,
        "best": best,
        **result,
        **score(found, truth),
    }


def _time_text_dedup(setting: Setting, peer: Peer, corpus: Path, documents: int) -> dict[str, Any]:
    """Its command as a whole, Parquet to a clean data set: the one peer that does the same job."""
    sample = sampled(corpus, peer.documents // 10 if setting.quick else peer.documents)
    seconds = []
    for _ in range(setting.repeat):
        cache = setting.fresh("text-dedup")  # an empty one each time, or it would find its own results again
        words = ["--path", "parquet", "--data_files", str(sample), "--split", "train", "--column", "text"]
        words += ["--num_perm", "128", "--threshold", "0.8"]
        words += ["--cache_dir", str(cache / "cache"), "--output", str(cache / "out")]
        command = [str(interpreter(peer, setting.venvs)), "-m", "text_dedup.minhash", *words]
        seconds.append(time_command(command, env={"HF_HOME": str(cache / "home")}).best)
    scaled = min(seconds) * documents / pq.read_metadata(sample).num_rows
    say(f"  text-dedup, whole command: {min(seconds):.2f} s, {scaled:.1f} s for all")
    return {"seconds": seconds, "scaled": scaled}


def score(found: npt.NDArray[np.int64], truth: pa.Table) -> dict[str, Any]:
    """Recall of the true pairs, share of true pairs among those found, and recall right at the threshold."""
    true = np.column_stack([truth["left"].to_numpy(), truth["right"].to_numpy()])
    similarity = truth["similarity"].to_numpy()
    hit = np.isin(_keys(true), _keys(np.sort(found, axis=1)))
    near = similarity < 0.85
    return {
        "pairs": len(found),
        "recall": float(hit.mean()) if len(true) else 1.0,
        "recall_near": float(hit[near].mean()) if near.any() else 1.0,
        "precision": float(hit.sum() / len(found)) if len(found) else 1.0,
    }


def _keys(pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.asarray(pairs[:, 0] * (1 << 31) + pairs[:, 1])


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    lines = []
    for contestant in result["contestants"][1:]:
        name, what = contestant["name"], "dedup end to end, against "
        if "failed" in contestant:
            lines.append((what + name, f"≥ {goal_of(name)}×", "peer not measured", False))
        else:
            times, goal = contestant["times"], contestant["goal"]
            lines.append((what + name, f"≥ {goal}×", f"{times:.1f}×", times >= goal))
    own = result["contestants"][0]
    lines.append(("recall of the true pairs", "≥ 0.99", f"{own['recall']:.4f}", own["recall"] >= 0.99))
    lines.append(("precision of the pairs", "1.0", f"{own['precision']:.4f}", own["precision"] == 1.0))
    return lines


def table(result: dict[str, Any]) -> str:
    memory, arrow = result["in_memory"], result["arrow_alone"]
    lines = [
        f"{result['documents']:,} documents, {result['bytes'] / 1e6:,.0f} MB,"
        f" {result['true_pairs']:,} true pairs (exact Jaccard ≥ 0.8 of word 5-shingles)."
        " Recall near: of the true pairs below 0.85."
        " Twinset from file to clean file; peers from text in memory to candidates."
        f" By the peers' clock, from text in memory to verified pairs, Twinset takes {memory['best']:.2f} s:"
        " the column × in memory.",
        "",
        f"Reading this file and writing the kept rows with Arrow, on two threads and with nothing in between, takes"
        f" {arrow['seconds']:.2f} s ({arrow['read']:.2f} + {arrow['write']:.2f}).",
        "",
        "Twinset on the same rows stored otherwise: "
        + ", ".join(f"{codec} {seconds:.2f} s" for codec, seconds in result["stored"].items())
        + ".",
        "",
        "| | seconds | MB/s | × | × in memory | recall | recall near | precision | measured on | cores | what runs |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for one in result["contestants"]:
        if "failed" in one:
            lines.append(f"| {one['name']} | not measured | | | | | | | | | |")
            continue
        rate = result["bytes"] / one["scaled"] / 1e6
        lines.append(
            f"| {one['name']} | {one['scaled']:.1f} | {rate:,.1f} | {one['times']:.1f}"
            f" | {one['times_in_memory']:.1f}"
            f" | {one['recall']:.4f} | {one['recall_near']:.4f} | {one['precision']:.4f}"
            f" | {one['documents']:,} | {one['cores']} | {one['setup']} |"
        )
    if "audited" in result["contestants"][0]:  # not in figures from before there was an audit
        own, audited = result["contestants"][0]["scaled"], result["contestants"][0]["audited"]
        lines += ["", f"Twinset without its audit, as above: {own:.2f} s; with it, as by default: {audited:.2f} s."]
    for seconds in (one["command"]["scaled"] for one in result["contestants"] if "command" in one):
        times = seconds / result["contestants"][0]["scaled"]
        lines += ["", f"text-dedup's whole command, file to clean data set: {seconds:.1f} s, {times:.1f}×."]
    return "\n".join(lines)
