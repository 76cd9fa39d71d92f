"""Run time of Twinset and of the naive search, which compares all pairs: 10 to 100 documents, then up to 100,000.

Usage: python run_time.py [--out FOLDER] [--clough FOLDER] [--most N] [--limit SECONDS] [--redraw]      needs matplotlib

Times are processor seconds on one thread, the minimum of several runs, so that other programs on the machine have
little effect. Twinset's time begins with the texts. The naive searches get ready-made sets of shingles and are timed
for comparing them only. A naive run that would take longer than the limit is skipped: its time is estimated from the
longest run, by the number of pairs, and has no dot in the figure.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import figure_files
import numpy as np
import pyarrow as pa
import texts

import twinset
from twinset import textbook
from twinset.engines.local.steps.sketch import shingle_sets
from twinset.options import ShingleOptions
from twinset.pairs.sets import Sets, overlaps
from twinset.report.plots import curve_figure
from twinset.schema import Shingles

SMALL = list(range(10, 101, 10))
LARGE = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000]
TRIAL = [10, 30, 100]
BANDED, EXACT = "Twinset (LSH)", "Twinset --exact"
COMPILED, PLAIN = "naive search, compiled", "naive search, plain Python"
SPOKEN = {
    EXACT: "The exact search",
    COMPILED: "Comparing all pairs in compiled code",
    PLAIN: "Comparing all pairs in plain Python",
}

Search = Callable[[], int]
Line = list[tuple[int, float]]


def banded(documents: list[str], shingle: str, threshold: float) -> Search:
    """Search with the defaults of Twinset, from texts to verified pairs."""
    words = {"shingle": shingle, "threshold": threshold, "threads": 1, "audit": 0}
    return lambda: int(twinset.find_pairs(documents, **words).summary["pairs"])


def exact(documents: list[str], shingle: str, threshold: float) -> Search:
    """Search with Twinset --exact."""
    words = {"shingle": shingle, "threshold": threshold, "threads": 1, "audit": 0, "exact": True}
    return lambda: int(twinset.find_pairs(documents, **words).summary["pairs"])


def compiled(documents: list[str], shingle: str, threshold: float) -> Search:
    """Compare all pairs of sets with the kernel that verifies candidates in Twinset."""
    found = shingle_sets(pa.array(documents, pa.large_string()), ShingleOptions.of(shingle=shingle), seed=1)
    offsets, every = np.cumsum([0, *map(len, found)]), np.arange(len(found))
    sets = Sets.with_room(np.diff(offsets))
    sets.fill(Shingles(every, offsets, np.concatenate(found)), every, every)
    return lambda: sum(near_later_sets(sets, left, threshold) for left in range(len(found)))


def near_later_sets(sets: Sets, left: int, threshold: float) -> int:
    """Count the sets after `left` that reach the threshold with it."""
    rights = np.arange(left + 1, len(sets.sizes), dtype=np.uint32)
    return int(np.count_nonzero(overlaps(sets, np.full(len(rights), left, np.uint32), rights, threshold)))


def plain(documents: list[str], shingle: str, threshold: float) -> Search:
    """Compare all pairs of sets in plain Python, by definition."""
    sets = {number: textbook.shingles(text, shingle) for number, text in enumerate(documents)}
    return lambda: len(list(textbook.all_pairs(sets, threshold)))


SEARCHES = {BANDED: banded, EXACT: exact, COMPILED: compiled, PLAIN: plain}
NAIVE = {COMPILED, PLAIN}


def timed(search: Search) -> tuple[float, int]:
    """Return the processor time of a run (for short runs, the minimum of up to nine) and its number of pairs."""
    times: list[float] = []
    pairs = 0
    while not times or (sum(times) < 0.5 and len(times) < 9):
        start = time.process_time()
        pairs = search()
        times.append(time.process_time() - start)
    return min(times), pairs


def line_of(
    name: str, documents: list[str], sizes: list[int], setting: tuple[str, float], limit: float
) -> tuple[Line, list[int]]:
    """Time a search on the first n documents and count its pairs; a naive search stops at the time limit."""
    SEARCHES[name](documents[: sizes[0]], *setting)()  # kernels are loaded, or compiled
    line: Line = []
    pairs: list[int] = []
    for size in sizes:
        if name in NAIVE and line and scaled(line, size) > limit:
            break
        took, found = timed(SEARCHES[name](documents[:size], *setting))
        line.append((size, took))
        pairs.append(found)
    return line, pairs


def scaled(line: Line, size: int) -> float:
    """Estimate a time from the largest run, in proportion to the number of pairs."""
    last, took = line[-1]
    return took * math.comb(size, 2) / math.comb(last, 2)


def measure(
    collection: str, documents: list[str], sizes: list[int], setting: tuple[str, float], limit: float
) -> figure_files.Numbers:
    """Time every search at every size, and estimate the times of runs that would have taken too long."""
    both = {name: line_of(name, documents, sizes, setting, limit) for name in SEARCHES}
    measured, pairs = ({name: one[place] for name, one in both.items()} for place in (0, 1))
    for name, found in pairs.items():
        if name != BANDED and found != pairs[EXACT][: len(found)]:
            raise SystemExit(f"{EXACT} finds {pairs[EXACT]} pairs, {name} {found}: one of them is wrong")
    estimated = {name: [(n, scaled(line, n)) for n in sizes if n > line[-1][0]] for name, line in measured.items()}
    numbers: dict[str, Any] = {"collection": collection, "shingle": setting[0], "threshold": setting[1]}
    numbers |= {"measured": measured, "estimated": estimated, "pairs": pairs}
    return {**numbers, "words": words(measured, estimated, pairs)}


def words(measured: dict[str, Line], estimated: dict[str, Line], pairs: dict[str, list[int]]) -> str:
    """Describe the figure in words."""
    ours = measured[BANDED]
    most = ours[-1][0]
    said = [
        f"For {most:,} documents Twinset needs {spoken(ours[-1][1])} on one processor "
        f"and finds {pairs[BANDED][-1]:,} of {pairs[EXACT][-1]:,} pairs."
    ]
    for name, line in measured.items():
        if name != BANDED:
            took = dict([*line, *estimated[name]])
            how = "would take" if estimated[name] else "takes"
            behind = [n for n, mine in ours if took[n] <= mine]
            since = next((f"{n:,}" for n, _ in ours if n > max(behind, default=0)), None)
            where = f"for {since} documents or more" if behind else "for any number of documents"
            than = f"slower than sketches {where}" if since else "faster than sketches"
            said.append(f"{SPOKEN[name]} {how} {spoken(took[most])}; it is {than}.")
    return " ".join(said)


def spoken(time_taken: float) -> str:
    """Write a time in a suitable unit."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if time_taken >= 2 * size:
            return f"{time_taken / size:.1f} {unit}"
    return f"{time_taken:.1f} seconds" if time_taken >= 1 else f"{time_taken * 1000:.0f} milliseconds"


def draw(numbers: figure_files.Numbers, place: Path) -> None:
    """Draw dots for measured times; a line without dots is estimated."""
    lines = {
        name: [tuple(point) for point in [*line, *numbers["estimated"][name]]]
        for name, line in numbers["measured"].items()
    }
    wide = max(n for line in lines.values() for n, _ in line) > 1_000
    figure_files.both(
        lambda path: curve_figure(
            lines,
            path,
            points={name: [tuple(point) for point in line] for name, line in numbers["measured"].items()},
            x="documents" + (" (dots: measured; line alone: estimated from the number of pairs)" if wide else ""),
            y="seconds of one processor",
            title=f"{numbers['collection']}, {numbers['shingle']}, threshold {numbers['threshold']}",
            log_x=wide,
            log_y=True,
        ),
        place,
    )


if __name__ == "__main__":
    arguments = figure_files.parser(__doc__)
    arguments.add_argument("--clough", type=Path, metavar="FOLDER", help="use these answers for 10 to 100 documents")
    arguments.add_argument("--limit", type=float, default=60, help="longest naive run, in seconds (default: 60)")
    arguments.add_argument("--most", type=int, default=LARGE[-1], help="maximum number of documents (default: 100000)")
    given = arguments.parse_args()
    few, many, most = (SMALL, [n for n in LARGE if n <= given.most], given.limit) if given.out else (TRIAL, TRIAL, 1.0)

    def small() -> figure_files.Numbers:
        """Measure 10 to 100 documents."""
        if given.clough:
            answers = list(texts.short_answers(given.clough).values())
            return measure("Short answers", answers, few, ("char:9", 0.6), most)
        return measure("Articles of 300 words", texts.articles(few[-1]), few, ("word:5", 0.6), most)

    def large() -> figure_files.Numbers:
        """Measure up to the given number of documents."""
        return measure("Articles of 300 words", texts.articles(many[-1]), many, ("word:5", 0.8), most)

    figure_files.run(given, "run-time-small", small, draw)
    figure_files.run(given, "run-time", large, draw)
