"""The files that a local source is read from: whether all are within the folders of a server, and their size."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from twinset.documents.data_sets.card import CARD, files_below, files_by_split
from twinset.mcp.folders import Folders
from twinset.mcp.work import Deadline

Choice = tuple[str | None, str | None, str | None]
"""What chooses the files of a data set: the subset, the split, and the separator of its CSV."""

OUTSIDE = -1
"""Stands for the size of files that are not all within the folders."""


def size_within(folders: Folders, path: Path, deadline: Deadline, choice: Choice = (None, None, None)) -> int:
    """Return the bytes of the files that a file or a folder is read from; OUTSIDE if one is not within the folders.

    Of a data set these are the files that its card names, which may be links. In other folders links are not read.
    No file but the card is opened.
    """
    if not folders.contain(path) or not folders.contain(path / CARD):
        return OUTSIDE
    size = 0
    for file in _files_of(path, deadline, choice):
        real = os.path.realpath(file)
        if not folders.contain(real):
            return OUTSIDE
        size += os.stat(real).st_size
    return size


def is_readable(path: Path) -> bool:
    """Whether a path is a file or a folder; a pipe would be waited for."""
    return path.is_file() or path.is_dir()


def _files_of(path: Path, deadline: Deadline, choice: Choice) -> Iterator[str]:
    if not path.is_dir():
        yield str(path)
        return
    subset, split, delimiter = choice
    find = partial(files_below, path)
    named = files_by_split(path / CARD, path.as_posix(), find, (subset, split), delimiter)
    if named is not None:
        for name in named:
            deadline.check()
            yield str(path / name)
        return
    for folder, _, names in os.walk(path):
        deadline.check()
        yield from (one for one in (os.path.join(folder, name) for name in names) if _is_file(one))


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:  # removed meanwhile
        return False
