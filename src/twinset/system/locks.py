"""Locks of files, and of an index among processes and threads.

The operating system releases a file lock when its process ends. The lock file of an index also names its holder, for
waiting processes, and has a note from its last holder, for processes that open the index. A holder may remove the file
when it is done. A process that waits on a removed file gets its lock, sees that the file is gone, and opens the path
again.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from twinset.errors import BusyError, OutputError, StateError
from twinset.system.disk import flush

_PAUSE = 0.05
_NAME, _NOTE = 256, 256
"""Bytes for the holder's name, followed by bytes for the note."""


def open_lock(path: str | os.PathLike[str]) -> int:
    """Open or create a lock file. Closing it, or the end of the process, releases the lock."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def try_lock(handle: int) -> bool:
    """Lock an open file; return False if it is locked through another handle."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def held(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a file in the block; wait for it, and go on without it where files cannot be locked."""
    handle = -1
    try:
        with suppress(OSError):
            handle = open_lock(path)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def is_at(handle: int, path: str | os.PathLike[str]) -> bool:
    """Whether an open file is the one at a path."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def remove_unless_open(handle: int, path: str | os.PathLike[str]) -> bool:
    """Remove a lock file that this process holds, unless it is open elsewhere; return whether it was removed.

    Other programs, such as flock, do not check whether a file is still at its path. They must not wait on one that is
    removed. Linux grants a lease on a file only while nobody else has it open.
    """
    if not hasattr(fcntl, "F_SETLEASE") or not is_at(handle, path):
        return False
    try:
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)  # sent if the file is opened now; ignored by default
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)  # ends when the file is closed
        os.unlink(path)
    except OSError:
        return False
    return True


class Turn:
    """Lets one thread at a time use an open index; reentrant."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = False
        self._lock = threading.RLock()
        self._doing = ""

    def __enter__(self) -> None:
        self._lock.acquire()
        self._check()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    @contextmanager
    def within(self, timeout: float, doing: str) -> Iterator[None]:
        """Wait up to `timeout` seconds for other threads."""
        if not self._lock.acquire(timeout=max(0.0, timeout)):
            raise BusyError(
                f"{self.name}: another thread of this process works with the index ({self._doing or 'reading'}); "
                f"waited {timeout:g} s: wait longer, or open the index separately in each thread"
            )
        self._check()
        outer, self._doing = self._doing, doing
        try:
            yield
        finally:
            self._doing = outer
            self._lock.release()

    def _check(self) -> None:
        if self.ended:
            self._lock.release()
            raise StateError(f"{self.name}: the index was closed; open it again")


class WriterLock:
    """The right to write to an index; reentrant."""

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name
        self._depth = 0
        self._handle = -1
        self._is_done = False

    @contextmanager
    def hold(self, timeout: float, doing: str) -> Iterator[None]:
        """Wait for the lock and hold it in the block."""
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        self._handle, self._is_done = self._acquire(timeout, doing), False
        self._depth = 1
        try:
            yield
        finally:
            self._depth = 0
            if self._is_done:  # last: whoever finds no lock file may write
                remove_unless_open(self._handle, self.path)
            os.close(self._handle)

    def discard(self) -> None:
        """Remove the lock file when the lock is released; nothing may be written after this."""
        self._is_done = True

    def note(self, line: bytes, *, durably: bool = False) -> bool:
        """Write a note for processes that open the index; return whether it was written."""
        try:
            os.pwrite(self._handle, line.ljust(_NOTE, b"\0"), _NAME)
            if durably:
                flush(self._handle)
        except OSError:
            return False
        return True

    def noted(self) -> bytes:
        """Read the note; empty if it cannot be read."""
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.pread(handle, _NOTE, _NAME).rstrip(b"\0")
        finally:
            os.close(handle)

    def _acquire(self, timeout: float, doing: str) -> int:
        deadline = time.monotonic() + timeout
        while not is_at(handle := self._open_and_wait(timeout, deadline), self.path):
            os.close(handle)  # its last holder has removed it
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        holder = f"process {os.getpid()} on {socket.gethostname()}, {doing}, since {since}"
        with suppress(OSError):  # a full disk must not prevent removing documents; the name is optional
            os.pwrite(handle, holder.encode()[: _NAME - 1].ljust(_NAME - 1) + b"\n", 0)
        return handle

    def _open_and_wait(self, timeout: float, deadline: float) -> int:
        """Open the lock file and lock it."""
        try:
            handle = open_lock(self.path)
        except OSError as error:
            raise OutputError(f"{self.path}: the lock of the index cannot be opened: {error.strerror}") from error
        try:
            self._wait(handle, timeout, deadline)
        except OSError as error:
            os.close(handle)
            raise OutputError(f"{self.path}: the index cannot be locked: {error.strerror}") from error
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _wait(self, handle: int, timeout: float, deadline: float) -> None:
        while not try_lock(handle):
            if time.monotonic() >= deadline:
                holder = os.pread(handle, _NAME, 0).decode("utf-8", "replace").partition("\n")[0].strip()
                raise BusyError(
                    f"{self.name}: another writer holds the index ({holder or 'unknown'}); "
                    f"waited {timeout:g} s: wait longer with --timeout, or stop the other writer"
                )
            time.sleep(_PAUSE)
