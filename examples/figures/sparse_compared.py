"""How many pairs of sparse vectors are looked at, by the threshold: met in lists, multiplied out, found.

Usage: python sparse_compared.py [--out FOLDER] [--redraw]      needs matplotlib: pip install "twinset[plots]"

The articles are those of `similar_articles.py`, weighted by tf-idf. The join counts what it does. At a threshold near 0
all columns are listed, as in a plain inverted index: that is the line of pairs that have a word in common.
"""

import sys
from pathlib import Path

import figure_files
import numpy as np

import twinset
from twinset.candidates.sparse.join import SparseJoin
from twinset.pairs.sparse import squares
from twinset.report.plots import curve_figure
from twinset.schema import SparseVectors

sys.path.append(str(Path(__file__).resolve().parent.parent))

import similar_articles

THRESHOLDS = [step / 20 for step in range(4, 19)]
NEARLY_ZERO = 1e-3
SHOWN = 0.6


def looked_at(vectors: SparseVectors, columns: int, threshold: float) -> tuple[int, int]:
    """Return how many pairs are met in the lists, and how many of them are multiplied out."""
    join = SparseJoin(vectors, 1 / np.sqrt(squares(vectors)), columns, threshold)
    for _ in join.candidates(0, len(join.order)):
        pass
    return join.met, join.multiplied


def measure(count: int) -> figure_files.Numbers:
    """Join some of the articles at each threshold."""
    weights = similar_articles.weighted(count)
    vectors = SparseVectors(
        weights.indptr.astype(np.int64), weights.indices.astype(np.uint32), weights.data.astype(np.float32)
    )
    columns = weights.shape[1]
    sharing = looked_at(vectors, columns, NEARLY_ZERO)[0]
    rows = [(threshold, *looked_at(vectors, columns, threshold)) for threshold in THRESHOLDS]
    found = twinset.find_pairs(weights, threshold=THRESHOLDS[0]).pairs["similarity"].to_numpy()
    lines = {
        "with a word in common": [(threshold, sharing) for threshold in (THRESHOLDS[0], THRESHOLDS[-1])],
        "met in a list of rare words": [(threshold, met) for threshold, met, _ in rows],
        "multiplied out": [(threshold, multiplied) for threshold, _, multiplied in rows],
        "found": [(threshold, int((found >= threshold).sum())) for threshold in THRESHOLDS],
    }
    return {"articles": count, "lines": lines, "words": words(lines, count)}


def words(lines: dict[str, list[tuple[float, int]]], count: int) -> str:
    """Describe the figure in words."""
    _, met, multiplied, found = (dict(line).get(SHOWN, line[0][1]) for line in lines.values())
    sharing = lines["with a word in common"][0][1]
    return (
        f"Of the {count * (count - 1) // 2:,} pairs of {count:,} articles, {sharing:,} have a word in common. At a "
        f"threshold of {SHOWN:g}, {met:,} are met in the lists of rare words, {multiplied:,} are multiplied out, and "
        f"{found:,} are found."
    )


def draw(numbers: figure_files.Numbers, place: Path) -> None:
    """Draw the number of pairs at each step."""
    figure_files.both(
        lambda path: curve_figure(
            numbers["lines"],
            path,
            x="threshold (cosine)",
            y="pairs",
            title=f"Sparse vectors: pairs looked at, {numbers['articles']:,} articles",
            log_y=True,
        ),
        place,
    )


if __name__ == "__main__":
    given = figure_files.parser(__doc__).parse_args()
    figure_files.run(given, "sparse-compared", lambda: measure(20_000 if given.out else 1_000), draw)
