"""Many readers while one writes: every answer is that of one state, and none of them fails."""

from __future__ import annotations

from pathlib import Path

import pytest

import twinset
from tests.reliability.index.index_work import FAMILIES, OPTIONS, STATES
from tests.reliability.nursery import Nursery

READERS = 8
SECONDS = 2.5  # at least: a reader goes on until it has seen enough states


def readers_during_writes(nursery: Nursery, url: str, folder: Path, seconds: float, *, compacts: bool) -> None:
    twinset.Index.create(url, **OPTIONS).close()
    readers = [nursery.start("read_families", url, seconds, number % 2 == 1) for number in range(READERS)]
    writer = nursery.start("write_families", url, folder / "enough", compacts)
    said = [one for reader in readers for one in reader.ended_well(seconds + 600)]
    (folder / "enough").touch()
    written = len(writer.ended_well())
    answers, openings, states = (sum(one[what] for one in said) for what in ("answers", "openings", "states"))
    print(f"{written} rounds written, {answers} answers in {openings} openings, {states} states seen")
    assert len(said) == READERS
    assert written >= STATES - 1  # the first state that is seen may be that before all writing
    assert states >= STATES * READERS
    with twinset.Index.open(url) as index:
        assert index.verify() == []
        assert len(index) == FAMILIES * min(written, 12)


def test_readers_during_writes(nursery: Nursery, index_url: str, tmp_path: Path) -> None:
    readers_during_writes(nursery, index_url, tmp_path, SECONDS, compacts=False)


def test_readers_during_writes_and_compactions(nursery: Nursery, index_url: str, tmp_path: Path) -> None:
    readers_during_writes(nursery, index_url, tmp_path, SECONDS, compacts=True)


@pytest.mark.soak
def test_readers_during_writes_for_a_minute(nursery: Nursery, index_url: str, tmp_path: Path) -> None:
    readers_during_writes(nursery, index_url, tmp_path, 60, compacts=True)
