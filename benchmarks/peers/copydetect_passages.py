"""copydetect: every file of a folder against every other, as plain text.

It counts characters, not words. K-grams of 150 characters and a guarantee of 300 are about what Twinset takes for runs
of 50 words. The clock runs from the files on disk to the copied slices in memory; no report is written.
"""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from copydetect import CopyDetector

NOISE, GUARANTEE = 150, 300


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="folder of .txt files")
    arguments = parser.parse_args()
    start = time.perf_counter()
    detector = CopyDetector(
        test_dirs=[str(arguments.folder)], extensions=["txt"], noise_t=NOISE, guarantee_t=GUARANTEE,
        disable_filtering=True, autoopen=False, silent=True,
    )  # fmt: skip
    detector.run()
    seconds = time.perf_counter() - start
    pairs = sorted(tuple(sorted(Path(file).name for file in pair)) for pair in detector.slice_matrix)
    print(json.dumps({"seconds": [seconds], "best": seconds, "pairs": pairs}))


if __name__ == "__main__":
    main()
