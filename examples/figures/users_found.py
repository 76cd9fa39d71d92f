"""The probability of finding two users by their similarity, for users with few items and with many.

Usage: python users_found.py [--out FOLDER] [--redraw]      needs matplotlib: pip install "twinset[plots]"

The program makes pairs of sets of equal size and known similarity, and searches them with the bands that Twinset
chooses for a threshold of 0.5. The line is theory, which does not depend on the size.
"""

import warnings
from pathlib import Path
from typing import Any

import figure_files
import numpy as np

import twinset
from twinset.report.plots import curve_figure

THRESHOLD = 0.5
SIZES = (12, 120)
SHARES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
"""Twelfths of each set that are in both."""


def found_at(size: int, pairs: int, plan: twinset.Plan) -> list[tuple[float, float]]:
    """Return the share of pairs found, by similarity; only the bands decide."""
    chance = np.random.default_rng(size)
    users, line = {}, []
    for share in SHARES:
        shared = size * share // 12
        for pair in range(pairs):
            drawn = chance.choice(2**40, 2 * size - shared, replace=False).tolist()
            users[f"{share} {pair} a"], users[f"{share} {pair} b"] = drawn[:size], drawn[size - shared :]
        line.append([shared / (2 * size - shared), 0.0])
    words: dict[str, Any] = {"n_hashes": plan.n_hashes, "n_bands": plan.n_bands, "rows_per_band": plan.rows_per_band}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", twinset.PlanWarning)  # these bands are not planned for such a low threshold
        found = twinset.find_pairs(users, items="items", threshold=0.05, audit=0, **words).pairs
    for name in found["left"].to_pylist():
        line[SHARES.index(int(name.split()[0]))][1] += 1 / pairs
    return [(similarity, share) for similarity, share in line]


def measure(pairs: int) -> figure_files.Numbers:
    """Measure the shares found, and compute the curve of the plan."""
    plan = twinset.plan(THRESHOLD)
    theory = [(s / 100, 1 - (1 - (s / 100) ** plan.rows_per_band) ** plan.n_bands) for s in range(5, 101)]
    lines = {"theory": theory, **{f"{size} items each": found_at(size, pairs, plan) for size in SIZES}}
    return {"pairs": pairs, "plan": [plan.n_bands, plan.rows_per_band], "lines": lines, "words": words(lines, plan)}


def words(lines: dict[str, list[tuple[float, float]]], plan: twinset.Plan) -> str:
    """Describe the figure in words."""
    few, many = (dict(lines[f"{size} items each"]) for size in SIZES)
    at = 8 / 16  # eight of twelve are shared
    return (
        f"With {plan.n_bands} bands of {plan.rows_per_band} rows and a similarity of 0.5, the share of pairs found is "
        f"{few[at]:.3f} for users with {SIZES[0]} items and {many[at]:.3f} for users with {SIZES[1]}."
    )


def draw(numbers: figure_files.Numbers, place: Path) -> None:
    """Draw one line for each size."""
    figure_files.both(
        lambda path: curve_figure(
            {"theory": numbers["lines"]["theory"]},
            path,
            points={name: line for name, line in numbers["lines"].items() if name != "theory"},
            vline=THRESHOLD,
            x="similarity of two users",
            y="share of pairs found",
            title=f"Users who share items, threshold {THRESHOLD}, {numbers['pairs']:,} pairs at each point",
        ),
        place,
    )


if __name__ == "__main__":
    given = figure_files.parser(__doc__).parse_args()
    figure_files.run(given, "users-found", lambda: measure(2000 if given.out else 50), draw)
