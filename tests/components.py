"""Programs that tests need and pip does not bring: looked for, else installed from Debian, else named as missing.

A test without its component is skipped with the reason. With ``CI=true`` that is a failure: see ``conftest.py``.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
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
    try:
        _mount(disk, "1m")
    except OSError as error:
        skip_without(f"there is no small file system: {error.strerror}; mounting one needs root or a user namespace")
    used("small file system")
    try:
        yield disk
    finally:
        if _SYSTEM.umount(os.fsencode(disk)):
            raise OSError(ctypes.get_errno(), f"{disk} cannot be unmounted")


def resize(disk: Path, size: str) -> None:
    """Give a small file system another size."""
    _mount(disk, size, _REMOUNT)


def _mount(disk: Path, size: str, how: int = 0) -> None:
    # Not by the program of that name, which works for root only, whatever the kernel would allow.
    if _SYSTEM.mount(b"tmpfs", os.fsencode(disk), b"tmpfs", how, f"size={size}".encode()):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def run_where_mounting_is_allowed(test: pytest.Item) -> None:
    """Have a test run in a namespace in which its user, who is not root, may mount something: in a process of its own.

    The user stays the same there. Where there are no such namespaces it runs here, and says what is missing.
    """
    if os.geteuid() == 0 or _NAMESPACE in os.environ or not _has_namespaces():
        return

    def run() -> None:
        command = [*UNSHARE, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "addopts=", "-rs"]
        command += ["--import-mode=importlib", f"{test.config.rootpath}/{test.nodeid}"]
        variables = {**os.environ, _NAMESPACE: "1"}
        for name in [name for name in variables if name.startswith("PYTEST_")]:
            del variables[name]
        done = subprocess.run(
            command, cwd=test.config.rootpath, env=variables, capture_output=True, text=True, check=False
        )
        sys.stdout.write(done.stdout + done.stderr)
        assert done.returncode == 0
        if skipped := re.search(r"^SKIPPED \[1\] \S+ (.*)$", done.stdout, re.MULTILINE):
            skip_without(skipped[1])
        used("small file system (in a user namespace)")

    vars(test).update(setup=lambda: None, runtest=run)


@cache
def _has_namespaces() -> bool:
    try:
        return not subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode
    except OSError:
        return False


UNSHARE = ("unshare", "--user", "--map-current-user", "--keep-caps", "--mount")
_NAMESPACE = "TWINSET_TEST_NAMESPACE"
_SYSTEM = ctypes.CDLL(None, use_errno=True)
_REMOUNT = 32  # MS_REMOUNT of mount(2)


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
    if not said:
        used(f"apt-get install {' '.join(packages)}")
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
