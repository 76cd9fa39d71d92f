"""SetSimilaritySearch: all_pairs over sets of numbers that are in memory already."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from SetSimilaritySearch import all_pairs

THRESHOLD = 0.8


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path, help="Parquet file with a column `tokens`")
    parser.add_argument("pairs", type=Path, help="Parquet file with the pairs that it should find, by row")
    arguments = parser.parse_args()
    sets = [tokens for batch in _batches(arguments.sets) for tokens in batch.column("tokens").to_pylist()]
    known = pq.read_table(arguments.pairs)
    right = {(min(pair), max(pair)) for pair in zip(known["left"].to_pylist(), known["right"].to_pylist(), strict=True)}
    list(all_pairs(sets[:100], similarity_func_name="jaccard", similarity_threshold=THRESHOLD))
    gc.collect()
    start = time.perf_counter()
    found = list(all_pairs(sets, similarity_func_name="jaccard", similarity_threshold=THRESHOLD))
    seconds = time.perf_counter() - start
    pairs = {(int(min(a, b)), int(max(a, b))) for a, b, _ in found}
    counts = {"pairs": len(pairs), "missed": len(right - pairs), "extra": len(pairs - right)}
    print(json.dumps({"seconds": [seconds], "best": seconds, **counts}))


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(1000)


if __name__ == "__main__":
    main()
