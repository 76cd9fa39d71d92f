"""Rows come out in order, whatever the memory."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.system.scratch import Spool

VALUES = 40


@contextmanager
def spool_of(records: list[list[tuple[int, int]]]) -> Iterator[Spool]:
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(Path(folder) / "rows", "<u4", 3)
        count = 0
        for record in records:
            rows = [(left, right, count + at) for at, (left, right) in enumerate(record)]
            count += len(record)
            spool.append(np.array(rows, np.uint32).reshape(-1, 3))
        spool.close()
        yield spool


pairs = st.lists(st.lists(st.tuples(st.integers(0, VALUES - 1), st.integers(0, 99)), max_size=30), max_size=6)


@given(pairs, st.sampled_from([0, 1, 72, 500, 5000, 10**9]), st.booleans())
def test_any_limit_gives_the_rows_in_order(records: list[list[tuple[int, int]]], limit: int, held: bool) -> None:
    with spool_of(records) as spool:
        if not held:
            spool.forget()
        portions = list(sorted_portions(spool, VALUES, limit))
    found = [tuple(row) for portion in portions for row in portion.tolist()]
    every = [(left, right) for record in records for left, right in record]
    assert found == sorted((*pair, number) for number, pair in enumerate(every))
    firsts = [set(portion[:, 0].tolist()) for portion in portions]
    for one, other in itertools.pairwise(firsts):
        assert max(one) < min(other)


@given(pairs, st.sampled_from([1, 300, 10**9]))
def test_rows_may_be_changed_on_the_way(records: list[list[tuple[int, int]]], limit: int) -> None:
    def turned(rows: Rows) -> Rows:
        changed = rows.copy()
        changed[:, 0] = VALUES - 1 - changed[:, 0]
        return changed

    with spool_of(records) as spool:
        found = [row for portion in sorted_portions(spool, VALUES, limit, turned) for row in portion[:, 0].tolist()]
    assert found == sorted(VALUES - 1 - left for record in records for left, _ in record)
