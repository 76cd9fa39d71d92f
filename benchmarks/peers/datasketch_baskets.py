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


def compared(found: Pairs, truth: Path, users: int) -> dict[str, float]:
    """Recall and precision among the first users."""
    table = pq.read_table(truth)
    both = zip(table["left"].to_pylist(), table["right"].to_pylist(), strict=True)
    known = {(min(pair), max(pair)) for pair in both if max(pair) < users}
    right = len(known & set(found))
    return {"recall": right / max(1, len(known)), "precision": right / max(1, len(found))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("baskets", type=Path)
    parser.add_argument("--users", type=int)
    parser.add_argument("--how", choices=["readme", "quick", "checked"])
    parser.add_argument("--truth", type=Path, help="Parquet file with the pairs that there are, by row")
    arguments = parser.parse_args()
    sets = pq.read_table(arguments.baskets, columns=["items"])["items"].slice(0, arguments.users).to_pylist()
    join(sets[:100], arguments.how)
    gc.collect()
    start, before = time.perf_counter(), time.process_time()
    found = join(sets, arguments.how)
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    quality = compared(found, arguments.truth, len(sets)) if arguments.truth else {}
    result = {"seconds": [seconds], "best": seconds, "cpu": cpu, "users": len(sets), "pairs": len(found), **quality}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
