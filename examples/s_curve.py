"""Plot the probability that a pair is found, for the default plan and the usual one; dots are measured, lines theory.

Usage: python s_curve.py [FOLDER]      needs matplotlib: pip install "twinset[plots]"
"""

import random
import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib

import twinset

matplotlib.use("Agg")
from matplotlib import pyplot as plt

PLANS = {
    "Twinset's default: 16 bands × 6 rows": (16, 6, "#0f766e"),
    "the usual choice: 9 bands × 13 rows": (9, 13, "#b45309"),
}
THRESHOLD = 0.8
WORDS, PAIRS = 180, 300  # words of a document; pairs at each similarity
SHARED = range(120, 180, 5)


def documents() -> tuple[dict[str, str], dict[str, float]]:
    """Make pairs of documents of known similarity: some words are shared, all others are unique."""
    chance, texts, similarities = random.Random(7), {}, {}
    for shared in SHARED:
        for number in range(PAIRS):
            words = [f"{chance.getrandbits(60):x}" for _ in range(2 * WORDS - shared)]
            name = f"{shared}-{number}"
            texts[f"{name}-a"] = " ".join(words[:WORDS])
            texts[f"{name}-b"] = " ".join(words[WORDS - shared :])
            similarities[name] = shared / len(words)
    return texts, similarities


def measured(texts: dict[str, str], similarities: dict[str, float], bands: int, rows: int) -> dict[float, float]:
    """Measure the share of pairs found at each similarity; with a low threshold only the bands decide."""
    found = twinset.find_pairs(texts, shingle="word:1", threshold=0.4, n_hashes=128, n_bands=bands, rows_per_band=rows)
    names = {left.removesuffix("-a") for left in found.pairs["left"].to_pylist()}
    shares: dict[float, list[bool]] = {}
    for name, similarity in similarities.items():
        shares.setdefault(similarity, []).append(name in names)
    return {similarity: sum(hits) / len(hits) for similarity, hits in shares.items()}


def draw(folder: Path) -> Path:
    """Draw the plot and print its numbers."""
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    plt.rcParams["svg.hashsalt"] = "twinset"
    figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    axes.axvline(THRESHOLD, color="#9ca3af", linewidth=1, linestyle=":")
    texts, similarities = documents()
    for label, (bands, rows, colour) in PLANS.items():
        plan = twinset.plan(THRESHOLD, n_hashes=128, n_bands=bands, rows_per_band=rows)
        curve = [(s / 200, 1 - (1 - (s / 200) ** rows) ** bands) for s in range(80, 201)]
        axes.plot(*zip(*curve, strict=True), color=colour, linewidth=2, label=label)
        dots = measured(texts, similarities, bands, rows)
        axes.plot(list(dots), list(dots.values()), "o", color=colour, markersize=4)
        axes.annotate(
            f"{plan.reached:.1%} at {THRESHOLD}",
            (THRESHOLD, plan.reached),
            xytext=(-8, 4) if plan.reached > 0.5 else (8, -10),
            textcoords="offset points",
            ha="right" if plan.reached > 0.5 else "left",
            color=colour,
        )
        print(f"{label}: a pair at {THRESHOLD} is found with probability {plan.reached:.3f}")
    axes.set(xlim=(0.4, 1), ylim=(0, 1.05))
    axes.set(xlabel="exact Jaccard similarity of a pair", ylabel="share that become candidates")
    axes.legend(frameon=False, loc="upper left")
    path = folder / "s-curve.svg"
    figure.savefig(path, metadata={"Date": None})
    return path


if __name__ == "__main__":
    warnings.simplefilter("ignore", twinset.PlanWarning)  # that the usual choice finds less is what is shown
    if len(sys.argv) > 1:
        print(f"drawn: {draw(Path(sys.argv[1]))}")
    else:
        with tempfile.TemporaryDirectory() as scratch:
            draw(Path(scratch))
            print("give a folder to keep the picture")
