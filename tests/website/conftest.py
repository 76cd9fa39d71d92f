"""The site, built once from a clean copy of the repository, and a browser to open it in."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.components import skip_without
from tests.report.browser import Browser, missing

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".venv*", ".git", "*.egg-info", ".*_cache", "build", "dist", "site")


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone of the repository would have: nothing that is ignored, nothing that was built."""
    folder = tmp_path_factory.mktemp("clone")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT, dirs_exist_ok=True)
        return folder
    for name in listed:
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def site(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site, in a folder with a name that addresses must escape."""
    folder = tmp_path_factory.mktemp("built") / "a site, moved"
    command = [sys.executable, "-m", "website", str(folder)]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    skip_without(missing())
    with Browser() as window:
        yield window
