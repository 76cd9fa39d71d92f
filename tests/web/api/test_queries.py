"""Queries over HTTP: every option, many at once, and the routes that need no index."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import twinset
from tests.web.conftest import Serve
from tests.web.server import ROSE, SEA, Server
from twinset.index.served import ServedIndex
from twinset.web.api.metrics import Metrics
from twinset.web.api.queries import QueryQueue

QUERY = "/indexes/news/query"
EXAMPLES = ("DocumentsBody", "QueryBody", "CompareBody", "CollapseBody")
TEXTS = {"a": ROSE, "b": ROSE + " and the hall of it", "c": SEA, "d": ROSE + " " + SEA, "e": ""}


@pytest.fixture
def filled(file: str) -> str:
    with twinset.Index.open(file) as index:
        index.add(TEXTS)
    return file


@pytest.fixture
def server(serve: Serve, filled: str) -> Server:
    return serve(filled)


ASKED: list[dict[str, Any]] = [
    *({}, {"k": 2}, {"threshold": 0.9}, {"threshold": 0.3, "force": True}),
    *({"contained": 0.9}, {"k": 1, "contained": 0.5}),
]


def test_answers_are_those_of_the_index(server: Server, filled: str) -> None:
    with twinset.Index.open(filled, read_only=True) as index:
        for asked in ASKED:
            expected = index.query(ROSE, **asked).to_pylist()
            assert expected
            assert server.post(QUERY, {"text": ROSE, **asked}).json()["answers"] == expected
            similar = index.similar_to("a", **asked).to_pylist()
            assert server.post(QUERY, {"id": "a", **asked}).json()["answers"] == similar


def test_passages(server: Server, filled: str) -> None:
    with twinset.Index.open(filled, read_only=True) as index:
        expected, similar = index.passages(ROSE, least=5).to_pylist(), index.passages_of("c").to_pylist()
    assert server.post(QUERY, {"text": ROSE, "passages": True, "least": 5}).json()["answers"] == expected
    assert server.post(QUERY, {"id": "c", "passages": True}).json()["answers"] == similar
    assert expected
    assert similar


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "neither"),
    ({"text": "a", "id": "b"}, "text and id"),
    ({"items": ["a"]}, "given: items"),
    ({"text": "a", "threshold": 0.5}, 'or accept the lower recall with "force": true'),
    ({"text": "a", "threshold": 0}, "threshold: must be above 0"),
    ({"text": "a", "threshold": "0.9"}, "threshold: must be a number"),
    ({"text": "a", "k": 0}, "k: must be at least 1"),
    ({"text": "a", "k": 2.5}, "k: must be a whole number"),
    ({"text": "a", "distance": 3}, "threshold"),
    ({"text": "a", "contained": 0.5, "threshold": 0.9}, "contained"),
    ({"text": "a", "least": 5}, "passages"),
    ({"text": "a", "least": 2, "passages": True}, "4 words"),
    ({"text": "a", "k": 5, "passages": True}, "passages"),
    ({"text": "a", "nonsense": 1}, "nonsense: there is no such field"),
    ({"text": ["a"]}, "text: must be a string"),
    ({"text": "a", "passages": 1}, "passages: must be true or false"),
    ({"items": "a"}, "items: must be a list"),
    ({"text": "\ud800"}, "the body is not JSON"),
]


def test_wrong_queries(server: Server) -> None:
    for asked, said in WRONG:
        reply = server.post(QUERY, asked)
        assert reply.status == 422, asked
        assert said in reply.json()["error"]["message"], asked


def test_not_json(server: Server) -> None:
    for body in (b"", b"{", b"[]", b"\xff\xfe", b'{"text": NaN}', b"[" * 100_000):
        reply = server.ask("POST", QUERY, body, Content_Type="application/json")
        assert reply.status in (400, 422), body[:20]
        assert reply.json()["error"]["message"]


def test_compare_and_collapse(server: Server) -> None:
    expected = twinset.compare(ROSE, TEXTS["b"], shingle="word:3").to_dict()
    assert server.post("/compare", {"left": ROSE, "right": TEXTS["b"], "shingle": "word:3"}).json() == expected
    ranking: list[Any] = [{"id": 1, "text": ROSE}, SEA, {"id": 2, "text": ROSE, "more": [1, {"a": None}]}]
    shown = server.post("/collapse", {"results": ranking, "shingle": "word:3"}).json()["results"]
    assert [(one["place"], one["count"], one["result"]) for one in shown] == [(0, 2, ranking[0]), (1, 1, SEA)]
    assert shown[0]["folded"] == [{"place": 2, "similarity": 1.0, "result": ranking[2]}]
    assert server.post("/collapse", {"results": [{"body": ROSE}], "text": "body"}).json()["results"][0]["count"] == 1
    nested: Any = "x"
    for _ in range(600):
        nested = [nested]
    for wrong in ([{"id": 1}], ["a", 7], [{"text": 7}], [{"text": "x", "n": 10**40}], [{"text": "x", "n": nested}]):
        assert server.post("/collapse", {"results": wrong}).status in (400, 422), str(wrong)[:50]
    assert server.post("/compare", {"left": "a"}).status == 422
    assert server.post("/compare", {"left": "a", "right": "b", "shingle": "nonsense"}).status == 422


def test_health_and_metrics(server: Server) -> None:
    assert server.get("/healthz", token=None).json() == {"status": "ok"}
    assert server.get("/readyz", token=None).json() == {"status": "ready"}
    for _ in range(3):
        server.post(QUERY, {"text": ROSE})
    server.post("/indexes/news/documents", {"documents": [{"id": "new", "text": ROSE}]})
    text = server.get("/metrics").body.decode()
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert lines['twinset_requests_total{method="POST",route="/indexes/{name}/query",status="200"}'] == "3"
    assert lines['twinset_request_seconds_count{route="/indexes/{name}/query"}'] == "3"
    assert lines['twinset_index_documents{index="news"}'] == "6"
    assert lines['twinset_documents_total{index="news",done="added"}'] == "1"
    assert lines["twinset_requests_active"] == "1"
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert names == {line.split()[2] for line in text.splitlines() if line.startswith("# HELP")}
    assert {"twinset_query_batch", "twinset_info", "process_cpu_seconds_total"} <= names


def test_the_openapi_document(server: Server) -> None:
    document = server.get("/openapi.json").json()
    assert document["openapi"].startswith("3.")
    routes = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert ("/indexes/{name}/query", "post") in routes
    assert ("/metrics", "get") in routes
    models = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            assert route["summary"], (path, method)
            for reference in _references(route):
                assert reference in models, reference
    for name in (*EXAMPLES, "QueryAnswer", "AddAnswer", "ErrorAnswer"):
        assert models[name]["examples"], name
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_examples_of_the_openapi_document_work(server: Server) -> None:
    models = server.get("/openapi.json").json()["components"]["schemas"]
    examples = {name: models[name]["examples"][0] for name in EXAMPLES}
    assert server.post("/indexes/news/documents", examples["DocumentsBody"]).json()["added"] == 2
    found = server.post(QUERY, examples["QueryBody"])
    assert "a1" in [one["id"] for one in found.json()["answers"]]
    assert server.post("/compare", examples["CompareBody"]).status == 200
    shown = server.post("/collapse", examples["CollapseBody"]).json()
    assert shown == models["CollapseAnswer"]["examples"][0]


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"].rpartition("/")[2]] if "$ref" in value else []
        return own + [one for inner in value.values() for one in _references(inner)]
    return [one for inner in value for one in _references(inner)] if isinstance(value, list) else []


class Stalled(ServedIndex):
    """An index whose first answer waits, so that further queries gather behind it."""

    begun, go_on = threading.Event(), threading.Event()
    batches: list[int] = []  # noqa: RUF012 - emptied by the test

    def answer(self, values: Any, limits: Any) -> Any:
        self.batches.append(len(values))
        self.begun.set()
        assert self.go_on.wait(30)
        return super().answer(values, limits)


def test_queries_that_wait_are_answered_together(filled: str) -> None:
    Stalled.batches.clear()
    queue = QueryQueue("news", lambda: Stalled.open(filled, read_only=True), 1, Metrics())

    async def ask() -> list[Any]:
        limits = ((("k", None),), (("k", 1),))
        loop = asyncio.get_running_loop()
        first = asyncio.create_task(queue.answer(ROSE, limits[0]))
        await loop.run_in_executor(None, Stalled.begun.wait, 30)
        more = [asyncio.create_task(queue.answer(SEA if n % 2 else ROSE, limits[n % 3 == 0])) for n in range(12)]
        bad = asyncio.create_task(queue.answer("\ud800", limits[0]))
        gone = asyncio.create_task(queue.answer(ROSE, limits[0]))
        await asyncio.sleep(0)
        gone.cancel()
        Stalled.go_on.set()
        return await asyncio.gather(first, *more, bad, gone, return_exceptions=True)

    first, *more, bad, gone = asyncio.run(ask())
    queue.close()
    assert Stalled.batches[0] == 1
    assert sorted(Stalled.batches[1:3]) == [4, 9], "two kinds of limits; nobody waits for one query"
    assert isinstance(bad, twinset.SourceError), "one that fails does not fail the others"
    assert isinstance(gone, asyncio.CancelledError)
    assert first[1][0]["id"] == "a"
    for n, (_, answers) in enumerate(more):
        assert answers[0]["id"] == ("c" if n % 2 else "a")
        assert len(answers) == 1 or n % 3
