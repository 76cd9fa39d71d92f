"""SQL functions in DuckDB: the speed of each on one thread, and a join on bands against find_pairs."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import written_once
from benchmarks.corpus import make_recipe, write_corpus
from benchmarks.measure import Setting, run_program, say
from benchmarks.own_sql import OF_ONE, OF_TWO

SPEED = 50e6
FUNCTIONS = (*OF_ONE, *OF_TWO, "candidate")
CORPORA = {"long": 480, "short": 40}
"""Words of each document."""


def measure(setting: Setting) -> dict[str, Any]:
    bytes_each = 5e6 if setting.quick else 60e6
    paths = [_documents(setting, name, words, int(bytes_each / (6.5 * words))) for name, words in CORPORA.items()]
    own = run_program(sys.executable, "benchmarks.own_sql", *map(str, paths), "--repeat", str(setting.repeat))
    own = dict(zip(CORPORA, own.values(), strict=True))
    for name, one in own.items():
        slowest = min((*OF_ONE, *OF_TWO), key=lambda function: one[function]["speed"])
        say(f"  {name}: twinset_{slowest} {one[slowest]['speed'] / 1e6:,.0f} MB/s, join {one['join']['best']:.2f} s")
    return {"own": own}


def _documents(setting: Setting, name: str, words: int, count: int) -> Path:
    """The generated corpus with documents of one length: three in ten are near-copies of others."""

    def write(path: Path) -> None:
        recipe = make_recipe(count)
        write_corpus(path, replace(recipe, lengths=np.full_like(recipe.lengths, words)))

    return written_once(setting.work / f"sql-{name}-{count}.parquet", write)


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    lines = []
    for corpus, own in result["own"].items():
        for name in (*OF_ONE, *OF_TWO):
            speed = own[name]["speed"]
            what = f"twinset_{name} on documents of {CORPORA[corpus]} words, one thread"
            lines.append((what, "≥ 50 MB/s", f"{speed / 1e6:,.0f} MB/s", speed >= SPEED))
        different = own["join"]["different"]
        what = f"pairs of the join in SQL, documents of {CORPORA[corpus]} words, against find_pairs"
        lines.append((what, "the same", f"{different} different", not different))
    return lines


def table(result: dict[str, Any]) -> str:
    lines = [
        "Tables in the memory of DuckDB, one thread, warm, by seconds of one core. Functions of two texts compare each"
        " document with the next one; their speed counts both texts, that of `twinset_candidate` both sketches.",
        "",
        "| | " + " | ".join(f"documents of {words} words" for words in CORPORA.values()) + " |",
        "|---|" + "---:|" * len(CORPORA),
    ]
    own = [result["own"][name] for name in CORPORA]
    rows = [
        *((f"`twinset_{name}`", [f"{one[name]['speed'] / 1e6:,.0f} MB/s" for one in own]) for name in FUNCTIONS),
        ("join on bands, in SQL", [f"{one['join']['best']:,.2f} s" for one in own]),
        ("`twinset.find_pairs`", [f"{one['find_pairs']['best']:,.2f} s" for one in own]),
        ("documents", [f"{one['documents']:,}" for one in own]),
        ("pairs", [f"{one['join']['pairs']:,}" for one in own]),
    ]
    return "\n".join([*lines, *(f"| {what} | {' | '.join(cells)} |" for what, cells in rows)])
