"""The browser, and a result to review, for the tests of the review page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.components import skip_without
from tests.report.browser import Browser, missing
from tests.report.results import made
from tests.web.review.reviewing import Review


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    skip_without(missing())
    with Browser() as window:
        yield window


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clusters, of 4, 3 and 2 documents, in a folder that all tests share: verdicts are kept elsewhere."""
    return made(tmp_path_factory.mktemp("result"))


@pytest.fixture
def review(result: Path, tmp_path: Path) -> Iterator[Review]:
    """The review of that result, with a new file of verdicts, by Ann."""
    with Review(result, verdicts=str(tmp_path / "verdicts"), who="Ann") as served:
        yield served
