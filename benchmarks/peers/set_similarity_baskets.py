"""SetSimilaritySearch: all_pairs over the baskets, which are in memory already; writes the pairs, which are exact."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import gc
import json
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from SetSimilaritySearch import all_pairs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("baskets", type=Path)
    parser.add_argument("pairs", type=Path, help="where to write the pairs")
    parser.add_argument("--threshold", type=float)
    arguments = parser.parse_args()
    table = pq.read_table(arguments.baskets)
    ids, sets = table["id"].to_pylist(), table["items"].to_pylist()
    words = {"similarity_func_name": "jaccard", "similarity_threshold": arguments.threshold}
    list(all_pairs(sets[:100], **words))
    gc.collect()
    start, before = time.perf_counter(), time.process_time()
    found = list(all_pairs(sets, **words))
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    columns = {
        "left": [ids[one] for one, _, _ in found],
        "right": [ids[other] for _, other, _ in found],
        "similarity": [float(similarity) for _, _, similarity in found],
    }
    pq.write_table(pa.table(columns), arguments.pairs)
    print(json.dumps({"seconds": [seconds], "best": seconds, "cpu": cpu, "users": len(sets), "pairs": len(found)}))


if __name__ == "__main__":
    main()
