"""What the tests of an index's safety share: processes to kill, and both homes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.nursery import Nursery


@pytest.fixture(scope="session")
def session_nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()


@pytest.fixture
def nursery(session_nursery: Nursery) -> Iterator[Nursery]:
    """Starts processes, which end with the test."""
    yield session_nursery
    session_nursery.end_all()


@pytest.fixture(params=["sqlite", "postgres"])
def index_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an index can be made, in each back end."""
    if request.param == "sqlite":
        return str(tmp_path / "documents.twinset")
    return str(request.getfixturevalue("postgres_url"))
