"""Flush files and folders to the disk, so that a power failure does not undo what was written."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def flush(handle: int) -> None:
    """Flush an open file or folder to the disk; on macOS, where `fsync` stops at the cache of the drive, beyond it."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(handle, full)
            return
        except OSError:
            pass  # a file system that does not know it, such as one on another machine
    os.fsync(handle)


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        flush(handle)
    finally:
        os.close(handle)
