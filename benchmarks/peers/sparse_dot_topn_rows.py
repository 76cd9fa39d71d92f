"""sparse_dot_topn: the product of all rows with all, cut off by a threshold and a number for each row."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

from typing import Any

import numpy as np
from sparse_dot_topn import sp_matmul_topn

from benchmarks.peers import sparse_contest

MOST_PAIRS = 64  # of a row; more than any has


def _find(queries: Any, rows: Any, job: str, asked: float) -> sparse_contest.Found:
    cut = {"threshold": asked} if job == "pairs" else {}
    top = MOST_PAIRS if job == "pairs" else int(asked) + 1
    found = sp_matmul_topn(queries, rows.T.tocsr(), top_n=top, n_threads=2, **cut).tocoo()
    return found.row.astype(np.int64), found.col.astype(np.int64), found.data


if __name__ == "__main__":
    sparse_contest.run(_find)
