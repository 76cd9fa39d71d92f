"""The probability of finding two vectors, by cosine: tables of random hyperplanes and cross-polytopes, with probes.

Usage: python vectors_found.py [--out FOLDER] [--redraw]      needs matplotlib: pip install "twinset[plots]"

The program makes pairs at each cosine. Lines are computed by the plan. Dots are measured: the share of pairs in which
one vector has or probes the key of the other in at least one table.
"""

import math
from pathlib import Path

import figure_files
import numpy as np

from twinset.candidates.probing import next_keys
from twinset.plan.vectors import VectorPlan, vector_plan
from twinset.report.plots import curve_figure
from twinset.sketches.vectors import keys

DIMENSIONS, THRESHOLD, RECALL = 64, 0.9, 0.95
COSINES = [round(0.5 + 0.04 * step, 2) for step in range(13)]
BETWEEN = [0.52, 0.6, 0.68, 0.76, 0.84, 0.88, 0.92, 0.99]
PLANS = {
    "12 bits": {"method": "hyperplane", "functions": 12, "probes": 0},
    "12 bits, 8 more keys tried": {"method": "hyperplane", "functions": 12, "probes": 8},
    "2 cross-polytopes, 8 more keys tried": {"method": "cross-polytope", "functions": 2, "probes": 8},
}


def pairs(cosine: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors of length 1, and for each a vector at this cosine."""
    generator = np.random.default_rng(round(1000 * cosine))
    one, other = generator.normal(size=(2, count, DIMENSIONS))
    one /= np.linalg.norm(one, axis=1, keepdims=True)
    other -= (other * one).sum(axis=1, keepdims=True) * one
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    near = cosine * one + math.sqrt(1 - cosine**2) * other
    return one.astype(np.float32), near.astype(np.float32)


def share_found(plan: VectorPlan, cosine: float, count: int) -> float:
    """Return the share of pairs that meet in a table."""
    found = np.zeros(count, bool)
    # The random parameters of a table serve all pairs, so several draws are averaged.
    left, right = pairs(cosine, count)
    for seed in range(1, count // 200 + 1):
        rows = slice((seed - 1) * 200, seed * 200)
        drawn = keys.draw(plan, seed)
        sides = [keys.moves(side[rows], drawn, range(plan.tables), plan.probes) for side in (left, right)]
        for ours, theirs in zip(*sides, strict=True):
            mine, other = next_keys(ours, plan.probes), next_keys(theirs, plan.probes)
            found[rows] |= (mine == other[:, :1]).any(axis=1) | (other == mine[:, :1]).any(axis=1)
    return float(found.mean())


def measure(count: int) -> figure_files.Numbers:
    """Return the plans, their computed probabilities and the measured shares."""
    plans = {name: vector_plan(THRESHOLD, RECALL, dimensions=DIMENSIONS, **given) for name, given in PLANS.items()}
    names = {name: f"{plan.tables} tables of {name}" for name, plan in plans.items()}
    cosines = COSINES if count > 1000 else COSINES[::4]
    measured = {names[name]: [(c, share_found(plan, c, count)) for c in cosines] for name, plan in plans.items()}
    theory = {
        names[name]: [(c, 1 - (1 - plan.p_table(c)) ** plan.tables) for c in sorted({*cosines, *BETWEEN})]
        for name, plan in plans.items()
    }
    tables = [plan.tables for plan in plans.values()]
    off = max(abs(share - dict(theory[name])[c]) for name, line in measured.items() for c, share in line)
    words = (
        f"To find a pair at cosine {THRESHOLD:g} with probability {RECALL:g}, {tables[0]} tables of 12 bits are "
        f"needed. With 8 probes in each, {tables[1]} tables are enough; with 2 cross-polytopes instead of "
        f"the bits, {tables[2]}. The measured shares are within {math.ceil(1000 * off) / 10:.1f} % of the theory."
    )
    return {"threshold": THRESHOLD, "measured": measured, "theory": theory, "pairs": count, "words": words}


def draw(numbers: figure_files.Numbers, place: Path) -> None:
    """Draw curves for the theory, and dots for the measurements."""
    figure_files.both(
        lambda path: curve_figure(
            numbers["theory"],
            path,
            x="cosine of a pair",
            y="probability of being found",
            title="Hash tables of vectors",
            points=numbers["measured"],
            vline={f"threshold {numbers['threshold']:g}": numbers["threshold"]},
            x_range=(0.5, 1),
            y_range=(0, 1.02),
        ),
        place,
    )


if __name__ == "__main__":
    given = figure_files.parser(__doc__).parse_args()
    figure_files.run(given, "vectors-found", lambda: measure(8000 if given.out else 800), draw)
