"""Pairs of contents become pairs of documents."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset.engines.local.copies import SAME, Copies, expanded
from twinset.engines.local.steps.sketch import EMPTY, READ
from twinset.system import batch_sizes
from twinset.system.scratch import Spool


def copies_of(contents: list[int]) -> Copies:
    """Content 0 stands for an empty document."""
    first = [number if not content else contents.index(content) for number, content in enumerate(contents)]
    status = [READ if content else EMPTY for content in contents]
    return Copies.of(np.array(first, np.uint32), np.array(status, np.uint8))


@contextmanager
def spool_of(rows: list[tuple[int, int, int]]) -> Iterator[Spool]:
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(Path(folder) / "pairs", "<u4", 3)
        spool.append(np.array(rows, np.uint32).reshape(-1, 3))
        yield spool
        spool.close()


contents = st.lists(st.integers(0, 5), max_size=14)


@given(contents, st.data(), st.integers(1, 40))
def test_every_pair_of_documents(contents: list[int], data: st.DataObject, at_once: int) -> None:
    copies = copies_of(contents)
    firsts = [number for number, content in enumerate(contents) if content and contents.index(content) == number]
    every = list(itertools.combinations(firsts, 2))
    alike = data.draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    with pytest.MonkeyPatch.context() as patch, spool_of([(left, right, 7) for left, right in alike]) as spool:
        patch.setattr(batch_sizes, "COPY_PAIRS", at_once)
        found = [tuple(row) for rows in expanded(copies, spool, link=False, one_sided=False) for row in rows.tolist()]
    right = []
    for one, other in itertools.combinations(range(len(contents)), 2):
        if contents[one] and contents[one] == contents[other]:
            right.append((one, other, SAME))
        elif contents[one] and contents[other]:
            ends = sorted((contents.index(contents[one]), contents.index(contents[other])))
            if tuple(ends) in alike:
                right.append((one, other, 7))
    assert sorted(found) == sorted(right)


@given(contents)
def test_links(contents: list[int]) -> None:
    copies = copies_of(contents)
    with spool_of([]) as spool:
        found = [tuple(row) for rows in expanded(copies, spool, link=True, one_sided=False) for row in rows.tolist()]
    right = [
        (contents.index(content), number, SAME)
        for number, content in enumerate(contents)
        if content and contents.index(content) != number
    ]
    assert sorted(found) == sorted(right)
    assert copies.extra == len(right)
    counts = [contents.count(content) for content in set(contents) - {0}]
    assert copies.identical_pairs == sum(count * (count - 1) // 2 for count in counts)
