"""datasketch: MinHashLSH over the baskets, which are in memory already, in one of three ways."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
from datasketch import MinHash, MinHashLSH

THRESHOLD, N_HASHES = 0.5, 128
BANDS = (42, 3)  # a pair at 0.5 is found with probability 0.996

Sets = list[list[int]]
Pairs = list[tuple[int, int]]


def sketches(sets: Sets, readme: bool) -> Iterator[MinHash]:
    if not readme:
        tokens = ([str(item).encode() for item in one] for one in sets)
        yield from MinHash.generator(tokens, num_perm=N_HASHES)
        return
    for one in sets:
        sketch = MinHash(num_perm=N_HASHES)
        for item in one:
            sketch.update(str(item).encode())
        yield sketch


def candidates(made: Iterable[MinHash], index: MinHashLSH) -> Pairs:
    found: Pairs = []
    for row, sketch in enumerate(made):
        found.extend((other, row) for other in index.query(sketch))
        index.insert(row, sketch)
    return found


def checked(found: Pairs, sets: Sets) -> Pairs:
    known = [set(one) for one in sets]
    return [
        (one, other)
        for one, other in found
        if (shared := len(known[one] & known[other])) >= THRESHOLD * (len(known[one]) + len(known[other]) - shared)
    ]


def join(sets: Sets, how: str) -> Pairs:
    if how != "checked":
        return candidates(sketches(sets, how == "readme"), MinHashLSH(threshold=THRESHOLD, num_perm=N_HASHES))
    return checked(candidates(sketches(sets, False), MinHashLSH(num_perm=N_HASHES, params=BANDS)), sets)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("baskets", type=Path)
    parser.add_argument("--users", type=int)
    parser.add_argument("--how", choices=["readme", "quick", "checked"])
    arguments = parser.parse_args()
    sets = pq.read_table(arguments.baskets, columns=["items"])["items"].slice(0, arguments.users).to_pylist()
    join(sets[:100], arguments.how)
    gc.collect()
    start, before = time.perf_counter(), time.process_time()
    found = join(sets, arguments.how)
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    print(json.dumps({"seconds": [seconds], "best": seconds, "cpu": cpu, "users": len(sets), "pairs": len(found)}))


if __name__ == "__main__":
    main()
