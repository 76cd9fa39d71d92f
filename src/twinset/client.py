"""A client of ``twinset serve``.

It uses Python's own HTTP client: a request at a time through a connection of its own for each thread, which needs no
further package. Requests that change an index have a key, so that they are safe to repeat when a connection breaks.
"""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Self
from urllib.parse import quote, urlsplit
from weakref import WeakSet

import orjson

from twinset.errors import (
    BusyError,
    DuplicateIdError,
    OptionError,
    SourceError,
    StateError,
    TwinsetError,
    UnknownIdError,
)

_KINDS: dict[str, type[TwinsetError]] = {"unknown_id": UnknownIdError, "duplicate_id": DuplicateIdError}
_STATUSES: dict[int, type[TwinsetError]] = {
    401: OptionError, 403: OptionError, 404: OptionError, 408: BusyError, 413: SourceError, 422: OptionError,
    429: BusyError, 503: BusyError,
}  # fmt: skip
_AGAIN = (429, 503)
BODY_BYTES = 16_000_000
"""Bytes of documents that are sent with one request, at least."""


class Client:
    """A connection to a server of indexes.

    Parameters
    ----------
    url
        The URL of the server, as it printed it. A token in it (``?token=…``) is used.
    token
        The token.
    index
        The name of the index that `add`, `query`, `document` and `remove` use unless they are given another one.
    timeout
        Seconds to wait for an answer.
    retries
        How often a request is repeated if the server is busy or the connection breaks. Changes are safe to repeat:
        each has a key, and the server carries it out once.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8080/", token="0123456789abcdef", index="news")
    >>> client.url, client.index
    ('http://127.0.0.1:8080', 'news')
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        index: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise OptionError(f"url is {url!r}; allowed: a URL such as http://127.0.0.1:8080/")
        in_url = next((one[6:] for one in parts.query.split("&") if one.startswith("token=")), None)
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.index = index
        self._parts, self._path = parts, parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token or in_url}"} if token or in_url else {}
        self._timeout, self._retries = timeout, retries
        self._own = threading.local()
        self._all: WeakSet[HTTPConnection] = WeakSet()  # that of a thread that has ended is closed with it
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for one in list(self._all):
                one.close()
            self._all.clear()
        self._own = threading.local()

    def query(self, text: Any = None, *, index: str | None = None, **asked: Any) -> dict[str, Any]:
        """Find documents that are similar to a text, or with ``id=…`` to a document of the index.

        Parameters
        ----------
        text
            The text; for an index of records, sets, weighted sets, codes or vectors give ``record=``, ``items=``,
            ``weights=``, ``code=`` or ``vector=`` instead.
        index
            The name of the index.
        **asked
            `id`, `k`, `threshold`, `contained`, `distance`, `force`, `passages` and `least`, as for `twinset.Index`.

        Returns
        -------
        dict
            `answers`, best first, and the `version` of the index that they come from.
        """
        body = asked if text is None else {"text": text, **asked}
        return self._json("POST", self._at(index, "query"), body)

    def add(
        self, documents: Any, texts: Iterable[str | None] | None = None, *, index: str | None = None,
        replace: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Add documents, which are durable when this returns.

        Parameters
        ----------
        documents
            Mappings with an `id` and a `text`, or a mapping id → text, or ids with `texts` of the same length.
        texts
            The texts of the ids.
        index
            The name of the index.
        replace
            Replace documents that have another text under the same id.

        Returns
        -------
        dict
            How many documents were `added`, `replaced` and `unchanged`, and the `version` of the index after it.
        """
        path = self._at(index, "documents") + ("?replace=true" if replace else "")
        total: dict[str, Any] = {"added": 0, "replaced": 0, "unchanged": 0}
        for body in _bodies(_rows(documents, texts)):
            headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": secrets.token_hex(16)}
            done = self._request("POST", path, body, headers)
            for name in ("added", "replaced", "unchanged"):
                total[name] += done[name]
            total["version"] = done["version"]
        return total

    def document(self, id: str, *, index: str | None = None) -> dict[str, Any]:
        """Return a document: its `id`, its `text` if the index stores texts, and the `version` of the index."""
        return self._json("GET", self._at(index, "documents", id))

    def remove(self, id: str, *, index: str | None = None) -> dict[str, Any]:
        """Remove a document; an unknown id raises `UnknownIdError`."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        return self._request("DELETE", self._at(index, "documents", id), None, headers)

    def compare(self, left: str, right: str, **options: Any) -> dict[str, Any]:
        """Compare two texts exactly; the options are `shingle`, `lowercase` and `bag`."""
        return self._json("POST", "/compare", {"left": left, "right": right, **options})

    def collapse(self, results: Iterable[Any], **options: Any) -> list[dict[str, Any]]:
        """Fold near-duplicates of a ranking; the options are `text`, `threshold`, `shingle` and `lowercase`."""
        shown: list[dict[str, Any]] = self._json("POST", "/collapse", {"results": list(results), **options})["results"]
        return shown

    def indexes(self) -> list[dict[str, Any]]:
        """Return the indexes of the server: names, versions, and numbers of documents."""
        listed: list[dict[str, Any]] = self._json("GET", "/indexes")["indexes"]
        return listed

    def _at(self, index: str | None, *words: str) -> str:
        name = index or self.index
        if name is None:
            raise OptionError("no index is named; give index= to the client or to this call")
        return "/".join(("/indexes", quote(name, safe=""), *(quote(word, safe="") for word in words)))

    def _json(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        try:
            sent = None if body is None else orjson.dumps(body)
        except TypeError as error:
            raise SourceError(f"the request cannot be written as JSON: {error}") from error
        return self._request(method, path, sent, {"Content-Type": "application/json"})

    def _request(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
        """Send a request, again if the server is busy or the connection breaks, and return the answer."""
        for attempt in range(self._retries + 1):
            try:
                status, after, content = self._send(method, path, body, headers)
            except (HTTPException, OSError) as error:
                self._drop()
                if attempt == self._retries or isinstance(error, TimeoutError):
                    raise StateError(f"{self.url} does not answer: {error or type(error).__name__}") from error
                time.sleep(0.05 * 2**attempt)
                continue
            if status in _AGAIN and attempt < self._retries:
                time.sleep(min(after, 5.0) if after else 0.1 * 2**attempt)
                continue
            return self._read(status, content)
        raise StateError(f"{self.url} does not answer")

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, float, bytes]:
        connection = self._connection()
        try:
            connection.request(method, self._path + path, body, {**self._headers, **headers})
        except (BrokenPipeError, ConnectionResetError):
            if not body:
                raise
            # A server that refuses a body may answer before it has read all of it.
        answer = connection.getresponse()
        content = answer.read()
        after = answer.headers.get("Retry-After", "")
        return answer.status, float(after) if after.isdigit() else 0.0, content

    def _read(self, status: int, content: bytes) -> dict[str, Any]:
        try:
            found = orjson.loads(content)
        except orjson.JSONDecodeError:
            found = None
        if not isinstance(found, dict):
            raise StateError(f"{self.url} answered with status {status}, and not as a server of indexes does")
        if status >= 400:
            facts = found.get("error", {})
            kind = _KINDS.get(facts.get("code"), _STATUSES.get(status, StateError))
            raise kind(str(facts.get("message", f"status {status}")))
        return found

    def _connection(self) -> HTTPConnection:
        connection: HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            make = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
            connection = make(str(self._parts.hostname), self._parts.port, timeout=self._timeout)
            connection.connect()
            # Head and body are sent apart: without this the body would wait for the server's acknowledgement.
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._own.connection = connection
            with self._lock:
                self._all.add(connection)
        return connection

    def _drop(self) -> None:
        """Close the connection of this thread; the next request makes another one."""
        connection: HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            with self._lock:
                self._all.discard(connection)
        self._own.connection = None


def _rows(documents: Any, texts: Iterable[str | None] | None) -> Iterator[Mapping[str, Any]]:
    """Yield documents as mappings."""
    if texts is not None:
        yield from ({"id": id, "text": text} for id, text in zip(documents, texts, strict=True))
    elif isinstance(documents, Mapping):
        yield from ({"id": id, "text": text} for id, text in documents.items())
    else:
        yield from documents


def _bodies(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield documents as lines of JSON, in bodies of a bounded size."""
    lines: list[bytes] = []
    size = 0
    for row in rows:
        try:
            line = orjson.dumps(row)
        except TypeError as error:
            raise SourceError(f"a document cannot be written as JSON: {error}") from error
        lines.append(line)
        size += len(line) + 1
        if size >= BODY_BYTES:
            yield b"\n".join(lines)
            lines, size = [], 0
    if lines:
        yield b"\n".join(lines)
