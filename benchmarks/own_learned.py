"""Learned codes against random hyperplanes at equal bits: precision and recall as the Hamming radius grows.

Half of the vectors learn, the others are searched. Near is within the mean distance of the 50th neighbour. Hyperplanes
are tried as they are and through the mean of the half that learns; five seeds of each, their mean.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from twinset.schema import Codes, Vectors
from twinset.sketches.vectors import hyperplane, learned

BITS = (32, 64)
NEIGHBOUR = 50
PRECISIONS = tuple(round(0.05 * i, 2) for i in range(2, 20))
SEEDS = 5

Curve = list[tuple[float, float]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("vectors", type=Path)
    arguments = parser.parse_args()
    vectors: Vectors = np.load(arguments.vectors)
    order = np.random.default_rng(1).permutation(len(vectors))
    half = len(vectors) // 2
    seen, rest = vectors[order[:half]], vectors[order[half:]]
    near, upper = _near(rest)
    result: dict[str, dict[str, Curve]] = {}
    for bits in BITS:
        curves = {
            name: [_curve(learned.codes(rest, learned.fit(seen, bits, name)), near, upper)] for name in learned.METHODS
        }
        middle = seen.mean(axis=0)
        for name, points in (("hyperplanes", rest), ("hyperplanes, centred", rest - middle)):
            curves[name] = [_curve(hyperplane.codes(points, bits, seed), near, upper) for seed in range(SEEDS)]
        result[str(bits)] = {name: _mean(some) for name, some in curves.items()}
    print(json.dumps({"vectors": len(rest), "dimensions": rest.shape[1], "near": int(near.sum()), "bits": result}))


def _near(vectors: Vectors) -> tuple[npt.NDArray[np.bool_], tuple[npt.NDArray[np.intp], ...]]:
    exact = vectors.astype(np.float64)
    squares = (exact**2).sum(axis=1)
    distances = np.maximum(0, squares[:, None] + squares - 2 * exact @ exact.T)
    radius = np.sqrt(np.sort(distances, axis=1)[:, NEIGHBOUR]).mean()
    upper = np.triu_indices(len(vectors), 1)
    return distances[upper] <= radius**2, upper


def _curve(codes: Codes, near: npt.NDArray[np.bool_], upper: tuple[npt.NDArray[np.intp], ...]) -> Curve:
    """For each radius: precision and recall of what is within it."""
    bits = np.zeros(len(near), np.int64)
    for word in range(codes.shape[1]):
        bits += np.bitwise_count(codes[upper[0], word] ^ codes[upper[1], word])
    most = 64 * codes.shape[1] + 1
    right = np.cumsum(np.bincount(bits[near], minlength=most))
    taken = np.cumsum(np.bincount(bits, minlength=most))
    return [(float(r / t), float(r / near.sum())) for r, t in zip(right, taken, strict=True) if t]


def _mean(curves: list[Curve]) -> Curve:
    """Recall at fixed precisions: the largest that any radius gives without falling below; the mean of several."""

    def recall(one: Curve, wanted: float) -> float:
        return max((recall for precision, recall in one if precision >= wanted), default=0.0)

    return [(wanted, float(np.mean([recall(one, wanted) for one in curves]))) for wanted in PRECISIONS]


if __name__ == "__main__":
    main()
