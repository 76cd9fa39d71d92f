"""Sparse vectors that tests share, and what comparing all with all says of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from scipy import sparse

from twinset.schema import SparseVectors

ROWS = st.lists(
    st.dictionaries(st.integers(0, 9), st.sampled_from([-2.0, -1.0, 0.5, 1.0, 2.0, 3.0]), max_size=6), max_size=20
)
"""Rows of few columns and few numbers, so that much is near, much is equal and some is empty."""

Row = dict[int, float]
Pair = tuple[int, int]


def cosine(left: Row, right: Row) -> float:
    """The definition: products by ascending column."""
    product = sum(left[column] * right[column] for column in sorted(left.keys() & right.keys()))
    squares = [sum(one[column] ** 2 for column in sorted(one)) for one in (left, right)]
    return min(max(product / math.sqrt(squares[0] * squares[1]), -1.0), 1.0)


def matrix(rows: list[Row], columns: int = 10) -> Any:
    """Rows as a matrix of SciPy."""
    made = sparse.lil_matrix((len(rows), columns))
    for number, row in enumerate(rows):
        for column, value in row.items():
            made[number, column] = value
    return made.tocsr()


def vectors(rows: list[Row]) -> SparseVectors:
    """Rows as they are compared."""
    ordered = [sorted(row.items()) for row in rows]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in ordered])]).astype(np.int64)
    entries = [entry for row in ordered for entry in row]
    columns = np.array([column for column, _ in entries], np.uint32)
    return SparseVectors(offsets, columns, np.array([value for _, value in entries], np.float32))


def similar_pairs(rows: list[Row], threshold: float, border: int | None = None) -> dict[Pair, float]:
    """Compare all with all; with `border`, those before it with those from it on."""
    found = {}
    for left, one in enumerate(rows):
        for right in range(left + 1 if border is None else max(left + 1, border), len(rows)):
            if (border is None or left < border) and one and rows[right]:
                score = cosine(one, rows[right])
                if score >= threshold:
                    found[left, right] = score
    return found


def tfidf(count: int, columns: int, seed: int, near: int = 0) -> Any:
    """Seeded rows of a vocabulary with Zipf's frequencies, weighted by rarity; the last `near` are changed copies."""
    rng = np.random.default_rng([seed, 5])
    lengths = np.maximum(3, rng.lognormal(3.5, 0.6, count).astype(np.int64))
    shares: npt.NDArray[np.float64] = np.cumsum(1 / np.arange(1, columns + 1))
    words = np.minimum(np.searchsorted(shares / shares[-1], rng.random(lengths.sum())), columns - 1)
    made = sparse.csr_matrix((np.ones(len(words)), (np.repeat(np.arange(count), lengths), words)), (count, columns))
    made.sum_duplicates()
    made.data *= np.log(count / np.bincount(made.indices, minlength=columns)[made.indices]) + 0.1
    copies = made[:near].copy()
    copies.data *= rng.uniform(0.3, 1.7, len(copies.data))
    return sparse.vstack([made[: count - near], copies]).tocsr().astype(np.float32)
