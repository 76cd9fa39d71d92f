"""Who is let in, from where, with how much; and what no answer holds."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.web.conftest import Serve
from tests.web.server import LINES, READ, ROSE, WRITE, Server, lines

ROUTES = [
    ("GET", "/", "read"),
    ("POST", "/try", "read"),
    ("GET", "/static/web.css", "read"),
    ("GET", "/indexes", "read"),
    ("POST", "/indexes/news/documents", "write"),
    ("GET", "/indexes/news/documents/a", "read"),
    ("DELETE", "/indexes/news/documents/a", "write"),
    ("POST", "/indexes/news/query", "read"),
    ("POST", "/compare", "read"),
    ("POST", "/collapse", "read"),
    ("GET", "/metrics", "read"),
    ("GET", "/openapi.json", "read"),
    ("GET", "/healthz", "open"),
    ("GET", "/readyz", "open"),
    ("GET", "/nonsense", "read"),
    ("PATCH", "/indexes/news/query", "write"),
    ("DELETE", "/nonsense", "write"),
]


@pytest.fixture
def server(serve: Serve, file: str) -> Server:
    return serve(file)


def test_every_route_needs_its_token(server: Server) -> None:
    described = server.get("/openapi.json").json()["paths"]
    known = {(method.upper(), path) for path, methods in described.items() for method in methods}
    listed = {(method, path.replace("/news/", "/{name}/").replace("/a", "/{id}")) for method, path, _ in ROUTES}
    assert known <= listed, "a route is missing in the list above"
    for method, path, need in ROUTES:
        for token, right in ((None, None), ("wrong-0123456789abcdef", None), (READ, "read"), (WRITE, "write")):
            reply = server.ask(method, path, {} if method == "POST" else None, token=token)
            let_in = need == "open" or right == "write" or right == need
            if let_in:
                assert reply.status not in (401, 403), (method, path, token)
            else:
                assert reply.status == (401 if right is None else 403), (method, path, token)
                assert reply.code == ("no_token" if right is None else "read_only_token")
            assert reply.status < 500


def test_a_token_of_the_url_becomes_a_cookie(server: Server) -> None:
    reply = server.get(f"/?a=1&token={WRITE}&b=2", token=None)
    assert (reply.status, reply.headers["location"]) == (303, "/?a=1&b=2")
    cookie, *words = (one.strip() for one in reply.headers["set-cookie"].split(";"))
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(words)
    assert WRITE not in cookie
    assert server.get("/", token=None, Cookie=cookie).status == 200
    assert server.get("/", token=None, Cookie=cookie[:-1] + "x").status == 401
    assert server.get("/?token=wrong-0123456789abcdef", token=None).status == 401
    for path in ("//evil.example/", "/\\evil.example/", "/%5Cevil.example"):
        moved = server.get(f"{path}?token={WRITE}", token=None).headers["location"]
        assert re.fullmatch(r"/[^/\\].*", moved), moved


def test_another_name_is_refused(server: Server) -> None:
    """A name of another site that points at this machine (DNS rebinding)."""
    own = f"{server.host}:{server.port}"
    for host in (own, f"localhost:{server.port}", f"[::1]:{server.port}", "127.0.0.1"):
        assert server.get("/indexes", Host=host).status == 200, host
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "", "[", "0.0.0.0"):
        reply = server.get("/indexes", Host=host)
        assert (reply.status, reply.code) == (403, "unknown_host"), host
    with socket.create_connection((server.host, server.port)) as line:
        head = f"GET /indexes HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\nAuthorization: Bearer {READ}\r\n\r\n"
        line.sendall(head.encode())
        assert b" 400 " in line.recv(1000)


def test_pages_of_other_sites_cannot_send_requests(server: Server) -> None:
    cookie = server.get(f"/?token={WRITE}", token=None).headers["set-cookie"].split(";")[0]
    own, body = f"http://{server.host}:{server.port}", {"text": ROSE}

    def query(**headers: str | None) -> int:
        return server.post("/indexes/news/query", body, token=None, Cookie=cookie, **headers).status

    assert query(Origin=own) == 200
    assert query(Sec_Fetch_Site="same-origin") == 200
    assert query(Origin="null", Sec_Fetch_Site="same-origin") == 200
    assert query() == 403, "a cookie needs an origin"
    for origin in (
        "http://evil.example",
        "null",
        f"http://127.0.0.1:{server.port + 1}",
        f"http://localhost{server.port}",
    ):
        assert query(Origin=origin) == 403, origin
    for site in ("cross-site", "same-site"):
        assert query(Sec_Fetch_Site=site) == 403
        assert query(Origin=own, Sec_Fetch_Site=site) == 403
    assert server.post("/indexes/news/query", body, Origin="http://evil.example").status == 403, "even with a token"
    assert server.get("/indexes", token=None, Cookie=cookie, Origin="http://evil.example").status == 200, "a read"


def test_every_answer_has_safe_headers(server: Server) -> None:
    nonces = set()
    asked = (("/", WRITE), ("/", None), ("/nonsense", WRITE), ("/static/web.css", WRITE), ("/healthz", None))
    for path, token in asked:
        headers = server.get(path, token=token).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        policy = headers["content-security-policy"]
        assert "unsafe" not in policy
        assert {"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy.split("; "))
        nonces |= set(re.findall(r"'nonce-([^']+)'", policy))
    assert len(nonces) == 5
    page = server.get("/")
    [nonce] = set(re.findall(r"'nonce-([^']+)'", page.headers["content-security-policy"]))
    scripts = re.findall(rb"<(?:script|link rel=\"stylesheet\")[^>]*>", page.body)
    assert len(scripts) == 3
    assert all(f'nonce="{nonce}"'.encode() in one for one in scripts)
    assert not re.search(rb"\son\w+=|style=", page.body)


def test_no_path_of_a_request_reaches_the_files(server: Server) -> None:
    for path in (
        *("/static/../app.py", "/static/..%2f..%2fapp.py", "/static/%2e%2e/%2e%2e/framework.py", "/static/"),
        *("/static//etc/passwd", "/static/web.css%00.js", "/indexes/..%2f..%2fetc/documents/x"),
        "/..%2f..%2fetc/passwd",
    ):
        reply = server.get(path)
        assert reply.status == 404, path
        assert b"import" not in reply.body


def test_limits_of_bodies(serve: Serve, file: str) -> None:
    server = serve(file, body=10_000, documents=5, length=2_000)
    path = "/indexes/news/documents"

    def documents(count: int, text: str = "x") -> dict[str, Any]:
        return {"documents": [{"id": str(number), "text": text} for number in range(count)]}

    assert server.post(path, documents(5)).status == 200
    assert server.post(path, documents(6)).code == "too_many_documents"
    assert server.post(path, documents(1, "y" * 2_001)).code == "text_too_long"
    assert server.post(path, documents(1, "é" * 1_001)).code == "text_too_long"
    for reply in (
        server.post(path, documents(5, "z" * 5_000)),
        server.post("/indexes/news/query", {"text": "q" * 20_000}),
        server.post("/compare", {"left": "q" * 20_000, "right": ""}),
        server.post("/try", b"text=" + b"q" * 20_000),
        server.ask("POST", path, b"x" * 20_000, Content_Type="application/json"),
    ):
        assert (reply.status, reply.code) == (413, "body_too_large")
    reply = server.ask("POST", path, lines({"id": "long", "text": "w" * 80_000}), Content_Type=LINES)
    assert (reply.status, reply.code) == (413, "line_too_long")
    reply = server.ask("POST", "/indexes/news/query", b"x" * 20_000, Content_Type=LINES)
    assert (reply.status, reply.code) == (413, "body_too_large"), "only documents come as a stream"
    many = lines(*({"id": f"s{number}", "text": "short"} for number in range(1_000)))
    assert len(many) > 10_000
    assert server.ask("POST", path, many, Content_Type=LINES).json()["added"] == 1_000


def test_a_chunked_body_is_counted(serve: Serve, file: str) -> None:
    server = serve(file, body=10_000)
    connection = server.connect()
    headers = {"Authorization": f"Bearer {WRITE}", "Content-Type": "application/json"}
    connection.request("POST", "/indexes/news/query", iter([b"x" * 1_000] * 50), headers, encode_chunked=True)
    answer = connection.getresponse()
    assert answer.status == 413
    assert answer.headers["Connection"] == "close"
    connection.close()


def test_the_first_of_repeated_headers_counts(serve: Serve, file: str) -> None:
    """For the limits as for the framework: a body of JSON is not let in as a stream."""
    server = serve(file, body=10_000)
    connection = server.connect()
    connection.putrequest("POST", "/indexes/news/documents")
    for name, value in (
        ("Authorization", f"Bearer {WRITE}"), ("Content-Type", "application/json"), ("Content-Type", LINES),
        ("Transfer-Encoding", "chunked"),
    ):  # fmt: skip
        connection.putheader(name, value)
    connection.endheaders()
    with suppress(OSError):  # it may refuse before it has read everything
        for _ in range(50):
            connection.send(b"3e8\r\n" + b"x" * 1_000 + b"\r\n")
        connection.send(b"0\r\n\r\n")
    assert connection.getresponse().status == 413
    connection.close()


def test_a_long_ranking_is_refused_before_it_is_looked_at(server: Server) -> None:
    reply = server.post("/collapse", {"results": [{"a": 1}] * 100_001})
    assert (reply.status, reply.code) == (413, "too_many_documents")
    reply = server.post("/collapse", b'{"results": [{"text": "\\ud800 a"}]}', Content_Type="application/json")
    assert reply.status == 422
    assert server.post("/collapse", {"results": "x"}).status == 422
    assert server.post("/collapse", b"[]", Content_Type="application/json").status == 422


def held(server: Server, count: int, token: str) -> list[HTTPConnection]:
    """Requests whose bodies do not end: the server works on them."""
    connections = []
    for _ in range(count):
        connection = server.connect()
        connection.putrequest("POST", "/indexes/news/query")
        for name, value in (("Authorization", f"Bearer {token}"), ("Content-Length", "100")):
            connection.putheader(name, value)
        connection.endheaders(b"{")
        connections.append(connection)
    return connections


def test_too_many_at_once(serve: Serve, file: str) -> None:
    server = serve(file, requests=8)  # a token may have two of them
    waiting = held(server, 2, READ)
    try:
        until(lambda: server.get("/indexes", token=READ).status == 429)
        reply = server.get("/indexes", token=READ)
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (429, "too_many_requests", "1")
        assert server.get("/indexes", token=WRITE).status == 200, "another token is not held up"
        assert server.get("/healthz", token=None).status == 200
    finally:
        for connection in waiting:
            connection.close()
    until(lambda: server.get("/indexes", token=READ).status == 200)


def until(condition: Any, seconds: float = 30) -> None:
    """Wait for a condition."""
    import time

    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_slow_request_ends(serve: Serve, file: str) -> None:
    server = serve(file, seconds=1)
    [waiting] = held(server, 1, WRITE)
    answer = waiting.getresponse()
    assert (answer.status, b"slow_body" in answer.read()) == (408, True)
    waiting.close()
    assert server.get("/indexes").status == 200


def test_a_head_without_an_end(server: Server) -> None:
    with socket.create_connection((server.host, server.port), timeout=60) as line:
        line.sendall(b"GET / HTTP/1.1\r\n")
        sent = 0
        with suppress(OSError):
            while sent < 10_000:
                line.sendall(b"X-Long: " + b"x" * 1_000 + b"\r\n")
                sent += 1
        assert sent < 10_000, "the connection is closed before that"
    assert server.get("/indexes").status == 200


def test_no_texts_in_the_log_unless_asked(serve: Serve, file: str, tmp_path: Any) -> None:
    quiet = serve(file)
    for server in (quiet, serve(file, log_texts=True)):
        assert server.post("/indexes/news/query", {"text": "secretword " + ROSE}).status == 200
        assert server.get("/indexes/news/documents/secretid").status == 404
        assert server.get(f"/?token={WRITE}", token=None).status == 303
        assert server.get("/indexes", X_Request_ID="my-request.1").headers["x-request-id"] == "my-request.1"
        assert server.get("/indexes", X_Request_ID="bad\tid").headers["x-request-id"] != "bad\tid"
        log = server.log
        assert "my-request.1" in log
        assert "POST /indexes/{name}/query 200" in log or server is not quiet
        assert WRITE not in log
        assert ("secretword" in log) == (server is not quiet)
        assert ("secretid" in log) == (server is not quiet)


def test_a_browser_gets_a_page_instead_of_json(server: Server) -> None:
    reply = server.get("/", token=None, Accept="text/html,*/*")
    assert reply.status == 401
    assert reply.headers["content-type"].startswith("text/html")
    assert b"/?token=TOKEN" in reply.body
    assert b"To the start" not in reply.body  # it would be refused, too
    lost = server.get("/no-such-page", Accept="text/html,*/*")
    assert lost.status == 404
    assert b"<a href=/>To the start</a>" in lost.body


def test_two_servers_have_cookies_of_their_own(serve: Serve, file: str) -> None:
    names = {serve(file).get(f"/?token={WRITE}", token=None).headers["set-cookie"].partition("=")[0] for _ in range(2)}
    assert len(names) == 2


def test_requests_at_the_same_time_have_their_own_answers(server: Server) -> None:
    texts = {f"t{number}": f"{ROSE} with {number} and {number} more" for number in range(40)}
    added = [{"id": id, "text": text} for id, text in texts.items()]
    assert server.post("/indexes/news/documents", {"documents": added}).json()["added"] == 40
    wrong: list[Any] = []

    def query(id: str, text: str) -> None:
        for _ in range(5):
            found = server.post("/indexes/news/query", {"text": text}).json()["answers"]
            if found[0]["id"] != id:
                wrong.append((id, found[:1]))

    threads = [threading.Thread(target=query, args=one) for one in texts.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
