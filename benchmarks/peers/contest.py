"""What every peer's program shares: the same documents in memory, the same clock, the same report.

A program calls `run(find)`, where `find(texts, folder, processes)` is what is timed, after a warm-up; it returns a
function that lists the candidate pairs, called after the clock has stopped. One JSON line is printed.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

WARM_UP = 100  # documents, before the clock starts
THRESHOLD = 0.8
N_HASHES = 128
N_BANDS, ROWS_PER_BAND = 16, 8  # where the user must choose: P(found at 0.8) = 0.95

Pairs = Iterable[tuple[int, int]]
Find = Callable[[list[str], Path, int], Callable[[], Pairs]]

_WORD = re.compile(r"\w+")


def shingles(text: str) -> list[str]:
    """Word 5-shingles, as a user of a library that takes tokens would write them."""
    words = _WORD.findall(text.lower())
    if len(words) < 5:
        return [" ".join(words)]
    return list(map(" ".join, zip(words, words[1:], words[2:], words[3:], words[4:], strict=False)))


def pairs_of_groups(groups: Iterable[Iterable[int]]) -> Iterator[tuple[int, int]]:
    """All pairs of documents that share a bucket."""
    for group in groups:
        yield from combinations(sorted(group), 2)


def run(find: Find) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path, help="Parquet file with a column `text`")
    parser.add_argument("--pairs", type=Path, help="where to write the candidate pairs")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1, help="for peers that start processes themselves")
    arguments = parser.parse_args()
    texts = pq.read_table(arguments.corpus, columns=["text"])["text"].to_pylist()
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        find(texts[:WARM_UP], Path(folder), arguments.processes)
    for _ in range(arguments.repeat):
        gc.collect()
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            listing = find(texts, Path(folder), arguments.processes)
            seconds.append(time.perf_counter() - start)
            found = listing() if len(seconds) == arguments.repeat else ()
            pairs = sorted({(min(pair), max(pair)) for pair in found if pair[0] != pair[1]})
    if arguments.pairs:
        left, right = zip(*pairs, strict=True) if pairs else ((), ())
        columns = {"left": pa.array(left, pa.int64()), "right": pa.array(right, pa.int64())}
        pq.write_table(pa.table(columns), arguments.pairs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result = {"seconds": seconds, "documents": len(texts), "candidates": len(pairs), "peak": peak}
    print(json.dumps(result))
