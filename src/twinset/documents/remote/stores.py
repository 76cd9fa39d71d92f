"""The contract of a store of remote objects, and the choice of one for an address."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinset.errors import FetchError, OptionError, TwinsetError
from twinset.system.addresses import Address


class TransientError(TwinsetError):
    """A request that may succeed when it is repeated; `unreachable` if no server answered at all."""

    def __init__(self, reason: str, *, unreachable: bool = False) -> None:
        super().__init__(reason)
        self.unreachable = unreachable


@dataclass(frozen=True, slots=True)
class RemoteObject:
    """An object: its size (None if the server does not say), its version, and whether ranges of it can be read.

    `version` changes whenever the content does; it is empty if the server names none.
    """

    address: Address
    size: int | None
    version: str
    ranges: bool = True


class RemoteStore(ABC):
    """Reads the objects of one bucket, repository or host; methods may be called from any thread.

    Every error is a `TransientError`, or a `TwinsetError` that names the address and can be shown.
    """

    @abstractmethod
    def find(self, address: Address) -> RemoteObject | None:
        """Look for an object; None if there is none."""

    @abstractmethod
    def list(self, address: Address) -> Iterator[RemoteObject]:
        """Yield every object whose key begins with that of an address, in any order."""

    @abstractmethod
    def read(self, one: RemoteObject, start: int, stop: int) -> Any:
        """Read a range of bytes as a buffer; refuse an object that was changed."""

    def stream(self, one: RemoteObject) -> Iterator[bytes]:
        """Read a whole object of which ranges cannot be read."""
        raise FetchError("its server gives it only as a whole", where=str(one.address))


class WritableStore(RemoteStore):
    """A store that can also be written to, one object at a time."""

    @abstractmethod
    def put(self, path: Path, address: Address) -> None:
        """Upload a file; the object appears when it is complete."""

    @abstractmethod
    def copy(self, source: Address, target: Address) -> None:
        """Copy an object within the store."""

    @abstractmethod
    def delete(self, addresses: Sequence[Address]) -> None:
        """Delete objects."""


class CommittedStore(RemoteStore):
    """A store that can be written to by commits, which appear as a whole."""

    @abstractmethod
    def commit(self, files: Sequence[tuple[Path, Address]], deleted: Sequence[Address], message: str) -> None:
        """Upload files and delete others in one commit."""


def open_store(address: Address) -> RemoteStore:
    """Open the store of an address; nothing is imported for other stores."""
    if address.store == "http":
        from twinset.documents.remote.web import WebStore

        return WebStore()
    if address.store == "hf":
        from twinset.documents.remote.hub import HubStore

        return HubStore(address)
    from twinset.documents.remote.buckets import BucketStore

    return BucketStore(address)


def changed(address: Address) -> FetchError:
    """Make the error for an object that was replaced while it was read."""
    reason = "it was changed while it was being fetched; run again to fetch it as it is now"
    return FetchError(reason, where=str(address))


def not_writable(address: Address) -> OptionError:
    """Make the error for an output at an address that can only be read."""
    return OptionError(f"{address}: nothing can be written there; an output is a path, or an address of another store")


def without_addresses(reason: object) -> str:
    """Return the reason of an error in one line, with the hosts only of the addresses in it.

    Examples
    --------
    >>> without_addresses('cannot connect to "https://ada:secret@example.org/a?sig=1f"')
    'cannot connect to "example.org"'
    """
    line = " ".join(str(reason).split())
    return re.sub(r"""https?://(?:[^\s"']*@)?([^\s/?"']+)[^\s"']*""", r"\1", line)[:300]
