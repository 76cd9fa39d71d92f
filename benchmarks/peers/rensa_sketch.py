"""rensa, one thread: raw text in memory to 128-slot sketches, shingled in Python."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import pyarrow.parquet as pq
from rensa import RMinHash

from benchmarks.peers.contest import N_HASHES, shingles

BATCH = 1_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    texts = pq.read_table(arguments.corpus, columns=["text"])["text"].to_pylist()
    seconds = []
    for _ in range(arguments.repeat):
        start = time.perf_counter()
        for first in range(0, len(texts), BATCH):
            RMinHash.from_token_sets([shingles(text) for text in texts[first : first + BATCH]], N_HASHES, 42)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "bytes": sum(len(text.encode()) for text in texts)}))


if __name__ == "__main__":
    main()
