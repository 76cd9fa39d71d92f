"""The lists of rare columns miss no pair, and the lists of all columns none of the nearest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sparse_rows import ROWS, Row, cosine, similar_pairs, tfidf, vectors
from twinset.candidates.sparse import join as sparse_join
from twinset.candidates.sparse.join import SparseJoin, by_frequency
from twinset.candidates.sparse.nearest import SparseNearest
from twinset.pairs.sparse import squares
from twinset.schema import SparseVectors


def candidates(rows: list[Row], threshold: float, border: int | None = None, step: int = 7) -> set[tuple[int, int]]:
    made = vectors(rows)
    join = SparseJoin(made, 1 / np.sqrt(squares(made)), 10, threshold, border)
    found = [some for first in range(0, len(rows), step) for some in join.candidates(first, first + step)]
    return {(int(left), int(right)) for some in found for left, right in some}


@settings(max_examples=200, deadline=None)
@given(ROWS, st.sampled_from([0.05, 0.3, 0.5, 0.8, 1.0]), st.data())
def test_no_pair_is_missed(rows: list[Row], threshold: float, data: st.DataObject) -> None:
    rows = [row for row in rows if row] or [{1: 1.0}]
    border = data.draw(st.none() | st.integers(0, len(rows)))
    # The last bits of a cosine at the threshold are not those of this definition.
    wanted = similar_pairs(rows, threshold * (1 + 1e-9), border)
    found = candidates(rows, threshold, border)
    assert set(wanted) <= found
    assert set(similar_pairs(rows, threshold - 1e-4, border)) >= found


@settings(max_examples=100, deadline=None)
@given(ROWS, st.integers(1, 4), st.booleans(), st.data())
def test_none_of_the_nearest_is_missed(rows: list[Row], wanted: int, grouped: bool, data: st.DataObject) -> None:
    rows = [row for row in rows if row] or [{1: 1.0}]
    first = data.draw(st.integers(0, len(rows) - 1))
    groups = np.arange(len(rows), dtype=np.uint64) % 2 if grouped else None
    made = vectors(rows)
    search = SparseNearest(made, 1 / np.sqrt(squares(made)), 10, first, groups)
    queries = np.arange(len(rows) if first == 0 else first)
    parts = list(search.candidates(queries, wanted))
    found = [some for ends, out in parts for some in np.split(out, ends[:-1])]
    for query, some in zip(queries.tolist(), found, strict=True):
        others = [
            (-round(cosine(rows[query], rows[other]), 12), other)
            for other in range(first, len(rows))
            if other != query and (not grouped or other % 2 == query % 2)
        ]
        assert {other for _, other in sorted(others)[:wanted]} <= set(some.tolist())
        assert len(set(some.tolist())) == len(some)


def test_terms_that_cancel_out_are_met_once() -> None:
    rows: list[Row] = [{1: 1.0, 2: 1.0, 3: 5.0}, {1: 1.0, 2: -1.0, 3: 5.0}] * 3
    assert candidates(rows, 0.9) == set(similar_pairs(rows, 0.9)) != set()


def test_heads_are_not_listed() -> None:
    rows = tfidf(400, 300, seed=3)
    made = SparseVectors(rows.indptr.astype(np.int64), rows.indices.astype(np.uint32), rows.data)
    join = SparseJoin(made, 1 / np.sqrt(squares(made)), 300, 0.8)
    assert len(join._sides[0][1].rows) < 0.6 * rows.nnz
    ordered = by_frequency(made, np.ones(400), 300)
    counts = np.bincount(ordered.columns, minlength=300)
    assert (np.diff(counts) <= 0).all()


def test_pairs_that_are_met_and_multiplied_out_are_counted() -> None:
    rows = tfidf(400, 300, seed=3)
    made = SparseVectors(rows.indptr.astype(np.int64), rows.indices.astype(np.uint32), rows.data)
    has = (rows != 0).astype(np.int64)
    sharing = int(np.count_nonzero(np.triu((has @ has.T).toarray(), 1)))
    every = SparseJoin(made, 1 / np.sqrt(squares(made)), 300, 1e-3)
    assert sum(map(len, every.candidates(0, 400))) <= every.multiplied <= every.met == sharing
    some = SparseJoin(made, 1 / np.sqrt(squares(made)), 300, 0.5)
    found = sum(len(pairs) for first in range(0, 400, 64) for pairs in some.candidates(first, first + 64))
    assert 0 < found <= some.multiplied < some.met < sharing


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_the_length_of_the_heads_changes_no_pair(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tfidf(600, 500, seed=4, near=100)
    made = SparseVectors(rows.indptr.astype(np.int64), rows.indices.astype(np.uint32), rows.data)

    def found() -> set[tuple[int, int]]:
        join = SparseJoin(made, 1 / np.sqrt(squares(made)), 500, 0.25)
        return {tuple(pair) for some in join.candidates(0, 600) for pair in some.tolist()}

    wanted = found()
    monkeypatch.setattr(sparse_join, "_SHARE", share)
    assert len(wanted) >= 100
    assert found() == wanted
