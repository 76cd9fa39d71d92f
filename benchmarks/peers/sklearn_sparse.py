"""scikit-learn: nearest neighbours by brute force, all within a radius or a number of them."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from benchmarks.peers import sparse_contest


def _find(queries: Any, rows: Any, job: str, asked: float) -> sparse_contest.Found:
    model = NearestNeighbors(metric="cosine", algorithm="brute", n_jobs=2).fit(rows)
    if job == "pairs":
        found = model.radius_neighbors_graph(queries, radius=1 - asked, mode="distance").tocoo()
        return found.row.astype(np.int64), found.col.astype(np.int64), 1 - found.data
    distances, numbers = model.kneighbors(queries, n_neighbors=int(asked) + 1)
    lefts = np.repeat(np.arange(len(numbers)), numbers.shape[1])
    return lefts, numbers.ravel().astype(np.int64), 1 - distances.ravel()


if __name__ == "__main__":
    sparse_contest.run(_find)
