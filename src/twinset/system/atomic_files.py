"""A file that is there whole or not at all."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twinset.system.spool import cannot_write


@contextmanager
def placed(place: Path) -> Iterator[Path]:
    """Give a path to write to, beside the place and hidden, so that no source folder has it; then move it there.

    When something is raised, what was written goes, and what was at the place stays. What processes that were killed
    have left for the same place is removed.

    Examples
    --------
    >>> with placed(Path("out.txt")) as made:
    ...     _ = made.write_text("done")
    >>> Path("out.txt").read_text()
    'done'
    """
    made = place.with_name(f".{place.stem}-{os.getpid()}.new{place.suffix}")
    remove_left(place)
    try:
        held = _held(made)
    except OSError as error:
        raise cannot_write(made, error) from error
    try:
        yield made
        try:
            moved(made, place)
        except OSError as error:
            raise cannot_write(place, error) from error
    finally:
        made.unlink(missing_ok=True)
        os.close(held)


def remove_left(place: Path) -> None:
    """Remove what others began for a place, if their process is gone and nobody holds the file, here or elsewhere.

    Examples
    --------
    >>> left = Path(".out-4194305.new.txt")  # no process has so high a number
    >>> _ = left.write_text("half of")
    >>> remove_left(Path("out.txt"))
    >>> left.exists()
    False
    """
    name = re.compile(rf"\.{re.escape(place.stem)}-(\d{{1,9}})\.new{re.escape(place.suffix)}")
    try:
        beside = [(path, found) for path in place.parent.iterdir() if (found := name.fullmatch(path.name))]
    except OSError:
        return  # who writes there meets the same, and tells of it
    for path, found in beside:
        if not _runs(int(found[1])):
            try:
                os.close(_held(path))
                path.unlink()
            except OSError:
                continue  # held by a process of another machine, or not ours to remove


def _runs(process: int) -> bool:
    """Whether there is a process of this number on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # of another user
    return True


def _held(path: Path) -> int:
    """Open a file and hold it as long as it is open; what another process holds raises `BlockingIOError`."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if isinstance(error, BlockingIOError):
            os.close(file)
            raise
        # A disk on which nothing can be held: whether the process runs must do.
    return file


def moved(made: Path, place: Path) -> None:
    """Move a file or folder to a place on the same disk, so that a crash does not undo it."""
    os.replace(made, place)
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
