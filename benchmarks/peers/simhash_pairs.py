"""simhash-pybind: all pairs of 64-bit codes within a number of bits."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import gc
import json
import time
from pathlib import Path

import numpy as np
from simhash import find_all

BLOCKS = (4, 5, 6)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("codes", type=Path)
    parser.add_argument("pairs", type=Path, help="pairs that it should find, by place")
    parser.add_argument("distance", type=int)
    arguments = parser.parse_args()
    codes = np.load(arguments.codes, allow_pickle=False)
    known = codes[np.load(arguments.pairs, allow_pickle=False)]
    right = {(min(pair), max(pair)) for pair in known.tolist() if pair[0] != pair[1]}
    values = set(codes.tolist())
    find_all(set(codes[:1000].tolist()), BLOCKS[0], arguments.distance)
    seconds, busy = [], []
    for blocks in BLOCKS:
        gc.collect()
        start, processor = time.perf_counter(), time.process_time()
        found = find_all(values, blocks, arguments.distance)
        seconds.append(time.perf_counter() - start)
        busy.append(time.process_time() - processor)
    pairs = {(min(pair), max(pair)) for pair in found}
    counts = {"pairs": len(pairs), "missed": len(right - pairs), "extra": len(pairs - right)}
    print(json.dumps({"seconds": seconds, "best": min(seconds), "cpu": min(busy), **counts}))


if __name__ == "__main__":
    main()
