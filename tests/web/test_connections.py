"""Many connections, and clients that do not read or do not write: the server answers others meanwhile, and after."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

import twinset
from tests.web.conftest import Serve
from tests.web.server import READ, ROSE, WRITE, Server

CONNECTIONS = 1_000
ASK = b"GET /indexes HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + WRITE.encode() + b"\r\n\r\n"


@pytest.fixture
def server(serve: Serve, file: str) -> Server:
    with twinset.Index.open(file) as index:
        index.add(["a"], [ROSE])
    return serve(file)


@contextmanager
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + 200
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def is_quick(server: Server) -> bool:
    began = time.monotonic()
    assert server.post("/indexes/news/query", {"text": ROSE}).json()["answers"][0]["id"] == "a"
    return time.monotonic() - began < 5


def files_of(server: Server) -> int:
    return len(os.listdir(f"/proc/{server.child.pid}/fd"))


def test_a_thousand_connections(server: Server) -> None:
    """A third of them idle, a third in the midst of a head, a third in the midst of a body."""
    before = files_of(server)
    begun = ASK.replace(b"GET", b"POST").replace(WRITE.encode(), READ.encode())[:-2] + b"Content-Length: 10\r\n\r\n{"
    half = [b"", b"GET / HTTP/1.1\r\nHost: x", begun.replace(b"/indexes", b"/indexes/news/query")]
    with many_files(), ExitStack() as stack:
        lines = []
        for number in range(CONNECTIONS):
            line = stack.enter_context(socket.create_connection((server.host, server.port), timeout=60))
            line.sendall(half[number % 3])
            lines.append(line)
        assert is_quick(server)
        for line in lines[:30:3]:  # those that were idle
            line.sendall(ASK)
        for line in lines[:30:3]:
            assert b" 200 " in line.recv(4096)
        assert is_quick(server)
    end = time.monotonic() + 60
    while files_of(server) > before + 5:
        assert time.monotonic() < end, "connections leak"
        time.sleep(0.05)
    assert is_quick(server)
    assert server.stop() == 0


def test_a_client_that_does_not_read(server: Server) -> None:
    """Pipelined requests whose answers nobody reads: the server stops reading them, and answers others."""
    with socket.create_connection((server.host, server.port)) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(1)
        many, sent = ASK.replace(b"/indexes", b"/openapi.json") * 1_000, 0
        with suppress(OSError):  # a timeout, too
            while sent < 1_000 * len(many):
                sent += line.send(many)
        assert sent < 1_000 * len(many), "it must not take everything"
        assert is_quick(server)
    assert server.stop() == 0


def test_a_head_that_never_ends_is_cut(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_connection((server.host, server.port), timeout=60) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        began = time.monotonic()
        try:
            said = line.recv(100)
        except ConnectionResetError:
            said = b""
        assert said == b""
        assert 5 < time.monotonic() - began < 25, "a head, not an idle connection"
    assert is_quick(server)


def test_an_answer_is_not_held_back(server: Server) -> None:
    """Head and body are two parts; with Nagle's algorithm the second would come 40 ms later."""
    connection, times = server.connect(), []
    for _ in range(30):
        began = time.monotonic()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        times.append(time.monotonic() - began)
    connection.close()
    assert min(times[10:]) < 0.035


def test_nonsense_instead_of_http(server: Server) -> None:
    for some in (b"\x16\x03\x01\x02\x00" * 20, b"GET\r\n\r\n", b"\0" * 100, b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n\r\n"):
        with socket.create_connection((server.host, server.port), timeout=60) as line:
            line.sendall(some)
            line.shutdown(socket.SHUT_WR)
            try:
                said = line.recv(1000)
            except ConnectionResetError:
                said = b""
            assert b" 500 " not in said
            assert b" 200 " not in said
    assert is_quick(server)
    assert "internal error" not in server.log
