"""Twinset, one thread: raw bytes in memory to 128-slot sketches, and to words alone.

The only place of the benchmarks that calls the product's steps directly; everything else runs the command.
"""

# Pieces of kernels carry no types: Numba infers them.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.writing import kernel
from twinset.documents.normalize import normalize
from twinset.options import ShingleOptions
from twinset.schema import Texts
from twinset.shingles.texts import BIT_PLACES, shingle
from twinset.shingles.words_kernels import AT_ONCE, ascii_borders, hash_words, unicode_borders
from twinset.sketches.minhash import sketch
from twinset.unicode import classes

N_HASHES = 128
SEED = 1
_TURNS = 5  # for one of the other contestants


def sketch_texts(texts: pa.Array) -> int:
    """The number of sketches made of `texts` with word:5 shingles."""
    options = ShingleOptions.of(shingle="word:5")
    made = 0
    for group in normalize(texts).texts:
        for portion in shingle(group, options, SEED):
            made += len(sketch(portion, "fss", N_HASHES, SEED))
    return made


def tokenise_texts(texts: pa.Array, hashed: bool) -> int:
    """The number of words of `texts`, each found and lower-cased, and hashed too if wanted."""
    return sum(_count_words(group, hashed) for group in normalize(texts).texts)


def _count_words(texts: Texts, hashed: bool) -> int:
    longest = int((texts.ends - texts.starts).max())
    text = np.empty(longest + 80, np.uint8)
    borders = np.empty(2 * longest + 160, np.int32)
    words = np.empty(longest + 1, np.uint64)
    places = (texts.data, texts.starts, texts.ends, texts.ascii, hashed)
    return int(tokenise(*places, classes(), BIT_PLACES, text, borders, np.empty(AT_ONCE, np.uint64), words))


@kernel
def tokenise(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    ascii_only: bool,
    hashed: bool,
    kinds: npt.NDArray[np.uint8],
    bit_places: npt.NDArray[np.uint64],
    text: npt.NDArray[np.uint8],
    borders: npt.NDArray[np.int32],
    high: npt.NDArray[np.uint64],
    words: npt.NDArray[np.uint64],
) -> Any:
    """The shingle kernel's way as far as the words, with its own pieces; returns how many there are."""
    total = 0
    for i in range(len(starts)):
        document = data[starts[i] : ends[i]]
        if ascii_only:
            n = ascii_borders(document, True, bit_places, text, borders) >> 1
        else:
            n = unicode_borders(document, kinds, True, bit_places, text, borders) >> 1
        if hashed:
            hash_words(text, borders, n, high, words)
        total += n
    return total


def time_steps(
    steps: dict[str, Callable[[pa.Array], int]], batches: list[pa.Array], repeat: int
) -> dict[str, list[float]]:
    """Seconds of each step over all batches. Turns are short, so there are many, and the steps take them by turns."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(_TURNS * repeat + 1):
        for name, step in steps.items():
            start = time.perf_counter()
            for batch in batches:
                step(batch)
            if turn:  # the first turn compiles and warms up
                seconds[name].append(time.perf_counter() - start)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    column = pq.read_table(arguments.corpus, columns=["text"])["text"]
    batches = [column.slice(first, 5_000).combine_chunks() for first in range(0, len(column), 5_000)]
    steps: dict[str, Callable[[pa.Array], int]] = {
        "sketch": sketch_texts,
        "tokenise": partial(tokenise_texts, hashed=True),
        "split": partial(tokenise_texts, hashed=False),
    }
    seconds = time_steps(steps, batches, arguments.repeat)
    print(json.dumps({**seconds, "bytes": int(pc.sum(pc.binary_length(column)).as_py())}))


if __name__ == "__main__":
    main()
