"""The error of MinHash estimates, by the number of hashes: with fair hash functions, and with h(x) XOR r.

Usage: python xor_hashes.py [--out FOLDER] [--redraw]      needs matplotlib: pip install "twinset[plots]"

The program makes pairs of sets with similarity 0.4 and unions of 5, 20 and 100 shingles. Dots are measured: the
standard deviation of the estimates of many pairs. Lines are theory. For fair functions it is √(s(1-s)/k). For the XOR
family the share of equal minima tends, with more and more hashes, to `textbook.xor_chances` of the pair, which is
not s.
"""

import math
import random
import statistics
from pathlib import Path

import figure_files
import numpy as np

from twinset import textbook
from twinset.report.plots import curve_figure

SIMILARITY = 0.4
UNIONS = (5, 20, 100)
HASHES = (4, 16, 64, 256, 1024, 4096)
FAIR, BAD = "fair hash functions", "h(x) XOR r, {} shingles"


def deviation(values: np.ndarray, shared: int, hashes: int, seed: int, mixed: bool) -> float:
    """Return the deviation of estimates, one per row of `values`; its first `shared` elements are in both sets."""
    generator = np.random.default_rng(seed)
    agree = np.zeros(len(values))
    for _ in range(hashes):
        found = values ^ generator.integers(0, 2**64, (len(values), 1), np.uint64)  # each pair has its own numbers
        if mixed:  # XOR first and mix after (the finaliser of MurmurHash3): a fair function
            for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
                found = (found ^ found >> np.uint64(33)) * np.uint64(factor)
            found ^= found >> np.uint64(33)
        agree += found.argmin(axis=1) < shared
    return float((agree / hashes).std(ddof=1))


def measure(pairs: int) -> figure_files.Numbers:
    """Measure and compute deviations by number of hashes, and their limits."""
    measured: dict[str, list[tuple[int, float]]] = {}
    left: dict[str, float] = {FAIR: 0.0}
    for union in UNIONS:
        chance, shared = random.Random(union), round(SIMILARITY * union)
        rows = [[chance.getrandbits(64) for _ in range(union)] for _ in range(pairs)]
        values, name = np.array(rows, np.uint64), BAD.format(union)
        limits = []
        for row in rows:
            chances = textbook.xor_chances(row)
            limits.append(float(sum(chances[x] for x in row[:shared])))
        left[name] = statistics.stdev(limits)
        measured[name] = [(k, deviation(values, shared, k, k, mixed=False)) for k in HASHES]
        if union == UNIONS[1]:
            measured[FAIR] = [(k, deviation(values, shared, k, k, mixed=True)) for k in HASHES]
    theory = {
        # Hashes of one pair vary around its own limit, so that the two variances add up to that of one hash.
        name: [(k, math.sqrt(rest**2 + (textbook.signature_error(SIMILARITY, 1) ** 2 - rest**2) / k)) for k in HASHES]
        for name, rest in left.items()
    }
    return {"pairs": pairs, "measured": measured, "theory": theory, "left": left, "words": words(theory, left)}


def words(theory: dict[str, list[tuple[int, float]]], left: dict[str, float]) -> str:
    """Describe the figure in words."""
    spoken = [f"{left[BAD.format(union)]:.3f} at {union} shingles" for union in UNIONS]
    return (
        f"With {HASHES[-1]:,} fair hash functions an estimate has a standard error of {theory[FAIR][-1][1]:.3f}. "
        f"With the XOR family an error remains that no number of hashes removes: {', '.join(spoken)}."
    )


def draw(numbers: figure_files.Numbers, place: Path) -> None:
    """Draw lines for the theory, dots for the measurements."""
    figure_files.both(
        lambda path: curve_figure(
            numbers["theory"],
            path,
            points=numbers["measured"],
            x="hashes (lines: theory; dots: measured)",
            y="standard deviation of the estimate",
            title=f"Estimates of a similarity of {SIMILARITY}, {numbers['pairs']:,} pairs",
            log_x=True,
            log_y=True,
        ),
        place,
    )


if __name__ == "__main__":
    given = figure_files.parser(__doc__).parse_args()
    figure_files.run(given, "xor-hashes", lambda: measure(3000 if given.out else 60), draw)
