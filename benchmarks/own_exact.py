"""Twinset's exact pairs, its sketches' pairs and brute force, timed in one process; writes the sets for a peer."""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import twinset
from benchmarks.peers.contest import THRESHOLD, WARM_UP
from twinset.engines.local.steps.sketch import shingle_sets
from twinset.options import ShingleOptions
from twinset.pairs.sets import Sets, overlaps
from twinset.schema import Shingles

Rows = npt.NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("sets", type=Path, help="where to write the sets of the distinct contents")
    parser.add_argument("pairs", type=Path, help="where to write the pairs of the distinct contents")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    texts = _distinct(pq.read_table(arguments.corpus))
    twinset.find_pairs(texts.slice(0, WARM_UP), threshold=THRESHOLD, exact=True)
    exact, found = _timed_pairs(texts, arguments.repeat, exact=True)
    sketches, near = _timed_pairs(texts, arguments.repeat)
    hashes = shingle_sets(texts["text"].combine_chunks(), ShingleOptions.of(), seed=1)
    sets = _sets(hashes)
    lists = pa.array([np.unique(one) for one in hashes], pa.large_list(pa.uint64()))
    pq.write_table(pa.table({"tokens": lists}), arguments.sets)
    pq.write_table(pa.table({"left": found[:, 0], "right": found[:, 1]}), arguments.pairs)
    naive, rows = _timed(lambda: _brute_force(sets, THRESHOLD), 1)
    every = rows[:, :2].astype(np.int64)
    result = {
        "contents": len(texts),
        "shingles": int(sets.sizes.sum(dtype=np.int64)),
        "exact": {**exact, **compared(found, every)},
        "sketches": {**sketches, **compared(near, every)},
        "brute force": {**naive, **compared(every, found)},
    }
    print(json.dumps(result))


def _brute_force(sets: Sets, threshold: float) -> npt.NDArray[np.uint32]:
    """Compare every two sets, in one thread: rows (left, right, shared) of those at or above the threshold."""
    rows = [np.empty((0, 3), np.uint32)]
    for left in range(len(sets.sizes)):
        rights = np.arange(left + 1, len(sets.sizes), dtype=np.uint32)
        lefts = np.full(len(rights), left, np.uint32)
        shared = overlaps(sets, lefts, rights, threshold)
        met = shared > 0
        rows.append(np.stack([lefts[met], rights[met], shared[met]], axis=1))
    return np.concatenate(rows)


def _distinct(table: pa.Table) -> pa.Table:
    """One row for each content, as the exact run would take them: by its shingles, of which copies have the same."""
    hashes = shingle_sets(table["text"].combine_chunks(), ShingleOptions.of(), seed=1)
    first: dict[bytes, int] = {}
    for row, one in enumerate(hashes):
        if len(one):
            first.setdefault(np.sort(one).tobytes(), row)
    return table.take(pa.array(sorted(first.values())))


def _timed(work: Callable[[], Any], repeat: int) -> tuple[dict[str, Any], Any]:
    seconds = []
    for _ in range(repeat):
        gc.collect()
        start = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "best": min(seconds)}, found


def _timed_pairs(texts: pa.Table, repeat: int, **words: Any) -> tuple[dict[str, Any], Rows]:
    """Pairs by row of `texts`."""
    timing, result = _timed(lambda: twinset.find_pairs(texts, threshold=THRESHOLD, audit=0, **words), repeat)
    places = {name: row for row, name in enumerate(texts["id"].to_pylist())}
    columns = (result.pairs[side].to_pylist() for side in ("left", "right"))
    return timing, np.array([[places[name] for name in column] for column in columns], np.int64).T


def _sets(hashes: list[npt.NDArray[np.uint64]]) -> Sets:
    lengths = np.array([len(one) for one in hashes])
    sets = Sets.with_room(lengths)
    rows = np.arange(len(hashes))
    sets.fill(Shingles(rows, np.append(0, np.cumsum(lengths)), np.concatenate(hashes)), rows, rows)
    return sets


def compared(found: Rows, right: Rows) -> dict[str, int]:
    """How many pairs there are, how many are missed and how many too many."""
    mine, theirs = ({(min(a, b), max(a, b)) for a, b in rows.tolist()} for rows in (found, right))
    return {"pairs": len(mine), "missed": len(theirs - mine), "extra": len(mine - theirs)}


if __name__ == "__main__":
    main()
