"""Twinset's texts of pages, by one thread and by two, as a run extracts them: each thread has a process."""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq

from twinset.documents.pages.extract import page_texts

_AT_A_TIME = 64


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", help="a Parquet file with the column html")
    parser.add_argument("texts", help="where to write the texts, .parquet")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    pages = pq.read_table(arguments.pages)["html"].to_pylist()
    batches = [pages[start : start + _AT_A_TIME] for start in range(0, len(pages), _AT_A_TIME)]
    told: dict[str, object] = {"bytes": sum(map(len, pages))}
    texts: list[str | None] = []
    for name, threads in (("one", 1), ("two", 2)):
        seconds = []
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(page_texts, batches[:4]))
            for _ in range(arguments.repeat):
                start = time.perf_counter()
                texts = [text for done in pool.map(page_texts, batches) for text in done.texts.to_pylist()]
                seconds.append(time.perf_counter() - start)
        told[name] = seconds
    pq.write_table(pa.table({"text": pa.array(texts, pa.large_string())}), arguments.texts)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
