"""The ten nearest in an index of sets: how long a query takes, and whether it is right by brute force."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import twinset
from benchmarks.skewed_sets import SEED, elements_of
from twinset.engines.local.budget import peak_bytes

QUERIES, CHECKED, TOP, LEAST = 300, 100, 10, 0.3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path)
    parser.add_argument("index", type=Path)
    arguments = parser.parse_args()
    start = time.perf_counter()
    if not arguments.index.exists():
        with twinset.Index.create(arguments.index, items="items", store="shingles", threshold=0.8) as index:
            index.add(arguments.sets)
    adding = time.perf_counter() - start
    values, offsets = elements_of(arguments.sets)
    rows = np.random.default_rng(SEED).choice(len(offsets) - 1, QUERIES, replace=False)
    sets = [set(map(str, values[offsets[row] : offsets[row + 1]].tolist())) for row in rows]
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
    from benchmarks.nearest_sets import nearest

    right = nearest(values.astype(np.int64), offsets, rows[:CHECKED], TOP)
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


if __name__ == "__main__":
    main()
