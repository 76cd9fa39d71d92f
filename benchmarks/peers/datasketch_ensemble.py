"""datasketch: a containment join by MinHashLSHEnsemble over sets in memory, every answer verified on both sets.

The clock runs from sets in memory to verified pairs: MinHash of every set, index, one query for each set, the exact
containment of each answer.
"""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import gc
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from datasketch import MinHash, MinHashLSHEnsemble, lshensemble
from datasketch.lshensemble_partition import optimal_partitions

N_HASHES, WARM_UP = 128, 100
WAYS = {"default": (0.5, 0.5), "recall": (0.1, 0.9)}  # weights of false answers and of missed ones

Items = npt.NDArray[np.int32]
Pairs = list[tuple[int, int]]

partitioning: list[float] = []  # seconds of each choice


def read(path: Path, count: int) -> list[Items]:
    """The first sets, as sorted arrays."""
    lists = pq.read_table(path, columns=["items"])["items"].slice(0, count).combine_chunks()
    values, offsets = lists.values.to_numpy(), lists.offsets.to_numpy().tolist()
    return [np.sort(values[first:last]) for first, last in pairwise(offsets)]


def shared(small: Items, large: Items) -> int:
    """The number of items that both have."""
    places = np.searchsorted(large, small)
    places[places == len(large)] = 0
    return int((large[places] == small).sum())


def timed_partitions(sizes: Items, counts: Items, parts: int) -> Any:
    """Its own choice of the partitions, timed: it takes the square of the number of different sizes."""
    start = time.perf_counter()
    chosen = optimal_partitions(sizes, counts, parts)
    partitioning.append(time.perf_counter() - start)
    return chosen


def join(index: MinHashLSHEnsemble, sets: list[Items], threshold: float) -> tuple[Pairs, dict[str, Any]]:
    """The verified pairs, the lesser row first; and the time of each step."""
    marks = [time.perf_counter()]
    # Items are numbers, which MinHash mixes itself; to hash each of them first, as its README does, takes longer.
    sketches = MinHash.bulk((one.tolist() for one in sets), num_perm=N_HASHES, hashfunc=int)
    marks.append(time.perf_counter())
    index.index((row, sketches[row], len(one)) for row, one in enumerate(sets))
    marks.append(time.perf_counter())
    candidates: set[tuple[int, int]] = set()
    for row, one in enumerate(sets):
        answers = index.query(sketches[row], len(one))
        candidates.update((min(row, other), max(row, other)) for other in answers if other != row)
    marks.append(time.perf_counter())
    found = []
    for left, right in candidates:
        small, large = sorted((sets[left], sets[right]), key=len)
        if shared(small, large) / len(small) >= threshold:
            found.append((left, right))
    marks.append(time.perf_counter())
    steps = dict(zip(("sketch", "index", "query", "verify"), np.diff(marks).tolist(), strict=True))
    steps["index"] -= partitioning[-1]
    steps = {"partition": partitioning[-1], **steps}
    return found, {"best": marks[-1] - marks[0], "steps": steps, "candidates": len(candidates)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path, help="Parquet file with a column `items`")
    parser.add_argument("pairs", type=Path, help="where to write the pairs")
    parser.add_argument("--threshold", type=float)
    parser.add_argument("--way", choices=list(WAYS))
    parser.add_argument("--sets", type=int, dest="count", help="how many sets, from the first on")
    arguments = parser.parse_args()
    lshensemble.optimal_partitions = timed_partitions
    sets, threshold = read(arguments.sets, arguments.count), arguments.threshold
    warm, index = (MinHashLSHEnsemble(threshold, N_HASHES, weights=WAYS[arguments.way]) for _ in range(2))
    join(warm, sets[:WARM_UP], threshold)
    gc.collect()
    before = time.process_time()
    found, result = join(index, sets, threshold)
    result |= {"cpu": time.process_time() - before, "sets": len(sets), "pairs": len(found), "peak": _peak()}
    left, right = zip(*sorted(found), strict=True) if found else ((), ())
    sides = {"left": pa.array(left, pa.int64()), "right": pa.array(right, pa.int64())}
    pq.write_table(pa.table(sides), arguments.pairs)
    print(json.dumps(result))


def _peak() -> int:
    """The peak memory of this program alone; what `resource` says includes that of the program that started it."""
    status = Path("/proc/self/status").read_text("ascii")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


if __name__ == "__main__":
    main()
