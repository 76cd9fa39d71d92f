"""FAISS: the ten nearest by IndexHNSWFlat (a graph), at several breadths of search."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import faiss
import numpy as np

LINKS, BREADTH = 32, 200  # M and efConstruction
BREADTHS = (16, 32, 64, 128, 256, 512)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("vectors", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    vectors, queries, truth = (np.load(path) for path in (arguments.vectors, arguments.queries, arguments.truth))
    faiss.omp_set_num_threads(arguments.threads)
    start = time.perf_counter()
    index = faiss.IndexHNSWFlat(vectors.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = BREADTH
    index.add(vectors)
    built = time.perf_counter() - start
    points = []
    for breadth in BREADTHS:
        index.hnsw.efSearch = breadth
        seconds = []
        for _ in range(arguments.repeat):
            start = time.perf_counter()
            _, found = index.search(queries, truth.shape[1])
            seconds.append(time.perf_counter() - start)
        hits = sum(np.isin(row, right).sum() for row, right in zip(found, truth, strict=True))
        point = {"breadth": breadth, "rate": len(queries) / min(seconds), "recall": float(hits / truth.size)}
        points.append(point)
    print(json.dumps({"build": built, "points": points}))


if __name__ == "__main__":
    main()
