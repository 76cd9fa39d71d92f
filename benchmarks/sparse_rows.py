"""Sparse vectors: terms and documents, all pairs at a cosine of at least 0.8, and the ten nearest of each.

The rows are generated: words by Zipf's law out of 30,000, log-normal lengths, weighted by tf-idf as scikit-learn does,
a tenth of them changed copies of others. Twinset is timed as a whole process, from start to exit, from an .npz file to
a file of scored pairs. The others are timed without their start, from a matrix in memory to pairs in memory, with rows
scaled to length 1 before. sparse_dot_topn is told how many pairs a row has at most, which it needs and nobody knows
beforehand. It multiplies everything out: its pairs are the truth. scikit-learn is measured on the first rows as
queries, and its time scaled by their number.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.corpora import written_once
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.measure import BenchmarkError, Setting, Timing, run_program, say, time_command, twinset

SEED = 20240501
ROWS, COLUMNS, WORDS = 100_000, 30_000, 110
THRESHOLD, TOP, TOP_ROWS = 0.8, 10, 20_000
GOAL = 3
_PACKAGES = ("numpy==2.4.6", "scipy==1.17.1", ARROW)
PEERS = (
    Peer(
        "sparse_dot_topn", ("sparse_dot_topn==1.2.0", *_PACKAGES), "benchmarks.peers.sparse_dot_topn_rows", ROWS, 2,
        "sp_matmul_topn with a threshold, two threads", 1.0,
    ),
    Peer(
        "scikit-learn", ("scikit-learn==1.9.1", *_PACKAGES), "benchmarks.peers.sklearn_sparse", 1_000, 2,
        "NearestNeighbors, brute force, cosine", 1.0,
    ),
)  # fmt: skip
Row = dict[str, Any]


def measure(setting: Setting) -> Row:
    count = 5_000 if setting.quick else ROWS
    path, few = rows(setting, count), rows(setting, min(TOP_ROWS, count // 2))
    with np.load(path) as arrays:
        numbers = len(arrays["data"])
    out, nearest = setting.fresh("sparse-pairs.parquet"), setting.fresh("sparse-nearest.parquet")
    own = {
        "pairs": _own(setting, path, out, "--threshold", str(THRESHOLD)),
        "top": _own(setting, few, nearest, "--top", str(TOP)),
    }
    say(f"  twinset: pairs {own['pairs']['best']:.2f} s, nearest {own['top']['best']:.2f} s")
    peers: dict[str, Row] = {}
    for peer in PEERS:
        for job, source, asked in (("pairs", path, THRESHOLD), ("top", few, TOP)):
            truth = setting.fresh(f"sparse-{peer.name}-{job}.parquet")
            words = (str(source), str(truth), "--job", job, "--asked", str(asked), "--rows", str(peer.documents))
            try:
                one = run_program(interpreter(peer, setting.venvs), peer.module, *words)
            except BenchmarkError as error:
                say(f"  {peer.name} left out: {error}")
                continue
            one["times"] = one["scaled"] / own[job]["best"]
            one["agrees"] = _agrees(out if job == "pairs" else nearest, truth, job)
            peers[f"{peer.name}, {job}"] = one
            say(f"  {peer.name}, {job}: {one['scaled']:.1f} s, {one['times']:.1f} times, {one['agrees']}")
    setups = {peer.name: [peer.packages[0], peer.setup] for peer in PEERS}
    sizes = {"rows": count, "few": min(TOP_ROWS, count // 2), "numbers": numbers}
    return {**sizes, "own": own, "peers": peers, "setups": setups}


def rows(setting: Setting, count: int) -> Path:
    """Write rows as ``scipy.sparse.save_npz`` does; the last tenth are copies of the first with some words replaced."""

    def write(path: Path) -> None:
        rng = np.random.default_rng([SEED, count])
        shares = np.cumsum(1 / np.arange(1, COLUMNS + 1))
        original = count - count // 10
        lengths = np.maximum(5, rng.lognormal(np.log(WORDS), 0.6, original).astype(np.int64))
        words = np.searchsorted(shares / shares[-1], rng.random(lengths.sum())).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        copied = words[: starts[count // 10]].copy()
        replaced = rng.random(len(copied)) < np.repeat(rng.random(count // 10) * 0.35, lengths[: count // 10])
        copied[replaced] = np.searchsorted(shares / shares[-1], rng.random(int(replaced.sum())))
        owners = np.repeat(np.arange(count), np.concatenate([lengths, lengths[: count // 10]]))
        keys, counts = np.unique(owners * COLUMNS + np.concatenate([words, copied]), return_counts=True)
        columns = (keys % COLUMNS).astype(np.int32)
        found = np.bincount(columns, minlength=COLUMNS)
        values = counts * (np.log((1 + count) / (1 + found)) + 1)[columns]
        indptr = np.searchsorted(keys, np.arange(count + 1) * COLUMNS).astype(np.int32)
        lengths_of = np.sqrt(np.add.reduceat(values**2, indptr[:-1]))
        data = (values / np.repeat(lengths_of, np.diff(indptr))).astype(np.float32)
        shape, name = np.array([count, COLUMNS]), np.array(b"csr")
        with path.open("wb") as file:
            np.savez(file, data=data, indices=columns, indptr=indptr, shape=shape, format=name)

    return written_once(setting.work / f"sparse-{count}.npz", write)


def _own(setting: Setting, source: Path, out: Path, *words: str) -> Row:
    runs: list[Timing] = []
    for _ in range(setting.repeat):
        out.unlink(missing_ok=True)
        runs.append(time_command([twinset(), "pairs", str(source), "--vectors", *words, "-o", str(out), "--quiet"]))
    best = min(runs, key=lambda run: run.best)
    return {**best.to_dict(), "pairs": pq.read_metadata(out).num_rows}


def _agrees(ours: Path, theirs: Path, job: str) -> str:
    """Compare the pairs of the peer's rows with ours; of the nearest their cosines, since ties may go either way."""
    wanted = pq.read_table(theirs).to_pandas()
    found = pq.read_table(ours).to_pandas()
    for side in ("left", "right"):
        found[side] = found[side].str.rpartition(":")[2].astype("int64")
    if job == "pairs":
        found = found[found["left"].isin(set(wanted["left"]))] if len(wanted) else found[:0]
        own, other = (set(zip(one["left"], one["right"], strict=True)) for one in (found, wanted))
        both = own & other
        return f"{len(both):,} pairs of both, {len(own - both)} of one only, {len(other - both)} of the other"
    found = found[found["left"].isin(set(wanted["left"]))]
    one, other = (part.sort_values(["left", "similarity"])["similarity"].to_numpy() for part in (found, wanted))
    if len(one) != len(other):
        return f"{len(one):,} neighbours against {len(other):,}"
    return f"{len(one):,} neighbours, cosines within {np.abs(one - other).max():.1e}"


def goals(result: Row) -> list[tuple[str, str, str, bool]]:
    peers = [one["times"] for name, one in result["peers"].items() if name.endswith("pairs")]
    what = f"sparse cosine ≥ {THRESHOLD}, {result['rows']:,} × {COLUMNS:,} tf-idf rows, against the fastest"
    if len(peers) < len(PEERS):
        return [(what, f"≥ {GOAL}×", "not measured", False)]
    exact = result["peers"]["sparse_dot_topn, pairs"]["agrees"]
    same = exact.endswith(" 0 of one only, 0 of the other")
    return [
        (what, f"≥ {GOAL}×", f"{min(peers):.1f}×", min(peers) >= GOAL),
        ("the pairs of sparse vectors equal a product of all", "all", exact, same),
    ]


def table(result: Row) -> str:
    own, peers = result["own"], result["peers"]
    lines = [
        f"{result['rows']:,} rows of {result['numbers'] / result['rows']:.0f} numbers on average, {COLUMNS:,} columns."
        f" All pairs with a cosine of {THRESHOLD} or more, and the {TOP} nearest of each of {result['few']:,} rows.",
        "",
        "| | all pairs | | nearest | | how |",
        "|---|---:|---:|---:|---:|---|",
        f"| Twinset | {own['pairs']['best']:.2f} s | | {own['top']['best']:.2f} s | | whole processes |",
    ]
    for name, (package, setup) in result["setups"].items():
        cells = []
        for job in ("pairs", "top"):
            one = peers.get(f"{name}, {job}")
            cells += ["not measured", ""] if one is None else [f"{one['scaled']:.1f} s", f"{one['times']:.1f}×"]
        lines.append(f"| {name} | {' | '.join(cells)} | {package}: {setup} |")
    lines += ["", "Compared with Twinset's answers:", ""]
    lines += [f"- {name}: {one['agrees']}" for name, one in peers.items()]
    return "\n".join(lines)
