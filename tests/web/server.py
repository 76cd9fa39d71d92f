"""A real server in a process of its own, and requests to it."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from tests.reliability.nursery import Child, Nursery

WRITE, READ = "write-0123456789abcdef", "read-0123456789abcdef"
ROSE = "a rose is a rose is a rose in any garden of the town"
SEA = "and now for something completely different from the sea"
LINES = "application/x-ndjson"


@dataclass
class Reply:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a refusal."""
        return str(self.json()["error"]["code"])


class Server:
    """A server that serves indexes."""

    def __init__(self, nursery: Nursery, indexes: list[str], options: dict[str, Any]) -> None:
        self.child: Child = nursery.start("serve", indexes, {"port": 0, "browser": False, **options})
        said = self.child.until(1, 60)
        assert said, self.log
        self.url = str(said[0])
        parts = urlsplit(self.url)
        self.host, self.port = str(parts.hostname), int(parts.port or 0)

    @property
    def log(self) -> str:
        return self.child.complaint()

    def connect(self, timeout: float = 60) -> HTTPConnection:
        return HTTPConnection(self.host, self.port, timeout=timeout)

    def ask(self, method: str, path: str, body: Any = None, token: str | None = WRITE, **headers: str | None) -> Reply:
        """Send one request; a body that is not bytes goes as JSON. A header `x_y` is X-Y, one of None is left out."""
        connection = self.connect()
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None and not isinstance(body, bytes):
            body, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        sent |= {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **more: Any) -> Reply:
        return self.ask("GET", path, **more)

    def post(self, path: str, body: Any, **more: Any) -> Reply:
        return self.ask("POST", path, body, **more)

    def stop(self) -> int:
        """Ask it to end, and return its exit code."""
        return self.child.kill(signal.SIGTERM)


def lines(*documents: dict[str, Any]) -> bytes:
    """Documents as a stream."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in documents)
