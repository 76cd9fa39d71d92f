"""Cosines of sparse vectors equal their definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sparse_rows import ROWS, Row, cosine, vectors
from twinset.pairs.sparse import compacted, like, nearest, similar, squares


@settings(max_examples=100, deadline=None)
@given(ROWS, st.sampled_from([-2.0, 0.2, 0.8]))
def test_cosines(rows: list[Row], threshold: float) -> None:
    rows = [row for row in rows if row] or [{3: 1.0}]
    made, every = vectors(rows), range(len(rows))
    pairs = [(left, right) for left in every for right in every]
    lefts, rights = (np.array([pair[side] for pair in pairs], np.uint32) for side in (0, 1))
    kept, scores = similar(lefts, rights, threshold, made, squares(made))
    wanted = {pair: cosine(rows[pair[0]], rows[pair[1]]) for pair in pairs}
    near = {pair: score for pair, score in wanted.items() if score >= threshold}
    assert {pairs[at]: score for at, score in zip(kept.tolist(), scores.tolist(), strict=True)} == near
    found = {}
    for left in every:
        some, cosines = like(left, threshold, made, squares(made), columns=10)
        found |= {(left, row): score for row, score in zip(some.tolist(), cosines.tolist(), strict=True)}
    assert found == near
    starts = np.arange(0, len(rows) ** 2 + 1, len(rows))
    numbers, cosines, counts = nearest(np.arange(len(rows)), starts, rights, 3, made, squares(made), columns=10)
    for left in every:
        best = sorted((-wanted[left, right], right) for right in every)[:3]
        assert counts[left] == len(best)
        assert [(-score, row) for score, row in zip(cosines[left], numbers[left], strict=True)][: len(best)] == best


def test_columns_far_apart_are_numbered_anew() -> None:
    rows: list[Row] = [{5: 1.0, 2**31 - 1: 2.0}, {7: 1.0, 2**31 - 1: 1.0}]
    made, columns = compacted(vectors(rows))
    assert columns == 3
    assert similar(np.array([0], np.uint32), np.array([1], np.uint32), -2.0, made, squares(made))[1] == cosine(*rows)
