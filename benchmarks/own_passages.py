"""`twinset.find_passages` timed in one process, warm, in one thread: texts in memory to passages in memory."""

from __future__ import annotations

import argparse
import gc
import json
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import twinset
from benchmarks.peers.contest import WARM_UP

SPANS = ("left_start", "left_end", "right_start", "right_end")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path, help="Parquet file with columns `id` and `text`")
    parser.add_argument("runs", type=Path, help="where to write the runs: rows of the corpus and code points")
    parser.add_argument("--least", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    texts = pq.read_table(arguments.corpus, columns=["id", "text"])
    twinset.find_passages(texts.slice(0, WARM_UP), least=arguments.least, threads=1)
    seconds = []
    for _ in range(arguments.repeat):
        gc.collect()
        start = time.perf_counter()
        found = twinset.find_passages(texts, least=arguments.least, threads=1)
        seconds.append(time.perf_counter() - start)
    sides = {name: pc.index_in(found.passages[name], texts["id"].combine_chunks()) for name in ("left", "right")}
    pq.write_table(pa.table({**sides, **{name: found.passages[name] for name in SPANS}}), arguments.runs)
    counts = {name: found.summary[name] for name in ("passages", "boilerplate")}
    print(json.dumps({"seconds": seconds, "best": min(seconds), **counts}))


if __name__ == "__main__":
    main()
