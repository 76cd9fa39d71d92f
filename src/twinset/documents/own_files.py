"""What Twinset itself wrote: among the files of a source it is passed over, for it is no document."""

from __future__ import annotations

import os
from collections.abc import Sequence

import orjson

STATE_ENDING, INDEX_ENDING = ".twinset-state", ".twinset"
_TABLES = ("clusters.parquet", "documents.parquet", "pairs.parquet", "removed.parquet", "sources.parquet")
_KEYS = ("check", "files", "hash_scheme", "version")
_BESIDE = ("-lock", "-wal", "-shm", "-journal")
_SQLITE, _MARK = b"SQLite format 3\0", b"TWSN"  # how an index begins, and what stands at byte 68 of it


def why_our_folder(folder: str, names: Sequence[str]) -> str | None:
    """Why a folder with these names in it is passed over: a run made it; None if none did."""
    if folder.endswith(STATE_ENDING) and "lock" in names:
        return "the state of a run that was stopped, or is at work"
    if "summary.json" not in names or not set(_TABLES) <= set(names):
        return None
    return "the result of an earlier run; name its folder kept to read what it kept" if _is_summary(folder) else None


def why_our_file(path: str) -> str | None:
    """Why a file is passed over: it is an index, or lies beside one; None if it is neither.

    >>> why_our_file("news.jsonl")
    """
    ending = next((one for one in _BESIDE if path.endswith(INDEX_ENDING + one)), "")
    if not path.endswith(INDEX_ENDING) and not ending:
        return None
    try:
        with open(path.removesuffix(ending), "rb") as file:
            head = file.read(72)
    except OSError:
        return None
    if not head.startswith(_SQLITE) or head[68:72] != _MARK:
        return None
    return "a file of an index" if ending else "an index"


def names_in(folder: str) -> list[str]:
    """The names in a folder; none where it cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _is_summary(folder: str) -> bool:
    """Whether the summary in a folder is one of ours."""
    try:
        with open(os.path.join(folder, "summary.json"), "rb") as file:
            found = orjson.loads(file.read())
    except (OSError, orjson.JSONDecodeError):
        return False
    return isinstance(found, dict) and all(key in found for key in _KEYS)
