"""The temporary folder of one run of the tests: everything temporary is made in it, and it goes with the run.

Each process of the run has a folder of its own in it for ``TMPDIR``. What the package leaves there is an error; what a
killed process cannot remove is put elsewhere, into folders that begin with `KILLED`.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path

KILLED = "left-behind-"
_LONGEST = 40  # sockets are made below, and the name of one has 107 bytes at most


def make() -> Path:
    """Make the folder of the run; who has no cache that can be written to gets one in it."""
    usual = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="twinset-t-", dir=usual if len(os.fsencode(usual)) <= _LONGEST else "/tmp"))
    folder.chmod(0o711)  # a PostgreSQL server that root starts is another user's, and has its folder in here
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # "~" stays where there is no home
    if not cache.is_absolute() or not _is_writable(cache):
        os.environ |= {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config")}
    return folder


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def use(folder: Path) -> Path:
    """Let this process, and those that it starts, make temporary files in a folder."""
    folder.mkdir()
    folder.chmod(0o711)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None
    return folder


class Watch:
    """Notes after which test something appeared in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: dict[str, str] = {}

    def look(self, test: str) -> None:
        """Note what is new."""
        for name in os.listdir(self.folder):
            self._seen.setdefault(name, test)

    def left(self) -> list[str]:
        """What is still there, and should not be, each with the test after which it appeared."""
        # A command that runs in this process freezes what is in memory, and so keeps results that nobody uses.
        gc.unfreeze()
        gc.collect()
        names = sorted(name for name in os.listdir(self.folder) if not name.startswith(KILLED))
        return [f"{name}, first seen after {self._seen.get(name, 'the last test')}" for name in names]


def remove(folder: Path) -> None:
    """Remove the folder of the run, also what may not be written to."""
    for path, folders, _ in os.walk(folder):
        for name in folders:
            inside = os.path.join(path, name)
            if not os.path.islink(inside) and not os.access(inside, os.R_OK | os.W_OK | os.X_OK):
                os.chmod(inside, 0o700)
    shutil.rmtree(folder)
