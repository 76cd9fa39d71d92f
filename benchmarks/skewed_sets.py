"""Sets of very different sizes, some of which are parts of larger ones; and their containments by brute force.

`python -m benchmarks.skewed_sets SETS PAIRS --sample 2000 --threshold 0.8` counts the elements that sets of a random
sample share with all others, and compares the containments with those of a file of pairs. It shares no code with
Twinset.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpora import written_once
from benchmarks.measure import Setting
from benchmarks.writing import kernel

SEED = 7
ITEMS_A_SET, EXPONENT = 100, 0.8  # with more sets there are more items to draw from
SMALLEST, LARGEST = 10, 10_000
PARTS, LEAST_HELD = 0.2, 0.6  # share of the sets that are parts of others; the least containment of a part
ROW_GROUP = 5_000

Items = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


def skewed_sets(setting: Setting, count: int) -> Path:
    """Sets of items by Zipf's law, sizes log-uniform; a fifth are parts of larger ones, with other items mixed in."""

    def write(path: Path) -> None:
        chance = np.random.default_rng([SEED, count])
        popularity = 1 / np.arange(1, count * ITEMS_A_SET + 1) ** EXPONENT
        upto = np.cumsum(popularity / popularity.sum())[:-1]
        names = chance.permutation(len(popularity)).astype(np.int32)

        def drawn(size: int) -> Items:
            return np.unique(names[np.searchsorted(upto, np.sort(chance.random(size)))])

        parts = round(count * PARTS)
        sizes = np.exp(chance.uniform(np.log(SMALLEST), np.log(LARGEST), count - parts)).astype(int)
        sets = [drawn(size) for size in sizes.tolist()]
        for _ in range(parts):
            whole = sets[int(chance.integers(count - parts))]
            size = int(np.exp(chance.uniform(np.log(min(SMALLEST, len(whole))), np.log(len(whole)))))
            held = max(1, round(size * chance.uniform(LEAST_HELD, 1)))
            sets.append(np.unique(np.concatenate([chance.choice(whole, held, replace=False), drawn(size - held)])))
        order = chance.permutation(count).tolist()
        schema = pa.schema([("id", pa.int64()), ("items", pa.list_(pa.int32()))])
        with pq.ParquetWriter(path, schema, compression="snappy") as writer:
            for first in range(0, count, ROW_GROUP):
                some = [sets[row] for row in order[first : first + ROW_GROUP]]
                lists = pa.array(some, pa.list_(pa.int32()))
                writer.write_table(pa.table([np.arange(first, first + len(some)), lists], schema=schema))

    return written_once(setting.work / f"skewed-sets-{count}.parquet", write)


def elements_of(path: Path) -> tuple[Items, Numbers]:
    """The elements of all sets, one set after the other, and where each begins and the last ends."""
    lists = pq.read_table(path, columns=["items"])["items"]
    values = np.concatenate([chunk.flatten().to_numpy() for chunk in lists.chunks])
    sizes = np.concatenate([chunk.value_lengths().to_numpy() for chunk in lists.chunks])
    return values, np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def brute_force(path: Path, rows: Numbers, threshold: float) -> set[tuple[int, int]]:
    """Every pair of which one is in `rows` and the smaller set is held by the larger, at least by the threshold."""
    values, offsets = elements_of(path)
    mine = [values[offsets[row] : offsets[row + 1]] for row in rows.tolist()]
    owner = np.repeat(np.arange(len(rows)), [len(one) for one in mine])
    items = np.concatenate(mine)
    order = np.argsort(items, kind="stable")
    firsts = np.searchsorted(items[order], np.arange(int(values.max()) + 2))
    out = np.empty((1_000_000, 2), np.int64)
    found = count_shared(values, offsets, rows, owner[order], firsts, threshold, out)
    if found > len(out):
        raise ValueError(f"there are {found:,} pairs of the sample; take a smaller one")
    return {(min(pair), max(pair)) for pair in out[:found].tolist()}


@kernel
def count_shared(
    values: Items, offsets: Numbers, rows: Numbers, owners: Numbers, firsts: Numbers, threshold: float, out: Numbers
) -> int:
    """Count what each set shares with each of `rows`; owners[firsts[v]:firsts[v+1]] are those that have the item v."""
    shared = np.zeros(len(rows), np.int64)
    found = 0
    for other in range(len(offsets) - 1):
        shared[:] = 0
        for at in range(offsets[other], offsets[other + 1]):
            for place in range(firsts[values[at]], firsts[values[at] + 1]):
                shared[owners[place]] += 1
        size = offsets[other + 1] - offsets[other]
        for place in range(len(rows)):
            row = rows[place]
            smaller = min(size, offsets[row + 1] - offsets[row])
            if row != other and shared[place] / smaller >= threshold:
                if found < len(out):
                    out[found, 0] = row
                    out[found, 1] = other
                found += 1
    return found


def read_pairs(path: Path) -> set[tuple[int, int]]:
    """Pairs of a file of Twinset, by the numbers of the sets, the lesser first."""
    table = pq.read_table(path, columns=["left", "right"])
    sides = (np.array(table[name].to_pylist(), np.int64) for name in ("left", "right"))
    return {(min(pair), max(pair)) for pair in zip(*(side.tolist() for side in sides), strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path)
    parser.add_argument("pairs", type=Path, help="the pairs that it should find")
    parser.add_argument("--sample", type=int, default=2_000)
    parser.add_argument("--threshold", type=float)
    arguments = parser.parse_args()
    count = pq.read_metadata(arguments.sets).num_rows
    rows = np.random.default_rng(SEED).choice(count, min(arguments.sample, count), replace=False)
    right = brute_force(arguments.sets, rows, arguments.threshold)
    chosen = set(rows.tolist())
    given = {pair for pair in read_pairs(arguments.pairs) if not chosen.isdisjoint(pair)}
    counts = {"pairs": len(right), "missed": len(right - given), "extra": len(given - right)}
    print(json.dumps({"sample": len(rows), **counts}))


if __name__ == "__main__":
    main()
