"""`twinset.collapse`: rankings of search results, against what one would write with Python's sets or a peer."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.corpora import filled_forms, written_once
from benchmarks.corpus import make_recipe, write_corpus
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.measure import BenchmarkError, Setting, run_program, say
from benchmarks.own_collapse import BOILERPLATE, TURNS

WORDS = 200
FORM = 0.75
GOALS = {"hundred": 0.005, "thousand": 0.050}
PEERS = (
    Peer(
        "datasketch", ("datasketch==2.0.0", ARROW), "benchmarks.peers.datasketch_collapse", 1_000, 1,
        "MinHash.update_batch, MinHashLSH of those shown, 128 hashes, 9×13 (its choice), nothing verified", 0.4,
    ),
    Peer(
        "rapidfuzz", ("rapidfuzz==3.14.6", ARROW), "benchmarks.peers.rapidfuzz_collapse", 1_000, 1,
        "fuzz.ratio ≥ 80 with each of those shown: another similarity, of characters", 1.0,
    ),
)  # fmt: skip


def measure(setting: Setting) -> dict[str, Any]:
    many = 2_000 if setting.quick else 10_000
    hundred, thousand, more = (_results(setting, count) for count in (100, 1_000, many))
    forms, known = filled_forms(setting, many, (FORM,)), setting.fresh("known-folds.parquet")
    rankings = [str(path) for path in (hundred, thousand, more, forms)]
    own = run_program(sys.executable, "benchmarks.own_collapse", str(known), *rankings, "--repeat", str(setting.repeat))
    say(f"  100 results {1e3 * own['hundred']['best']:.2f} ms, 1,000 results {1e3 * own['thousand']['best']:.2f} ms")
    contestants: list[dict[str, Any]] = []
    for peer in PEERS:
        found = setting.fresh(f"{peer.name}-folds.parquet")
        words = (str(thousand), "--pairs", str(found), "--repeat", str(setting.repeat))
        try:
            best = min(run_program(interpreter(peer, setting.venvs), peer.module, *words)["seconds"])
        except BenchmarkError as error:
            say(f"  {peer.name} left out: {error}")
            contestants.append({"name": peer.name, "failed": str(error)})
            continue
        say(f"  {peer.name} {best:.2f} s")
        line = {"name": peer.name, "setup": peer.setup, "packages": peer.packages, "best": best}
        contestants.append(line | _compared(found, known))
    return {"own": own, "contestants": contestants}


def _results(setting: Setting, count: int) -> Path:
    """The generated corpus with documents of 200 words: three in ten are near-copies of others."""

    def write(path: Path) -> None:
        recipe = make_recipe(count)
        write_corpus(path, replace(recipe, lengths=np.full_like(recipe.lengths, WORDS)))

    return written_once(setting.work / f"results-{count}.parquet", write)


def _compared(found: Path, known: Path) -> dict[str, int]:
    """How many results are folded, how many of those that should be are not, and how many that should not be are."""
    theirs, right = (set(pq.read_table(path)["right"].to_pylist()) for path in (found, known))
    return {"folded": len(theirs), "missed": len(right - theirs), "extra": len(theirs - right)}


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    own = result["own"]
    lines = [
        (
            f"collapse {own[name]['results']:,} results of {WORDS} words, warm",
            f"< {1e3 * goal:.0f} ms",
            f"{1e3 * own[name]['best']:.2f} ms",
            own[name]["best"] < goal,
        )
        for name, goal in GOALS.items()
    ]
    missed, extra = own["thousand"]["missed"], own["thousand"]["extra"]
    figure = f"{missed} missed, {extra} too many"
    lines.append(("what collapse folds, against comparing every two", "the same", figure, not missed + extra))
    return lines


def table(result: dict[str, Any]) -> str:
    own = result["own"]
    best = own["thousand"]["best"]
    rankings = (
        ("hundred", f"of {WORDS} words"),
        ("thousand", f"of {WORDS} words"),
        ("many", f"of {WORDS} words"),
        ("header", f"the same, each after {BOILERPLATE} words that all have"),
        ("forms", f"of one form of 490 words, mutual J ≈ {FORM}"),
    )
    lines = [
        "Lists of strings in memory to lists of results and counts, one thread, warm; up to 1,000 results best of"
        f" {TURNS} times as many turns.",
        "",
        "| results | | shown | milliseconds |",
        "|---:|---|---:|---:|",
    ]
    for name, what in rankings:
        one = own[name]
        lines.append(f"| {one['results']:,} | {what} | {one['shown']:,} | {1e3 * one['best']:,.2f} |")
    lines += [
        "",
        f"The 1,000 results of {WORDS} words by other means:",
        "",
        "| | how | milliseconds | twinset is faster by | folded | missed | too many |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    sets = {"name": "Python's sets", "setup": "each with each of those shown", "missed": 0, "extra": 0, **own["sets"]}
    for one in ({"name": "twinset", "setup": "", **own["thousand"]}, sets, *result["contestants"]):
        if "failed" in one:
            lines.append(f"| {one['name']} | not measured | | | | | |")
            continue
        lines.append(
            f"| {one['name']} | {one['setup']} | {1e3 * one['best']:,.1f} | {one['best'] / best:,.0f}×"
            f" | {one['folded']:,} | {one['missed']:,} | {one['extra']:,} |"
        )
    return "\n".join(lines)
