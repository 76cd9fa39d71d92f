"""Extract the texts of a table of pages on one and on two processes, and tell the times; for every extractor."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq


def run(extract: Callable[[bytes], str]) -> None:
    """The program of a peer; its process pool has the pages before the time runs, but sends the texts back."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", help="a Parquet file with the column html")
    parser.add_argument("texts", help="where to write the texts, .parquet")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    pages = pq.read_table(arguments.pages)["html"].to_pylist()
    extract(pages[0])
    one, two = [], []
    for _ in range(arguments.repeat):
        start = time.perf_counter()
        texts = [extract(page) for page in pages]
        one.append(time.perf_counter() - start)
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(extract, pages[:64]))
        for _ in range(arguments.repeat):
            start = time.perf_counter()
            list(pool.map(extract, pages, chunksize=64))
            two.append(time.perf_counter() - start)
    pq.write_table(pa.table({"text": pa.array(texts, pa.large_string())}), arguments.texts)
    print(json.dumps({"one": one, "two": two, "bytes": sum(map(len, pages))}))
