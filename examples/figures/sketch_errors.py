"""The error of sketch estimates, by the size of the sets: fss, k permutations and bottom-k.

Usage: python sketch_errors.py [--out FOLDER] [--redraw]      needs matplotlib: pip install "twinset[plots]"

The program makes pairs of sets of equal size with a similarity of about one half, and sketches them with 128 hashes.
The figure shows the standard deviation of the estimates around the truth.
"""

from pathlib import Path

import figure_files
import numpy as np

from twinset.report.plots import curve_figure
from twinset.schema import Shingles
from twinset.sketches import minhash
from twinset.sketches.bottom_k import bottom_k, estimates

HASHES = 128
SIZES = (5, 10, 20, 40, 60, 80, 100, 150, 200, 400, 1000, 3000)
METHODS = ("kperm", "fss", "bottom-k")


def errors(size: int, pairs: int) -> dict[str, float]:
    """Return the standard deviation of the estimates, by sketch."""
    shared = round(size * 2 / 3)  # half of the union, 2 · size - shared
    true = shared / (2 * size - shared)
    drawn = np.random.default_rng(size).integers(1, 2**64, (pairs, 2 * size - shared), np.uint64)
    both = np.concatenate([drawn[:, :size], drawn[:, size - shared :]], axis=1).reshape(-1)
    sets = Shingles(np.arange(2 * pairs), np.arange(2 * pairs + 1) * size, both)
    found = {}
    for method in METHODS[:2]:
        slots = minhash.sketch(sets, method, HASHES, seed=1)
        found[method] = (slots[::2] == slots[1::2]).mean(axis=1)
    sides = (np.arange(side, 2 * pairs, 2, dtype=np.uint32) for side in (0, 1))
    found["bottom-k"] = estimates(bottom_k(sets, HASHES), *sides)[0]
    return {method: float(np.sqrt(((one - true) ** 2).mean())) for method, one in found.items()}


def measure(pairs: int) -> figure_files.Numbers:
    """Measure deviations by size of the sets."""
    rows = [(size, errors(size, pairs)) for size in SIZES]
    measured = {method: [(size, found[method]) for size, found in rows] for method in METHODS}
    return {"pairs": pairs, "measured": measured, "words": words(measured)}


def words(measured: dict[str, list[tuple[int, float]]]) -> str:
    """Describe the figure in words."""
    at = {method: dict(line) for method, line in measured.items()}
    return (
        f"For sets of {SIZES[1]} elements the standard error is {at['kperm'][SIZES[1]]:.3f} with kperm, "
        f"{at['fss'][SIZES[1]]:.3f} with fss, and 0 with bottom-k, which contains small sets completely; for "
        f"{SIZES[-1]:,} elements it is {at['kperm'][SIZES[-1]]:.3f}, {at['fss'][SIZES[-1]]:.3f} and "
        f"{at['bottom-k'][SIZES[-1]]:.3f}."
    )


def draw(numbers: figure_files.Numbers, place: Path) -> None:
    """Draw one line for each sketch."""
    figure_files.both(
        lambda path: curve_figure(
            numbers["measured"],
            path,
            x="elements of each set",
            y="standard deviation of the estimate",
            title=f"Estimates of a similarity of one half, {HASHES} hashes, {numbers['pairs']:,} pairs",
            log_x=True,
        ),
        place,
    )


if __name__ == "__main__":
    given = figure_files.parser(__doc__).parse_args()
    figure_files.run(given, "sketch-errors", lambda: measure(4000 if given.out else 100), draw)
