"""The share of truly similar pairs that are found, for thresholds 0.1 to 0.9 and many seeds, compared with the theory.

Usage: python share_found.py [--out FOLDER] [--clough FOLDER] [--seeds 1000] [--redraw]      needs matplotlib

The program compares two ways to choose the bands. The old rule takes 100 hashes and puts the step of the
S-curve on the threshold: b bands with (1/b)^(b/100) = threshold. Twinset's plan finds a pair at the threshold
with probability 0.99. Each run is compared with the truth, which comes from comparing all pairs.
"""

import warnings
from pathlib import Path
from typing import Any

import figure_files
import texts

import twinset
from twinset import textbook
from twinset.report.plots import curve_figure

THRESHOLDS = [tenth / 10 for tenth in range(1, 10)]
OLD, PLAN = "old rule: step at the threshold, 100 hashes", "Twinset's plan: recall 0.99"
HASHES, NEAR = 100, 0.05

Row = dict[str, Any]


def old_rule(threshold: float) -> twinset.Plan:
    """Return the plan of 100 hashes in b bands: the whole b whose (1/b)^(b/100) is nearest to the threshold."""
    bands = textbook.bands_by_step(threshold, HASHES)
    return twinset.plan(threshold, n_hashes=HASHES, n_bands=bands, rows_per_band=HASHES // bands)


def found(documents: dict[str, str], shingle: str, chosen: twinset.Plan, seed: int) -> list[float]:
    """Return the similarities of the pairs that one run finds."""
    result = twinset.find_pairs(
        documents,
        shingle=shingle,
        threshold=chosen.threshold,
        n_hashes=chosen.n_hashes,
        n_bands=chosen.n_bands,
        rows_per_band=chosen.rows_per_band,
        seed=seed,
        threads=1,
        audit=0,
    )
    similarities: list[float] = result.pairs["similarity"].to_pylist()
    return similarities


def figures(documents: dict[str, str], shingle: str, chosen: twinset.Plan, true: list[float], seeds: int) -> Row:
    """Return the share of truly similar pairs that many runs find; the runs differ only in their seed."""
    runs = [found(documents, shingle, chosen, seed) for seed in range(1, seeds + 1)]
    shares = sorted(len(run) / len(true) for run in runs)
    near = chosen.threshold + NEAR
    return {
        "threshold": chosen.threshold,
        "hashes": chosen.n_hashes,
        "bands": chosen.n_bands,
        "rows": chosen.rows_per_band,
        "pairs": len(true),
        "expected": sum(map(chosen.p_found, true)) / len(true),
        "mean": sum(shares) / seeds,
        "low": shares[int(0.025 * seeds)],
        "high": shares[min(seeds - 1, int(0.975 * seeds))],
        "near pairs": sum(one < near for one in true),
        "near found": sum(one < near for run in runs for one in run) / seeds,
    }


def measure(documents: dict[str, str], shingle: str, collection: str, seeds: int) -> figure_files.Numbers:
    """Measure both rules at every threshold, and compute the theory."""
    sets = {name: textbook.shingles(text, shingle) for name, text in documents.items()}
    similar = [similarity for _, _, similarity in textbook.all_pairs(sets, min(THRESHOLDS))]
    rows = [
        {"rule": rule, **figures(documents, shingle, chosen, [s for s in similar if s >= chosen.threshold], seeds)}
        for rule, choose in ((OLD, old_rule), (PLAN, twinset.plan))
        for chosen in map(choose, THRESHOLDS)
    ]
    return {"collection": collection, "shingle": shingle, "seeds": seeds, "rows": rows, "words": words(rows, seeds)}


def words(rows: list[Row], seeds: int) -> str:
    """Describe the figure in words."""
    old, ours = ([row for row in rows if row["rule"] == rule] for rule in (OLD, PLAN))
    off = [row["mean"] - row["expected"] for row in rows]
    near = [sum(row["near found"] for row in rule) / sum(row["near pairs"] for row in rule) for rule in (old, ours)]
    return (
        f"Over {seeds:,} seeds, the old rule finds between {min(row['mean'] for row in old):.1%} and "
        f"{max(row['mean'] for row in old):.1%} of the similar pairs on average, Twinset's plan between "
        f"{min(row['mean'] for row in ours):.1%} and {max(row['mean'] for row in ours):.1%}. "
        f"Of the pairs less than {NEAR} above a threshold they find {near[0]:.1%} and {near[1]:.1%}. "
        f"The averages are between {max(0, -min(off)):.3f} below and {max(0, max(off)):.3f} above the theory."
    )


def draw(numbers: figure_files.Numbers, place: Path) -> None:
    """Draw lines for the theory, dots for averages, and a band that contains 95 of 100 runs."""
    rules = {rule: [row for row in numbers["rows"] if row["rule"] == rule] for rule in (PLAN, OLD)}
    figure_files.both(
        lambda path: curve_figure(
            {rule: [(row["threshold"], row["expected"]) for row in rows] for rule, rows in rules.items()},
            path,
            points={rule: [(row["threshold"], row["mean"]) for row in rows] for rule, rows in rules.items()},
            band={rule: [(row["threshold"], row["low"], row["high"]) for row in rows] for rule, rows in rules.items()},
            x="threshold (lines: theory; dots: average of the runs; bands: 95 runs of 100)",
            y="share of similar pairs found",
            title=f"{numbers['collection']}, {numbers['seeds']:,} seeds",
            x_range=(0.05, 0.95),
        ),
        place,
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", twinset.PlanWarning)  # the low recall of the old rule is intended
    arguments = figure_files.parser(__doc__)
    arguments.add_argument("--clough", type=Path, metavar="FOLDER", help="measure on these short answers")
    arguments.add_argument("--seeds", type=int, default=1000, help="runs at each threshold (default: 1000)")
    given = arguments.parse_args()
    count, pairs = (given.seeds, 120) if given.out else (3, 45)

    def answers() -> figure_files.Numbers:
        """Measure the given short answers."""
        return measure(texts.short_answers(given.clough), "char:9", "100 short answers, char:9", count)

    def made() -> figure_files.Numbers:
        """Measure generated pairs of documents."""
        collection = f"{pairs} pairs of every similarity from 0.1 to 1"
        return measure(texts.pairs_of_every_similarity(pairs), "word:1", collection, count)

    if given.clough:
        figure_files.run(given, "share-found-clough", answers, draw)
    else:
        figure_files.run(given, "share-found", made, draw)
