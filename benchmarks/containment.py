"""Containment: sets against datasketch's LSH Ensemble, texts against `dedup`, a common header, accuracy, an index.

Twinset's times are those of whole processes, from start to exit, from a file to a file. Those of datasketch run from
sets in memory to verified pairs in memory, without its start.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks import containment_index
from benchmarks.corpora import generated, headed, lengthened, text_bytes
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.measure import BenchmarkError, Setting, Timing, run_program, say, time_command, time_dedup, twinset
from benchmarks.skewed_sets import elements_of, read_pairs, skewed_sets
from benchmarks.skewed_texts import LONG, SHORT, containments, skewed_texts

THRESHOLD, TEXTS, RECALL = 0.8, 0.9, 0.99  # the share of a set, the share of a text
ACCURACY = (0.5, 0.8, 0.95)
HEADER = 200  # words
NEAR = 0.05  # pairs that exceed the threshold by less than this are close to it
_ENSEMBLE = (("datasketch==2.0.0", ARROW), "benchmarks.peers.datasketch_ensemble")
ENSEMBLES = (  # what their bands find depends on the sizes
    (Peer("datasketch", *_ENSEMBLE, 100_000, 1, "MinHashLSHEnsemble, 128 hashes, 16 partitions, its default",
          math.nan), "default"),
    (Peer("datasketch, for recall", *_ENSEMBLE, 5_000, 1, "the same, missed answers weigh nine times as much",
          math.nan), "recall"),
)  # fmt: skip


def measure(setting: Setting) -> dict[str, Any]:
    _compile(setting)
    return {
        "sets": _sets(setting),
        "texts": _texts(setting),
        "hot": _hot(setting),
        "accuracy": _accuracy(setting),
        "index": containment_index.measure(setting),
    }


def time_pairs(setting: Setting, source: Path, share: float, *words: str, repeat: int = 1) -> tuple[Timing, Path]:
    """Time `twinset pairs --contained` from start to exit, each time into a new file; and the file."""
    runs = []
    for _ in range(repeat):
        out = setting.fresh("contained-pairs.parquet")
        os.sync()  # what an earlier run wrote is not to be written to disk during this one
        command = [twinset(), "pairs", str(source), "--contained", str(share), "--recall", str(RECALL), *words]
        runs.append(time_command([*command, "--audit", "0", "--quiet", "-o", str(out)]))
    return _best(runs), out


def time_clean(setting: Setting, source: Path, repeat: int = 1) -> Timing:
    """Time `twinset dedup --contained` in the same way."""
    runs = []
    for _ in range(repeat):
        out = setting.fresh("dedup-contained")
        os.sync()
        words = ["--contained", str(TEXTS), "--recall", str(RECALL), "--audit", "0", "--quiet", "-o", str(out)]
        runs.append(time_command([twinset(), "dedup", str(source), *words]))
    return _best(runs)


def _best(runs: list[Timing]) -> Timing:
    best = min(runs, key=lambda run: run.best)
    return Timing(tuple(run.best for run in runs), best.cpu, max(run.peak for run in runs), runs[-1].errors)


def _compile(setting: Setting) -> None:
    """Run everything once on little, so that no run that is timed compiles kernels."""
    sets, texts = skewed_sets(setting, 200), generated(setting, 100)
    for words in ((), ("--exact",)):
        time_pairs(setting, sets, THRESHOLD, "--items", "items", *words)
        time_pairs(setting, texts, TEXTS, *words)
    time_clean(setting, texts)


def _sets(setting: Setting) -> dict[str, Any]:
    """All containments of sets whose sizes span three orders of magnitude."""
    count, sample = (2_000, 500) if setting.quick else (100_000, 2_000)
    path = skewed_sets(setting, count)
    sizes = np.diff(elements_of(path)[1])
    result: dict[str, Any] = {"sets": count, "elements": int(sizes.sum()), "largest": int(sizes.max())}
    items = ("--items", "items")
    exact, file = time_pairs(setting, path, THRESHOLD, *items, "--exact")
    truth = read_pairs(file)
    words = ("--sample", str(sample), "--threshold", str(THRESHOLD))
    brute = run_program(sys.executable, "benchmarks.skewed_sets", str(path), str(file), *words)
    result["brute"] = brute
    say(f"  sets, --exact: {exact.best:.2f} s; brute force: {brute['missed']} missed, {brute['extra']} too many")
    own, file = time_pairs(setting, path, THRESHOLD, *items, repeat=setting.repeat)
    result["own"] = {**own.to_dict(), **_compared(read_pairs(file), truth)}
    result["exact"] = {**exact.to_dict(), "pairs": len(truth)}
    say(f"  sets: {own.best:.2f} s, {len(truth):,} pairs, recall {result['own']['recall']:.4f}")
    result["contestants"] = [_ensemble(setting, peer, way, path, truth) for peer, way in ENSEMBLES]
    for one in result["contestants"]:
        if "best" in one:
            one["scaled"] = one["best"] * count / one["sets"]
            one["times"] = one["scaled"] / own.best
            one["times_cpu"] = one["cpu"] * count / one["sets"] / own.cpu
            one["times_partitioned"] = one["times"] * (1 - one["steps"]["partition"] / one["best"])
            say(f"  {one['name']}: {one['scaled']:.1f} s, {one['times']:.1f} times, recall {one['recall']:.4f}")
    return result


def _ensemble(setting: Setting, peer: Peer, way: str, path: Path, truth: set[tuple[int, int]]) -> dict[str, Any]:
    line: dict[str, Any] = {"name": peer.name, "setup": peer.setup, "packages": peer.packages}
    count = 1_000 if setting.quick and peer.documents < 100_000 else peer.documents
    found = setting.fresh("ensemble-pairs.parquet")
    words = (str(path), str(found), "--threshold", str(THRESHOLD), "--way", way, "--sets", str(count))
    try:
        line |= run_program(interpreter(peer, setting.venvs), peer.module, *words)
    except BenchmarkError as error:
        say(f"  {peer.name} left out: {error}")
        return line | {"failed": str(error)}
    return line | _compared(read_pairs(found), {pair for pair in truth if max(pair) < line["sets"]})


def _compared(found: set[tuple[int, int]], truth: set[tuple[int, int]]) -> dict[str, Any]:
    right = len(found & truth)
    return {"pairs": len(found), "recall": right / max(1, len(truth)), "precision": right / max(1, len(found))}


def _texts(setting: Setting) -> dict[str, Any]:
    """The corpus of the other parts: containment beside our own dedup."""
    documents = 4_000 if setting.quick else 200_000
    corpus = generated(setting, documents)
    dedup = time_dedup(setting, corpus, repeat=setting.repeat)
    say(f"  dedup: {dedup.best:.2f} s, {dedup.peak / 1e9:.2f} GB")
    result: dict[str, Any] = {"documents": documents, "bytes": text_bytes(corpus), "dedup": dedup.to_dict()}
    pairs, file = time_pairs(setting, corpus, TEXTS, repeat=setting.repeat)
    count = pq.read_metadata(file).num_rows
    result["pairs"] = {**pairs.to_dict(), "times": pairs.best / dedup.best, "pairs": count}
    say(f"  pairs --contained {TEXTS}: {pairs.best:.2f} s, {pairs.peak / 1e9:.2f} GB, {count:,} pairs")
    clean = time_clean(setting, corpus, repeat=setting.repeat)
    result["clean"] = {**clean.to_dict(), "times": clean.best / dedup.best}
    say(f"  dedup --contained {TEXTS}: {clean.best:.2f} s, {clean.peak / 1e9:.2f} GB")
    return result


def _hot(setting: Setting) -> list[dict[str, Any]]:
    """One header in all documents, against documents of the same size that have nothing in common."""
    many = 4_000 if setting.quick else 100_000
    cases = (
        (f"{many:,} unrelated documents of the same size", lengthened(setting, many, HEADER)),
        (f"{many:,} documents with one header of {HEADER} words", headed(setting, many, HEADER)),
    )
    results: list[dict[str, Any]] = []
    for name, corpus in cases:
        timing, file = time_pairs(setting, corpus, TEXTS, repeat=setting.repeat)
        count = pq.read_metadata(file).num_rows
        say(f"  {name}: {timing.best:.2f} s, {count:,} pairs")
        results.append({"name": name, "bytes": text_bytes(corpus), **timing.to_dict(), "pairs": count})
    results[1]["times"] = results[1]["best"] / results[0]["best"]
    return results


def _accuracy(setting: Setting) -> dict[str, Any]:
    """Short texts in long ones: what is found of all that brute force finds, and what is wrong."""
    short, long = (400, 20) if setting.quick else (4_000, 100)
    path = skewed_texts(setting, short, long)
    known = containments(path, min(ACCURACY))
    rows = []
    for share in ACCURACY:
        truth = {pair for pair, one in known.items() if one >= share}
        near = {pair for pair in truth if known[pair] < share + NEAR}
        for name, words in (("default", ()), ("--exact", ("--exact",))):
            _, file = time_pairs(setting, path, share, *words)
            table = pq.read_table(file, columns=["left", "right"])
            found = {frozenset(pair) for pair in zip(*(side.to_pylist() for side in table.columns), strict=True)}
            line = {"share": share, "way": name, "truth": len(truth), "near": len(near), "pairs": len(found)}
            line |= {"missed": len(truth - found), "missed near": len(near - found), "wrong": len(found - truth)}
            rows.append(line)
            say(f"  at {share}, {name}: {line['missed']} of {len(truth):,} missed, {line['wrong']} wrong")
    return {"short": short, "long": long, "rows": rows}


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    sets, texts, (_, header) = result["sets"], result["texts"], result["hot"]
    own, brute = sets["own"], sets["brute"]
    what = f"containments ≥ {THRESHOLD} of {sets['sets']:,} sets"
    right = own["recall"] >= RECALL and own["precision"] == 1
    same = brute["missed"] == brute["extra"] == 0
    lines = [
        (f"{what}: recall, precision", f"≥ {RECALL}, 1", f"{own['recall']:.4f}, {own['precision']:.4f}", right),
        (f"{what}, --exact: {brute['sample']:,} of them by brute force", "the same",
         f"{brute['missed']} missed, {brute['extra']} too many", same),
    ]  # fmt: skip
    for one in sets["contestants"]:
        figure = f"{one['times']:.1f}×, its recall {one['recall']:.2f}" if "times" in one else "not measured"
        lines.append((f"{what}, against {one['name']}", "≥ 10×", figure, one.get("times", 0) >= 10))
    for name, command in (("pairs", "pairs"), ("clean", "dedup")):
        times = texts[name]["times"]
        what = f"{command} --contained {TEXTS} of {texts['documents']:,} documents, against dedup"
        lines.append((what, "≤ 6×", f"{times:.2f}×", times <= 6))
    times = header["times"]
    lines.append((f"containments of {header['name']}", "≤ 3× unrelated", f"{times:.2f}×", times <= 3))
    return [*lines, *map(_accuracy_goal, result["accuracy"]["rows"]), *containment_index.goals(result["index"])]


def _accuracy_goal(row: dict[str, Any]) -> tuple[str, str, str, bool]:
    least = 1.0 if row["way"] == "--exact" else RECALL
    recall, precision = _scores(row)
    what = f"{SHORT} words in {LONG:,}, containment ≥ {row['share']}, {row['way']}: recall, precision"
    goal = "1, 1" if row["way"] == "--exact" else f"≥ {least}, 1"
    return what, goal, f"{recall:.4f}, {precision:.4f}", recall >= least and row["wrong"] == 0


def _scores(row: dict[str, Any]) -> tuple[float, float]:
    return 1 - row["missed"] / max(1, row["truth"]), 1 - row["wrong"] / max(1, row["pairs"])


def table(result: dict[str, Any]) -> str:
    parts = (_sets_table(result["sets"]), _texts_table(result), _accuracy_table(result["accuracy"]))
    return "\n\n".join([*("\n".join(part) for part in parts), containment_index.table(result["index"])])


def _sets_table(sets: dict[str, Any]) -> list[str]:
    own, exact = sets["own"], sets["exact"]
    lines = [
        f"{sets['sets']:,} sets of 10 to {sets['largest']:,} items, sizes log-uniform, {sets['elements']:,} items in"
        f" all; {exact['pairs']:,} pairs of which one set holds at least {THRESHOLD} of the other. The pairs of"
        f" `--exact` are the truth; those of {sets['brute']['sample']:,} sets are compared with brute force. datasketch"
        " runs in one thread, Twinset in two. The steps of datasketch are the choice of partitions, which takes the"
        " square of the number of different sizes, sketches, index, queries and verification.",
        "",
        "| | how | seconds | twinset is faster by | recall | precision | peak memory |",
        "|---|---|---:|---:|---:|---:|---:|",
        f"| twinset | whole process; {own['cpu']:.1f} s of processor | {own['best']:.2f} | | {own['recall']:.4f}"
        f" | {own['precision']:.4f} | {own['peak'] / 1e9:.2f} GB |",
        f"| twinset, `--exact` | whole process; {exact['cpu']:.1f} s of processor | {exact['best']:.2f} | | 1 | 1"
        f" | {exact['peak'] / 1e9:.2f} GB |",
    ]
    for one in sets["contestants"]:
        if "failed" in one:
            lines.append(f"| {one['name']} | not measured | | | | | |")
            continue
        scaled = f"; {one['sets']:,} sets in {one['best']:.1f} s, scaled" if one["sets"] < sets["sets"] else ""
        steps = " + ".join(f"{seconds:.1f}" for seconds in one["steps"].values())
        lines.append(
            f"| {one['name']} | {one['setup']}; {one['candidates']:,} answers to verify; {steps} s{scaled}"
            f" | {one['scaled']:.1f} | {one['times']:.1f}×, by processor time {one['times_cpu']:.1f}×,"
            f" without the choice of partitions {one['times_partitioned']:.1f}× | {one['recall']:.4f}"
            f" | {one['precision']:.4f} | {one['peak'] / 1e9:.2f} GB |"
        )
    return lines


def _texts_table(result: dict[str, Any]) -> list[str]:
    texts = result["texts"]
    lines = ["| | text | seconds | × | peak memory | pairs |", "|---|---:|---:|---:|---:|---:|"]
    rows = [
        (f"`dedup`, {texts['documents']:,} documents", texts["bytes"], texts["dedup"]),
        (f"`pairs --contained {TEXTS}`", texts["bytes"], texts["pairs"]),
        (f"`dedup --contained {TEXTS}`", texts["bytes"], texts["clean"]),
        *((f"`pairs --contained {TEXTS}`, {case['name']}", case["bytes"], case) for case in result["hot"]),
    ]
    for name, size, one in rows:
        times = f"{one['times']:.2f}" if "times" in one else ""
        count = f"{one['pairs']:,}" if "pairs" in one else ""
        lines.append(
            f"| {name} | {size / 1e6:,.0f} MB | {one['best']:.2f} | {times} | {one['peak'] / 1e9:.2f} GB | {count} |"
        )
    return lines


def _accuracy_table(accuracy: dict[str, Any]) -> list[str]:
    lines = [
        f"{accuracy['short']:,} texts of {SHORT} words, cut out of {accuracy['long']:,} texts of {LONG:,} words and"
        f" changed, against brute force over every two. Close: pairs below the containment asked for + {NEAR}.",
        "",
        "| containment | | pairs | recall | close | recall of these | precision |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for row in accuracy["rows"]:
        recall, precision = _scores(row)
        near = f"{1 - row['missed near'] / row['near']:.4f}" if row["near"] else ""
        lines.append(
            f"| {row['share']} | {row['way']} | {row['truth']:,} | {recall:.4f} | {row['near']:,} | {near}"
            f" | {precision:.4f} |"
        )
    return lines
