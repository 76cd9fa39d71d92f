"""Documents over HTTP, in both back ends: added, read, found, removed; repeated requests; streams."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from urllib.parse import quote

import pytest

import twinset
from tests.web.conftest import Serve
from tests.web.server import LINES, ROSE, SEA, WRITE, Server, lines
from twinset.web.api import adding

PATH = "/indexes/news/documents"


@pytest.fixture
def server(serve: Serve, news: str) -> Server:
    return serve(news)


def add(server: Server, *documents: dict[str, object], key: str | None = None, query: str = "") -> object:
    return server.post(PATH + query, {"documents": documents}, Idempotency_Key=key).json()


def test_the_life_of_a_document(server: Server, news: str) -> None:
    done = add(server, {"id": "a", "text": ROSE}, {"id": "b", "text": SEA}, {"id": 7, "text": None})
    assert done == {"index": "news", "added": 3, "replaced": 0, "unchanged": 0, "version": 1}
    assert add(server, {"id": "a", "text": ROSE}) == {**done, "added": 0, "unchanged": 1}
    found = server.post("/indexes/news/query", {"text": ROSE}).json()
    assert (found["index"], found["version"]) == ("news", 1)
    with twinset.Index.open(news, read_only=True) as index:
        assert found["answers"] == index.query(ROSE).to_pylist(), "the same words as everywhere"
    assert server.get(f"{PATH}/a").json() == {"index": "news", "version": 1, "id": "a", "text": ROSE}
    assert server.get(f"{PATH}/7").json()["text"] == ""
    assert server.ask("DELETE", f"{PATH}/a").json() == {"index": "news", "removed": 1, "version": 2}
    gone = server.ask("DELETE", f"{PATH}/a")
    assert (gone.status, gone.code) == (404, "unknown_id")
    assert server.get(f"{PATH}/a").code == "unknown_id"
    assert server.post("/indexes/news/query", {"text": ROSE}).json() == {"index": "news", "version": 2, "answers": []}
    [listed] = server.get("/indexes").json()["indexes"]
    assert (listed["name"], listed["documents"], listed["version"]) == ("news", 2, 2)
    assert server.stop() == 0
    with twinset.Index.open(news) as index:
        assert list(index) == ["b", "7"]
        assert index.verify() == []


def test_another_text_under_the_same_id(server: Server) -> None:
    add(server, {"id": "a", "text": ROSE})
    reply = server.post(PATH, {"documents": [{"id": "c", "text": SEA}, {"id": "a", "text": SEA}]})
    assert (reply.status, reply.code) == (409, "duplicate_id")
    said = reply.json()["error"]["message"]
    assert "replace it with ?replace=true" in said
    assert "/" not in said, "no path of the server"
    assert server.get(f"{PATH}/c").status == 404, "all documents of a request, or none"
    assert add(server, {"id": "a", "text": SEA}, query="?replace=true")["replaced"] == 1  # type: ignore[index]
    assert server.get(f"{PATH}/a").json()["text"] == SEA
    twice = server.post(PATH, {"documents": [{"id": "d", "text": ROSE}, {"id": "d", "text": SEA}]})
    assert twice.code == "duplicate_id"


IDS = ["a/b", "../../etc", "", "ü ?#%&+", "a\nb", "\n", "\u2028", "'; DROP TABLE documents", "x" * 1024]


def test_any_id(server: Server) -> None:
    for id in IDS:
        add(server, {"id": id, "text": ROSE})
        address = f"{PATH}/{quote(id, safe='')}"
        assert server.get(address).json()["id"] == id
        assert server.post("/indexes/news/query", {"text": ROSE}).json()["answers"][0]["id"] == id
        assert server.post("/indexes/news/query", {"id": id}).json()["answers"] == []
        assert server.ask("DELETE", address).json()["removed"] == 1


def test_a_repeated_request(server: Server, serve: Serve, news: str) -> None:
    first = add(server, {"id": "a", "text": ROSE}, key="k1")
    assert server.ask("DELETE", f"{PATH}/a", Idempotency_Key="k2").json()["removed"] == 1
    again = add(server, {"id": "a", "text": ROSE}, key="k1")
    assert again == {**first, "repeated": True}  # type: ignore[dict-item]
    assert server.get(f"{PATH}/a").status == 404, "it was removed since, and stays removed"
    assert server.ask("DELETE", f"{PATH}/a", Idempotency_Key="k2").json()["repeated"]
    other = server.post(PATH, {"documents": [{"id": "b", "text": ROSE}]}, Idempotency_Key="k1")
    assert (other.status, other.code) == (422, "option")
    assert server.stop() == 0
    later = serve(news)
    assert add(later, {"id": "a", "text": ROSE}, key="k1") == again, "stored in the index, not in the server"
    with twinset.Index.open(news, read_only=True) as index:
        assert index.verify() == []
        assert not [name for name in index._backend.settings() if name.startswith("request:")]


def test_a_key_is_of_one_request_with_all_its_options(server: Server) -> None:
    add(server, {"id": "a", "text": ROSE}, key="k1")
    other = server.post(f"{PATH}?replace=true", {"documents": [{"id": "a", "text": ROSE}]}, Idempotency_Key="k1")
    assert (other.status, other.code) == (422, "option")


def test_adding_goes_on_after_a_disk_that_was_full(serve: Serve, file: str) -> None:
    server = serve(file)
    add(server, {"id": "a", "text": ROSE})
    usual = resource.prlimit(server.child.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.child.pid, resource.RLIMIT_FSIZE, (1024, usual[1]))
    failed = server.post(PATH, {"documents": [{"id": "b", "text": SEA}]})
    assert failed.status in (503, 507), failed.body
    resource.prlimit(server.child.pid, resource.RLIMIT_FSIZE, usual)
    assert add(server, {"id": "b", "text": SEA})["added"] == 1  # type: ignore[index]
    assert server.get(f"{PATH}/b").json()["text"] == SEA


def test_a_failed_request_can_be_repeated_with_its_key(server: Server) -> None:
    add(server, {"id": "a", "text": SEA})
    body = {"documents": [{"id": "a", "text": ROSE}]}
    assert server.post(PATH, body, Idempotency_Key="k").status == 409
    server.ask("DELETE", f"{PATH}/a")
    assert server.post(PATH, body, Idempotency_Key="k").json()["added"] == 1


def test_a_stream(server: Server) -> None:
    documents = [{"id": f"s{number}", "text": f"{ROSE} number {number} of them {number * 7}"} for number in range(300)]
    body = b"\n" + lines(*documents[:150]) + b"  \r\n" + lines(*documents[150:])
    done = server.ask("POST", PATH, body, Content_Type=LINES).json()
    assert (done["added"], done["lines"]) == (300, 302)
    again = server.ask("POST", PATH, body.rstrip(b"\n"), Content_Type=LINES).json()
    assert (again["added"], again["unchanged"]) == (0, 300)
    assert server.ask("POST", PATH, b"", Content_Type=LINES).json()["added"] == 0
    found = server.post("/indexes/news/query", {"text": documents[17]["text"], "k": 1, "threshold": 1.0}).json()
    assert found["answers"][0]["id"] == "s17"


WRONG_LINES = {
    b'{"id": "x"}': "line 3 must be",
    b"{": "line 3 is not JSON",
    b"[1]": "line 3 must be",
    b"7": "line 3 must be",
    b"null": "line 3 must be",
    b'{"id": true, "text": "x"}': "line 3: the id",
    b'{"id": "x", "text": 7}': "line 3: the text",
    b'{"id": "x", "text": ["a"]}': "line 3: the text",
}


def test_a_wrong_line(serve: Serve, file: str) -> None:
    server = serve(file)
    for line, said in WRONG_LINES.items():
        body = lines({"id": "a", "text": ROSE}) + b"\n" + line + b"\n" + lines({"id": "b", "text": SEA})
        reply = server.ask("POST", PATH, body, Content_Type=LINES)
        assert reply.status == 422
        assert said in reply.json()["error"]["message"]
        assert "nothing was added" in reply.json()["error"]["message"]
    assert server.get("/indexes").json()["indexes"][0]["documents"] == 0


def test_a_stream_of_several_portions(serve: Serve, file: str) -> None:
    """A stream that fails says how many lines were added, and nothing after them was."""
    server = serve(file)
    text = "y" * 1_000
    many = [{"id": str(number), "text": f"{text} {number}"} for number in range(13_000)]
    assert 3 * adding.PORTION_BYTES < 13_000 * 1_000
    many[11_000] = {"id": "11000", "text": 7}
    reply = server.ask("POST", PATH, lines(*many), Content_Type=LINES, Idempotency_Key="s")
    error = reply.json()["error"]
    assert (reply.status, error["code"]) == (422, "document")
    assert 0 < error["lines"] <= 11_000
    assert server.get("/indexes").json()["indexes"][0]["documents"] == error["lines"]
    many[11_000]["text"] = "z"
    done = server.ask("POST", PATH, lines(*many), Content_Type=LINES, Idempotency_Key="s").json()
    assert (done["added"] + done["unchanged"], done["lines"], done["repeated"]) == (13_000, 13_000, True)
    assert server.get("/indexes").json()["indexes"][0]["documents"] == 13_000


def test_two_lines_with_one_id(serve: Serve, file: str) -> None:
    server = serve(file)
    body = lines({"id": "a", "text": ROSE}, {"id": "a", "text": SEA})
    assert server.ask("POST", PATH, body, Content_Type=LINES).code == "duplicate_id"


def test_a_read_only_service(serve: Serve, news: str) -> None:
    with twinset.Index.open(news) as index:
        index.add(["a"], [ROSE])
    server = serve(news, read_only=True)
    for reply in (
        server.post(PATH, {"documents": [{"id": "b", "text": SEA}]}),
        server.ask("POST", PATH, lines({"id": "b", "text": SEA}), Content_Type=LINES),
        server.ask("DELETE", f"{PATH}/a"),
    ):
        assert (reply.status, reply.code) == (403, "read_only")
    assert server.post("/indexes/news/query", {"text": ROSE}).json()["answers"][0]["id"] == "a"
    assert server.get("/indexes").json()["indexes"][0]["read_only"] is True


def test_another_process_writes(server: Server, news: str) -> None:
    with twinset.Index.open(news) as index:
        index.add(["a"], [ROSE])
    assert server.post("/indexes/news/query", {"text": ROSE}).json()["answers"][0]["id"] == "a"
    assert add(server, {"id": "b", "text": SEA})["added"] == 1  # type: ignore[index]
    with twinset.Index.open(news) as index:
        assert index.remove(["b"]) == 1
    assert server.get(f"{PATH}/b").status == 404


def test_first_documents_make_the_plan(serve: Serve, tmp_path: Path) -> None:
    path = str(tmp_path / "points.twinset")
    twinset.Index.create(path, vectors="vector", seed=1).close()
    server = serve(path)
    one, two = {"id": "a", "vector": [1.0, 2.0]}, {"id": "b", "vector": [1.0, 2.0, 3.0]}
    reply = server.post("/indexes/points/documents", {"documents": [one, two]})
    assert reply.status == 422
    assert server.post("/indexes/points/documents", {"documents": [one]}).json()["added"] == 1
    assert server.post("/indexes/points/documents", {"documents": [two]}).status == 422
    assert server.post("/indexes/points/query", {"vector": [2.0, 4.0]}).json()["answers"][0]["id"] == "a"
    assert server.post("/indexes/points/query", {"text": "x"}).code == "option"


def test_indexes_of_sets_and_codes(serve: Serve, tmp_path: Path) -> None:
    twinset.Index.create(tmp_path / "baskets.twinset", items="items", seed=1).close()
    twinset.Index.create(tmp_path / "codes.twinset", codes="code", seed=1).close()
    server = serve(str(tmp_path / "baskets.twinset"), str(tmp_path / "codes.twinset"))
    basket, code = {"id": "a", "items": ["x", "y", "z"]}, {"id": "a", "code": "00ff00ff00ff00ff"}
    assert server.post("/indexes/baskets/documents", {"documents": [basket]}).json()["added"] == 1
    assert server.post("/indexes/codes/documents", {"documents": [code]}).json()["added"] == 1
    assert server.post("/indexes/baskets/query", {"items": ["x", "y", "z"]}).json()["answers"][0]["similarity"] == 1
    assert server.post("/indexes/codes/query", {"code": "00ff00ff00ff00fe"}).json()["answers"][0]["distance"] == 1


def test_indexes_of_records_and_weighted_sets(serve: Serve, tmp_path: Path) -> None:
    twinset.Index.create(tmp_path / "people.twinset", text=("name,char:2", "city,char:2"), seed=1).close()
    twinset.Index.create(tmp_path / "ratings.twinset", group="user", item="movie", weight="rating", seed=1).close()
    server = serve(str(tmp_path / "people.twinset"), str(tmp_path / "ratings.twinset"))
    people, ratings = "/indexes/people", "/indexes/ratings"
    anna, rated = {"name": "Anna", "city": "Bonn"}, {"Ran": 4.5, "Alien": 3}
    assert server.post(f"{people}/documents", {"documents": [{"id": "a", "record": anna}]}).json()["added"] == 1
    assert server.post(f"{ratings}/documents", {"documents": [{"id": "a", "weights": rated}]}).json()["added"] == 1
    assert server.post(f"{people}/query", {"record": anna}).json()["answers"][0]["similarity"] == 1
    [found] = server.post(f"{ratings}/query", {"weights": {"Ran": 9}, "k": 3}).json()["answers"]
    assert found["similarity"] == 4.5 / 12
    assert server.post(f"{ratings}/query", {"id": "a"}).json()["answers"] == []
    assert json.loads(server.get(f"{ratings}/documents/a").json()["text"]) == rated
    for where, body in (
        (ratings, {"text": "Ran"}), (ratings, {"weights": {"Ran": "x"}}), (ratings, {"weights": {"Ran": -1}}),
        (people, {"record": {"nom": "Anna"}}), (people, {"weights": rated}), (people, {"record": "Anna"}),
    ):  # fmt: skip
        assert server.post(f"{where}/query", body).status == 422, body
    for where, body in ((ratings, {"weights": [1]}), (ratings, {"items": ["Ran"]}), (people, {"record": {"x": "y"}})):
        assert server.post(f"{where}/documents", {"documents": [{"id": "b", **body}]}).status == 422, body
    kinds = {one["name"]: one["kind"] for one in server.get("/indexes").json()["indexes"]}
    assert kinds == {"people": "record", "ratings": "weights"}


def test_wrong_bodies(serve: Serve, file: str) -> None:
    server = serve(file)
    for body in (b"", b"{", b"[]", b"7", b'{"documents": 7}', b'{"documents": [7]}', b'{"documents": [{}]}', b"\xff"):
        reply = server.ask("POST", PATH, body, Content_Type="application/json")
        assert reply.status == 422, body
        assert isinstance(reply.json()["error"]["message"], str)
    for id in ("x" * 1025, "\ud800"):
        assert server.ask("POST", PATH, json.dumps({"documents": [{"id": id, "text": ""}]}).encode()).status == 422
    assert server.post("/indexes/none/documents", {"documents": []}).code == "unknown_index"
    assert server.post(PATH, {"documents": []}, Idempotency_Key="k" * 256).status == 422
    assert server.get("/indexes").json()["indexes"][0]["documents"] == 0


def test_old_keys_are_forgotten(news: str) -> None:
    from twinset.index.served import ServedIndex

    with ServedIndex.open(news) as index:
        index.change([index.prepare(["a"], [ROSE], key="old", digest="1")])
        [(name, value)] = _stored(index)
        with index._writer(10, "testing") as writer, writer.transaction():
            writer.backend.change_settings({name: "2001-01-01T00:00:00Z " + value.split(" ", 1)[1]})
        index.change([index.prepare(["b"], [SEA], key="new", digest="1")])
        assert len(_stored(index)) == 2, "not with every change"
        index._dropped = -1e9
        index.change([index.prepare(["b"], [SEA])])
        assert [one for one, _ in _stored(index)] != [name]
        assert len(_stored(index)) == 1


def _stored(index: object) -> list[tuple[str, str]]:
    import hashlib

    names = ["request:" + hashlib.sha256(key).hexdigest() for key in (b"old", b"new")]
    return [row for name in names for row in index._backend.settings(name).items()]  # type: ignore[attr-defined]


def test_write_token_is_needed(server: Server) -> None:
    assert server.post(PATH, {"documents": []}, token=WRITE[::-1]).status == 401
