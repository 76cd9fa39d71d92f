"""Fetch remote objects to local copies: in parallel ranges, with retries, after a look at the room on the disk."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from twinset.documents.remote.copies import LocalCopy, Ranges, joined
from twinset.documents.remote.requests import Receiver, Requests
from twinset.documents.remote.stores import RemoteObject, RemoteStore, open_store
from twinset.errors import OutputError
from twinset.options.checks import shown_size
from twinset.system import batch_sizes
from twinset.system.addresses import Address
from twinset.wording import counted

_THREADS = 8
GAP = 32 * 1024
"""Bytes between two ranges that are fetched with them: a request costs more."""
_TAIL = 64 * 1024
"""Bytes at the end of a Parquet file that are fetched first; nearly all footers are smaller."""

class Fetcher:
    """Finds remote objects, and fetches them to copies in one folder."""

    def __init__(self, folder: Path, progress: Receiver | None = None) -> None:
        self.folder, self.progress = folder, progress
        self.requests = Requests(progress)
        self.lock = threading.Lock()
        self._tells = False
        self._stores: dict[str, RemoteStore] = {}
        self._copies: dict[Address, LocalCopy] = {}
        self._queries: dict[str, list[str]] = {}

    def store(self, address: Address) -> RemoteStore:
        """Return the store of an address."""
        if address.root not in self._stores:
            self._stores[address.root] = open_store(address)
        return self._stores[address.root]

    def find(self, address: Address) -> RemoteObject | None:
        """Look for an object; those whose addresses differ only in the query are numbered."""
        numbered = self._numbered(address)
        return self.requests.repeat(numbered, lambda: self.store(numbered).find(numbered), first=True)

    def list(self, address: Address) -> list[RemoteObject]:
        """List the objects below a prefix."""
        return self.requests.repeat(address, lambda: list(self.store(address).list(address)), first=True)

    def copy(self, one: RemoteObject) -> LocalCopy:
        """Return the local copy of an object."""
        if one.address not in self._copies:
            self._copies[one.address] = LocalCopy(self.folder, one, self)
        return self._copies[one.address]

    def fetch(self, wanted: Sequence[tuple[LocalCopy, Ranges | None]], what: str = "") -> None:
        """Fetch ranges of copies, or all of them for None, unless they are here; say how much it is."""
        pieces = [piece for copy, ranges in wanted for piece in _pieces(copy, ranges)]
        total = sum(stop - start for _, start, stop in pieces)
        if pieces:
            self._check_room(total)
            self._tells = bool(what) and self.progress is not None
            if self._tells:
                self._tell(wanted, total, what)
            work = [partial(self._fetch_piece, *piece) for piece in pieces]
            self.requests.make(work, _THREADS, "piece", "fetched")
        for copy, _ in wanted:
            copy.settle()

    def fetch_footers(self, copies: Sequence[LocalCopy]) -> None:
        """Fetch the ends of Parquet files, with their footers."""
        self.fetch([(one, None if not one.one.ranges else [footer_range(one)]) for one in copies])
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

    def _numbered(self, address: Address) -> Address:
        """Number an address by the order in which its queries come, which a run that resumes repeats."""
        queries = self._queries.setdefault(str(replace(address, number=1)), [])
        if address.query not in queries:
            queries.append(address.query)
        return replace(address, number=queries.index(address.query) + 1)

    def forget_stores(self) -> None:
        """Open the stores anew, so that a repository is seen as it is now."""
        self._stores.clear()

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

    def _fetch_piece(self, copy: LocalCopy, start: int, stop: int) -> None:
        one, store = copy.one, self.store(copy.one.address)

        def ranged() -> None:
            copy.write(start, store.read(one, start, stop))
            self._advance(stop - start)

        def whole() -> None:
            for size in copy.write_all(store.stream(one)):
                self._advance(size)

        self.requests.repeat(one.address, ranged if one.ranges else whole)

    def _advance(self, size: int) -> None:
        if self._tells and self.progress is not None:
            self.progress.advance(size)


def footer_range(copy: LocalCopy) -> tuple[int, int]:
    """Return the range of a Parquet file that is fetched first."""
    return max(0, copy.size - _TAIL), copy.size


def _pieces(copy: LocalCopy, ranges: Ranges | None) -> Iterable[tuple[LocalCopy, int, int]]:
    """Cut what is missing into pieces that are fetched at a time."""
    if not copy.one.ranges:
        return [] if copy.fetched else [(copy, 0, copy.size)]
    missing = copy.missing([(0, copy.size)] if ranges is None else joined(ranges, GAP))
    size = batch_sizes.FETCH_PIECE
    return [(copy, at, min(at + size, stop)) for start, stop in missing for at in range(start, stop, size)]
