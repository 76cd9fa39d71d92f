"""Recognise files that Twinset wrote, and exclude them from the sources."""

from __future__ import annotations

import dataclasses
import glob
import os
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

import orjson

from twinset.options.formats import row_file_format
from twinset.options.place import DETAILS_ENDING, VERDICTS_ENDING
from twinset.options.sketch import SketchOptions

STATE_ENDING, INDEX_ENDING = ".twinset-state", ".twinset"
_PASSAGES = "passages.parquet"
_TABLES = {"pairs.parquet", _PASSAGES, "cuts.parquet"}  # every result folder has one of them
_KEYS = ("check", "files", "hash_scheme", "version")
MOST_OF_SUMMARY = 16 * 2**20
"""Bytes of the largest summary of a remote result that is looked at."""
_BESIDE = ("-lock", "-wal", "-shm", "-journal")
_SQLITE = b"SQLite format 3\0"  # the first bytes of a database
_MARKS = {INDEX_ENDING: (b"TWSN", "an index"), VERDICTS_ENDING: (b"TWV1", "verdicts")}
"""By ending: the bytes at byte 68 of the database, and what it is."""


def why_our_folder(folder: str, names: Sequence[str]) -> str | None:
    """Why a folder with these names is skipped: a run made it; None otherwise."""
    if folder.endswith(STATE_ENDING) and "lock" in names:
        return "the state of a run that was interrupted or is still running"
    return why_our_result(os.path.join(folder, "summary.json"), names)


def why_our_result(summary: str, names: Collection[str]) -> str | None:
    """Why a folder with these names is skipped: its file summary.json, found at the path `summary`, is ours."""
    if not may_be_result(names) or not _is_summary(summary):
        return None
    if "kept" not in names:
        return "the tables of an earlier run"
    return "the result of an earlier run; to read the kept documents, name its subfolder kept"


def may_be_result(names: Collection[str]) -> bool:
    """Whether a folder with these names may be a result; its summary decides.

    >>> may_be_result(["summary.json", "pairs.parquet"]), may_be_result(["summary.json", "pairs.csv"])
    (True, False)
    """
    return "summary.json" in names and not _TABLES.isdisjoint(names)


def why_our_file(path: str) -> str | None:
    """Why a file is skipped: it is an index or verdicts, or belongs to such a file; None otherwise.

    >>> why_our_file("news.jsonl")
    """
    for of_kind, (mark, what) in _MARKS.items():
        ending = next((one for one in _BESIDE if path.endswith(of_kind + one)), "")
        if not path.endswith(of_kind) and not ending:
            continue
        if _has_mark(path.removesuffix(ending), mark):
            return f"a file of {what}" if ending else what
    return None


def is_index(path: str) -> bool:
    """Whether a file is an index, whatever its name.

    >>> is_index("news.jsonl")
    False
    """
    return _has_mark(path, _MARKS[INDEX_ENDING][0])


def _has_mark(path: str, mark: bytes) -> bool:
    """Whether a file is a database that bears a mark."""
    try:
        with open(path, "rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head.startswith(_SQLITE) and head[68:72] == mark


def why_our_rows(path: str) -> str | None:
    """Why a file is skipped: an earlier run wrote its kept rows, or its passages, there; None otherwise."""
    details = f"{path}{DETAILS_ENDING}"
    names = names_in(details) if os.path.isdir(details) else []
    if why_our_folder(details, names) is None:
        return None
    rows = "passages" if _PASSAGES in names else "kept rows"
    return f"the {rows} of an earlier run; to read them, name the file"


_O = TypeVar("_O", bound=Any)


def exclude_files(options: _O, sources: Sequence[object], files: Sequence[str]) -> _O:
    """Return the options with patterns that exclude some files, such as those of an index, from the sources."""
    return _excluding(options, patterns_of_files(files, sources))


def patterns_of_files(files: Sequence[str], sources: Sequence[object]) -> tuple[str, ...]:
    """Return the patterns that exclude some files from a source that includes them."""
    patterns: list[str] = []
    for source in sources if files else ():
        if not isinstance(source, (str, os.PathLike)) or source == "-":
            continue
        if os.path.isdir(source):
            patterns += [glob.escape(name) for file in files if (name := _name_in(source, file)) is not None]
        elif not os.path.exists(source):  # a pattern, which matches names
            patterns += [glob.escape(os.path.basename(file)) for file in files]
    return tuple(dict.fromkeys(patterns))


def exclude_outputs(
    options: _O, outputs: Sequence[os.PathLike[str]], sources: Sequence[object], patterns: tuple[str, ...] = ()
) -> tuple[_O, tuple[str, ...]]:
    """Return the options with patterns that exclude outputs, and more, from the sources; and these patterns."""
    for source in sources:
        if not isinstance(source, (str, os.PathLike)) or not os.path.isdir(source):
            continue
        for output in outputs:
            inside = _name_in(source, output)
            if inside is not None:
                name = glob.escape(inside)
                patterns += (f"{name}/*", f"{name}{STATE_ENDING}/*")
                # The name of an output folder alone would exclude every folder of that name.
                is_file = isinstance(options, SketchOptions) or row_file_format(os.fspath(output)) is not None
                patterns += (name,) if is_file else ()
    patterns = tuple(dict.fromkeys(patterns))
    return _excluding(options, patterns), patterns


def _excluding(options: _O, patterns: tuple[str, ...]) -> _O:
    if not patterns:
        return options
    return dataclasses.replace(options, exclude=tuple(dict.fromkeys((*options.exclude, *patterns))))


def _name_in(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> str | None:
    """Return the name of a file relative to a folder that includes it; None if it is elsewhere."""
    name = os.path.relpath(os.path.abspath(path), os.path.abspath(os.fsdecode(folder)))
    return None if name == ".." or name.startswith("../") else name


def names_in(folder: str) -> list[str]:
    """Names in a folder; none where it cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def is_result(folder: str) -> bool:
    """Whether a folder is the result of a run: its summary is Twinset's.

    >>> is_result("news")
    False
    """
    return _is_summary(os.path.join(folder, "summary.json"))


def _is_summary(path: str) -> bool:
    """Whether a summary is Twinset's."""
    try:
        with open(path, "rb") as file:
            return is_summary(file.read())
    except OSError:
        return False


def is_summary(data: bytes) -> bool:
    """Whether the contents of a file are a summary of Twinset.

    >>> is_summary(b'{"rows": 3}')
    False
    """
    try:
        summary = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return isinstance(summary, dict) and all(key in summary for key in _KEYS)
