"""Finding files: folders, patterns, formats by their endings."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import SourceError
from ..options import ReadOptions
from .compressed import open_reader, split_codec
from .encodings import is_utf8

FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npy": "npy",
}
_HEAD = 8192


def format_of(name: str) -> tuple[str, str | None]:
    """The format that a file's name tells, and how it is compressed.

    >>> format_of("news.jsonl.gz"), format_of("notes.md")
    (('jsonl', 'gzip'), ('text', None))
    """
    plain, codec = split_codec(name)
    return FORMATS.get(os.path.splitext(plain)[1].lower(), "text"), codec


def is_marker(name: str) -> bool:
    """Whether a file is one that Spark and others leave beside the tables they write."""
    last = name.rsplit("/", 1)[-1]
    return last in ("_SUCCESS", "_metadata", "_common_metadata") or last.startswith(("_started_", "_committed_"))


def files_in(folder: Path, options: ReadOptions) -> list[str]:
    """Paths of the files below a folder, relative to it, in order; hidden ones and links are left out."""
    found = [name for name in _walk(str(folder), "") if chosen(name, options)]
    return sorted(found)


def _walk(folder: str, below: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=folder) from error
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, f"{below}{entry.name}/")
        elif entry.is_file(follow_symlinks=False):
            yield below + entry.name


def chosen(name: str, options: ReadOptions) -> bool:
    """Whether ``--include`` and ``--exclude`` leave a file in."""
    if options.include and not any(_matches(name, pattern) for pattern in options.include):
        return False
    return not any(_matches(name, pattern) for pattern in options.exclude)


def _matches(name: str, pattern: str) -> bool:
    """Whether a pattern fits the path, the name alone, or a folder that the file lies in."""
    pattern = pattern.removeprefix("./").removeprefix("**/")
    if pattern.endswith("/"):
        pattern += "*"
    folders = name.split("/")[:-1]
    candidates = [name, name.rsplit("/", 1)[-1], *folders]
    candidates += ["/".join(folders[:count]) for count in range(2, len(folders) + 1)]
    return any(fnmatch.fnmatchcase(one, pattern) for one in candidates)


def matches_of(pattern: str) -> list[str]:
    """Paths that a pattern fits, in order."""
    return sorted(glob.glob(pattern, recursive=True), key=lambda path: Path(path).as_posix())


def is_pattern(given: str) -> bool:
    """Whether a path holds one of the signs ``* ? [``."""
    return glob.has_magic(given)


def why_not_text(path: str, name: str, codec: str | None, options: ReadOptions) -> str | None:
    """Why a file is no text: it holds NUL bytes near its head; None if it is one."""
    try:
        with open_reader(path, codec, name) as stream:
            head = stream.read(_HEAD)
    except SourceError:
        if codec is None:
            raise
        return None  # damage is reported when the document itself is read
    if not is_utf8(options.encoding):
        return "a binary file" if "\0" in head.decode(options.encoding, "ignore") else None
    if b"\0" not in head:
        return None
    kind, _ = format_of(name)
    if kind != "text":
        return f"a {kind} table among texts; give it by its name, or with --include '*{Path(name).suffix}'"
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "looks like UTF-16; name it with --encoding utf-16"
    return "a binary file"
