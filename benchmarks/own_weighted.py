"""Twinset's sketches of weighted sets, timed in one process, one thread, and judged by their estimates."""

from __future__ import annotations

import numpy as np

from benchmarks import weighted_contest as contest
from twinset.schema import WeightedSets
from twinset.sketches.weighted import weighted_sketch

DRAWS = 20


def _sets(offsets: contest.Places, columns: contest.Places, weights: contest.Floats) -> WeightedSets:
    return WeightedSets(offsets, columns.astype(np.uint64) + np.uint64(1), weights)


def main() -> None:
    offsets, columns, weights, repeat = contest.arguments()
    sets = _sets(offsets, columns, weights)
    weighted_sketch(sets, contest.N_HASHES, 1)
    best = contest.best_time(lambda: weighted_sketch(sets, contest.N_HASHES, 1), repeat)
    true = contest.true_similarities(offsets, columns, weights)
    drawn = [weighted_sketch(sets, contest.N_HASHES, seed) for seed in range(1, DRAWS + 1)]
    by_size = []
    for size in contest.SIZES:
        count = 200_000 // size
        one = _sets(*contest.sized(size, count, int(columns.max())))
        spent = contest.best_time(lambda one=one: weighted_sketch(one, contest.N_HASHES, 1), repeat)  # type: ignore[misc]
        by_size.append(spent / count * 1e6)
    contest.say(
        {
            "how": "DartMinHash",
            "best": best,
            "sets": len(offsets) - 1,
            "elements": len(columns),
            "by_size": by_size,
            **contest.quality(true, [(one[::2] == one[1::2]).mean(axis=1) for one in drawn]),
        }
    )


if __name__ == "__main__":
    main()
