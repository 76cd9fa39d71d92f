"""Twinset's ten nearest of vectors in hash tables, at several plans; prints one JSON line."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.vector_join import Index
from twinset.pairs.vectors import every_nearest
from twinset.plan.vectors import vector_plan
from twinset.schema import Vectors

RECALLS = (0.3, 0.7, 0.9, 0.95)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("vectors", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("truth", type=Path, help="where to write the true neighbours")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    vectors: Vectors = np.load(arguments.vectors)
    queries: Vectors = np.load(arguments.queries)
    start = time.perf_counter()
    truth, cosines, _ = every_nearest(queries, vectors, arguments.count)
    exact = time.perf_counter() - start
    np.save(arguments.truth, truth)
    rng = np.random.default_rng(1)
    left, right = (vectors[rng.integers(0, len(vectors), 5000)] for _ in range(2))
    others = (left.astype(np.float64) * right).sum(axis=1).tolist()
    least = float(np.quantile(cosines[:200, -1], 0.2))  # the tenth neighbour of four fifths of the queries is nearer
    points = []
    for recall, probes in [(recall, probes) for probes in (0, 16) for recall in RECALLS]:
        words = {"dimensions": vectors.shape[1], "vectors": len(vectors), "others": others, "sides": 1}
        plan = vector_plan(least, recall, probes=probes, **words)  # type: ignore[arg-type]
        start = time.perf_counter()
        index = Index(vectors, plan, threads=arguments.threads)
        built = time.perf_counter() - start
        seconds = []
        for _ in range(arguments.repeat):
            start = time.perf_counter()
            found, _, counts = index.nearest(queries, arguments.count)
            seconds.append(time.perf_counter() - start)
        hits = [np.isin(row[:count], right).sum() for row, count, right in zip(found, counts, truth, strict=True)]
        share = float(np.sum(hits) / truth.size)
        points.append({"plan": str(plan), "build": built, "rate": len(queries) / min(seconds), "recall": share})
    print(json.dumps({"least": least, "exact_rate": len(queries) / exact, "points": points}))


if __name__ == "__main__":
    main()
