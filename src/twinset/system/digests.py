"""SHA-256 of source files. A second core can begin with it while the first is still loading the program."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence

from twinset.errors import SourceError

_Mark = tuple[str, int, int]
_PIECE = 2**24  # bytes at a time: each is two waits for the interpreter lock, which loading the program seldom lets go
_begun: dict[_Mark, threading.Event] = {}
_found: dict[_Mark, str] = {}


def begin(paths: Sequence[str]) -> None:
    """Start taking the digests of those paths that are files; `file_digest` then has less to do."""
    marks = [_mark(path) for path in paths if os.path.isfile(path)]
    for mark in marks:
        _begun[mark] = threading.Event()
    threading.Thread(target=_take_all, args=(marks,), daemon=True).start()


def _take_all(marks: Sequence[_Mark]) -> None:
    for mark in marks:
        try:
            _found[mark] = _sha256(mark[0])
        except OSError:
            pass  # whoever asks for the digest meets the same error, and tells of it
        finally:
            _begun[mark].set()


def file_digest(path: str | os.PathLike[str], name: str) -> str:
    """SHA-256 of a file, in hexadecimal; one that was begun, for the file as it is now, is waited for."""
    try:
        mark = _mark(path)
        if mark in _begun:
            _begun[mark].wait()
        return _found.pop(mark, None) or _sha256(path)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", where=name) from error


def _mark(path: str | os.PathLike[str]) -> _Mark:
    """A file as it is now."""
    about = os.stat(path)
    return os.path.realpath(path), about.st_size, about.st_mtime_ns


def _sha256(path: str | os.PathLike[str]) -> str:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        # One more than there are, to meet the end; a file that grows, or tells no size, takes more turns.
        piece = memoryview(bytearray(min(max(os.fstat(file.fileno()).st_size + 1, 2**12), _PIECE)))
        while n_read := file.readinto(piece):
            digest.update(piece[:n_read])
    return digest.hexdigest()
