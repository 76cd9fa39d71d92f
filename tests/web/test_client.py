"""The client in Python, against the real server in both back ends."""

from __future__ import annotations

import socket
import threading
from contextlib import closing
from typing import Any

import pytest

import twinset
from tests.web.conftest import Serve
from tests.web.server import READ, ROSE, SEA, WRITE, Server
from twinset import client as connecting


@pytest.fixture
def server(serve: Serve, news: str) -> Server:
    return serve(news)


def connected(server: Server, token: str = WRITE, **more: Any) -> twinset.Client:
    return twinset.Client(server.url, token, **{"index": "news", **more})


def test_all_calls(server: Server) -> None:
    with connected(server) as client:
        assert client.add({"a": ROSE, "b": SEA}) == {"added": 2, "replaced": 0, "unchanged": 0, "version": 1}
        assert client.add(["a", "c"], [ROSE, ROSE + " again"])["unchanged"] == 1
        assert client.add([{"id": "d", "text": "x"}])["added"] == 1
        assert client.add([{"id": "d", "text": "y"}], replace=True)["replaced"] == 1
        assert client.add([])["added"] == 0
        found = client.query(ROSE)
        assert [one["id"] for one in found["answers"]] == ["a", "c"]
        assert found["version"] == 4
        assert [one["id"] for one in client.query(id="a", k=1)["answers"]] == ["c"]
        assert client.document("b") == {"index": "news", "version": 4, "id": "b", "text": SEA}
        assert client.remove("b")["removed"] == 1
        assert client.compare(ROSE, ROSE)["similarity"] == 1
        assert [one["count"] for one in client.collapse([ROSE, SEA, ROSE])] == [2, 1]
        assert client.indexes()[0]["documents"] == 3
        assert client.add({"ü/../?": "z"})["added"] == 1
        assert client.document("ü/../?")["text"] == "z"


def test_many_documents(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "BODY_BYTES", 10_000)
    with connected(server) as client:
        done = client.add({"id": f"m{number}", "text": f"{ROSE} {number} {number * 3}"} for number in range(1_000))
        assert (done["added"], client.indexes()[0]["documents"]) == (1_000, 1_000)


def test_errors_are_those_of_the_library(server: Server) -> None:
    with connected(server) as client:
        client.add({"a": ROSE})
        with pytest.raises(twinset.UnknownIdError, match="'x'"):
            client.document("x")
        with pytest.raises(twinset.UnknownIdError):
            client.remove("x")
        with pytest.raises(twinset.DuplicateIdError, match="another text"):
            client.add({"a": SEA})
        with pytest.raises(twinset.OptionError, match="threshold"):
            client.query(ROSE, threshold=7)
        with pytest.raises(twinset.OptionError, match="no index 'none'"):
            client.query(ROSE, index="none")
        with pytest.raises(twinset.SourceError, match="JSON"):
            client.query("\ud800")
    with connected(server, READ) as client:
        assert client.query(ROSE)["answers"]
        with pytest.raises(twinset.OptionError, match="may read"):
            client.add({"b": SEA})
    with connected(server, "wrong-0123456789abcdef") as client, pytest.raises(twinset.OptionError, match="token"):
        client.indexes()
    with pytest.raises(twinset.OptionError, match="index="):
        twinset.Client(server.url, WRITE).query(ROSE)
    with pytest.raises(twinset.OptionError, match="url"):
        twinset.Client("127.0.0.1:80")


def test_no_server() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        client = twinset.Client(f"http://127.0.0.1:{nobody.getsockname()[1]}", retries=1)
        with pytest.raises(twinset.StateError, match="does not answer"):
            client.indexes()


def test_the_token_of_the_printed_url(server: Server) -> None:
    with twinset.Client(f"{server.url}?token={READ}", index="news") as client:
        assert client.query(ROSE)["answers"] == []


def test_threads_share_a_client(server: Server) -> None:
    with connected(server) as client:
        client.add({f"t{number}": f"{ROSE} {number} {number}" for number in range(20)})
        wrong: list[int] = []

        def ask(number: int) -> None:
            answers = [client.query(f"{ROSE} {number} {number}", k=1)["answers"] for _ in range(5)]
            wrong.extend(number for [first] in answers if first["id"] != f"t{number}")

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert not wrong


class Proxy(threading.Thread):
    """Passes requests on to a server, and drops each first connection after the server has received its request."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self.server, self.dropped = server, 0
        self.door = socket.create_server(("127.0.0.1", 0))

    def run(self) -> None:
        while True:
            try:
                line, _ = self.door.accept()
            except OSError:
                return
            with closing(line), socket.create_connection((self.server.host, self.server.port)) as on:
                request = _message(line)
                if not request:
                    continue
                own, theirs = (f"127.0.0.1:{port}".encode() for port in (self.door.getsockname()[1], self.server.port))
                on.sendall(request.replace(own, theirs))
                answer = _message(on)  # the server has done it
                self.dropped += 1
                if self.dropped % 2 == 0:
                    line.sendall(answer)


def _message(line: socket.socket) -> bytes:
    """A whole request or answer."""
    got = b""
    while b"\r\n\r\n" not in got:
        if not (piece := line.recv(65536)):
            return b""
        got += piece
    head, _, body = got.partition(b"\r\n\r\n")
    length = next((int(one[15:]) for one in head.lower().split(b"\r\n") if one.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += line.recv(65536)
    return head + b"\r\n\r\n" + body


def test_a_broken_connection_does_not_repeat_a_change(server: Server) -> None:
    proxy = Proxy(server)
    proxy.start()
    with twinset.Client(f"http://127.0.0.1:{proxy.door.getsockname()[1]}", WRITE, index="news") as client:
        assert client.add({"a": ROSE})["added"] == 1, "the answer to the first request came too late"
        assert client.remove("a")["removed"] == 1
    assert proxy.dropped == 4
    with connected(server) as client:
        assert client.indexes()[0]["version"] == 2
    proxy.door.close()
