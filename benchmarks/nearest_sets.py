"""The ten nearest of each of many baskets, at any distance; and of queries in indexes of sets and of weighted sets.

The baskets are those of the part *Baskets*. Twinset is timed as a whole process, from a Parquet file to a file of
scored pairs, and its neighbours of a sample are compared with brute force, which shares no code with it.
sparse_dot_topn multiplies the matrix of baskets and items with its transpose and keeps the ten largest products of each
row: these are numbers of common items, not similarities. scikit-learn compares dense rows by their Jaccard distance,
all with all. It is measured on a few queries among the first baskets, and its time is scaled by the numbers of both.
That is to its advantage, since the first baskets have fewer different items.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.baskets import ITEMS, USERS, baskets
from benchmarks.corpora import written_once
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.measure import BenchmarkError, Setting, Timing, run_program, say, time_command, twinset
from benchmarks.skewed_sets import elements_of
from benchmarks.writing import kernel

TOP, SAMPLE, SEED = 10, 1_000, 11
SETS, WEIGHTED, FAMILY, MEAN = 1_000_000, 200_000, 20, 50
SLOWER, FASTER, P50 = 1.5, 10.0, 0.020
PRODUCT = Peer(
    "sparse_dot_topn", ("sparse-dot-topn==1.2.0", "scipy==1.17.1", ARROW), "benchmarks.peers.sparse_topn_baskets",
    USERS, 2, "sp_matmul_topn, 2 threads; common items, not Jaccard", 1.0,
)  # fmt: skip
BRUTE = Peer(
    "scikit-learn", ("scikit-learn==1.9.1", ARROW), "benchmarks.peers.sklearn_baskets", 2_000, 1,
    "NearestNeighbors, metric jaccard, brute force", 1.0,
)  # fmt: skip

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def measure(setting: Setting) -> dict[str, Any]:
    users = 5_000 if setting.quick else USERS
    path = baskets(setting, users)
    own = _own(setting, path)
    say(f"  twinset: {own['best']:.2f} s, {own['cpu']:.2f} s of processor")
    rows = np.random.default_rng(SEED).choice(users, min(SAMPLE, users), replace=False)
    wrong, tenth = _compared(path, Path(own.pop("file")), rows)
    own |= {"sample": len(rows), "wrong": wrong, "tenth": tenth}
    say(f"  of {len(rows):,} baskets {wrong} have other neighbours than by brute force; median tenth {tenth:.3f}")
    contestants = [_peer(setting, one, path, users) for one in (PRODUCT, BRUTE)]
    for one in contestants:
        if "best" in one:
            one["times"] = one["scaled"] / own["best"]
            say(f"  {one['name']}: {one['scaled']:,.0f} s, {one['times']:.1f} times")
    indexes = {"index": _index(setting, SETS), "weighted": _index(setting, WEIGHTED, "--weighted")}
    return {"users": users, "own": own, "contestants": contestants, **indexes}


def _own(setting: Setting, path: Path) -> dict[str, Any]:
    command = [twinset(), "pairs", str(path), "--items", "items", "--top", str(TOP), "--quiet", "-o"]
    time_command([*command, str(setting.fresh("nearest-warm-up.parquet"))])  # kernels are compiled once
    runs = []
    for _ in range(setting.repeat):
        out = setting.fresh("nearest.parquet")
        os.sync()
        runs.append(time_command([*command, str(out)]))
    best = min(runs, key=lambda run: run.best)
    timing = Timing(tuple(run.best for run in runs), best.cpu, max(run.peak for run in runs))
    return {**timing.to_dict(), "file": str(out), "pairs": pq.read_metadata(out).num_rows}


def _peer(setting: Setting, peer: Peer, path: Path, users: int) -> dict[str, Any]:
    about = {"name": peer.name, "packages": peer.packages, "setup": peer.setup}
    try:
        done = run_program(interpreter(peer, setting.venvs), peer.module, str(path), "--users", str(peer.documents))
    except BenchmarkError as error:
        say(f"  {peer.name} left out: {error}")
        return {**about, "failed": str(error)}
    scaled = done["best"] * (users / done["users"]) * (users / done["queries"])
    return {**about, **done, "scaled": scaled}


def _compared(path: Path, found: Path, rows: Numbers) -> tuple[int, float]:
    """How many of some baskets have other neighbours, or other similarities, than by brute force; the median tenth."""
    values, offsets = elements_of(path)
    right = nearest(values.astype(np.int64), np.ones(len(values)), offsets, rows, TOP)
    table = pq.read_table(found)
    left = np.array(table["left"].to_pylist(), np.int64)
    ours = np.array(table["similarity"])
    starts = np.searchsorted(order := np.sort(left), np.arange(len(offsets)))
    if not np.array_equal(order, left):  # rows are in the order of the baskets
        raise BenchmarkError("the pairs are not in the order of the baskets")
    wrong = 0
    for row, scores in zip(rows.tolist(), right, strict=True):
        wrong += not np.array_equal(ours[starts[row] : starts[row + 1]], scores[scores > 0])
    return wrong, float(np.median(right[:, -1]))


@kernel
def nearest(values: Numbers, weights: Floats, offsets: Numbers, rows: Numbers, top: int) -> Floats:
    """The similarities of the nearest of each of some sets, descending, by comparing with all others: Σ min / Σ max."""
    best = np.zeros((len(rows), top))
    has = np.zeros(values.max() + 1)
    totals = np.array([weights[offsets[i] : offsets[i + 1]].sum() for i in range(len(offsets) - 1)])
    for i in range(len(rows)):
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        for at in range(first, last):
            has[values[at]] = weights[at]
        for other in range(len(offsets) - 1):
            common = 0.0
            for at in range(offsets[other], offsets[other + 1]):
                common += min(has[values[at]], weights[at])
            score = common / (totals[rows[i]] + totals[other] - common)
            if other != rows[i] and score > best[i, top - 1]:
                at = top - 1
                while at > 0 and best[i, at - 1] < score:
                    best[i, at] = best[i, at - 1]
                    at -= 1
                best[i, at] = score
        for at in range(first, last):
            has[values[at]] = 0.0
    return best


def families(setting: Setting, count: int) -> Path:
    """Sets of items by Zipf's law in families: each has some of the items of its family, and some others."""

    def write(path: Path) -> None:
        chance = np.random.default_rng([SEED, count])
        popularity = 1 / np.arange(1, ITEMS + 1) ** 0.8
        upto = np.cumsum(popularity / popularity.sum())
        sets = []
        while len(sets) < count:
            size = int(np.clip(chance.lognormal(np.log(MEAN), 0.4), 12, 300))
            whole = np.unique(np.searchsorted(upto, chance.random(size)))
            for _ in range(FAMILY):
                more = np.searchsorted(upto, chance.random(size // 6))
                sets.append(np.unique(np.concatenate([whole[chance.random(len(whole)) < 0.8], more])))
        lists = pa.array([sets[at] for at in chance.permutation(len(sets))[:count]], pa.list_(pa.int32()))
        halves = np.random.default_rng([SEED, count, 1]).integers(1, 11, len(lists.values)) / 2
        weights = pa.ListArray.from_arrays(lists.offsets, pa.array(halves))
        pq.write_table(pa.table({"id": np.arange(count), "items": lists, "weights": weights}), path)

    return written_once(setting.work / f"weighted-families-{count}.parquet", write)


def weights_of(path: Path) -> Floats:
    """The weights of the elements of all sets, one set after the other; their sums are exact."""
    lists = pq.read_table(path, columns=["weights"])["weights"]
    return np.concatenate([chunk.flatten().to_numpy() for chunk in lists.chunks])


def _index(setting: Setting, sets: int, *words: str) -> dict[str, Any]:
    path = families(setting, sets // 50 if setting.quick else sets)
    setting.fresh("nearest.twinset-lock")
    place = setting.fresh("nearest.twinset")
    done = run_program(sys.executable, "benchmarks.own_nearest_sets", str(path), str(place), *words)
    say(f"  index: p50 {1e3 * done['p50']:.2f} ms, first query {done['first']:.1f} s, {done['wrong']} wrong")
    return done


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    own = result["own"]
    what = f"ten nearest of each of {result['users']:,} baskets"
    lines = [(f"{what}: wrong of a sample of {own['sample']:,}", "0", str(own["wrong"]), own["wrong"] == 0)]
    for one, goal in zip(result["contestants"], (1 / SLOWER, FASTER), strict=True):
        shown = f"{one['times']:.1f}×" if "times" in one else "not measured"
        lines.append((f"{what}, against {one['name']}", f"≥ {goal:.2g}×", shown, one.get("times", 0) >= goal))
    for kind, index in _indexes(result):
        what = f"ten nearest in an index of {index['sets']:,} {kind}"
        lines.append((f"{what}, p50", f"≤ {1e3 * P50:.0f} ms", f"{1e3 * index['p50']:.2f} ms", index["p50"] <= P50))
        lines.append((f"{what}: wrong of {index['checked']:,}", "0", str(index["wrong"]), index["wrong"] == 0))
    return lines


def _indexes(result: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The indexes that were measured, and what each holds; earlier results have one."""
    named = {"index": "sets", "weighted": "weighted sets"}
    return [(kind, result[name]) for name, kind in named.items() if name in result]


def table(result: dict[str, Any]) -> str:
    own = result["own"]
    lines = [
        f"The ten nearest of each of {result['users']:,} baskets; the tenth has a median similarity of"
        f" {own['tenth']:.3f}. Of {own['sample']:,} baskets compared with brute force, {own['wrong']} had others.",
        "",
        "| | how | seconds | twinset is faster by |",
        "|---|---|---:|---:|",
        f"| twinset | a whole process, {own['cpu']:.1f} s of processor | {own['best']:.2f} | |",
    ]
    for one in result["contestants"]:
        if "failed" in one:
            lines.append(f"| {one['name']} | not measured | | |")
            continue
        few = one["queries"] < result["users"]
        how = f"; {one['queries']:,} queries among {one['users']:,} in {one['best']:.1f} s, scaled" if few else ""
        lines.append(f"| {one['name']} | {one['setup']}{how} | {one['scaled']:,.0f} | {one['times']:,.1f}× |")
    for kind, index in _indexes(result):
        lines += [
            "",
            f"An index of {index['sets']:,} {kind} with {index['elements']:,} elements, in SQLite: the first query,"
            f" which lists all contents in memory, took {index['first']:.1f} s and {index['memory'] / 1e6:,.0f} MB;"
            f" the next {index['queries']:,} had a p50 of {1e3 * index['p50']:.2f} ms and a p99 of"
            f" {1e3 * index['p99']:.2f} ms."
            f" Their tenth neighbour has a similarity of at least 0.3.",
        ]
    return "\n".join(lines)
