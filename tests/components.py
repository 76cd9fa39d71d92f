"""Programs that tests need and pip does not bring: looked for, else installed from Debian, else named as missing.

A test without its component is skipped with the reason. With ``CI=true`` that is a failure: see ``conftest.py``.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest


def missing(what: str, found: Callable[[], bool], packages: Sequence[str]) -> str:
    """Why `what` is not here, after having tried to install its Debian packages; empty if it is here."""
    if found():
        return ""
    said = _install(found, packages)
    return "" if found() else f"there is no {what}: {said}; as root, apt-get install {' '.join(packages)}"


USED: dict[str, None] = {}
MISSING: dict[str, None] = {}


def used(what: str) -> None:
    """Note that a component served a test: the end of the run names it."""
    USED[what] = None


def skip_without(why: str) -> None:
    """Skip the test that is running if there is a reason to."""
    if why:
        MISSING[why] = None
        pytest.skip(why)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of one megabyte, below a folder."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system can be mounted by root only")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def _install(found: Callable[[], bool], packages: Sequence[str]) -> str:
    """Try to install; say what came of it."""
    apt = shutil.which("apt-get")
    if not apt:
        return "it was not found, and neither was apt-get"
    if os.geteuid() != 0:
        return "it was not found, and installing it needs root"
    with Path(apt).open("rb") as program:
        # Several runs of the tests at once: one installs, the others wait and find.
        fcntl.flock(program, fcntl.LOCK_EX)
        if found():
            return ""
        install = (apt, "-o", "DPkg::Lock::Timeout=600", "install", "-y", "--no-install-recommends", *packages)
        said = _run(install)
        if said:
            # The list of packages may be older than the packages.
            _run((apt, "update"))
            said = _run(install)
    return said or "apt-get installed its packages, and it still was not found"


def _run(command: Sequence[str]) -> str:
    """Run apt-get; its last word if it failed."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    except subprocess.TimeoutExpired:
        return "apt-get did not end within 400 seconds"
    if not done.returncode:
        return ""
    return f"apt-get said {(done.stderr.strip().splitlines() or ['nothing'])[-1]!r}"
