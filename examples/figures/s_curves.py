"""Families of S-curves: the probability of finding a pair, by its similarity, for several ways to divide a sketch.

Usage: python s_curves.py [--out FOLDER] [--redraw]      needs matplotlib: pip install "twinset[plots]"

If two codes agree in any one bit with probability s, they agree in the k bits of at least one of L tables with
probability 1-(1-s^k)^L. With b bands of r rows it is the same formula, and s is the Jaccard similarity.
"""

from pathlib import Path

import figure_files

from twinset.plan import band_probability
from twinset.report.plots import curve_figure

POINTS = 200
FAMILIES = {
    "s-curves-bits": ("One table, keyed by k bits", [(1, k) for k in range(1, 11)], "k = {k}"),
    "s-curves-tables": ("L tables, keyed by one bit", [(tables, 1) for tables in range(1, 11)], "L = {L}"),
    "s-curves-5-bits": ("L tables, keyed by 5 bits", [(tables, 5) for tables in range(1, 51)], "L = {L}"),
    "s-curves-10-bits": ("L tables, keyed by 10 bits", [(tables, 10) for tables in range(1, 51)], "L = {L}"),
    "s-curves-bands": ("Bands of rows", [(20, 5), (15, 5), (16, 6), (9, 13)], "{L} bands × {k} rows"),
}
WORDS = {
    "s-curves-bits": "With one table the probability is 0.5 at a similarity of {0:.2f} for 1 bit, "
    "and {9:.2f} for 10 bits.",
    "s-curves-tables": "With 1 bit per table it is 0.5 at a similarity of {0:.2f} for 1 table, "
    "and {9:.2f} for 10 tables.",
    "s-curves-5-bits": "With 5 bits per table it is 0.5 at a similarity of {0:.2f} for 1 table, "
    "and {49:.2f} for 50 tables.",
    "s-curves-10-bits": "With 10 bits per table it is 0.5 at a similarity of {0:.2f} for 1 table, "
    "and {49:.2f} for 50 tables.",
    "s-curves-bands": "The probability is 0.5 at a similarity of {0:.2f} for 20 × 5, {1:.2f} for 15 × 5, "
    "{2:.2f} for 16 × 6, and {3:.2f} for 9 × 13.",
}


def measure(name: str) -> figure_files.Numbers:
    """Compute for each curve the similarity at which a pair is found with probability one half."""
    title, cuts, label = FAMILIES[name]
    even = {label.format(L=tables, k=bits): (1 - 0.5 ** (1 / tables)) ** (1 / bits) for tables, bits in cuts}
    words = WORDS[name].format(*even.values())
    return {"title": title, "tables and bits": dict(zip(even, cuts, strict=True)), "even": even, "words": words}


def draw(numbers: figure_files.Numbers, place: Path) -> None:
    """Draw a family."""
    curves = {
        name: [(point / POINTS, band_probability(point / POINTS, tables, bits)) for point in range(POINTS + 1)]
        for name, (tables, bits) in numbers["tables and bits"].items()
    }
    figure_files.both(
        lambda path: curve_figure(
            curves,
            path,
            x="similarity of a pair: the probability that one bit, or one row, agrees",
            y="probability of being found",
            title=numbers["title"],
            x_range=(0, 1),
            y_range=(0, 1.02),
        ),
        place,
    )


if __name__ == "__main__":
    given = figure_files.parser(__doc__).parse_args()
    for family in FAMILIES:
        figure_files.run(given, family, lambda family=family: measure(family), draw)
