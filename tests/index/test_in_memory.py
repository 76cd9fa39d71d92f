"""Vectors in memory, asked for those near others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from twinset import VectorIndex
from twinset.errors import SourceError
from twinset.pairs.vectors import every_nearest


@pytest.fixture(scope="module")
def vectors() -> Any:
    rng = np.random.default_rng(1)
    return rng.normal(size=(20_000, 24)).astype(np.float32)


@pytest.mark.parametrize("words", [{"threshold": 0.9}, {"distance": 1.0}])
def test_what_is_near_is_found_as_surely_as_asked_for(vectors: Any, words: dict[str, float]) -> None:
    index = VectorIndex(vectors, recall=0.95, **words)
    assert index.plan.method != "exact"
    rng = np.random.default_rng(2)
    asked = vectors[:1000] + 0.18 * rng.normal(size=(1000, 24)).astype(np.float32)
    places, numbers, scores = index.search(asked)
    for place, number, score in zip(places[:50].tolist(), numbers[:50].tolist(), scores[:50].tolist(), strict=True):
        left, right = asked[place].astype(float), vectors[number].astype(float)
        cosine = left @ right / np.linalg.norm(left) / np.linalg.norm(right)
        assert score == pytest.approx(cosine if "threshold" in words else np.linalg.norm(left - right), abs=1e-9)
    units = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in (asked, vectors)]
    apart = np.linalg.norm(asked - vectors[:1000], axis=1)
    near = (units[0] * units[1][:1000]).sum(axis=1) >= 0.9 if "threshold" in words else apart <= 1.0
    own = set(places[places == numbers].tolist())
    # All are nearer than the limit; with recall 0.95 fewer than 0.92 of so many come once in thousands of runs.
    assert len(own & set(np.flatnonzero(near).tolist())) >= 0.92 * near.sum() > 400


def test_a_few_vectors_are_compared_with_all() -> None:
    rng = np.random.default_rng(3)
    few = rng.normal(size=(200, 5)).astype(np.float32)
    index = VectorIndex(few, distance=1.5)
    assert index.plan.method == "exact"
    found = index.nearest(few[:20], k=4)
    wanted = every_nearest(few[:20], few, 4, "distance")
    assert (found[0] == wanted[0]).all()
    places, numbers, _ = index.search(few[:20])
    apart = np.linalg.norm(few[:20, None].astype(float) - few[None].astype(float), axis=2)
    assert np.stack([places, numbers], axis=1).tolist() == np.argwhere(apart <= 1.5).tolist()


def test_what_cannot_be_asked() -> None:
    index = VectorIndex(np.eye(3))
    with pytest.raises(SourceError, match="2 dimensions; the others have 3"):
        index.search([[1.0, 2.0]])
    assert [len(one) for one in VectorIndex(np.zeros((0, 3))).search(np.eye(3))] == [0, 0, 0]


def test_vectors_that_rounding_would_move_are_refused_by_distance() -> None:
    far = [[5432101.0, 0.0], [5432101.37, 0.0]]
    with pytest.raises(SourceError, match=r"row 1, counted from 0: .* moves this vector by 0\.13"):
        VectorIndex(far, distance=0.1)
    with pytest.raises(SourceError, match=r"row 0, counted from 0: .* moves this vector"):
        VectorIndex(far[:1], distance=0.1).search(far[1:])
    assert len(VectorIndex(far, threshold=0.9)) == 2
