"""Fetch remote objects to local copies: in parallel ranges, with retries, after a look at the room on the disk."""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Protocol, TypeVar

from twinset.documents.remote.copies import LocalCopy, Ranges, joined
from twinset.documents.remote.stores import RemoteObject, RemoteStore, TransientError, open_store
from twinset.errors import FetchError, OutputError, StateError
from twinset.options.checks import shown_size
from twinset.system import batch_sizes
from twinset.system.addresses import Address
from twinset.wording import counted

_TRIES = 5
_LONGEST_PAUSE = 20.0
_THREADS = 8
_GAP = 32 * 1024
"""Bytes between two ranges that are fetched with them: a request costs more."""
_TAIL = 64 * 1024
"""Bytes at the end of a Parquet file that are fetched first; nearly all footers are smaller."""

_T = TypeVar("_T")


class Receiver(Protocol):
    """Receives progress and notes."""

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Begin a stage."""

    def advance(self, n: int) -> None:
        """Report more units as done."""

    def note(self, text: str) -> None:
        """Show one line."""


class Fetcher:
    """Finds remote objects, and fetches them to copies in one folder."""

    def __init__(self, folder: Path, progress: Receiver | None = None) -> None:
        self.folder, self.progress = folder, progress
        self.lock = threading.Lock()
        self._tells = False
        self._stores: dict[str, RemoteStore] = {}
        self._copies: dict[str, LocalCopy] = {}

    def store(self, address: Address) -> RemoteStore:
        """Return the store of an address."""
        if address.root not in self._stores:
            self._stores[address.root] = open_store(address)
        return self._stores[address.root]

    def find(self, address: Address) -> RemoteObject | None:
        """Look for an object."""
        return repeated(address, lambda: self.store(address).find(address), first=True)

    def list(self, address: Address) -> list[RemoteObject]:
        """List the objects below a prefix."""
        return repeated(address, lambda: list(self.store(address).list(address)), first=True)

    def copy(self, one: RemoteObject) -> LocalCopy:
        """Return the local copy of an object."""
        name = str(one.address)
        if name not in self._copies:
            self._copies[name] = LocalCopy(self.folder, one, self)
        return self._copies[name]

    def fetch(self, wanted: Sequence[tuple[LocalCopy, Ranges | None]], what: str = "") -> None:
        """Fetch ranges of copies, or all of them for None, unless they are here; say how much it is."""
        pieces = [piece for copy, ranges in wanted for piece in _pieces(copy, ranges)]
        total = sum(stop - start for _, start, stop in pieces)
        if pieces:
            self._check_room(total)
            self._tells = bool(what) and self.progress is not None
            if self._tells:
                self._tell(wanted, total, what)
            self._run(pieces)
        for copy, _ in wanted:
            copy.settle()

    def fetch_footers(self, copies: Sequence[LocalCopy]) -> None:
        """Fetch the ends of Parquet files, with their footers."""
        self.fetch([(one, None if not one.one.ranges else [(max(0, one.size - _TAIL), one.size)]) for one in copies])
        longer: list[tuple[LocalCopy, Ranges | None]] = []
        for one in copies:
            with open(one.path, "rb") as file:
                file.seek(max(0, one.size - 8))
                tail = file.read(8)
            length = int.from_bytes(tail[:4], "little") + 8
            if tail[4:] == b"PAR1" and _TAIL < length < one.size:
                longer.append((one, [(one.size - length, one.size)]))
        self.fetch(longer)

    def drop_others(self) -> None:
        """Remove copies of a former run that this one does not use."""
        used = {path for one in self._copies.values() for path in (one.path, one.journal)}
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path not in used:
                path.unlink(missing_ok=True)

    @property
    def has_some(self) -> bool:
        """Whether anything was fetched, now or earlier."""
        return any(one.fetched for one in self._copies.values())

    def _check_room(self, total: int) -> None:
        folder = next(one for one in (self.folder, *self.folder.absolute().parents) if one.is_dir())
        free = shutil.disk_usage(folder).free
        if total > free:
            raise OutputError(
                f"{shown_size(total)} must be fetched, and {self.folder} has room for {shown_size(free)}; free space, "
                "or choose another folder with --scratch"
            )

    def _tell(self, wanted: Sequence[tuple[LocalCopy, Ranges | None]], total: int, what: str) -> None:
        objects = counted(len(wanted), "object")
        whole, before = sum(one.size for one, _ in wanted), sum(one.resumed for one, _ in wanted)
        name = str(wanted[0][0].one.address) if len(wanted) == 1 else f"{objects}, such as {wanted[0][0].one.address}"
        of = f" of {shown_size(whole)}" if total < whole else ""
        resumed = f" ({shown_size(before)} are here from an earlier run)" if before else ""
        size = shown_size(total) if total else "of unknown size"
        if self.progress is not None:
            self.progress.note(f"fetching {what}{name}: {size}{of}{resumed}, to {self.folder}")
            self.progress.stage("fetching", total or None, "bytes")

    def _run(self, pieces: Sequence[tuple[LocalCopy, int, int]]) -> None:
        """Fetch pieces in threads; the first error stops all."""
        pool = ThreadPoolExecutor(min(_THREADS, len(pieces)), thread_name_prefix="twinset-fetch")
        try:
            waiting = {pool.submit(self._fetch_piece, *piece) for piece in pieces}
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_EXCEPTION, timeout=1)
                for one in done:
                    one.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _fetch_piece(self, copy: LocalCopy, start: int, stop: int) -> None:
        one, store = copy.one, self.store(copy.one.address)

        def ranged() -> None:
            copy.write(start, store.read(one, start, stop))
            self._advance(stop - start)

        def whole() -> None:
            for size in copy.write_all(store.stream(one)):
                self._advance(size)

        repeated(one.address, ranged if one.ranges else whole)

    def _advance(self, size: int) -> None:
        if self._tells and self.progress is not None:
            self.progress.advance(size)


def repeated(address: Address, request: Callable[[], _T], *, first: bool = False) -> _T:
    """Make a request up to five times, with growing pauses; `first`: without a server it is not repeated."""
    for attempt in range(1, _TRIES + 1):
        try:
            return request()
        except TransientError as error:
            if attempt == _TRIES or (first and error.unreachable):
                tries = "" if attempt == 1 else f" ({attempt} tries)"
                raise FetchError(f"{error}{tries}", where=str(address)) from None
            pause = min(_LONGEST_PAUSE, batch_sizes.FETCH_PAUSE * 2 ** (attempt - 1))
            time.sleep(pause * random.uniform(0.5, 1))
    raise StateError("no attempt was made")


def _pieces(copy: LocalCopy, ranges: Ranges | None) -> Iterable[tuple[LocalCopy, int, int]]:
    """Cut what is missing into pieces that are fetched at a time."""
    if not copy.one.ranges:
        return [] if copy.fetched else [(copy, 0, copy.size)]
    missing = copy.missing([(0, copy.size)] if ranges is None else joined(ranges, _GAP))
    size = batch_sizes.FETCH_PIECE
    return [(copy, at, min(at + size, stop)) for start, stop in missing for at in range(start, stop, size)]
