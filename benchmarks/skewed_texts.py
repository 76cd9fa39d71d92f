"""Short texts that stand in long ones, more or less changed; and their containments by brute force.

The definition is that of the other parts: sets of word 5-shingles of the lower-cased text. No code is shared with
Twinset.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpora import written_once
from benchmarks.measure import Setting
from benchmarks.peers.contest import shingles

SEED = 11
VOCABULARY, EXPONENT = 50_000, 1.0
SHORT, LONG = 30, 20_000  # words
MOST_CHANGES = 6


def skewed_texts(setting: Setting, short: int, long: int) -> Path:
    """Long texts, and short ones that were cut out of them; 0 to 6 words of each are replaced."""

    def write(path: Path) -> None:
        chance = np.random.default_rng([SEED, short, long])
        popularity = 1 / np.arange(1, VOCABULARY + 1) ** EXPONENT
        popularity /= popularity.sum()
        books = chance.choice(VOCABULARY, (long, LONG), p=popularity)
        rows = [(f"long-{number}", book) for number, book in enumerate(books)]
        for number in range(short):
            start = int(chance.integers(LONG - SHORT))
            cut = books[int(chance.integers(long))][start : start + SHORT].copy()
            changed = chance.choice(SHORT, int(chance.integers(MOST_CHANGES + 1)), replace=False)
            cut[changed] = chance.integers(VOCABULARY, size=len(changed))
            rows.append((f"short-{number}", cut))
        rows = [rows[row] for row in chance.permutation(len(rows)).tolist()]
        texts = [" ".join(f"w{word}" for word in words.tolist()) for _, words in rows]
        pq.write_table(pa.table({"id": [name for name, _ in rows], "text": texts}), path)

    return written_once(setting.work / f"skewed-texts-{short}-{long}.parquet", write)


def containments(path: Path, least: float) -> dict[frozenset[str], float]:
    """Every two texts and the share of the smaller one's shingles that the larger has, if it reaches `least`."""
    table = pq.read_table(path)
    sets = [frozenset(shingles(text)) for text in table["text"].to_pylist()]
    found = {}
    for (name, one), (other_name, other) in combinations(zip(table["id"].to_pylist(), sets, strict=True), 2):
        share = len(one & other) / min(len(one), len(other))
        if share >= least:
            found[frozenset((name, other_name))] = share
    return found
