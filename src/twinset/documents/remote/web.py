"""Files on the web: ranges in parallel where the server names a version of the file, otherwise one stream."""

from __future__ import annotations

import http.client
import re
import socket
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from twinset.documents.remote.stores import RemoteObject, RemoteStore, TransientError, changed
from twinset.errors import FetchError, SourceError
from twinset.system import batch_sizes
from twinset.system.addresses import Address

_PIECE = 2**20
_REPEATED = (408, 425, 429, 500, 502, 503, 504)
_NO_RANGE, _PARTIAL = 416, 206


class WebStore(RemoteStore):
    """Reads files by HTTP, without any package."""

    def find(self, address: Address) -> RemoteObject | None:
        """Ask for the first byte: the answer says whether ranges can be read, and of which version."""
        try:
            answer = _open(address, {"Range": "bytes=0-0"})
        except _RefusedRange:
            answer = _open(address)  # an empty file has no first byte
        with answer:
            version = _version(answer.headers)
            if answer.status == _PARTIAL and version:
                return RemoteObject(address, _content_range(answer, address)[2], version)
            length = answer.headers.get("Content-Length", "")
            whole = answer.status != _PARTIAL and length.isdigit()
            return RemoteObject(address, int(length) if whole else None, version, ranges=False)

    def list(self, address: Address) -> Iterator[RemoteObject]:
        """Folders on the web cannot be listed."""
        raise SourceError("a folder on the web cannot be listed; name its files", where=str(address))

    def read(self, one: RemoteObject, start: int, stop: int) -> Any:
        """Read a range, and check that it is one of the same version."""
        try:
            answer = _open(one.address, {"Range": f"bytes={start}-{stop - 1}"})
        except _RefusedRange:
            raise changed(one.address) from None
        with answer, _translated(one.address):
            if _version(answer.headers) != one.version:
                raise changed(one.address)
            if answer.status != _PARTIAL:
                raise TransientError("the server sends the whole file instead of a range")
            if _content_range(answer, one.address) != (start, stop, one.size):
                raise changed(one.address)
            data = answer.read(stop - start)
        if len(data) != stop - start:
            raise TransientError(f"the connection broke after {len(data):,} of {stop - start:,} bytes")
        return data

    def stream(self, one: RemoteObject) -> Iterator[bytes]:
        """Yield the whole file; one that is not complete is refused."""
        with _open(one.address) as answer, _translated(one.address):
            expected, size = answer.headers.get("Content-Length", ""), 0
            while piece := answer.read(_PIECE):
                size += len(piece)
                yield piece
        if expected.isdigit() and int(expected) != size:
            raise TransientError(f"the connection broke after {size:,} of {int(expected):,} bytes")


class _RefusedRange(Exception):
    """The server has no such range."""


def _open(address: Address, headers: dict[str, str] | None = None) -> Any:
    request = Request(address.url, headers={"User-Agent": "twinset", **(headers or {})})
    with _translated(address):
        return urlopen(request, timeout=batch_sizes.FETCH_SILENCE)


class _translated:
    """Turn errors of a connection into ours, which name the address without its query."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, HTTPError):
            error.close()
            if error.code == _NO_RANGE:
                raise _RefusedRange from None
            said = f"the server answers {error.code} {error.reason}"
            if error.code in _REPEATED:
                raise TransientError(said) from None
            raise FetchError(said, where=str(self.address)) from None
        if isinstance(error, (URLError, OSError, http.client.HTTPException, ValueError)):
            reason: Any = getattr(error, "reason", None) or error
            if isinstance(reason, TimeoutError):
                raise TransientError(f"the server was silent for {batch_sizes.FETCH_SILENCE:g} seconds") from None
            if isinstance(reason, http.client.IncompleteRead):
                raise TransientError(f"the connection broke after {len(reason.partial):,} bytes") from None
            said = f"cannot be fetched: {getattr(reason, 'strerror', None) or type(reason).__name__}"
            lost = isinstance(reason, (ConnectionRefusedError, socket.gaierror))
            if isinstance(reason, (OSError, http.client.HTTPException)):
                raise TransientError(said, unreachable=lost) from None
            raise FetchError(said, where=str(self.address)) from None


def _version(headers: Any) -> str:
    """Return what identifies the content: a strong ETag, else the time of its last change; empty for neither."""
    etag = headers.get("ETag", "")
    if etag.startswith("W/"):
        return ""  # equal for contents that differ by a byte
    return str(etag or headers.get("Last-Modified", ""))


def _content_range(answer: Any, address: Address) -> tuple[int, int, int]:
    """Return start, end and size of a part, as the server states them."""
    stated = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", answer.headers.get("Content-Range", "").strip())
    if stated is None:
        raise FetchError("the server sends a part of the file without saying which", where=str(address))
    start, last, size = map(int, stated.groups())
    return start, last + 1, size
