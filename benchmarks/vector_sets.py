"""Generated vectors of the benchmarks, and the sets of images that learned codes are tried on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.corpora import written_once
from benchmarks.measure import Setting

DIMENSIONS = 128
SEED = 20240517

Vectors = npt.NDArray[np.float32]


def planted(setting: Setting, total: int) -> Path:
    """Random directions, three tenths of them near-copies of others, cosines spread evenly from 0.8 to 1."""

    def write(path: Path) -> None:
        rng = np.random.default_rng(SEED)
        vectors = _units(rng.standard_normal((total, DIMENSIONS)))
        order = rng.permutation(total)
        copies, originals = order[: 3 * total // 10], order[3 * total // 10 :]
        base = vectors[rng.choice(originals, len(copies))]
        cosines = rng.uniform(0.8, 1.0, (len(copies), 1))
        beside = rng.standard_normal(base.shape)
        beside = _units(beside - (beside * base).sum(axis=1, keepdims=True) * base)
        vectors[copies] = cosines * base + np.sqrt(1 - cosines**2) * beside
        _save(path, vectors)

    return written_once(setting.work / f"vectors-{total}.npy", write)


def embedded(setting: Setting, total: int) -> Path:
    """Points of a few dimensions mapped into many, with noise: near neighbours as embeddings have them."""

    def write(path: Path) -> None:
        rng = np.random.default_rng(SEED + 1)
        middles = rng.standard_normal((200, 24))
        points = middles[rng.integers(0, len(middles), total)] + 0.5 * rng.standard_normal((total, 24))
        mapped = np.tanh(points @ rng.standard_normal((24, 256)) / 4) @ rng.standard_normal((256, DIMENSIONS)) / 16
        _save(path, _units(mapped + 0.1 * rng.standard_normal((total, DIMENSIONS))))

    return written_once(setting.work / f"embedded-{total}.npy", write)


def _units(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _save(path: Path, vectors: npt.NDArray[np.float64]) -> None:
    with path.open("wb") as file:
        np.save(file, vectors.astype(np.float32))
