"""Servers for the tests of remote sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.buckets import Bucket, new_bucket
from tests.documents.remote.odd_web import OddWeb
from twinset.system import batch_sizes


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with new_bucket(monkeypatch) as one:
        yield one


@pytest.fixture
def web(tmp_path: Path) -> Iterator[OddWeb]:
    with OddWeb() as one:
        yield one


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces, pauses and silences that suit small files."""
    monkeypatch.setattr(batch_sizes, "FETCH_PIECE", 1000)
    monkeypatch.setattr(batch_sizes, "FETCH_PAUSE", 0.01)
    monkeypatch.setattr(batch_sizes, "FETCH_SILENCE", 0.5)
