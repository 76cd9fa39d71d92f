"""FAISS: all pairs of 64-bit codes within a number of bits, by the exact ways that it has, one thread.

A hash of a quarter of the bits cannot miss what differs in three bits, as one of four quarters is equal; nor can one of
half the bits with one bit flipped. Comparing everything (IndexBinaryFlat) takes a quarter of an hour for a million.
"""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import gc
import json
import time
from pathlib import Path

import faiss
import numpy as np

WAYS = ((4, 16, 0), (2, 32, 1))  # hashes, bits of each, bits flipped


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("codes", type=Path)
    parser.add_argument("pairs", type=Path, help="pairs that it should find, by place")
    parser.add_argument("distance", type=int)
    arguments = parser.parse_args()
    faiss.omp_set_num_threads(1)
    codes = np.load(arguments.codes, allow_pickle=False)
    rows = codes.view(np.uint8).reshape(len(codes), 8)
    right = {(min(pair), max(pair)) for pair in np.load(arguments.pairs, allow_pickle=False).tolist()}
    seconds, busy, missed, extra, pairs = [], [], 0, 0, set()
    for hashes, bits, flips in WAYS:
        gc.collect()
        start, processor = time.perf_counter(), time.process_time()
        index = faiss.IndexBinaryMultiHash(64, hashes, bits)
        index.nflip = flips
        index.add(rows)
        limits, _, places = index.range_search(rows, arguments.distance + 1)  # distances below the radius
        seconds.append(time.perf_counter() - start)
        busy.append(time.process_time() - processor)
        left = np.repeat(np.arange(len(codes)), np.diff(limits.astype(np.int64)))
        found = left < places
        pairs = set(zip(left[found].tolist(), places[found].tolist(), strict=True))
        missed, extra = missed + len(right - pairs), extra + len(pairs - right)
    counts = {"pairs": len(pairs), "missed": missed, "extra": extra}
    print(json.dumps({"seconds": seconds, "best": min(seconds), "cpu": min(busy), **counts}))


if __name__ == "__main__":
    main()
