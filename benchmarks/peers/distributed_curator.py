"""distributed-curator: its `partition_aware_deduplicate`, from a Parquet file to the number of documents that go.

26 bands of 8 hashes: a pair at 0.8 is found with probability 0.992. Shingles are its own, of 9 characters; similarities
are estimated from the sketches and not verified; components are clusters. It runs on Spark 3.5, with its own jar.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path

from benchmarks.own_spark import open_local

BANDS, ROWS = 26, 8


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path, help="for shuffles; it is emptied")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    arguments.folder.mkdir(parents=True)
    from distributed_curator import get_jar_path, partition_aware_deduplicate

    session = open_local(arguments.folder, **{"spark.jars": get_jar_path()})
    started = time.perf_counter()
    frame = session.read.parquet(str(arguments.corpus)).selectExpr("id AS doc_id", "text")
    done = partition_aware_deduplicate(
        session, frame, similarity_threshold=0.8, num_hashes=BANDS * ROWS, num_bands=BANDS, num_partitions=64,
        is_input_doc_id_unique=True,
    )  # fmt: skip
    removed = done.where("is_duplicate").count()
    seconds = time.perf_counter() - started
    session.stop()
    print(json.dumps({"seconds": [seconds], "best": seconds, "removed": removed}))


if __name__ == "__main__":
    main()
