"""All pairs of vectors with a cosine of at least 0.9 against FAISS's flat search; ten nearest against its HNSW; codes.

The join: everybody has the same array of unit vectors in memory and two threads. Twinset's clock runs from there to
verified pairs, choosing the plan included; FAISS's from there to pairs, adding the vectors included. What FAISS finds
is the truth, its cosines taken again in 64-bit floats. For nearest neighbours a graph is the better tool, and the table
says by how much.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import vector_sets
from benchmarks.environments import Peer, interpreter
from benchmarks.measure import BenchmarkError, Setting, run_program, say

THRESHOLD, RECALL = 0.9, 0.95
FASTER, FEWER = 10, 3
THREADS = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
NUMPY = "numpy==2.4.6"
FLAT = Peer(
    "FAISS flat", ("faiss-cpu==1.15.1", NUMPY), "benchmarks.peers.faiss_flat", 100_000, 2,
    "range search of IndexFlatIP, all vectors as queries", 1.0,
)  # fmt: skip
GRAPH = Peer(
    "FAISS HNSW", ("faiss-cpu==1.15.1", NUMPY), "benchmarks.peers.faiss_hnsw", 100_000, 2,
    "IndexHNSWFlat, 32 links, built with a breadth of 200", 1.0,
)  # fmt: skip
IMAGES = Peer(
    "scikit-learn", ("scikit-learn==1.9.1", "pillow==13.0.0", NUMPY), "benchmarks.peers.sklearn_images", 1797, 1,
    "digits and photographs", 1.0,
)  # fmt: skip

Words = npt.NDArray[np.uint64]


def measure(setting: Setting) -> dict[str, Any]:
    total = 10_000 if setting.quick else 100_000
    return {
        "vectors": total,
        "dimensions": vector_sets.DIMENSIONS,
        "join": _join(setting, total),
        "nearest": _nearest(setting, total),
        "learned": _learned(setting),
    }


def _join(setting: Setting, total: int) -> dict[str, Any]:
    path, folder, flat = vector_sets.planted(setting, total), setting.fresh("vector-pairs"), setting.fresh("flat.npz")
    words = (str(path), str(flat), "--threshold", str(THRESHOLD - 1e-5), "--repeat", str(min(2, setting.repeat)))
    peer = run_program(interpreter(FLAT, setting.venvs), FLAT.module, *words, env=THREADS)
    say(f"  {FLAT.name} {peer['best']:.1f} s, {peer['pairs']:,} pairs")
    words = (str(path), str(folder), "--threshold", str(THRESHOLD), "--recall", str(RECALL))
    own = run_program(
        sys.executable, "benchmarks.own_vectors", *words, "--repeat", str(2 * setting.repeat + 1), env=THREADS
    )
    truth, cosines = _truth(path, flat)
    for name, one in own.items():
        found = _found(folder / one["file"])
        hit = np.isin(truth, found)
        one["recall"] = float(hit.mean())
        one["near"] = float(hit[cosines < THRESHOLD + 0.01].mean())
        one["extra"] = int(len(found) - hit.sum())
        one["times"] = peer["best"] / one["best"]
        one["times_cpu"] = peer["cpu"] / one["cpu"]
        say(f"  {name}: {one['best']:.3f} s, recall {one['recall']:.4f}; {one['words']}")
    return {"pairs": len(truth), "near": int((cosines < THRESHOLD + 0.01).sum()), "flat": peer, "own": own}


def _truth(vectors: Path, flat: Path) -> tuple[Words, npt.NDArray[np.float64]]:
    """Pairs of FAISS whose cosine, taken exactly, reaches the threshold; and that cosine."""
    data, found = np.load(vectors), np.load(flat)
    lefts, rights = found["lefts"], found["rights"]
    left, right = data[lefts].astype(np.float64), data[rights].astype(np.float64)
    lengths = np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
    cosines = (left * right).sum(axis=1) / lengths
    kept = cosines >= THRESHOLD
    return _words(lefts[kept], rights[kept]), cosines[kept]


def _found(path: Path) -> Words:
    found = np.load(path)
    return _words(found["lefts"], found["rights"])


def _words(lefts: npt.NDArray[Any], rights: npt.NDArray[Any]) -> Words:
    return lefts.astype(np.uint64) << np.uint64(32) | rights.astype(np.uint64)


def _nearest(setting: Setting, total: int) -> dict[str, Any]:
    every = np.load(vector_sets.embedded(setting, total + 1000))
    held, asked, truth = (setting.fresh(f"{name}.npy") for name in ("held", "asked", "truth"))
    np.save(held, every[:total])
    np.save(asked, every[total:])
    words = (str(held), str(asked), str(truth), "--repeat", str(setting.repeat))
    own = run_program(sys.executable, "benchmarks.own_nearest", *words, env=THREADS)
    for point in own["points"]:
        say(f"  nearest: {point}")
    try:
        peer = run_program(interpreter(GRAPH, setting.venvs), GRAPH.module, *words, env=THREADS)
        say(f"  {GRAPH.name}: built in {peer['build']:.0f} s")
    except BenchmarkError as error:
        say(f"  {GRAPH.name} left out: {error}")
        peer = {"failed": str(error)}
    return {"queries": 1000, "count": 10, "own": own, "graph": peer}


def _learned(setting: Setting) -> dict[str, Any]:
    files = {name: setting.work / f"{name}.npy" for name in ("digits", "patches")}
    if not all(path.exists() for path in files.values()):
        run_program(interpreter(IMAGES, setting.venvs), IMAGES.module, *map(str, files.values()))
    return {name: run_program(sys.executable, "benchmarks.own_learned", str(path)) for name, path in files.items()}


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    join, what = result["join"], f"pairs of {result['vectors']:,} vectors, cosine ≥ {THRESHOLD}"
    best = join["own"]["twinset"]
    lines = [
        (f"{what}: recall", f"≥ {RECALL}, precision 1", f"{best['recall']:.4f}", _right(best)),
        (f"{what}: against FAISS flat", f"≥ {FASTER}×", f"{best['times']:.1f}×", best["times"] >= FASTER),
    ]
    for method in ("cross-polytope", "hyperplane"):
        few, many = (join["own"][f"{method}, {probes} probes"] for probes in ("8", "no"))
        share = many["plan"]["tables"] / few["plan"]["tables"]
        figure = f"{many['plan']['tables']} / {few['plan']['tables']} = {share:.1f}×"
        met = share >= FEWER and _right(few) and _right(many)
        lines.append((f"tables without probes and with, {method}", f"≥ {FEWER}×, recall kept", figure, met))
    for name, one in result["learned"].items():
        for bits, curves in one["bits"].items():
            random = [curves["hyperplanes"], curves["hyperplanes, centred"]]
            better = all(ours[1] >= max(theirs)[1] for ours, *theirs in zip(curves["itq"], *random, strict=True))
            figure = f"{_mean(curves['itq']):.2f} and {max(map(_mean, random)):.2f} on average"
            what = f"learned codes (itq), {bits} bits, {name}: recall at equal precision"
            lines.append((what, "above hyperplanes everywhere", figure, better))
    return lines


def _right(one: dict[str, Any]) -> bool:
    return bool(one["recall"] >= RECALL and one["extra"] == 0)


def _mean(curve: list[list[float]]) -> float:
    return float(np.mean([recall for _, recall in curve]))


def table(result: dict[str, Any]) -> str:
    return "\n".join(
        [*_join_table(result), "", *_nearest_table(result["nearest"]), "", *_learned_table(result["learned"])]
    )


def _join_table(result: dict[str, Any]) -> list[str]:
    join = result["join"]
    lines = [
        f"{result['vectors']:,} vectors of {result['dimensions']} dimensions, {join['pairs']:,} pairs with a cosine of"
        f" {THRESHOLD} or more, {join['near']:,} of them below {THRESHOLD + 0.01:g}; recall asked for {RECALL};"
        " two threads.",
        "",
        "| | plan | seconds | of which the plan | faster than FAISS by | by processor time | recall | recall near"
        " | too many |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, one in join["own"].items():
        planned = one["best"] - one["joining"]
        lines.append(
            f"| {name} | {_plan(one['words'])} | {one['best']:.3f} | {planned:.3f} | {one['times']:.1f}×"
            f" | {one['times_cpu']:.1f}× | {one['recall']:.4f} | {one['near']:.4f} | {one['extra']} |"
        )
    flat = join["flat"]
    return [*lines, f"| {FLAT.name} | {FLAT.setup} | {flat['best']:.2f} | | | | 1 | 1 | 0 |"]


def _plan(words: str) -> str:
    return words.partition(": a pair")[0]


def _nearest_table(nearest: dict[str, Any]) -> list[str]:
    built = f"{nearest['graph'].get('build', 0):.1f} s"
    return [
        f"The {nearest['count']} nearest of {nearest['queries']:,} queries, vectors as embeddings have them; two"
        " threads. For this task a graph is the better choice.",
        "",
        "| | built in | queries a second | recall |",
        "|---|---:|---:|---:|",
        f"| Twinset, all compared | | {nearest['own']['exact_rate']:,.0f} | 1 |",
        *(
            f"| Twinset, {_plan(one['plan'])} | {one['build']:.2f} s | {one['rate']:,.0f} | {one['recall']:.4f} |"
            for one in nearest["own"]["points"]
        ),
        *(
            f"| {GRAPH.name}, breadth {one['breadth']} | {built} | {one['rate']:,.0f} | {one['recall']:.4f} |"
            for one in nearest["graph"].get("points", ())
        ),
    ]


def _learned_table(learned: dict[str, Any]) -> list[str]:
    lines = [
        "Codes learned from half of the images, the others searched: recall at a precision, of hyperplanes the mean of"
        " five. Near is within the mean distance of the 50th neighbour.",
        "",
        "| set | bits | codes | precision 0.3 | 0.5 | 0.7 | 0.9 |",
        "|---|---:|---|---:|---:|---:|---:|",
    ]
    for name, one in learned.items():
        for bits, curves in one["bits"].items():
            for method, curve in curves.items():
                shown = [f"{recall:.3f}" for precision, recall in curve if precision in (0.3, 0.5, 0.7, 0.9)]
                lines.append(f"| {name}, {one['vectors']:,} | {bits} | {method} | {' | '.join(shown)} |")
    return lines
