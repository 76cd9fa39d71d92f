"""What both programs for weighted sets share: the sets, the truth, the clock. It needs NumPy only."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

N_HASHES = 128
SIZES = (20, 100, 300, 1000)
Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Equal = Callable[[Any], npt.NDArray[np.bool_]]


def arguments() -> tuple[Places, Places, Floats, int]:
    """Offsets, columns and weights of the sets, and how often to repeat."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    with np.load(given.sets, allow_pickle=False) as held:
        return held["offsets"], held["columns"], held["weights"], given.repeat


def sized(size: int, count: int, vocabulary: int) -> tuple[Places, Places, Floats]:
    """Random sets of one size."""
    rng = np.random.default_rng(size)
    columns = np.concatenate([np.sort(rng.choice(vocabulary, size, replace=False)) for _ in range(count)])
    return np.arange(count + 1) * size, columns, rng.exponential(1.0, count * size)


def true_similarities(offsets: Places, columns: Places, weights: Floats) -> Floats:
    """Of each pair of neighbours, by their definition."""
    found = []
    for left in range(0, len(offsets) - 1, 2):
        size = int(columns.max()) + 1
        both = np.zeros((2, size))
        for side in (0, 1):
            part = slice(offsets[left + side], offsets[left + side + 1])
            both[side, columns[part]] = weights[part]
        found.append(both.min(axis=0).sum() / both.max(axis=0).sum())
    return np.array(found)


def quality(true: Floats, estimates: Sequence[Floats]) -> dict[str, float]:
    """Variance by that of independent samples, and bias in standard errors, over several draws of the same pairs."""
    known = (true > 0.02) & (true < 0.98)
    errors = np.stack([(one - true)[known] for one in estimates])
    scaled = errors / np.sqrt(true * (1 - true) / N_HASHES)[known]
    return {
        "variance": float((scaled**2).mean()),
        "bias": float(scaled.mean() / scaled.std() * np.sqrt(scaled.size)),
    }


def best_time(work: Callable[[], object], repeat: int) -> float:
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def say(result: dict[str, Any]) -> None:
    print(json.dumps(result))
