"""What the programs of peers for sparse rows share: the same rows in memory, the same clock, the same report."""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Found = tuple[Any, Any, Any]
"""Rows, columns and cosines of what was found."""


def run(find: Callable[[Any, Any, str, float], Found]) -> None:
    """Time `find(queries, rows, job, asked)`; rows have length 1, and the queries are the first of them."""
    from scipy import sparse

    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path, help="where to write the pairs")
    parser.add_argument("--job", choices=["pairs", "top"])
    parser.add_argument("--asked", type=float, help="the threshold, or the number of neighbours")
    parser.add_argument("--rows", type=int, help="queries at most")
    arguments = parser.parse_args()
    rows = sparse.load_npz(arguments.source)
    count = min(arguments.rows, rows.shape[0])
    queries = rows[:count]
    find(rows[:200], rows[:200], arguments.job, arguments.asked)
    gc.collect()
    start = time.perf_counter()
    lefts, rights, scores = find(queries, rows, arguments.job, arguments.asked)
    seconds = time.perf_counter() - start
    kept = lefts < rights if arguments.job == "pairs" else _best(lefts, rights, scores, int(arguments.asked))
    columns = {"left": lefts[kept], "right": rights[kept], "similarity": scores[kept]}
    pq.write_table(pa.table({name: pa.array(np.asarray(one)) for name, one in columns.items()}), arguments.out)
    print(json.dumps({"best": seconds, "scaled": seconds * rows.shape[0] / count, "queries": count}))


def _best(lefts: Any, rights: Any, scores: Any, top: int) -> Any:
    """The best of each row without the row itself."""
    order = np.lexsort((rights, -scores, lefts))
    order = order[lefts[order] != rights[order]]
    firsts = np.flatnonzero(np.diff(lefts[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(firsts, np.diff(np.append(firsts, len(order))))
    return order[rank < top]
