"""`twinset.collapse` timed in one process, warm; and every two results compared as one would write it in Python.

Twinset's clock runs from a list of strings to the list of results that are shown, with their counts.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import twinset
from benchmarks.peers.contest import THRESHOLD, shingles

TURNS = 10  # a few milliseconds are measured more often than a few seconds
RANKINGS = ("hundred", "thousand", "many", "forms")
BOILERPLATE = 100  # words that all results of one ranking begin with


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", type=Path, help="where to write which of the thousand must be folded under which")
    for name in RANKINGS:
        parser.add_argument(name, type=Path, help="Parquet file with a column `text`")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    rankings = {name: _read(getattr(arguments, name)) for name in RANKINGS}
    header = " ".join(rankings["many"][0].split()[:BOILERPLATE])
    rankings["header"] = [f"{header}. {text}" for text in rankings["many"]]
    thousand = rankings["thousand"]
    shown(thousand)
    result: dict[str, Any] = {}
    for name, ranking in rankings.items():
        turns = arguments.repeat * (TURNS if len(ranking) <= len(thousand) else 1)
        result[name] = {"results": len(ranking), **timed(partial(shown, ranking), turns)}
    right: list[tuple[int, int]] = []
    result["sets"] = {**timed(lambda: right.extend(every_two(thousand)), 1), "folded": len(right)}
    pq.write_table(pa.table([[pair[side] for pair in right] for side in (0, 1)], ["left", "right"]), arguments.pairs)
    found = twinset.collapse(thousand, threshold=THRESHOLD)
    folds = {(group.place, one.place) for group in found for one in group.folded}
    result["thousand"] |= {"folded": len(folds), "missed": len({*right} - folds), "extra": len(folds - {*right})}
    print(json.dumps(result))


def _read(path: Path) -> list[str]:
    texts: list[str] = pq.read_table(path, columns=["text"])["text"].to_pylist()
    return texts


def shown(ranking: list[str]) -> int:
    found = twinset.collapse(ranking, threshold=THRESHOLD)
    return len(list(zip(found.results, found.counts, strict=True)))


def every_two(ranking: list[str]) -> list[tuple[int, int]]:
    """Each result against those that are shown so far, until one is near."""
    heads: list[tuple[int, set[str]]] = []
    folds = []
    for place, text in enumerate(ranking):
        mine = set(shingles(text))
        for head, theirs in heads:
            shared = len(mine & theirs)
            if shared / (len(mine) + len(theirs) - shared) >= THRESHOLD:
                folds.append((head, place))
                break
        else:
            heads.append((place, mine))
    return folds


def timed(work: Callable[[], Any], repeat: int) -> dict[str, Any]:
    seconds = []
    for _ in range(repeat):
        gc.collect()
        start = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "best": min(seconds), "shown": found}


if __name__ == "__main__":
    main()
