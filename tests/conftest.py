"""What every test may use."""

from __future__ import annotations

import compileall
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, settings

from tests import components, run_folder
from tests.long_files import LONG_FILES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.postgres_server import GivenServer, Server

# Kernels compile on first use, and machines differ in speed: no example has a deadline.
settings.register_profile("twinset", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("search", deadline=None, max_examples=2000, print_blob=True)
settings.register_profile("brief", deadline=None, derandomize=True, max_examples=5)  # kernels that are not compiled
# For deliberate defects it matters that an example is found, and not how small it can be made.
settings.register_profile("found", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "twinset"))

# Processes that tests start find the package compiled, and compile nothing themselves: one that is struck in the midst
# of it, or finds the disk full, would leave half a file for all that come after. Their streams are buffered, as usual.
# The processes of a run, which have that variable, too, do keep the tests as pytest compiles them: it takes seconds.
PACKAGE = Path(__file__).resolve().parents[1] / "src" / "twinset"
compileall.compile_dir(PACKAGE, quiet=2)
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
os.environ.pop("PYTHONUNBUFFERED", None)
sys.dont_write_bytecode = False

# One seed for all that is random in a run, such as the moments of kills; and one for the order of the files of tests.
# Both are printed; TWINSET_TEST_ORDER=random draws one, without the variable the order is that of the names, after the
# files that take longest: one that begins late keeps a process busy when the others have nothing left to do.
os.environ.setdefault("TWINSET_TEST_SEED", str(random.randrange(10**6)))
if os.environ.get("TWINSET_TEST_ORDER") == "random":
    os.environ["TWINSET_TEST_ORDER"] = str(random.randrange(10**6))

# The folders of tests in which kernels are called: there every writable array has guard bytes around it.
GUARDED = {"candidates", "clusters", "compiled", "documents", "pairs", "shingles", "sketches"}

IN_CI = os.environ.get("CI", "").lower() in ("true", "1")


class Run:
    """This run of the tests, or the part of it that one of its processes does: its folder, and what it notes."""

    def __init__(self, config: pytest.Config) -> None:
        self.output: dict[str, Any] | None = getattr(config, "workeroutput", None)
        self.has_workers = bool(getattr(config.option, "tx", None))
        self.notes: dict[str, dict[str, None]] = {"used": {}, "missing": {}, "left": {}}
        if self.output is None:
            self.folder = run_folder.make()
            os.environ["TWINSET_TEST_FOLDER"] = str(self.folder)
            config.option.basetemp = config.option.basetemp or str(self.folder / "pytest")
        else:
            self.folder = Path(os.environ["TWINSET_TEST_FOLDER"])
        self.watch = run_folder.Watch(run_folder.use(self.folder / os.environ.get("PYTEST_XDIST_WORKER", "tmp")))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Compile all kernels before several processes would do so, each for itself, and tests measure memory."""
        if self.has_workers and self.output is None:
            paths = sorted(path.relative_to(PACKAGE.parent) for path in PACKAGE.glob("**/*kernels.py"))
            names = [".".join(path.with_suffix("").parts) for path in paths]
            halves = [f"import {', '.join(half)}" for half in (names[::2], names[1::2])]
            for process in [subprocess.Popen([sys.executable, "-c", program]) for program in halves]:
                assert process.wait() == 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[object]:
        done = yield
        self.watch.look(item.nodeid)
        return done

    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a process noted."""
        for kind, notes in getattr(node, "workeroutput", {}).get("notes", {}).items():
            self.notes[kind] |= dict.fromkeys(notes)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over what was noted, or fail if the package left something."""
        if ready := sys.modules.get("tests.ready"):
            ready.close()
        self.notes["used"] |= components.USED
        self.notes["missing"] |= components.MISSING
        self.notes["left"] |= dict.fromkeys(self.watch.left())
        if self.output is not None:
            self.output["notes"] = {kind: list(notes) for kind, notes in self.notes.items()}
        elif self.notes["left"] and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("optional components")
        for kind in ("used", "missing"):
            terminalreporter.write_line(f"{kind + ':':9}{'; '.join(sorted(self.notes[kind])) or 'none'}")
        if self.notes["left"]:
            terminalreporter.section("left in the temporary folder", red=True)
            for one in self.notes["left"]:
                terminalreporter.write_line(one)

    def pytest_unconfigure(self) -> None:
        if self.output is None:
            run_folder.remove(self.folder)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Run(config), "twinset-run")


def pytest_report_header() -> str:
    order = os.environ.get("TWINSET_TEST_ORDER", "long ones, then by name")
    return f"TWINSET_TEST_SEED={os.environ['TWINSET_TEST_SEED']}, order of files (TWINSET_TEST_ORDER): {order}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files in order, and run where it can be run what needs a file system of its own."""
    if order := os.environ.get("TWINSET_TEST_ORDER"):
        files = sorted({item.path for item in items})
        random.Random(order).shuffle(files)
    else:
        files = [Path(__file__).parent / name for name in LONG_FILES]
    places = {path: place for place, path in enumerate(files)}
    items.sort(key=lambda item: places.get(item.path, len(places)))
    for item in items:
        if "small_disk" in getattr(item, "fixturenames", ()):
            components.run_where_mounting_is_allowed(item)


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
    here = Path(__file__).parent
    if not any(Path(request.path).is_relative_to(here / folder) for folder in GUARDED):
        yield
        return
    from tests.guards import guarding

    with guarding():
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[GivenServer]:
    """The PostgreSQL server that all tests share, started by the first that asks: databases may be made, no more."""
    from tests import postgres_server

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
    from tests import postgres_server

    components.skip_without(postgres_server.missing())
    with postgres_server.Server() as server:
        yield server


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of Spark that all tests of a process share: it takes longer to start than a run."""
    from tests import spark_cluster

    components.skip_without(spark_cluster.missing())
    with spark_cluster.local_session() as session:
        yield session
