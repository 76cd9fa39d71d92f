"""Replace files as a whole: what is at a place is the old content or the new one, never a part of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twinset.system.locks import open_lock, try_lock
from twinset.system.scratch import cannot_write


@contextmanager
def replace_atomically(place: Path, *, durably: bool = True) -> Iterator[Path]:
    """Give a path to write to, then move what was written to its place.

    The path is beside the place, and hidden, so that no source folder includes it. When something is raised, what was
    written is removed and what was at the place stays. What killed processes left for the same place is removed, too.
    `durably` flushes file and folder to the disk, so that a power failure does not undo it.

    Examples
    --------
    >>> with replace_atomically(Path("out.txt")) as made:
    ...     _ = made.write_text("done")
    >>> Path("out.txt").read_text()
    'done'
    """
    made = place.with_name(f".{place.stem}-{os.getpid()}.new{place.suffix}")
    remove_leftovers(place)
    try:
        handle = _locked(made)
    except OSError as error:
        raise cannot_write(place, error) from error
    try:
        yield made
        try:
            if durably:
                sync(made)
                move_durably(made, place)
            else:
                os.replace(made, place)
        except OSError as error:
            raise cannot_write(place, error) from error
    finally:
        made.unlink(missing_ok=True)
        os.close(handle)


def remove_leftovers(place: Path) -> None:
    """Remove what others began for a place, if their process is gone and no machine has the file locked.

    Examples
    --------
    >>> left = Path(".out-4194305.new.txt")  # no process has so high a number
    >>> _ = left.write_text("half of")
    >>> remove_leftovers(Path("out.txt"))
    >>> left.exists()
    False
    """
    name = re.compile(rf"\.{re.escape(place.stem)}-(\d{{1,9}})\.new{re.escape(place.suffix)}")
    try:
        beside = [(path, match) for path in place.parent.iterdir() if (match := name.fullmatch(path.name))]
    except OSError:
        return  # who writes there meets the same error, and reports it
    for path, match in beside:
        if not _runs(int(match[1])):
            try:
                os.close(_locked(path))
                path.unlink()
            except OSError:
                continue  # locked by a process of another machine, or not ours to remove


def _runs(process: int) -> bool:
    """Whether there is a process of this number on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # of another user
    return True


def _locked(path: Path) -> int:
    """Open a file and lock it as long as it is open; raise `BlockingIOError` if another process has it locked."""
    handle = open_lock(path)
    try:
        free = try_lock(handle)
    except OSError:
        return handle  # a file system without locks: that the process runs must do
    if not free:
        os.close(handle)
        raise BlockingIOError(f"{path} is locked")
    return handle


def move_durably(made: Path, place: Path) -> None:
    """Move a file or folder to a place on the same disk, so that a power failure does not undo it."""
    os.replace(made, place)
    sync(place.parent)


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
