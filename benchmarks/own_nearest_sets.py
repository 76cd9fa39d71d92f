"""The ten nearest in an index of sets, or of weighted ones: the time of a query, and whether brute force agrees."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import twinset
from benchmarks.nearest_sets import Floats, nearest, weights_of
from benchmarks.skewed_sets import SEED, Items, elements_of
from twinset.engines.local.budget import peak_bytes

QUERIES, CHECKED, TOP, LEAST = 300, 100, 10, 0.3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--weighted", action="store_true")
    arguments = parser.parse_args()
    words = {"weight": "weights"} if arguments.weighted else {}
    start = time.perf_counter()
    if not arguments.index.exists():
        with twinset.Index.create(arguments.index, items="items", **words, store="shingles", threshold=0.8) as index:
            index.add(arguments.sets)
    adding = time.perf_counter() - start
    values, offsets = elements_of(arguments.sets)
    rows = np.random.default_rng(SEED).choice(len(offsets) - 1, QUERIES, replace=False)
    weights = weights_of(arguments.sets) if arguments.weighted else None
    sets = [query_of(values, weights, slice(offsets[row], offsets[row + 1])) for row in rows]
    before = peak_bytes()
    seconds, tenths, answers = [], [], []
    with twinset.Index.open(arguments.index, read_only=True) as index:
        start = time.perf_counter()
        index.query(sets[0], k=TOP)
        first = time.perf_counter() - start
        for one in sets:
            start = time.perf_counter()
            found = index.query(one, k=TOP)
            seconds.append(time.perf_counter() - start)
            answers.append(found["similarity"].to_numpy())
            tenths.append(float(answers[-1][-1]))
    near = np.array(tenths) >= LEAST
    ones = np.ones(len(values)) if weights is None else weights
    right = nearest(values.astype(np.int64), ones, offsets, rows[:CHECKED], TOP)
    # The best of an index's answers is the set itself.
    wrong = sum(
        not np.array_equal(answers[at][1:], right[at][: TOP - 1]) for at in range(min(CHECKED, len(rows)))
    )
    times = np.array(seconds)[near]
    print(
        json.dumps(
            {
                "sets": len(offsets) - 1, "elements": len(values), "adding": adding, "first": first,
                "queries": int(near.sum()), "p50": float(np.median(times)), "p99": float(np.quantile(times, 0.99)),
                "checked": CHECKED, "wrong": wrong, "memory": peak_bytes() - before,
                "bytes": arguments.index.stat().st_size, "tenth": float(np.median(tenths)),
            }
        )
    )  # fmt: skip


def query_of(values: Items, weights: Floats | None, some: slice) -> Any:
    """A set of a file as a query."""
    names = map(str, values[some].tolist())
    return set(names) if weights is None else dict(zip(names, weights[some].tolist(), strict=True))


if __name__ == "__main__":
    main()
