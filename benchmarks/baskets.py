"""Similar users by the items they chose: all pairs with a Jaccard similarity of at least 0.5.

Users draw items from a skewed distribution, and some are like another one. Twinset is timed as a whole process, from
start to exit, from a Parquet file to a file of scored pairs. The others are timed without their start, from sets in
memory to pairs in memory. SetSimilaritySearch is exact, and what it finds is the truth. datasketch is measured on the
first users only, and its time scaled by their number, which is to its advantage: its queries find more the more there
are. It is measured as its README shows it, with the quickest calls it has, and with the bands that the recall asked of
Twinset would take, its answers checked, since it gives candidates and no scored pairs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpora import written_once
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.measure import ROOT, BenchmarkError, Setting, Timing, run_program, say, time_command

THRESHOLD, RECALL = 0.5, 0.99
USERS, ITEMS, EXPONENT, MEAN = 100_000, 200_000, 0.8, 110
SAMPLE = 10_000
GOALS = {"SetSimilaritySearch": 5, "datasketch": 50}
# What `pip install twinset` brings, and nothing else: other packages make the start longer.
OWN = Peer(
    "twinset", ("numpy==2.4.6", "numba==0.68.1", ARROW, "-e", str(ROOT)), "benchmarks.own_baskets", USERS, 2,
    "a whole process, from start to exit", 0.99, "twinset",
)  # fmt: skip
EXACT = Peer(
    "SetSimilaritySearch", ("SetSimilaritySearch==1.0.1", ARROW), "benchmarks.peers.set_similarity_baskets", USERS, 1,
    "all_pairs; exact", 1.0,
)  # fmt: skip
SKETCHES = Peer(
    "datasketch", ("datasketch==2.0.0", ARROW), "benchmarks.peers.datasketch_baskets", SAMPLE, 1, "128 hashes", 0.55
)
HOW = {
    "readme": ("as its README shows", "MinHash.update, insert, query; 25 × 5, its choice"),
    "quick": ("the quickest of its ways", "MinHash.generator, insert, query; 25 × 5, its choice"),
    "checked": ("the same job", "MinHash.generator, insert, query; 42 × 3, for the same recall; answers checked"),
}


def measure(setting: Setting) -> dict[str, Any]:
    users = 5_000 if setting.quick else USERS
    path = baskets(setting, users)
    own = {
        "audit off": _own(setting, path, "--audit", "0"),
        "with audit": _own(setting, path),
        "exact": _own(setting, path, "--exact"),
    }
    asked = ("--threshold", str(THRESHOLD), "--recall", str(RECALL), "--repeat", str(setting.repeat))
    place = setting.fresh("baskets-inside.parquet")
    inside = run_program(interpreter(OWN, setting.venvs), OWN.module, str(path), str(place), *asked)
    for name, one in own.items():
        say(f"  twinset, {name}: {one['best']:.2f} s, {one['cpu']:.2f} s of processor, {one['pairs']:,} pairs")
    truth = setting.fresh("baskets-truth.parquet")
    exact = _peer(setting, EXACT, str(path), str(truth), "--threshold", str(THRESHOLD))
    for one in own.values():
        file = Path(one.pop("file"))
        one.update(_compared(file, truth) if "best" in exact else {})
    words = (str(path), "--users", str(min(SAMPLE, users)), *(("--truth", str(truth)) if "best" in exact else ()))
    few = [_peer(setting, SKETCHES, *words, "--how", how) for how in HOW]
    for how, one in zip(HOW, few, strict=True):
        one["way"], one["setup"] = HOW[how]
        if "best" in one:
            one["scaled"] = one["best"] * users / one["users"]
    contestants = [{**exact, "way": "all pairs", "setup": EXACT.setup, "scaled": exact.get("best")}, *few]
    for one in contestants:
        if "best" in one:
            one["times"] = one["scaled"] / own["audit off"]["best"]
            one["times_cpu"] = one["cpu"] * one["scaled"] / one["best"] / own["audit off"]["cpu"]
            say(f"  {one['name']}, {one['way']}: {one['scaled']:.0f} s, {one['times']:.0f} times")
    sizes = pq.read_table(path, columns=["items"])["items"].combine_chunks().value_lengths()
    elements = int(pa.compute.sum(sizes).as_py())
    return {"users": users, "elements": elements, "own": own, "inside": inside, "contestants": contestants}


def _own(setting: Setting, path: Path, *words: str) -> dict[str, Any]:
    program = interpreter(OWN, setting.venvs).with_name("twinset")
    command = [str(program), "pairs", str(path), "--items", "items", "--threshold", str(THRESHOLD)]
    command += ["--recall", str(RECALL), "--quiet", *words, "-o"]
    time_command([*command, str(setting.fresh("baskets-warm-up.parquet"))])  # kernels are compiled once
    runs = []
    for _ in range(setting.repeat):
        out = setting.fresh(f"baskets-pairs{''.join(words)}.parquet")
        os.sync()
        runs.append(time_command([*command, str(out)]))
    best = min(runs, key=lambda run: run.best)
    timing = Timing(tuple(run.best for run in runs), best.cpu, max(run.peak for run in runs))
    return {**timing.to_dict(), "file": str(out), "pairs": pq.read_metadata(out).num_rows}


def _peer(setting: Setting, peer: Peer, *words: str) -> dict[str, Any]:
    about = {"name": peer.name, "packages": peer.packages}
    try:
        return {**about, **run_program(interpreter(peer, setting.venvs), peer.module, *words)}
    except BenchmarkError as error:
        say(f"  {peer.name} left out: {error}")
        return {**about, "failed": str(error)}


def _compared(found: Path, truth: Path) -> dict[str, float]:
    """Recall and precision of pairs by id, and the recall of those close to the threshold."""
    ours, right = pq.read_table(found), pq.read_table(truth)
    mine = {_pair(a, b) for a, b in zip(ours["left"].to_pylist(), ours["right"].to_pylist(), strict=True)}
    known = [_pair(a, b) for a, b in zip(right["left"].to_pylist(), right["right"].to_pylist(), strict=True)]
    near = [pair for pair, one in zip(known, right["similarity"].to_pylist(), strict=True) if one < THRESHOLD + 0.05]
    return {
        "recall": sum(pair in mine for pair in known) / max(1, len(known)),
        "near": sum(pair in mine for pair in near) / max(1, len(near)),
        "precision": len(mine & set(known)) / max(1, len(mine)),
        "truth": len(known),
    }


def _pair(one: object, other: object) -> tuple[int, int]:
    a, b = int(str(one)), int(str(other))
    return min(a, b), max(a, b)


def baskets(setting: Setting, users: int) -> Path:
    """Users and their items by Zipf's law, sizes log-normal; a tenth of the users are like another one."""

    def write(path: Path) -> None:
        chance = np.random.default_rng(5)
        popularity = 1 / np.arange(1, ITEMS + 1) ** EXPONENT
        upto = np.cumsum(popularity / popularity.sum())
        alike = users // 10
        sizes = np.clip(chance.lognormal(np.log(MEAN) - 0.18, 0.6, users - alike).astype(int), 5, 2000)
        sets = [np.unique(np.searchsorted(upto, chance.random(size))) for size in sizes]
        for _ in range(alike):
            other = sets[int(chance.integers(users - alike))]
            kept = other[chance.random(len(other)) < chance.uniform(0.6, 1)]
            more = np.searchsorted(upto, chance.random(int(chance.poisson(0.12 * len(other)))))
            sets.append(np.unique(np.concatenate([kept, more])))
        lists = pa.array([sets[at] for at in chance.permutation(users)], pa.list_(pa.int32()))
        pq.write_table(pa.table({"id": np.arange(users), "items": lists}), path)

    return written_once(setting.work / f"baskets-{users}.parquet", write)


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    best = result["own"]["audit off"]
    what = f"pairs of {result['users']:,} baskets, Jaccard ≥ {THRESHOLD}"
    lines = []
    if "recall" in best:
        right = best["recall"] >= RECALL and best["precision"] == 1
        shown = f"{best['recall']:.4f}, {best['precision']:.4f}"
        lines.append((f"{what}: recall, precision", f"≥ {RECALL}, 1", shown, right))
    for one in result["contestants"]:
        goal = GOALS[one["name"]]
        name = f"{what}, against {one['name']}, {one['way']}"
        if "times" in one:
            lines.append((name, f"≥ {goal}×", f"{one['times']:.0f}×", one["times"] >= goal))
        else:
            lines.append((name, f"≥ {goal}×", "not measured", False))
    return lines


def _shown(one: dict[str, Any], score: str) -> str:
    return f"{one[score]:.4f}" if score in one else ""


def table(result: dict[str, Any]) -> str:
    first = result["own"]["audit off"]
    lines = [
        f"{result['users']:,} users with {result['elements']:,} items in all, drawn by Zipf's law with exponent"
        f" {EXPONENT} out of {ITEMS:,}; {first.get('truth', 0):,} pairs with a similarity of at least {THRESHOLD}.",
        "",
        "| | how | seconds | twinset is faster by | recall | below 0.55 | precision |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for name, one in result["own"].items():
        scores = [_shown(one, key) for key in ("recall", "near", "precision")]
        lines.append(
            f"| twinset, {name} | {OWN.setup}; {one['cpu']:.1f} s of processor | {one['best']:.2f} | "
            f"| {' | '.join(scores)} |"
        )
    lines.append(f"| twinset, audit off, without its start | | {result['inside']['best']:.2f} | | | | |")
    for one in result["contestants"]:
        if "failed" in one:
            lines.append(f"| {one['name']}, {one['way']} | not measured | | | | | |")
            continue
        scaled = f" ({one['users']:,} users in {one['best']:.1f} s, scaled)" if one["users"] < result["users"] else ""
        lines.append(
            f"| {one['name']}, {one['way']} | {one['setup']}{scaled} | {one['scaled']:.0f} | {one['times']:.0f}×, "
            f"by processor time {one['times_cpu']:.0f}× | {_shown(one, 'recall')} | | {_shown(one, 'precision')} |"
        )
    return "\n".join(lines)
