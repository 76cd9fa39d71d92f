"""A run of the tests leaves nothing behind, says what the package left, which components served it, and its seeds."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import pytest_collection_modifyitems
from tests.long_files import LONG_FILES

ROOT = Path(__file__).resolve().parents[1]
TIDY = """
import os, tempfile
from tests import components

def test_files(tmp_path):
    components.used("a component")
    components.MISSING["another component"] = None
    (tmp_path / "a").mkdir(mode=0o500)
    with tempfile.TemporaryDirectory() as folder:
        print("in", folder, "seed", os.environ["TWINSET_TEST_SEED"])
"""
UNTIDY = """
import tempfile

def test_leaving():
    tempfile.mkdtemp(prefix="forgotten-")
    tempfile.mkdtemp(prefix="left-behind-")
"""


def run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder as those of this one are run, with a place for temporary files that is empty."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TWINSET_"))}
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(folder), "-p", "tests.conftest"]
    command += ["-p", "no:cacheprovider", "-v", "-rP", *words, str(folder)]
    # Not in the folder of the test, nor in that of the run: the names of sockets below would be too long.
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        environment = {**kept, "TMPDIR": place, "COLUMNS": "200", **variables}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert f"in {place}/twinset-t-" in done.stdout
        assert os.listdir(place) == [], done.stdout
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in "abcdef":
        (tmp_path / f"test_{name}.py").write_text(TIDY)
    return tmp_path


WAYS = {"one process": (), "several": ("-n", "2", "--dist", "loadfile")}


@pytest.mark.parametrize("way", WAYS)
def test_a_run_names_its_components_and_leaves_nothing(folder: Path, way: str) -> None:
    done = run(folder, *WAYS[way], TWINSET_TEST_SEED="4711")
    assert done.returncode == 0, done.stdout
    assert "\nused:    a component\nmissing: another component\n" in done.stdout
    assert "TWINSET_TEST_SEED=4711, order of files (TWINSET_TEST_ORDER): long ones, then by name" in done.stdout
    assert done.stdout.count(" seed 4711\n") == 6


@pytest.mark.parametrize("way", WAYS)
def test_what_is_left_is_a_failure_and_is_named_with_its_test(folder: Path, way: str) -> None:
    (folder / "test_untidy.py").write_text(UNTIDY)
    done = run(folder, *WAYS[way])
    assert done.returncode == 1, done.stdout
    assert " 7 passed" in done.stdout
    assert "first seen after test_untidy.py::test_leaving" in done.stdout
    assert done.stdout.count("first seen after") == 1


def test_the_order_of_files_follows_from_its_seed(folder: Path) -> None:
    for seed in ("1", "random"):
        done = run(folder, TWINSET_TEST_ORDER=seed)
        named = re.search(r"\(TWINSET_TEST_ORDER\): (\d+)\n", done.stdout)
        assert named
        wanted = [f"test_{name}" for name in "abcdef"]
        random.Random(named[1]).shuffle(wanted)
        assert re.findall(r"(test_\w)\.py::test_files PASSED", done.stdout) == wanted


def test_files_that_take_long_begin_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TWINSET_TEST_ORDER", raising=False)
    first, second = LONG_FILES[:2]
    items: list[Any] = [
        SimpleNamespace(path=ROOT / "tests" / name) for name in ("test_b.py", second, "test_a.py", first, second)
    ]
    pytest_collection_modifyitems(items)
    found = [str(item.path.relative_to(ROOT / "tests")) for item in items]
    assert found == [first, second, second, "test_b.py", "test_a.py"]
    assert [name for name in LONG_FILES if not (ROOT / "tests" / name).is_file()] == []
