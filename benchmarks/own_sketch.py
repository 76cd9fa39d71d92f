"""Twinset, one thread: raw bytes in memory to 128-slot sketches, and to hashed words alone.

The only place of the benchmarks that calls the product's steps directly; everything else runs the command.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twinset.documents.normalize import normalize
from twinset.options import ShingleOptions
from twinset.shingles.shingle import shingle
from twinset.sketches.minhash import sketch

N_HASHES = 128
SEED = 1


def sketch_texts(texts: pa.Array) -> int:
    """The number of sketches made of `texts` with word:5 shingles."""
    options = ShingleOptions.of(shingle="word:5")
    made = 0
    for group in normalize(texts).texts:
        for portion in shingle(group, options, SEED):
            made += len(sketch(portion, "fss", N_HASHES, SEED))
    return made


def tokenise_texts(texts: pa.Array) -> int:
    """The number of words of `texts`, each found, lower-cased and hashed: shingles of one word."""
    options = ShingleOptions.of(shingle="word:1")
    portions = (shingle(group, options, SEED) for group in normalize(texts).texts)
    return sum(len(one.hashes) for group in portions for one in group)


def time_batches(step: Callable[[pa.Array], int], batches: list[pa.Array], repeat: int) -> list[float]:
    seconds = []
    for turn in range(repeat + 1):
        start = time.perf_counter()
        for batch in batches:
            step(batch)
        if turn:  # the first turn warms up
            seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    column = pq.read_table(arguments.corpus, columns=["text"])["text"]
    batches = [column.slice(first, 5_000).combine_chunks() for first in range(0, len(column), 5_000)]
    result = {
        "sketch": time_batches(sketch_texts, batches, arguments.repeat),
        "tokenise": time_batches(tokenise_texts, batches, arguments.repeat),
        "bytes": int(pc.sum(pc.binary_length(column)).as_py()),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
