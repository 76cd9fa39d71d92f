"""The page to try a service: without a script, in a real Chromium, and attacked by what an index holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

import twinset
from tests.components import skip_without
from tests.report.browser import Browser, missing
from tests.report.test_browser import PAYLOADS
from tests.web.axe import violations
from tests.web.conftest import Serve
from tests.web.server import ROSE, SEA, WRITE, Server

HALL = ROSE.replace("garden", "hall")
FORM = {"Content_Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    skip_without(missing())
    with Browser() as window:
        yield window


@pytest.fixture
def server(serve: Serve, file: str) -> Server:
    with twinset.Index.open(file) as index:
        index.add({"a": HALL + " and its gate and its wall", "b": SEA})
    return serve(file)


def tried(server: Server, text: str, **more: str) -> str:
    reply = server.ask("POST", "/try", urlencode({"text": text, "index": "news", **more}).encode(), **FORM)
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    return reply.body.decode()


def test_without_a_script(server: Server) -> None:
    page = tried(server, ROSE + " and its gate and its wall", nearest="yes")
    assert "1 similar document<" in page
    assert re.search(r"<del>garden </del><ins>hall </ins>", page)
    assert "Index news, version 1." in page
    assert "No similar documents" in tried(server, "quite another text")
    long = " ".join(f"word{number}" for number in range(80))
    server.post("/indexes/news/documents", {"documents": [{"id": "long", "text": f"{long} end"}]})
    assert re.search(r"\[\d+ equal words\]", tried(server, f"{long} stop"))
    assert "word40" in tried(server, f"{long} stop", whole="yes").partition("</form>")[2]
    assert "no index &#39;none&#39;" in tried(server, "x", index="none")
    assert 'role="alert"' in tried(server, "x", index="<b>")
    assert "&lt;b&gt;" in tried(server, "<b>")
    assert server.ask("POST", "/try", b"a=1&" * 20, **FORM).code == "form"
    assert server.ask("POST", "/try", b"\xff=\xfe;;;%zz", **FORM).status == 404


def test_an_index_that_stores_no_texts(serve: Serve, tmp_path: Path) -> None:
    with twinset.Index.create(tmp_path / "news.twinset", shingle="word:3", seed=1, store="none") as index:
        index.add(["a"], [ROSE])
    assert "stores no texts" in tried(serve(str(tmp_path / "news.twinset")), ROSE)


def test_payloads_are_escaped(serve: Serve, file: str) -> None:
    payloads = [f"{one} {number}" for one in PAYLOADS for number in range(32)]
    assert len(payloads) >= 500
    with twinset.Index.open(file) as index:
        index.add({one: f"{ROSE} {one}" for one in payloads})
    server = serve(file)
    for one in PAYLOADS:
        page = tried(server, f"{ROSE} {one} 7", nearest="yes")
        [script] = re.findall(r"<script[^>]*>", page)
        assert "nonce=" in script, "the only script is our own"
        assert not re.search(r"<(img|svg onload|iframe|a href='java)", page)
        for answer in (
            server.post("/indexes/news/query", {"text": one}),
            server.get(f"/indexes/{quote(one, safe='')}/documents/x"),
            server.get(f"/indexes/news/documents/{quote(one, safe='')}"),
        ):
            assert answer.headers["content-type"] == "application/json"


def test_no_payload_runs_in_a_browser(browser: Browser, serve: Serve, file: str) -> None:
    payloads = [f"{one} {number}" for one in PAYLOADS for number in range(32)]
    with twinset.Index.open(file) as index:
        index.add({one: f"{ROSE} {one}" for one in payloads})
    server = serve(file)
    browser.visit(f"{server.url}?token={WRITE}")
    for one in PAYLOADS:
        browser.run("document.getElementById('text').value = arguments[0]", f"{ROSE} {one} 3")
        browser.run("document.getElementById('answers').replaceChildren()")
        browser.run("document.getElementById('nearest').checked = true; document.getElementById('ask').requestSubmit()")
        browser.wait("document.querySelectorAll('#answers article').length")
        assert browser.run("return window.hacked === undefined"), one
    shown = browser.run("return [...document.querySelectorAll('#answers h3')].map((one) => one.textContent)")
    assert set(shown) <= set(payloads)


def test_a_person_asks(browser: Browser, server: Server, tmp_path: Path) -> None:
    browser.console()
    browser.visit(f"{server.url}?token={WRITE}")
    assert browser.run("return location.search") == "", "the token is not in the address"
    assert browser.run("return document.activeElement.id") == "text"
    browser.press(*(ROSE + " and its gate and its wall"))
    browser.press("tab", "tab", " ", "tab", "enter")
    browser.wait_for_text("#answers", "1 similar document")
    assert browser.run("return document.activeElement.id") == "answers", "a reader hears the answers"
    assert browser.text("article ins").strip() == "hall"
    assert browser.text("article del").strip() == "garden"
    for width in (390, 1200):
        for dark in (False, True):
            browser.size(width, 900, dark)
            assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth"), width
            ground, ink = browser.run(
                "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
            )
            assert (_brightness(ground) < _brightness(ink)) == dark
            browser.picture(tmp_path / f"try-{width}-{'dark' if dark else 'light'}.png")
            assert violations(browser) == []
    names = browser.run(
        "return [...document.querySelectorAll('input, select, textarea')].map((one) => one.labels.length)"
    )
    assert names == [1] * len(names), "each field has a label"
    assert [line for line in browser.console() if "favicon" not in line] == []
    asked = browser.requests()
    assert [one for one in asked if not one.startswith((server.url, "data:", "about:", "chrome:"))] == []


def _brightness(colour: str) -> int:
    return sum(map(int, re.findall(r"\d+", colour)[:3]))
