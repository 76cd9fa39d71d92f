"""The figures of `twinset evaluate` on made stories: F1 against the threshold, precision and recall, share found.

Usage: python evaluation.py [--out FOLDER]      needs matplotlib: pip install "twinset[plots]"

The first two compare the plan with the true clusters. The third compares bands that are too weak, 4 bands of 8 rows,
with the exact join, and shows which similarities they miss.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import figure_files

import twinset

STORIES = Path(__file__).resolve().parent.parent / "stories.py"
RUNS = {
    "evaluate-f1": ("f1", {"sweep": "0.5:0.95:0.05"}),
    "evaluate-precision-recall": ("precision-recall", {"sweep": "0.5:0.95:0.05"}),
    "evaluate-shares": ("shares", {"exact": True, "n_hashes": 128, "n_bands": 4, "rows_per_band": 8}),
}


def main(out: Path | None) -> None:
    """Make the stories, evaluate, and write the figures."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        subprocess.run([sys.executable, str(STORIES), scratch], check=True)
        for name, (figure, words) in RUNS.items():
            truth = {} if "exact" in words else {"truth": folder / "truth.csv"}
            for ending in ("svg", "png"):
                place = folder / f"{name}-{ending}"
                done = twinset.evaluate(folder / "stories.jsonl", output=place, plots=ending, **truth, **words)
                if out is not None:
                    shutil.copyfile(place / f"{figure}.{ending}", out / f"{name}.{ending}")
            said = f"F1 is highest at a threshold of {done.best['threshold']:g}: {done.best['f1']:.3f}."
            if "exact" in words:
                row = done.measures.to_pylist()[0]
                said = f"4 bands × 8 rows find {row['true_pairs_found']} of {row['true_pairs']} pairs."
            print(said)
            if out is not None:
                kept = {"measures": done.measures.to_pylist(), "shares": done.shares.to_pylist(), "words": said}
                (out / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore", twinset.PlanWarning)  # the weak bands are intended
    given = figure_files.parser(__doc__).parse_args()
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
    main(given.out)
