"""Replace files as a whole: readers see the old content or the new one, never a part of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twinset.system.disk import sync
from twinset.system.locks import open_lock, try_lock
from twinset.system.scratch import cannot_write


@contextmanager
def replace_atomically(path: Path, *, durably: bool = True) -> Iterator[Path]:
    """Yield a temporary path to write to, then move that file to `path`.

    The temporary file is hidden and in the same folder. On an exception it is removed, and the existing file stays.
    Temporary files that killed processes left for the same path are removed, too. `durably` flushes file and folder to
    the disk, so that a power failure does not undo it.

    Examples
    --------
    >>> with replace_atomically(Path("out.txt")) as draft:
    ...     _ = draft.write_text("done")
    >>> Path("out.txt").read_text()
    'done'
    """
    draft = path.with_name(f".{path.stem}-{os.getpid()}.new{path.suffix}")
    remove_leftovers(path)
    try:
        handle = _open_locked(draft)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield draft
        try:
            if durably:
                sync(draft)
                move_durably(draft, path)
            else:
                os.replace(draft, path)
        except OSError as error:
            raise cannot_write(path, error) from error
    finally:
        draft.unlink(missing_ok=True)
        os.close(handle)


def remove_leftovers(path: Path) -> None:
    """Remove temporary files of other processes that have ended, unless another machine has locked them.

    Examples
    --------
    >>> left = Path(".out-4194305.new.txt")  # beyond the highest process number
    >>> _ = left.write_text("half of")
    >>> remove_leftovers(Path("out.txt"))
    >>> left.exists()
    False
    """
    name = re.compile(rf"\.{re.escape(path.stem)}-(\d{{1,9}})\.new{re.escape(path.suffix)}")
    try:
        leftovers = [(file, match) for file in path.parent.iterdir() if (match := name.fullmatch(file.name))]
    except OSError:
        return  # writing there reports the same error
    for file, match in leftovers:
        if not _is_running(int(match[1])):
            try:
                os.close(_open_locked(file))
                file.unlink()
            except OSError:
                continue  # locked by a process of another machine, or no permission


def _is_running(process: int) -> bool:
    """Whether a process with this number runs on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # of another user
    return True


def _open_locked(path: Path) -> int:
    """Open and lock a file; raise `BlockingIOError` if another process has locked it."""
    handle = open_lock(path)
    try:
        free = try_lock(handle)
    except OSError:
        return handle  # a file system without locks: the process number must suffice
    if not free:
        os.close(handle)
        raise BlockingIOError(f"{path} is locked")
    return handle


def move_durably(draft: Path, path: Path) -> None:
    """Move a file or folder on the same disk, so that a power failure does not undo it."""
    os.replace(draft, path)
    sync(path.parent)

