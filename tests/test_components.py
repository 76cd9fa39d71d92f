"""Without its component a test is skipped with the reason; in continuous integration it fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import components

ROOT = Path(__file__).resolve().parents[1]
NEEDY = {
    "browser": "tests/report/test_browser.py::test_it_opens_offline_without_a_word_in_the_console",
    "PostgreSQL server": "tests/test_postgres_server.py::test_stopping_and_starting",
    "PostgreSQL server, shared": "tests/test_postgres_server.py::test_each_test_has_an_empty_database_of_its_own",
    "Java": "tests/engines/spark/test_connect.py::test_a_server_of_spark_connect_gives_the_answer_of_one_machine",
    "Java, shared": "tests/engines/spark/test_runs.py::test_a_data_frame_without_ids",
}
VARIABLES = ("CI", "TWINSET_TEST_POSTGRES", "JAVA_HOME")


def run(path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the tests that need something in a world where nothing is installed and nothing can be."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *NEEDY.values()]
    environment = {**kept, "PATH": str(path), "COLUMNS": "300", **variables}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_a_test_without_its_component_says_so(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout
    assert f"{len(NEEDY)} skipped" in done.stdout
    for what, packages in (
        ("browser", "chromium chromium-driver"),
        ("PostgreSQL server", "postgresql"),
        ("Java 17 or newer", "openjdk-17-jre-headless"),
    ):
        reason = f"there is no {what}: it was not found, and neither was apt-get; as root, apt-get install {packages}"
        assert reason in done.stdout


@pytest.mark.parametrize("spelling", ["true", "1"])
def test_in_continuous_integration_it_fails(tmp_path: Path, spelling: str) -> None:
    done = run(tmp_path, CI=spelling)
    assert done.returncode == 1, done.stdout
    assert "passed" not in done.stdout.splitlines()[-1]
    assert "skipped" not in done.stdout.splitlines()[-1]
    for what in ("browser", "PostgreSQL server", "Java 17 or newer"):
        assert f"there is no {what}" in done.stdout
    # One that fails before it begins is an error, in pytest's words; each of them must be named as one.
    assert f"{len(NEEDY)} error" in done.stdout.splitlines()[-1] or f"{len(NEEDY)} failed" in done.stdout


def test_why_it_could_not_be_installed_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "apt-get"
    program.write_text("#!/bin/sh\necho 'E: Unable to locate package thing' >&2\nexit 100\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = components.missing("thing", lambda: False, ("thing",))
    why = "needs root" if os.geteuid() else "apt-get said 'E: Unable to locate package thing'"
    assert why in said
