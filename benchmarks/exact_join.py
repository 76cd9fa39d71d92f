"""`twinset pairs --exact` against comparing every two documents, and against SetSimilaritySearch, on the same sets.

Twinset's clock runs from texts in memory to scored pairs: it has to shingle, and that more than once. The others'
clocks run from sets of numbers in memory, which are the very shingle hashes of Twinset, to scored pairs. Identical
contents are collapsed beforehand for all, as Twinset does for itself.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import text_bytes, written_once
from benchmarks.corpus import make_recipe, write_corpus
from benchmarks.environments import ARROW, Peer, interpreter
from benchmarks.measure import BenchmarkError, Setting, run_program, say

WORDS = 300
GOALS = {"brute force": 20, "SetSimilaritySearch": 3}
PEER = Peer(
    "SetSimilaritySearch", ("SetSimilaritySearch==1.0.1", ARROW), "benchmarks.peers.set_similarity_search", 50_000, 1,
    "all_pairs, sets of 64-bit numbers", 1.0,
)  # fmt: skip


def measure(setting: Setting) -> dict[str, Any]:
    documents = 5_000 if setting.quick else 50_000
    corpus = _corpus(setting, documents)
    sets, found = setting.fresh("sets.parquet"), setting.fresh("exact-pairs.parquet")
    words = [str(corpus), str(sets), str(found), "--repeat", str(setting.repeat)]
    own = run_program(sys.executable, "benchmarks.own_exact", *words)
    say(f"  twinset, exact {own['exact']['best']:.2f} s; brute force {own['brute force']['best']:.1f} s")
    contestants = [
        {"name": name, "setup": setup, **own[key]}
        for name, key, setup in (
            ("twinset --exact", "exact", "texts in memory to pairs, two cores"),
            ("twinset, sketches", "sketches", "the same at recall 0.99, for comparison"),
            ("brute force", "brute force", "every two sets compared, compiled, one core; stops a pair once it is lost"),
        )
    ]
    try:
        other = run_program(interpreter(PEER, setting.venvs), PEER.module, str(sets), str(found))
        say(f"  {PEER.name} {other['best']:.1f} s")
        contestants.append({"name": PEER.name, "setup": PEER.setup, "packages": PEER.packages, **other})
    except BenchmarkError as error:
        say(f"  {PEER.name} left out: {error}")
        contestants.append({"name": PEER.name, "failed": str(error)})
    for one in contestants:
        if "best" in one:
            one["times"] = one["best"] / own["exact"]["best"]
    return {
        "documents": documents,
        "contents": own["contents"],
        "shingles": own["shingles"],
        "bytes": text_bytes(corpus),
        "contestants": contestants,
    }


def _corpus(setting: Setting, documents: int) -> Path:
    """The generated corpus with shorter documents."""

    def write(path: Path) -> None:
        recipe = make_recipe(documents)
        lengths = np.maximum(20, recipe.lengths * WORDS // int(recipe.lengths.mean()))
        write_corpus(path, replace(recipe, lengths=lengths))

    return written_once(setting.work / f"short-{documents}.parquet", write)


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    lines = []
    for one in result["contestants"]:
        if one["name"] in GOALS:
            what = f"exact pairs of {result['documents']:,} documents against {one['name']}"
            goal = GOALS[one["name"]]
            if "failed" in one:
                lines.append((what, f"≥ {goal}×", "not measured", False))
            else:
                met = one["times"] >= goal and one["missed"] == 0 and one["extra"] == 0
                lines.append((what, f"≥ {goal}×, the same pairs", f"{one['times']:.1f}×", met))
    return lines


def table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['documents']:,} documents of about {WORDS} words, {result['bytes'] / 1e6:,.0f} MB;"
        f" {result['contents']:,} distinct contents with {result['shingles']:,} shingles; threshold 0.8.",
        "",
        "| | how | seconds | twinset --exact is faster by | pairs | missed | too many |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for one in result["contestants"]:
        if "failed" in one:
            lines.append(f"| {one['name']} | not measured | | | | | |")
            continue
        lines.append(
            f"| {one['name']} | {one['setup']} | {one['best']:.2f} | {one['times']:.1f}× | {one['pairs']:,}"
            f" | {one['missed']:,} | {one['extra']:,} |"
        )
    return "\n".join(lines)
