"""Name output files after the input, with enough folders to make the names distinct and to keep their columns."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

Components = tuple[str, ...]

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def components_of(path: Path | str) -> Components:
    """Components of a path, without ``..`` and drive, so that it cannot lead outside the output."""
    whole = Path(os.path.abspath(path))
    return tuple(part for part in whole.parts if part not in (whole.anchor, "", ".", ".."))


def partition_of(path: str) -> dict[str, str | None]:
    """The columns that the folders of a path name, as Hive and Spark write them.

    >>> partition_of("news/lang=en/day=2024-01-01/part-0.parquet")
    {'lang': 'en', 'day': '2024-01-01'}
    """
    pairs = [folder.split("=", 1) for folder in path.split("/")[:-1] if "=" in folder.strip("=")]
    named = {unquote(name): unquote(value) for name, value in pairs if name and value}
    return {name: None if value == _NO_VALUE else value for name, value in named.items()}


def least_components(path: str) -> int:
    """How many components the output name of a file needs for its folders to name the same columns.

    >>> least_components("news/lang=en/part-0.parquet"), least_components("news/part-0.parquet")
    (2, 1)
    """
    folders = path.split("/")[:-1]
    first = next((at for at, folder in enumerate(folders) if partition_of(f"{folder}/")), len(folders))
    return 1 + len(folders) - first


def distinct_names(files: Sequence[tuple[Components, int]]) -> list[PurePosixPath]:
    """Name each file by its last components: at least the number given, and more where two names would be equal.

    >>> distinct_names([(("a", "x.txt"), 1), (("b", "x.txt"), 1), (("b", "y.txt"), 1)])
    [PurePosixPath('a/x.txt'), PurePosixPath('b/x.txt'), PurePosixPath('y.txt')]
    """
    lengths = [max(1, least) for _, least in files]
    while True:
        taken: dict[Components, list[int]] = defaultdict(list)
        for at, (parts, _) in enumerate(files):
            taken[_folded(parts[-lengths[at] :])].append(at)
        clashing = {at for owners in taken.values() if len(owners) > 1 for at in owners}
        growing = [at for at in clashing | _below_files(taken) if lengths[at] < len(files[at][0])]
        if not growing:
            break
        for at in growing:
            lengths[at] += 1
    names: list[PurePosixPath] = [PurePosixPath("file")] * len(files)
    used = set(taken)
    for owners in taken.values():
        for count, at in enumerate(owners):
            name = files[at][0][-lengths[at] :]
            names[at] = PurePosixPath(*(name if count == 0 else _numbered(name, used)))
    return names


def _folded(name: Components) -> Components:
    """What a file system compares of a name: on macOS, A and a are the same, and so are both forms of an accent."""
    if sys.platform != "darwin":
        return name
    return tuple(unicodedata.normalize("NFC", part).casefold() for part in name)


def _below_files(taken: dict[Components, list[int]]) -> set[int]:
    """Files whose folder has the name of another file."""
    return {
        at
        for name, owners in taken.items()
        if any(name[:length] in taken for length in range(1, len(name)))
        for at in owners
    }


def _numbered(name: Components, used: set[Components]) -> Components:
    """A numbered name for a file that was given more than once."""
    stem, dot, ending = name[-1].partition(".")
    number = 2
    while _folded(new := (*name[:-1], f"{stem}-{number}{dot}{ending}")) in used:
        number += 1
    used.add(_folded(new))
    return new
