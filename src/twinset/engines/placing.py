"""A file that is there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twinset.engines.spool import cannot_write


@contextmanager
def placed(place: Path) -> Iterator[Path]:
    """Give a path to write to, beside the place and hidden, so that no source folder has it; then move it there.

    When something is raised, what was written goes, and what was at the place stays.

    Examples
    --------
    >>> with placed(Path("out.txt")) as made:
    ...     _ = made.write_text("done")
    >>> Path("out.txt").read_text()
    'done'
    """
    made = place.with_name(f".{place.stem}-{os.getpid()}.new{place.suffix}")
    try:
        yield made
        try:
            moved(made, place)
        except OSError as error:
            raise cannot_write(place, error) from error
    finally:
        made.unlink(missing_ok=True)


def moved(made: Path, place: Path) -> None:
    """Move a file or folder to a place on the same disk, so that a crash does not undo it."""
    os.replace(made, place)
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
