"""Twinset's pairs of bit codes, timed in one process, one thread, and checked against a plain comparison."""

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

import twinset
from twinset.candidates.hamming.join import Join, Table

Codes = npt.NDArray[np.uint64]
Pairs = npt.NDArray[np.int64]
SAMPLE = 200
DISTANCES = (0, 1, 2, 3, 4, 6, 8, 12, 16)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("codes", type=Path, help="a file of 64-bit numbers, .npy")
    parser.add_argument("pairs", type=Path, nargs="?", help="where to write the pairs; without, other distances")
    parser.add_argument("distance", type=int, nargs="?")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    codes = np.load(arguments.codes, allow_pickle=False)
    _found(codes[:1000], 3)
    if arguments.pairs is None:
        print(json.dumps({"distances": [_at(codes, distance) for distance in DISTANCES]}))
        return
    timing, found = _timed(lambda: _found(codes, arguments.distance), arguments.repeat)
    pairs = np.stack([found.pairs[side].to_numpy().astype(np.int64) for side in ("left", "right")], axis=1)
    np.save(arguments.pairs, pairs)
    wrong = _wrong(codes, pairs, arguments.distance)
    print(json.dumps({**timing, "pairs": len(pairs), "wrong": wrong}))


def _found(codes: Codes, distance: int) -> twinset.PairsResult:
    """What everybody calls: codes in memory to a table of pairs, with all the checks that a run makes."""
    return twinset.find_pairs(codes, codes="code", distance=distance, threads=1)


def _timed(work: Callable[[], twinset.PairsResult], repeat: int) -> tuple[dict[str, Any], twinset.PairsResult]:
    seconds, busy = [], []
    for _ in range(repeat):
        gc.collect()
        start, processor = time.perf_counter(), time.process_time()
        found = work()
        seconds.append(time.perf_counter() - start)
        busy.append(time.process_time() - processor)
    return {"seconds": seconds, "best": min(seconds), "cpu": min(busy)}, found


def _at(codes: Codes, distance: int) -> dict[str, Any]:
    """Time and number of pairs for another distance."""
    timing, found = _timed(lambda: _found(codes, distance), 1)
    tables = Join.within(codes[:, None], distance).tables()
    blocks = [(table.block.width, table.block.radius) for table in tables if isinstance(table, Table)]
    return {"distance": distance, "pairs": found.summary["pairs"], "blocks": blocks, **timing}


def _wrong(codes: Codes, pairs: Pairs, distance: int) -> int:
    """Pairs missing, too many or twice, of a sample of codes compared with all, and all those listed compared again."""
    table = np.array([bin(x).count("1") for x in range(1 << 16)], np.uint8)

    def bits(x: Codes) -> npt.NDArray[np.int64]:
        return np.asarray(table[x.view(np.uint16).reshape(-1, 4)].sum(axis=1, dtype=np.int64))

    wrong = int(np.count_nonzero(bits(codes[pairs[:, 0]] ^ codes[pairs[:, 1]]) > distance))
    wrong += len(pairs) - len(np.unique(pairs, axis=0))
    rng = np.random.default_rng(1)
    listed = rng.choice(pairs.reshape(-1), min(SAMPLE, pairs.size), replace=False)
    for place in np.unique(np.concatenate([listed, rng.choice(len(codes), SAMPLE, replace=False)])).tolist():
        near = np.flatnonzero(bits(codes ^ codes[place]) <= distance)
        ours = np.concatenate([pairs[pairs[:, 0] == place, 1], pairs[pairs[:, 1] == place, 0]])
        wrong += len(set(near.tolist()) - {place} ^ set(ours.tolist()))
    return wrong


if __name__ == "__main__":
    main()
