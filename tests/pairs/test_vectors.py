"""Cosines and distances are exact: equal to brute force, ties at the threshold included, on every path."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.directions import beside, directions
from twinset.errors import OptionError, SourceError
from twinset.pairs import vectors as verifying
from twinset.pairs.vectors import AllWithAll, every_nearest, near, nearest, similar
from twinset.schema import HASH_SCHEME, MOST_DIMENSIONS, Vectors
from twinset.system.vectors import check_vectors, digests, squares, unit_vectors

Pairs = dict[tuple[int, int], float]

DIGEST = {1: [0x4678EE43B141FD25, 0xF079A35CA9279EB8]}


@st.composite
def whole_vectors(draw: st.DrawFn) -> Vectors:
    """Few whole numbers: many ties, zeros and equal vectors, and sums that nothing rounds."""
    n, d, top = draw(st.integers(0, 12)), draw(st.integers(1, 9)), draw(st.integers(1, 4))
    return np.random.default_rng(draw(st.integers(0, 2**32))).integers(-top, top + 1, (n, d)).astype(np.float32)


@st.composite
def any_vectors(draw: st.DrawFn) -> Vectors:
    n, d = draw(st.integers(0, 6)), draw(st.integers(1, 33))
    number = st.floats(width=32, allow_nan=False, allow_infinity=False)
    rows = draw(st.lists(st.lists(number, min_size=d, max_size=d), min_size=n, max_size=n))
    return np.array(rows, np.float32).reshape(n, d)


def all_pairs(vectors: Vectors) -> tuple[np.ndarray, np.ndarray]:
    found = list(combinations(range(len(vectors)), 2))
    lefts, rights = np.array(found, np.uint32).reshape(-1, 2).T
    return np.ascontiguousarray(lefts), np.ascontiguousarray(rights)


def by_numpy(vectors: Vectors, threshold: float, measure: str) -> Pairs:
    """Brute force; exact for whole numbers."""
    exact = vectors.astype(np.float64)
    found = {}
    for a, b in combinations(range(len(vectors)), 2):
        if measure == "distance":
            score = float(np.sqrt(((exact[a] - exact[b]) ** 2).sum()))
            near_enough = score <= threshold
        else:
            lengths = (exact[a] @ exact[a]) * (exact[b] @ exact[b])
            score = float(exact[a] @ exact[b] / np.sqrt(lengths)) if lengths else -2.0
            near_enough = score >= threshold
        if near_enough:
            found[a, b] = score
    return found


def by_candidates(vectors: Vectors, threshold: float, measure: str) -> Pairs:
    lefts, rights = all_pairs(vectors)
    if measure == "cosine":
        kept, scores = similar(lefts, rights, threshold, vectors, squares(vectors))
    else:
        kept, scores = near(lefts, rights, threshold, vectors)
    return {(int(lefts[i]), int(rights[i])): float(score) for i, score in zip(kept, scores, strict=True)}


def by_comparing_all(vectors: Vectors, threshold: float, measure: str) -> Pairs:
    found = {}
    for lefts, rights, scores in AllWithAll(vectors, threshold, measure).pairs(0, len(vectors)):
        for a, b, score in zip(lefts.tolist(), rights.tolist(), scores.tolist(), strict=True):
            assert (a, b) not in found
            found[a, b] = score
    return found


@given(whole_vectors(), st.sampled_from([-1.0, 0.0, 0.5, 0.6, 0.8, math.sqrt(0.5), 0.9, 1.0]))
def test_cosines_equal_brute_force(vectors: Vectors, threshold: float) -> None:
    expected = by_numpy(vectors, threshold, "cosine")
    assert by_candidates(vectors, threshold, "cosine") == expected
    if threshold > 0:
        assert by_comparing_all(vectors, threshold, "cosine") == expected


@given(whole_vectors(), st.sampled_from([0.0, 1.0, math.sqrt(2), 2.0, 5.0, 100.0]))
def test_distances_equal_brute_force(vectors: Vectors, radius: float) -> None:
    expected = by_numpy(vectors, radius, "distance")
    assert by_candidates(vectors, radius, "distance") == expected
    assert by_comparing_all(vectors, radius, "distance") == expected


@given(any_vectors())
def test_any_numbers_give_the_oracles_scores(vectors: Vectors) -> None:
    """Up to the largest and down to the least 32-bit floats: the same sums, in the same order."""
    rows = vectors.astype(np.float64).tolist()
    every = by_candidates(vectors, -2.0, "cosine")
    assert every == {(a, b): oracles.cosine(rows[a], rows[b]) for a, b in combinations(range(len(rows)), 2)}
    every = by_candidates(vectors, math.inf, "distance")
    assert every == {(a, b): oracles.distance(rows[a], rows[b]) for a, b in combinations(range(len(rows)), 2)}
    assert squares(vectors).tolist() == [oracles.folded([x * x for x in row]) for row in rows]


@given(any_vectors(), st.data())
def test_comparing_all_loses_nothing_to_its_filter(vectors: Vectors, data: st.DataObject) -> None:
    """The threshold is the score of one of the pairs: it must be found whatever 32-bit products make of it."""
    for measure in ("cosine", "distance"):
        least = -2.0 if measure == "cosine" else math.inf
        scores = sorted({score for score in by_candidates(vectors, least, measure).values() if score > 0})
        if scores:
            threshold = data.draw(st.sampled_from(scores))
            assert by_comparing_all(vectors, threshold, measure) == by_candidates(vectors, threshold, measure)


def test_a_pair_at_the_threshold_is_reported() -> None:
    vectors = np.array([[3, 4], [5, 0], [0, 0], [6, 8]], np.float32)
    assert by_candidates(vectors, 0.6, "cosine") == {(0, 1): 0.6, (0, 3): 1.0, (1, 3): 0.6}
    assert by_candidates(vectors, math.nextafter(0.6, 1), "cosine") == {(0, 3): 1.0}
    assert (0, 3) in by_candidates(vectors, 5.0, "distance")
    assert (0, 3) not in by_candidates(vectors, math.nextafter(5.0, 0), "distance")


def test_equal_vectors_have_a_cosine_of_one() -> None:
    one = np.random.default_rng(1).standard_normal((1000, 37)).astype(np.float32)
    both = np.concatenate([one, one])
    lefts = np.arange(1000, dtype=np.uint32)
    kept, scores = similar(lefts, lefts + np.uint32(1000), 1.0, both, squares(both))
    assert len(kept) == 1000
    assert (scores == 1.0).all()


def test_two_sides() -> None:
    left, right = directions(5, 8, 1), directions(7, 8, 2)
    lefts, rights = (np.array(x, np.uint32) for x in zip(*[(a, b) for a in range(5) for b in range(7)], strict=True))
    kept, scores = similar(lefts, rights, -2.0, left, squares(left), right, squares(right))
    assert np.allclose(scores.reshape(5, 7), left.astype(np.float64) @ right.T, atol=1e-6)
    assert len(kept) == len(near(lefts, rights, 9.0, left, right)[0]) == 35


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_tiles_do_not_matter(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    base = directions(150, 20, 3)
    vectors = np.concatenate([base, beside(base, 0.9, 4), beside(base, 0.8, 5)]) * np.float32(7)
    threshold = 0.85 if measure == "cosine" else 4.0
    together = by_comparing_all(vectors, threshold, measure)
    assert len(together) >= 150
    assert together == by_candidates(vectors, threshold, measure)
    monkeypatch.setattr(verifying, "_TILE", 64)
    assert by_comparing_all(vectors, threshold, measure) == together
    parts: Pairs = {}
    for rows in ((0, 10), (10, 300), (300, 450)):
        for lefts, rights, scores in AllWithAll(vectors, threshold, measure).pairs(*rows):
            parts |= dict(zip(zip(lefts.tolist(), rights.tolist(), strict=True), scores.tolist(), strict=True))
    assert parts == together


# Nearest


def best_by_sorting(queries: Vectors, vectors: Vectors, count: int, measure: str) -> list[list[tuple[int, float]]]:
    found = []
    for query in queries.astype(np.float64).tolist():
        scored = []
        for number, vector in enumerate(vectors.astype(np.float64).tolist()):
            score = oracles.cosine(query, vector) if measure == "cosine" else oracles.distance(query, vector)
            if score != -2.0:
                scored.append((-score if measure == "cosine" else score, number))
        found.append([(number, abs(score) if score else 0.0) for score, number in sorted(scored)[:count]])
    return found


def shown(answer: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[list[tuple[int, float]]]:
    numbers, scores, counts = answer
    return [
        [(int(number), abs(float(score))) for number, score in zip(row[:count], found[:count], strict=True)]
        for row, found, count in zip(numbers, scores, counts, strict=True)
    ]


@given(whole_vectors(), whole_vectors(), st.integers(1, 5), st.sampled_from(["cosine", "distance"]), st.integers(0, 99))
def test_nearest_of_all_and_of_candidates(
    queries: Vectors, vectors: Vectors, count: int, measure: str, seed: int
) -> None:
    d = min(queries.shape[1], vectors.shape[1])
    queries, vectors = np.ascontiguousarray(queries[:, :d]), np.ascontiguousarray(vectors[:, :d])
    expected = best_by_sorting(queries, vectors, count, measure)
    assert shown(every_nearest(queries, vectors, count, measure)) == expected
    rng = np.random.default_rng(seed)
    each = [rng.permutation(np.repeat(np.arange(len(vectors)), 2)) for _ in range(len(queries))]
    offsets = np.arange(len(queries) + 1) * 2 * len(vectors)
    candidates = np.concatenate([*each, np.empty(0)]).astype(np.uint32)
    assert shown(nearest(queries, vectors, offsets, candidates, count, measure)) == expected


def test_nearest_of_few_candidates() -> None:
    vectors = directions(30, 5, 1)
    numbers, scores, counts = nearest(vectors[:2], vectors, np.array([0, 0, 2]), np.array([4, 9], np.uint32), 3)
    assert counts.tolist() == [0, 2]
    assert sorted(numbers[1, :2].tolist()) == [4, 9]
    assert scores[1, 0] >= scores[1, 1]


def test_nearest_in_several_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, queries = directions(500, 16, 1) * np.float32(3), directions(40, 16, 2)
    for measure in ("cosine", "distance"):
        together = shown(every_nearest(queries, vectors, 10, measure))
        with monkeypatch.context() as patch:
            patch.setattr(verifying, "_TILE", 7)
            assert shown(every_nearest(queries, vectors, 10, measure)) == together


def test_an_unknown_measure() -> None:
    with pytest.raises(OptionError, match="measure is 'manhattan'; allowed: cosine or distance"):
        every_nearest(directions(1, 2, 1), directions(1, 2, 1), 1, "manhattan")


# What comes in


def test_vectors_are_checked() -> None:
    assert check_vectors(np.arange(6, dtype=np.int8).reshape(2, 3)).dtype == np.float32
    ready = directions(3, 4, 1)
    assert check_vectors(ready) is ready
    assert check_vectors(np.asfortranarray(ready)).flags.c_contiguous
    for wrong, said in (
        ([1.0, 2.0], "the vectors are 2 of type float64; allowed: an array of numbers, one vector per row"),
        ([["a"]], "of type <U1"),
        (np.empty((3, 0)), "0 dimensions; allowed: 1 to 65536"),
        (np.empty((1, MOST_DIMENSIONS + 1)), "65537 dimensions"),
        ([[1.0], [math.inf]], "row 8, counted from 0, holds inf"),
        ([[1e39]], r"row 7, counted from 0, holds 1e\+39; allowed: finite numbers that 32-bit floats can hold"),
    ):
        with pytest.raises(SourceError, match=said):
            check_vectors(wrong, first=7)
    with pytest.raises(SourceError, match="the vectors have 4 dimensions; the others have 5"):
        check_vectors(ready, dimensions=5)


@given(any_vectors())
def test_unit_vectors_have_length_one(vectors: Vectors) -> None:
    turned, known = unit_vectors(vectors)
    assert known.tolist() == [any(row) for row in vectors.tolist()]
    lengths = np.sqrt((turned.astype(np.float64) ** 2).sum(axis=1))
    assert np.allclose(lengths[known], 1.0, atol=1e-6)
    assert not turned[~known].any()


@given(whole_vectors())
def test_digests_are_equal_for_equal_vectors_and_only_for_them(vectors: Vectors) -> None:
    rows = [tuple(row) for row in vectors.tolist()]
    found = [tuple(row) for row in digests(vectors).tolist()]
    assert [found.index(one) for one in found] == [rows.index(one) for one in rows]
    assert len({one[0] for one in found}) == len({one[1] for one in found}) == len(set(rows))
    assert digests(-(-vectors + 0)).tolist() == digests(vectors + 0).tolist(), "both zeros are one"


def test_digests_are_what_they_were() -> None:
    assert digests(np.arange(5, dtype=np.float32).reshape(1, 5))[0].tolist() == DIGEST[HASH_SCHEME]
