"""How near the neighbours of users are: what a threshold would report, and what --top 10 reports.

Usage: python nearest_users.py [--out FOLDER] [--redraw]      needs matplotlib: pip install "twinset[plots]"

The program makes users with popular items and those of a taste that some share, and finds the ten nearest of each. A
curve says for each similarity how many users have that many neighbours. The numbers of pairs are counted.
"""

from pathlib import Path

import figure_files
import numpy as np

import twinset
from twinset.report.plots import curve_figure

TOP, COUNTS = 10, (1, 3, 10)
ITEMS, ALIKE = 20_000, 50
SIMILARITIES = [step / 100 for step in range(2, 61)]
SHARE, SHOWN = 0.9, 0.3


def people(count: int) -> dict[str, list[int]]:
    """Draw users with items by Zipf's law, and with those of a taste; how many of these differs from user to user."""
    chance = np.random.default_rng(1)
    shares = np.cumsum(1 / np.arange(1, ITEMS + 1) ** 0.9)
    tastes = [chance.choice(ITEMS, 60, replace=False) for _ in range(count // ALIKE)]
    users = {}
    for user in range(count):
        size = int(np.clip(chance.lognormal(np.log(30), 0.6), 5, 300))
        usual = np.searchsorted(shares / shares[-1], chance.random(round(chance.uniform(0.1, 0.9) * size)))
        own = chance.choice(tastes[int(chance.integers(len(tastes)))], min(60, size - len(usual)), replace=False)
        users[f"user {user}"] = np.union1d(usual, own).tolist()
    return users


def measure(count: int) -> figure_files.Numbers:
    """Find the ten nearest of each user, and count the pairs at the threshold that gives most users ten."""
    users = people(count)
    found = twinset.find_pairs(users, items="items", top=TOP)
    lefts, scores = (found.pairs[name].to_numpy() for name in ("left", "similarity"))
    places = {name: row for row, name in enumerate(users)}
    rows = np.array([places[name] for name in lefts])
    starts = np.searchsorted(rows, np.arange(count))  # rows are in the order of the users, the nearest first
    ranks = np.arange(len(rows)) - starts[rows]
    lines = {}
    for number in COUNTS:
        nth = np.zeros(count)
        nth[rows[ranks == number - 1]] = scores[ranks == number - 1]
        lines[str(number)] = [(one, float((nth >= one).mean())) for one in SIMILARITIES]
    least = max(one for one, share in lines[str(TOP)] if share >= SHARE)
    wide = twinset.find_pairs(users, items="items", threshold=least, exact=True)
    return {
        "users": count,
        "lines": lines,
        "threshold": least,
        "pairs at it": wide.summary["pairs"],
        "compared": found.summary["candidates"],
        "rows": len(rows),
        "words": words(lines, least, wide.summary["pairs"], found.summary["candidates"], count),
    }


def words(lines: dict[str, list[tuple[float, float]]], least: float, pairs: int, compared: int, count: int) -> str:
    """Describe the figure in words."""
    share = {number: dict(line)[SHOWN] for number, line in lines.items()}
    return (
        f"At a similarity of {SHOWN}, {share['1']:.0%} of the users have a neighbour, and {share[str(TOP)]:.0%} have "
        f"ten. To give ten to nine of ten users, a threshold would have to be {least:g}, and {pairs:,} pairs reach it, "
        f"{2 * pairs / count:,.0f} for each user. The ten nearest of all {count:,} users were found by comparing "
        f"{compared / (count * (count - 1)):.0%} of all pairs."
    )


def draw(numbers: figure_files.Numbers, place: Path) -> None:
    """Draw one curve for each number of neighbours."""
    names = {"1": "one neighbour or more", "3": "three or more", "10": "ten or more"}
    figure_files.both(
        lambda path: curve_figure(
            {names[number]: line for number, line in numbers["lines"].items()},
            path,
            x="minimum similarity of the neighbours",
            y="share of the users",
            title=f"The nearest of {numbers['users']:,} users",
            vline={f"nine of ten users have ten: {numbers['threshold']:g}": numbers["threshold"]},
            x_range=(0, SIMILARITIES[-1]),
            y_range=(0, 1.02),
        ),
        place,
    )


if __name__ == "__main__":
    given = figure_files.parser(__doc__).parse_args()
    figure_files.run(given, "nearest-users", lambda: measure(20_000 if given.out else 500), draw)
