"""FAISS: range search of IndexFlatIP, every vector a query; all pairs of unit vectors with a cosine of at least t."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import faiss
import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("vectors", type=Path)
    parser.add_argument("pairs", type=Path, help="where to write the pairs, by row, the lesser first")
    parser.add_argument("--threshold", type=float, default=0.9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    vectors = np.load(arguments.vectors)
    faiss.omp_set_num_threads(arguments.threads)
    seconds, cpu = [], []
    for _ in range(arguments.repeat):
        start, busy = time.perf_counter(), time.process_time()
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        limits, scores, found = index.range_search(vectors, arguments.threshold)
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    rows = np.repeat(np.arange(len(vectors)), np.diff(limits.astype(np.int64)))
    once = rows < found
    np.savez(arguments.pairs, lefts=rows[once], rights=found[once], scores=scores[once])
    result = {"seconds": seconds, "best": min(seconds), "cpu": min(cpu), "pairs": int(once.sum())}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
