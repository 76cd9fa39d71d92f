"""An index of pictures: adding JPEGs, and the ten nearest of all by colour layout, from a picture's file on."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import twinset
from twinset.documents.items.image_decode import read_picture
from twinset.sketches.images import colour_layouts

K = 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("large", type=Path, help="a folder of JPEGs of 640 x 480, timed as they are added")
    parser.add_argument("small", type=Path, help="a folder of more pictures, to make the collection large")
    parser.add_argument("asked", type=Path, help="a folder of pictures to look for")
    parser.add_argument("index", type=Path, help="where to write the index")
    arguments = parser.parse_args()
    twinset.find_pairs(arguments.asked, images=True)  # loads what adding loads
    with twinset.Index.create(arguments.index, images=True, seed=1) as index:
        start, processor = time.perf_counter(), time.process_time()
        files = index.add(arguments.large).added
        seconds, busy = time.perf_counter() - start, time.process_time() - processor
        index.add(arguments.small)
        told: dict[str, Any] = {
            "add": {"files": files, "seconds": seconds, "cpu": busy},
            "pictures": len(index),
            "bytes": index.stats()["bytes"]["total"],
        }
    queries = sorted(arguments.asked.iterdir())
    with twinset.Index.open(arguments.index, read_only=True) as index:
        for name, options in (("nearest", {"k": K}), ("near", {}), ("turned", {"k": K, "any_orientation": True})):
            told[name], found = timed(index, queries, options)
            if name == "nearest":
                told["exact"] = share_exact(found, queries, arguments)
    told["load"] = os.getloadavg()[0]
    print(json.dumps(told))


def timed(index: twinset.Index, queries: list[Path], options: dict[str, Any]) -> tuple[dict[str, float], list[Any]]:
    """Milliseconds of each query, after a first one that fills the caches: median, worst of twenty, processor time."""
    first = time.perf_counter()
    index.query(queries[0], **options)
    first = time.perf_counter() - first
    seconds, busy, found = [], [], []
    for path in queries:
        start, processor = time.perf_counter(), time.process_time()
        found.append(index.query(path, **options))
        seconds.append(time.perf_counter() - start)
        busy.append(time.process_time() - processor)
    p50, p95 = np.percentile(seconds, (50, 95))
    return {"first": 1e3 * first, "p50": 1e3 * p50, "p95": 1e3 * p95, "cpu": 1e3 * float(np.median(busy))}, found


def share_exact(found: list[Any], queries: list[Path], arguments: argparse.Namespace) -> float:
    """Share of the queries whose answers are those of comparing all with numpy, ids and distances."""
    every = [path for folder in (arguments.large, arguments.small) for path in sorted(folder.iterdir())]
    layouts, asked = (read(paths) for paths in (every, queries))
    right = 0
    for table, layout in zip(found, asked, strict=True):
        apart = np.sqrt(((layouts - layout) ** 2).sum(axis=1))
        best = np.argsort(apart, kind="stable")[:K]
        same = table["id"].to_pylist() == [every[row].name for row in best.tolist()]
        right += same and bool(np.allclose(table["distance"].to_numpy(), apart[best], atol=1e-6))
    return right / len(queries)


def read(paths: list[Path]) -> Any:
    """Layouts, 64-bit floats."""
    portions = [paths[start : start + 500] for start in range(0, len(paths), 500)]
    return np.concatenate([
        colour_layouts(np.stack([read_picture(path.read_bytes(), str(path)).grid for path in some]))
        for some in portions
    ]).astype(np.float64)  # fmt: skip


if __name__ == "__main__":
    main()
