"""scikit-learn: the nearest baskets by Jaccard distance, brute force; it needs dense rows, so only some fit."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.neighbors import NearestNeighbors

TOP, QUERIES = 11, 20  # the basket itself is one of them


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("baskets", type=Path)
    parser.add_argument("--users", type=int)
    arguments = parser.parse_args()
    lists = pq.read_table(arguments.baskets, columns=["items"])["items"].combine_chunks()[: arguments.users]
    items, place = np.unique(lists.flatten().to_numpy(), return_inverse=True)
    rows = np.repeat(np.arange(len(lists)), lists.value_lengths().to_numpy())
    dense = np.zeros((len(lists), len(items)), np.bool_)
    dense[rows, place] = True
    search = NearestNeighbors(n_neighbors=TOP, metric="jaccard", algorithm="brute", n_jobs=2).fit(dense)
    start, before = time.perf_counter(), time.process_time()
    search.kneighbors(dense[:QUERIES])
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    print(json.dumps({"best": seconds, "cpu": cpu, "users": len(lists), "queries": QUERIES}))


if __name__ == "__main__":
    main()
