"""Local copies of remote objects: sparse files, each with a journal of the ranges that were fetched.

A copy has every byte at its own offset, so that a reader opens it like the original as long as it reads what was
fetched. The journal has a checksum of each range, so that a later run continues where a killed one was.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from twinset.documents.remote.stores import RemoteObject
from twinset.system.scratch import cannot_write

Ranges = list[tuple[int, int]]
"""Ranges of bytes, each with its start and its end, in ascending order and apart from each other."""

_PIECE = 2**20
_ENDING = 80  # characters of a name that are part of that of the copy


class LocalCopy:
    """The copy of one object; `one` may become known in full only when it is fetched.

    Its time stands for the version of the object, so that whatever compares times notices another version.
    """

    def __init__(self, folder: Path, one: RemoteObject, fetcher: Any = None) -> None:
        digest = hashlib.sha256(str(one.address).encode("utf-8", "surrogatepass")).hexdigest()[:20]
        plain = "".join(letter if letter.isalnum() or letter in "._-=" else "_" for letter in one.address.name)
        self._fetcher = fetcher
        self.one, self.path = one, folder / f"{digest}-{plain[-_ENDING:]}"
        self.journal = folder / f"{digest}.ranges"
        self._lock, self._fetching = threading.Lock(), threading.Lock()
        self._head = json.dumps({"version": one.version, "size": one.size})
        # Two answers to one path, of which the query is not stored, may have been changed at the same time.
        self._is_known = bool(one.version) and (not one.address.query or one.version.startswith('"'))
        self.fetched: Ranges = self._resumed() if self._is_known else []
        """The ranges that are here."""
        self.resumed = sum(stop - start for start, stop in self.fetched)
        """Bytes that an earlier run had fetched."""
        if not self.fetched:
            self._begin()

    @property
    def size(self) -> int:
        """Bytes of the object, as far as known."""
        return self.one.size or 0

    @property
    def is_complete(self) -> bool:
        """Whether every byte is here."""
        return not self.one.size or not self.missing([(0, self.one.size)])

    def fetch(self, ranges: Ranges) -> None:
        """Fetch ranges that are not here yet; other threads that need them wait."""
        if self.missing(ranges):
            with self._fetching:
                self._fetcher.fetch([(self, ranges)])

    def missing(self, wanted: Iterable[tuple[int, int]]) -> Ranges:
        """Return what is not here of some ranges.

        Examples
        --------
        >>> import tempfile
        >>> from twinset.system.addresses import Address
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     copy = LocalCopy(Path(folder), RemoteObject(Address.of("s3://news/a"), 10, "v1"))
        ...     copy.write(2, b"abc")
        ...     copy.missing([(0, 4), (6, 10)])
        [(0, 2), (6, 10)]
        """
        left: Ranges = []
        for start, stop in wanted:
            for done_start, done_stop in self.fetched:
                if done_stop <= start or done_start >= stop:
                    continue
                if done_start > start:
                    left.append((start, done_start))
                start = min(stop, done_stop)
            if start < stop:
                left.append((start, stop))
        return left

    def write(self, start: int, data: Any) -> None:
        """Store a range, then note it."""
        with memoryview(data).cast("B") as view, self._writing():
            with open(self.path, "r+b", buffering=0) as file:
                done = 0
                while done < len(view):
                    done += os.pwrite(file.fileno(), view[done:], start + done)
            size, checksum = len(view), zlib.crc32(view)
        with self._lock, self._writing():
            with open(self.journal, "a", encoding="ascii") as file_of_ranges:
                file_of_ranges.write(f"{start} {start + size} {checksum}\n")
            self.fetched = joined([*self.fetched, (start, start + size)])

    def write_all(self, pieces: Iterable[bytes]) -> Iterator[int]:
        """Store a whole object that comes as a stream; yield the sizes of its pieces."""
        self._begin()
        size = checksum = 0
        with open(self.path, "r+b", buffering=0) as file:
            for piece in pieces:
                with self._writing():
                    file.truncate(max(self.size, size + len(piece)))
                    os.pwrite(file.fileno(), piece, size)
                size, checksum = size + len(piece), zlib.crc32(piece, checksum)
                yield len(piece)
            with self._writing():
                file.truncate(size)
        self.one = RemoteObject(self.one.address, size, self.one.version, ranges=False)
        with self._writing():
            self.journal.write_text(f"{self._head}\n0 {size} {checksum}\n", encoding="ascii")
        self.fetched = [(0, size)] if size else []

    def settle(self) -> None:
        """Set the time of the copy, once everything that is wanted is here."""
        digest = hashlib.sha256(f"{self.one.version}\0{self.size}".encode()).digest()
        if self._is_known:
            time = int.from_bytes(digest[:7])
            os.utime(self.path, ns=(time, time))

    def _begin(self) -> None:
        with self._writing():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "wb") as file:
                file.truncate(self.size)
            self.journal.write_text(f"{self._head}\n", encoding="ascii")

    def _resumed(self) -> Ranges:
        """Return the ranges that an earlier run has fetched of the same version, undamaged."""
        try:
            head, _, body = self.journal.read_text(encoding="ascii").partition("\n")
            if head != self._head:
                return []
            noted = [_parsed(line) for line in body.splitlines(keepends=True) if line.endswith("\n")]
            with open(self.path, "rb", buffering=0) as file:
                ranges = joined([(start, stop) for start, stop, crc in noted if _checksum(file, start, stop) == crc])
        except (OSError, ValueError):
            return []
        if ranges and not self.one.ranges:  # the size of a stream was not known before
            self.one = RemoteObject(self.one.address, ranges[-1][1], self.one.version, ranges=False)
        return ranges

    def _writing(self) -> _Writing:
        return _Writing(self.path)


class _Writing:
    """Turn a failed write into an error that names the copy."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise cannot_write(self.path, error) from error


def joined(ranges: Iterable[tuple[int, ...]], gap: int = 0) -> Ranges:
    """Sort ranges, and join those with at most `gap` bytes between them.

    Examples
    --------
    >>> joined([(8, 9), (0, 3), (2, 5)]), joined([(0, 3), (5, 9)], gap=2)
    ([(0, 5), (8, 9)], [(0, 9)])
    """
    found: Ranges = []
    for start, stop in sorted((one[0], one[1]) for one in ranges):
        if found and start <= found[-1][1] + gap:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        elif start < stop:
            found.append((start, stop))
    return found


def _parsed(line: str) -> tuple[int, int, int]:
    """Return the start, the end and the checksum of a range in a journal."""
    start, stop, checksum = map(int, line.split())
    if not 0 <= start < stop:
        raise ValueError("this is no range")
    return start, stop, checksum


def _checksum(file: Any, start: int, stop: int) -> int:
    """Return the checksum of a range of an open file."""
    checksum = 0
    while start < stop:
        piece = os.pread(file.fileno(), min(_PIECE, stop - start), start)
        if not piece:
            raise ValueError("the copy is shorter than its journal says")
        start, checksum = start + len(piece), zlib.crc32(piece, checksum)
    return checksum
