"""SimHash or MinHash? The share of near-duplicates that each finds, by their Jaccard similarity.

Usage: python codes_found.py [--out FOLDER] [--redraw]      needs matplotlib: pip install "twinset[plots]"

The program makes pairs of sets of 400 shingles at each similarity. Codes of 64 bits match within 3 bits, as is
usual, or within as many bits as are needed to find a pair at 0.8 with probability 0.99. MinHash sketches are divided
into bands by Twinset's plan. Lines are theory: the cosine of two sets of equal size is 2J/(1+J), and a bit differs
with probability angle/π. Dots are measured.
"""

import math
from pathlib import Path

import figure_files
import numpy as np

import twinset
from twinset.plan.codes import plan_codes, within_probability
from twinset.report.plots import curve_figure
from twinset.schema import Shingles
from twinset.sketches.minhash import sketch
from twinset.sketches.simhash import simhash

SHINGLES, THRESHOLD, RECALL = 400, 0.8, 0.99
SHARED = range(200, 400, 10)


def cosine(similarity: float) -> float:
    """Return the cosine of two sets of equal size, as vectors of zeros and ones."""
    return 2 * similarity / (1 + similarity)


def sets(shared: int, count: int) -> Shingles:
    """Make pairs of sets that share a number of shingles; the sets of a pair are adjacent."""
    generator = np.random.default_rng(shared)
    union = 2 * SHINGLES - shared
    rows = generator.integers(0, 2**64, (count, union), np.uint64)
    both = np.concatenate([rows[:, :SHINGLES], rows[:, union - SHINGLES :]], axis=1)
    return Shingles(np.arange(2 * count), np.arange(0, 2 * count * SHINGLES + 1, SHINGLES), both.reshape(-1))


def measure(count: int) -> figure_files.Numbers:
    """Measure and compute the share of pairs that each method finds."""
    far = plan_codes(cosine(THRESHOLD), RECALL).distance
    chosen = twinset.plan(THRESHOLD, RECALL)
    names = {3: "SimHash, within 3 of 64 bits", far: f"SimHash, within {far} of 64 bits"}
    plan_name = f"MinHash, {chosen.n_bands} bands × {chosen.rows_per_band} rows"
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in (*names.values(), plan_name)}
    for shared in SHARED:
        similarity = shared / (2 * SHINGLES - shared)
        portion = sets(shared, count)
        codes = simhash(portion).reshape(count, 2)
        apart = np.array([int(one).bit_count() for one in codes[:, 0] ^ codes[:, 1]])
        for distance, name in names.items():
            measured[name].append((similarity, float((apart <= distance).mean())))
        slots = sketch(portion, "fss", chosen.n_hashes, 1).reshape(count, 2, -1)
        cut = chosen.n_bands * chosen.rows_per_band
        same = (slots[:, 0] == slots[:, 1])[:, :cut].reshape(count, chosen.n_bands, chosen.rows_per_band)
        # Pairs with too few equal slots, by their low bytes, are dropped before they are compared.
        alike = (slots[:, 0] & 0xFF == slots[:, 1] & 0xFF).sum(axis=1) >= chosen.min_matches
        measured[plan_name].append((similarity, float((same.all(axis=2).any(axis=1) & alike).mean())))
    at = [point / 100 for point in range(30, 101)]
    theory = {name: [(s, within_probability(cosine(s), 64, d)) for s in at] for d, name in names.items()}
    theory[plan_name] = [(s, chosen.p_found(s)) for s in at]
    usual, loose = (within_probability(cosine(THRESHOLD), 64, d) for d in (3, far))
    below = within_probability(cosine(0.6), 64, far), chosen.p_found(0.6)
    words = (
        f"Within 3 bits, SimHash finds {100 * usual:.1f} % of the pairs at {THRESHOLD:g}. Within {far} bits it finds "
        f"{math.floor(1000 * loose) / 10:.1f} % of them, but also {100 * below[0]:.0f} % of the pairs at 0.6. MinHash "
        f"with Twinset's plan finds {math.floor(1000 * chosen.reached) / 10:.1f} % and {100 * below[1]:.0f} %."
    )
    return {"measured": measured, "theory": theory, "pairs": count, "words": words}


def draw(numbers: figure_files.Numbers, place: Path) -> None:
    """Draw curves for the theory, and dots for the measurements."""
    figure_files.both(
        lambda path: curve_figure(
            numbers["theory"],
            path,
            x="Jaccard similarity of a pair",
            y="probability of being found",
            title="SimHash and MinHash",
            points=numbers["measured"],
            vline={f"threshold {THRESHOLD:g}": THRESHOLD},
            x_range=(0.3, 1),
            y_range=(0, 1.02),
        ),
        place,
    )


if __name__ == "__main__":
    given = figure_files.parser(__doc__).parse_args()
    figure_files.run(given, "codes-found", lambda: measure(1000 if given.out else 100), draw)
