"""Twinset's pairs of baskets without its start: from a Parquet file to a file of scored pairs, in one process."""

from __future__ import annotations

import argparse
import gc
import json
import time
from pathlib import Path

import twinset


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("baskets", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--threshold", type=float)
    parser.add_argument("--recall", type=float)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    words = {"items": "items", "threshold": arguments.threshold, "recall": arguments.recall, "audit": 0, "force": True}
    seconds = []
    for _ in range(arguments.repeat + 1):
        gc.collect()
        start = time.perf_counter()
        twinset.find_pairs(arguments.baskets, output=arguments.out, **words)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds[1:], "best": min(seconds[1:])}))


if __name__ == "__main__":
    main()
