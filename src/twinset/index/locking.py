"""One writer at a time, and a name for whoever asks who it is: a lock file beside the index.

The lock is the operating system's: it goes with the process that holds it, however that ends. What stands in the file
is only there to be read by those who wait.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from twinset.errors import BusyError, OutputError

_PAUSE = 0.05


class WriterLock:
    """The right to write to one index. Entered again by its holder, it only counts."""

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name
        self._depth = 0

    @contextmanager
    def held(self, timeout: float, doing: str) -> Iterator[None]:
        """Wait for the lock and hold it."""
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        handle = self._acquired(timeout, doing)
        self._depth = 1
        try:
            yield
        finally:
            self._depth = 0
            os.close(handle)

    def _acquired(self, timeout: float, doing: str) -> int:
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise OutputError(f"{self.path}: the lock of the index cannot be opened: {error.strerror}") from error
        until = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    holder = os.pread(handle, 4096, 0).decode("utf-8", "replace").strip()
                    os.close(handle)
                    raise BusyError(
                        f"{self.name}: another writer holds the index ({holder or 'it has not said who it is'}); "
                        f"waited {timeout:g} s: wait longer with --timeout, or end that one"
                    ) from None
                time.sleep(_PAUSE)
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        said = f"process {os.getpid()} on {socket.gethostname()}, {doing}, since {since}\n"
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, said.encode(), 0)
        except OSError:
            pass  # a full disk must not keep anyone from removing documents; the name is a courtesy
        return handle
