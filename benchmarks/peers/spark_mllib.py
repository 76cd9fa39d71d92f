"""Spark MLlib: MinHashLSH and approxSimilarityJoin on word 5-shingles, from a Parquet file to the number of pairs.

Three tables of one hash each: a pair at 0.8 is found with probability 0.992. Shingles are those of MLlib's own
Tokenizer and NGram, hashed into 2^20 columns, since its vectors need columns.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path

from benchmarks.own_spark import open_local

TABLES, COLUMNS = 3, 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path, help="for shuffles; it is emptied")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    arguments.folder.mkdir(parents=True)
    session = open_local(arguments.folder)
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, Tokenizer

    started = time.perf_counter()
    frame = session.read.parquet(str(arguments.corpus)).select("id", "text")
    words = Tokenizer(inputCol="text", outputCol="words").transform(frame)
    shingles = NGram(n=5, inputCol="words", outputCol="shingles").transform(words)
    hashed = HashingTF(numFeatures=COLUMNS, binary=True, inputCol="shingles", outputCol="features").transform(shingles)
    sets = hashed.where("size(shingles) > 0").select("id", "features").cache()
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=TABLES, seed=1).fit(sets)
    near = model.approxSimilarityJoin(sets, sets, 0.2, "distance")
    pairs = near.where("datasetA.id < datasetB.id").count()
    seconds = time.perf_counter() - started
    session.stop()
    print(json.dumps({"seconds": [seconds], "best": seconds, "pairs": pairs}))


if __name__ == "__main__":
    main()
