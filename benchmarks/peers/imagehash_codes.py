"""The hashes of the package imagehash for a folder of pictures: its phash and its dhash, 64 bits."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import imagehash
import numpy as np
from PIL import Image

METHODS = {"phash": imagehash.phash, "dhash": imagehash.dhash}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pictures", type=Path)
    parser.add_argument("large", type=Path)
    parser.add_argument("codes", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    told: dict[str, object] = {}
    codes = {}
    for name, folder in (("small", arguments.pictures), ("large", arguments.large)):
        files = sorted(folder.iterdir())
        for method, function in METHODS.items():
            seconds, busy = [], []
            for _ in range(arguments.repeat):
                start, processor = time.perf_counter(), time.process_time()
                found = []
                for path in files:
                    with Image.open(path) as picture:
                        found.append(np.packbits(function(picture).hash.ravel()))
                seconds.append(time.perf_counter() - start)
                busy.append(time.process_time() - processor)
            timing = {"files": len(files), "seconds": seconds, "best": min(seconds), "cpu": min(busy)}
            told[f"{name} {method}"] = timing
            if name == "small":
                codes[method] = np.stack(found).view(">u8")[:, 0].astype(np.uint64)
    np.savez(arguments.codes, **codes)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
