"""Many readers while one writes: every answer is that of one state, and none of them fails."""

from __future__ import annotations

import pytest

import twinset
from tests.reliability.index.index_work import FAMILIES, OPTIONS
from tests.reliability.nursery import Nursery

READERS = 8


def readers_during_writes(nursery: Nursery, url: str, seconds: float, *, compacts: bool) -> None:
    twinset.Index.create(url, **OPTIONS).close()
    readers = [nursery.start("read_families", url, seconds, number % 2 == 1) for number in range(READERS)]
    writer = nursery.start("write_families", url, seconds, compacts)
    said = [one for reader in readers for one in reader.ended_well(seconds + 300)]
    written = len(writer.ended_well(seconds + 300))
    answers, openings, states = (sum(one[what] for one in said) for what in ("answers", "openings", "states"))
    print(f"{written} rounds written, {answers} answers in {openings} openings, {states} states seen")
    assert len(said) == READERS
    assert written > 3
    assert states > READERS, "they saw nothing of the writing"
    with twinset.Index.open(url) as index:
        assert index.verify() == []
        assert len(index) == FAMILIES * min(written, 12)


def test_readers_during_writes(nursery: Nursery, index_url: str) -> None:
    readers_during_writes(nursery, index_url, 8, compacts=False)


def test_readers_during_writes_and_compactions(nursery: Nursery, index_url: str) -> None:
    readers_during_writes(nursery, index_url, 6, compacts=True)


@pytest.mark.soak
def test_readers_during_writes_for_a_minute(nursery: Nursery, index_url: str) -> None:
    readers_during_writes(nursery, index_url, 60, compacts=True)
