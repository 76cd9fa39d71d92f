"""Requests made from the OpenAPI document, right and wrong ones: no answer is a failure of the server."""

from __future__ import annotations

import json
import os
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import twinset
from tests.reliability.command import run_seed
from tests.web.conftest import Serve
from tests.web.server import ROSE, SEA, WRITE, Server

REQUESTS, SOAK_REQUESTS = 500, 10_000
_PLAIN = st.text(max_size=60)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_HEADER = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=40)


def values_of(schema: dict[str, Any], models: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema of the document allows, and now and then one that it does not."""
    return st.one_of(_allowed(schema, models), _allowed(schema, models), _allowed(schema, models), _JSON)


def _allowed(schema: dict[str, Any], models: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _allowed(models[schema["$ref"].rpartition("/")[2]], models)
    if "anyOf" in schema:
        return st.one_of([_allowed(one, models) for one in schema["anyOf"]])
    match schema.get("type"):
        case "object" if "properties" in schema:
            parts = {name: values_of(one, models) for name, one in schema["properties"].items()}
            needed = {name: parts.pop(name) for name in schema.get("required", ())}
            # A body with all of its optional parts would rarely be right.
            some = st.lists(st.sampled_from(sorted(parts)), max_size=2, unique=True) if parts else st.just([])
            return some.flatmap(
                lambda names: st.fixed_dictionaries({**needed, **{name: parts[name] for name in names}})
            )
        case "object":
            return st.dictionaries(st.text(max_size=8), _JSON, max_size=4) | st.fixed_dictionaries({"text": _PLAIN})
        case "array":
            return st.lists(_allowed(schema["items"], models) if "items" in schema else _JSON, max_size=5)
        case "string":
            return st.sampled_from([ROSE, SEA, "word:3", "char:2", "a", "b/c", "text"]) | _PLAIN
        case "integer":
            return st.integers(schema.get("minimum", -(2**70)), schema.get("maximum", 2**70))
        case "number":
            return st.floats(0, 1, exclude_min=True) | st.floats()
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    return _JSON


def requests_of(document: dict[str, Any]) -> st.SearchStrategy[tuple[str, str, bytes | None, dict[str, str]]]:
    """Requests: method, path, body and headers."""
    models = document["components"]["schemas"]
    names = st.sampled_from(["news", "news", "news", "none"]) | st.text(max_size=10)
    ids = st.sampled_from(["a", "b", "b/c", "../x", ""]) | st.text(max_size=20)
    bodies = [
        (one["requestBody"]["content"]["application/json"]["schema"])
        for methods in document["paths"].values()
        for one in methods.values()
        if "application/json" in one.get("requestBody", {}).get("content", {})
    ]
    described = [(path, method) for path, methods in document["paths"].items() for method in methods]

    @st.composite
    def request(draw: st.DrawFn) -> tuple[str, str, bytes | None, dict[str, str]]:
        path, method = draw(st.sampled_from(described))
        route = document["paths"][path][method]
        address = path.replace("{name}", _quoted(draw(names))).replace("{id}", _quoted(draw(ids)))
        if draw(st.integers(0, 5)) == 0:
            method = draw(st.sampled_from(["get", "post", "delete", "put", "patch", "head", "options"]))
        if draw(st.integers(0, 7)) == 0:
            address += "?" + quote(draw(st.text(max_size=20)), safe="=&")
        headers = {"Authorization": f"Bearer {WRITE}"}
        for name in ("Idempotency-Key", "X-Request-ID", "Accept", "Content-Type"):
            if draw(st.integers(0, 6)) == 0:
                headers[name] = draw(_HEADER)
        schema = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if schema is None and draw(st.booleans()):
            return method, address, None, headers
        body = _bytes(draw(values_of(schema or draw(st.sampled_from(bodies)), models)))
        if path.endswith("/documents") and draw(st.integers(0, 2)) == 0:
            some = draw(st.lists(values_of(models["DocumentBody"], models), max_size=5))
            body = b"\n".join(map(_bytes, some))
            headers["Content-Type"] = "application/x-ndjson"
        headers.setdefault("Content-Type", "application/json")
        if draw(st.integers(0, 9)) == 0:  # damaged
            body = body[: draw(st.integers(0, len(body)))] + draw(st.binary(max_size=4))
        return method, address, body, headers

    return request()


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _bytes(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def fuzz(server: Server, count: int) -> None:
    seen: dict[int, int] = {}
    line: list[HTTPConnection] = []

    @seed(run_seed())
    @settings(
        max_examples=count, phases=(Phase.generate, Phase.shrink), derandomize=False, database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(requests_of(server.get("/openapi.json").json()))
    def answers(asked: tuple[str, str, bytes | None, dict[str, str]]) -> None:
        method, path, body, headers = asked
        if not line:
            line.append(server.connect())
        try:
            line[0].request(method.upper(), path, body, {name: one.encode("latin-1") for name, one in headers.items()})
            answer = line[0].getresponse()
            content = answer.read()
        except (HTTPException, OSError):
            line.pop().close()
            raise
        seen[answer.status] = seen.get(answer.status, 0) + 1
        assert answer.status < 500 or answer.status == 503, content
        assert b"Traceback" not in content
        if answer.status >= 400 and method.upper() != "HEAD" and "text/html" not in headers.get("Accept", ""):
            error = json.loads(content)["error"]
            assert set(error) <= {"code", "message", "lines"}
            assert "\n" not in error["message"]

    answers()
    print(f"{sum(seen.values()):,} requests by status: {dict(sorted(seen.items()))}")
    assert seen.get(200, 0) > count / 20, "most requests must get as far as the index"
    assert server.get("/readyz", token=None).status == 200
    assert server.post("/indexes/news/query", {"text": ROSE}).status == 200
    assert "internal error" not in server.log


def filled(path: str) -> str:
    with twinset.Index.open(path) as index:
        index.add({"a": ROSE, "b/c": SEA})
    return path


def test_no_request_breaks_the_server(serve: Serve, file: str) -> None:
    server = serve(filled(file))
    fuzz(server, REQUESTS)
    assert server.stop() == 0
    with twinset.Index.open(file) as index:
        assert index.verify() == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_no_request_breaks_the_server_for_long(serve: Serve, file: str) -> None:
    """Neither files nor memory leak."""
    server = serve(filled(file))
    fuzz(server, REQUESTS)
    before = _open_files(server), _memory(server)
    fuzz(server, SOAK_REQUESTS)
    after = _open_files(server), _memory(server)
    print(f"open files and memory before {before}, after {after}")
    assert after[0] <= before[0] + 5
    assert after[1] <= before[1] + 150_000_000


def _open_files(server: Server) -> int:
    return len(os.listdir(f"/proc/{server.child.pid}/fd"))


def _memory(server: Server) -> int:
    status = Path(f"/proc/{server.child.pid}/status").read_text("ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))
