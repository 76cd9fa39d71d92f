"""sparse_dot_topn: the largest products of the rows of baskets, which are in memory already as a sparse matrix."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.sparse import csr_matrix
from sparse_dot_topn import sp_matmul_topn

TOP = 11  # the basket itself is one of them


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("baskets", type=Path)
    parser.add_argument("--users", type=int, help="not used: all are multiplied")
    arguments = parser.parse_args()
    lists = pq.read_table(arguments.baskets, columns=["items"])["items"].combine_chunks()
    items, offsets = lists.flatten().to_numpy(), lists.offsets.to_numpy()
    shape = (len(lists), int(items.max()) + 1)
    matrix = csr_matrix((np.ones(len(items), np.float32), items, offsets), shape=shape)
    sp_matmul_topn(matrix[:100], matrix[:100].T.tocsr(), top_n=TOP, n_threads=2)
    start, before = time.perf_counter(), time.process_time()
    found = sp_matmul_topn(matrix, matrix.T.tocsr(), top_n=TOP, n_threads=2)
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    print(json.dumps({"best": seconds, "cpu": cpu, "users": len(lists), "queries": len(lists), "found": found.nnz}))


if __name__ == "__main__":
    main()
