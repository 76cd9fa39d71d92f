"""copydetect: every file of a folder against every other, as plain text.

Its filter is for code, and leaves nothing of prose, so it is off. By default runs of 30 characters are guaranteed to be
found; with `--long` 300 characters, about 50 words. The clock runs from the files on disk to the copied slices in
memory; no report is written.
"""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from copydetect import CopyDetector

LONG = {"noise_t": 150, "guarantee_t": 300}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="folder of .txt files")
    parser.add_argument("--long", action="store_true", help="look for runs of 300 characters")
    arguments = parser.parse_args()
    start = time.perf_counter()
    detector = CopyDetector(
        test_dirs=[str(arguments.folder)], extensions=["txt"], disable_filtering=True, autoopen=False,
        silent=True, **(LONG if arguments.long else {}),
    )  # fmt: skip
    detector.run()
    seconds = time.perf_counter() - start
    pairs = sorted(tuple(sorted(Path(file).name for file in pair)) for pair in detector.slice_matrix)
    print(json.dumps({"seconds": [seconds], "best": seconds, "pairs": pairs}))


if __name__ == "__main__":
    main()
