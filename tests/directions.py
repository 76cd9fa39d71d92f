"""Pairs of vectors of a given cosine or distance, and counting bits: what tests of vectors share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from twinset.schema import Codes, Vectors


def directions(count: int, dimensions: int, seed: int) -> Vectors:
    """Random vectors of length 1, all directions alike."""
    found = np.random.default_rng([seed, 77]).standard_normal((count, dimensions))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def beside(vectors: Vectors, cosine: float, seed: int) -> Vectors:
    """For each vector of length 1 another, at the given cosine, else random."""
    exact = vectors.astype(np.float64)
    other = np.random.default_rng([seed, 78]).standard_normal(vectors.shape)
    other -= (other * exact).sum(axis=1, keepdims=True) * exact
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    return (cosine * exact + np.sqrt(1 - cosine**2) * other).astype(np.float32)


def away(vectors: Vectors, distance: float, seed: int) -> Vectors:
    """For each vector another at the given distance, in a random direction."""
    return (vectors.astype(np.float64) + distance * directions(*vectors.shape, seed + 1000)).astype(np.float32)


def differing(left: Codes, right: Codes) -> npt.NDArray[np.int64]:
    """In how many bits the rows of two arrays of words differ."""
    return np.unpackbits((left ^ right).view(np.uint8), axis=1).sum(axis=1).astype(np.int64)
