"""What every test may use."""

from __future__ import annotations

import compileall
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.postgres_server import GivenServer, Server

# Kernels compile on first use, and machines differ in speed: no example has a deadline.
settings.register_profile("twinset", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("search", deadline=None, max_examples=2000, print_blob=True)
settings.register_profile("brief", deadline=None, derandomize=True, max_examples=5)  # kernels that are not compiled
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "twinset"))

# Processes that tests start find the package compiled, and compile nothing themselves: one that is struck in the midst
# of it, or finds the disk full, would leave half a file for all that come after. Their streams are buffered, as usual.
compileall.compile_dir(Path(__file__).parents[1] / "src", quiet=2)
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
os.environ.pop("PYTHONUNBUFFERED", None)

# The folders of tests in which kernels are called: there every writable array has guard bytes around it.
GUARDED = {"candidates", "clusters", "compiled", "documents", "pairs", "shingles", "sketches"}

IN_CI = os.environ.get("CI", "").lower() in ("true", "1")


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """In continuous integration a test that was skipped, for whatever reason, has failed: nobody reads of it."""
    if IN_CI and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"in CI nothing may be skipped: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: pytest.TestReport = yield  # type: ignore[misc]
    _fail_if_skipped(report)
    return report  # type: ignore[return-value]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    report: pytest.CollectReport = yield  # type: ignore[misc]
    _fail_if_skipped(report)
    return report  # type: ignore[return-value]


@pytest.fixture(scope="module", autouse=True)
def kernels_write_within_their_arrays(request: pytest.FixtureRequest) -> Iterator[None]:
    """Notice a kernel that writes beyond an array that it was given."""
    folder = Path(request.path).relative_to(Path(__file__).parent).parts[0]
    if folder not in GUARDED:
        yield
        return
    from tests.guards import guarding

    with guarding():
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[GivenServer]:
    """The PostgreSQL server that all tests share, started by the first that asks: databases may be made, no more."""
    from tests import components, postgres_server

    if not postgres_server.GIVEN:
        components.skip_without(postgres_server.missing())
    with postgres_server.shared() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: GivenServer) -> Iterator[str]:
    """The URL of an empty database of a test's own."""
    with postgres.database() as url:
        yield url


@pytest.fixture(scope="module")
def mortal_postgres() -> Iterator[Server]:
    """A PostgreSQL server that the tests of a module may kill: never the one that was given."""
    from tests import components, postgres_server

    components.skip_without(postgres_server.missing())
    with postgres_server.Server() as server:
        yield server
