"""Twinset's perceptual hashes of a folder of pictures, timed in one process, one thread."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from twinset.documents.items.image_decode import read_picture
from twinset.sketches.images import colour_layouts, perceptual_hashes


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pictures", type=Path, help="a folder")
    parser.add_argument("large", type=Path, help="a folder of large pictures, for the time alone")
    parser.add_argument("codes", type=Path, help="where to write the codes, .npz")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    hashed(sorted(arguments.pictures.iterdir())[:20])
    told = {}
    for name, folder in (("small", arguments.pictures), ("large", arguments.large)):
        files = sorted(folder.iterdir())
        seconds, busy = [], []
        for _ in range(arguments.repeat):
            start, processor = time.perf_counter(), time.process_time()
            codes, layouts = hashed(files)
            seconds.append(time.perf_counter() - start)
            busy.append(time.process_time() - processor)
        told[name] = {"files": len(files), "seconds": seconds, "best": min(seconds), "cpu": min(busy)}
        if name == "small":
            np.savez(arguments.codes, phash=codes, layouts=layouts)
    print(json.dumps(told))


def hashed(files: list[Path]) -> tuple[np.ndarray, np.ndarray]:
    """Codes and layouts, both."""
    grids = np.stack([read_picture(path.read_bytes(), str(path)).grid for path in files])
    return perceptual_hashes(grids), colour_layouts(grids)


if __name__ == "__main__":
    main()
