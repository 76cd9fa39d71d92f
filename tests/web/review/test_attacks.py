"""Documents of strangers: 500 payloads in ids, texts, names of columns and of files; and requests of strangers."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

import twinset
from tests.report.browser import Browser
from tests.report.results import text
from tests.web.payloads import PAYLOADS
from tests.web.review.reviewing import READER, Review

LEADS = 50
FIRST = {"list": "clusters", "item": 0, "pair": 1, "seen": 0}
EACH = len(PAYLOADS) // LEADS


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifty clusters: each payload is the id of a document, in its text, and ten of them in that of the kept one."""
    folder = tmp_path_factory.mktemp("hostile")
    texts: dict[str, str] = {}
    for lead in range(LEADS):
        some = PAYLOADS[lead * EACH : (lead + 1) * EACH]
        body = text(lead, 200)
        for number, payload in enumerate(some):
            added = " ".join(some) if number == 0 else payload
            texts[payload] = f"{added} {body} {payload}"
    name = "<img src=x onerror=window.hacked=501>'\"&{{7}}.jsonl"
    source = folder / name
    lines = [json.dumps({"id": id, "text": one}) for id, one in texts.items()]
    source.write_text("\n".join(lines) + "\n", "utf-8")
    twinset.dedup(source, output=folder / "OUT", threshold=0.4, keep="longest")
    return folder / "OUT"


def unharmed(browser: Browser, where: str) -> None:
    assert browser.run("return window.hacked ?? null") is None, where
    assert browser.count("main script, main iframe, main object, main embed, main base, main link, main style") == 0
    handlers = (
        "return [...document.querySelectorAll('main *')]"
        ".filter((one) => [...one.attributes].some((it) => it.name.startsWith('on'))).length"
    )
    assert browser.run(handlers) == 0, where


def test_no_payload_runs(browser: Browser, hostile: Path) -> None:
    with Review(hostile, who=PAYLOADS[1][:150]) as review:
        browser.size(1200, 900)
        browser.visit(review.url("/clusters"))
        assert browser.count("#rows li") == LEADS
        unharmed(browser, "clusters")
        go = (
            "const [item] = arguments; document.querySelector(`#row-${item} a`).click();"
            "return new Promise((done) => { const look = () => "
            "document.getElementById('detail')?.dataset.item === String(item) ? done(true) : setTimeout(look, 5);"
            " look(); })"
        )
        for item in range(LEADS):
            browser.run(go, item)
            unharmed(browser, f"cluster {item}")
            shown = browser.run("return document.getElementById('detail').textContent")
            missing = [one for one in PAYLOADS[item * EACH : (item + 1) * EACH] if squeezed(one) not in squeezed(shown)]
            assert not missing, (item, missing[:1])
        pages = -(-review.ask("/pairs").text.count("<li id=") // 50)
        assert pages
        for path in (
            "/pairs",
            "/pairs?page=2",
            f"/clusters?q={quote(PAYLOADS[0])}",
            f"/clusters?q={quote(PAYLOADS[50])}",
        ):
            browser.visit(review.url(path))
            unharmed(browser, path)
        assert [one for one in browser.console() if "favicon" not in one] == []


def squeezed(words: str) -> str:
    return "".join(words.replace("\x00", "").replace("\ufffd", "").split())


def test_notes_and_names_are_text(browser: Browser, review: Review) -> None:
    for number, payload in enumerate(PAYLOADS[:20]):
        name = "".join(one for one in payload if one.isprintable())[:200]
        fields = {
            "list": "clusters",
            "item": 0,
            "pair": 1,
            "seen": 10**9,
            "verdict": "unsure",
            "note": payload.replace("\0", ""),
        }
        assert review.ask("/verdicts", fields, who=name).status == 303, number
    browser.size(1200, 900)
    browser.visit(review.url("/clusters/0?pair=1"))
    browser.click(".history summary")
    assert browser.count(".history li") == 20
    unharmed(browser, "history")
    assert PAYLOADS[19] in browser.text(".history")


def test_names_of_columns_and_of_files_are_text(browser: Browser, tmp_path: Path) -> None:
    names = [one for one in PAYLOADS[:50] if not set(",:\n\0") & set(one)][:20]
    values = {name: f"{text(1, 12)} {payload}" for name, payload in zip(names, PAYLOADS, strict=False)}
    rows = [{"id": str(number), **values} for number in range(3)]
    rows[1][names[0]] += " more"
    rows[2][names[1]] += " again"
    source = tmp_path / "records.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    twinset.dedup(source, text=tuple(f"{name},word:2" for name in names), threshold=0.5, output=tmp_path / "OUT")
    letters = tmp_path / "letters"
    letters.mkdir()
    for number, payload in enumerate(PAYLOADS[:40]):
        (letters / f"{number} {payload.replace('/', '∕').replace(chr(0), '')}"[:200]).write_text(
            f"{text(number // 2)} {payload}"
        )
    twinset.dedup(letters, threshold=0.5, output=tmp_path / "FILES")
    for folder in (tmp_path / "OUT", tmp_path / "FILES"):
        with Review(folder, who="Ann") as review:
            browser.size(1200, 900)
            for path in ("/clusters", "/pairs", "/clusters/0", "/pairs/1"):
                browser.visit(review.url(path))
                unharmed(browser, f"{folder.name} {path}")
            if folder.name == "OUT":
                heads = browser.run(
                    "return [...document.querySelectorAll('.columns [scope=row]')].map((it) => it.textContent)"
                )
                assert heads == names
            assert browser.console() == []


def test_no_path_of_a_request_reaches_a_file(review: Review) -> None:
    for path in (
        "/pictures/..%2f..%2fetc%2fpasswd", "/pictures/-1", "/pictures/99999999999999999999999999", "/etc/passwd",
        "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/clusters/..%2f..", "/clusters/1/2", "//etc/passwd", "/%00",
        "/clusters/%00", "/clusters/" + "9" * 5000,
    ):  # fmt: skip
        answer = review.ask(path)
        assert 400 <= answer.status < 500, path
        assert "root:" not in answer.text
        assert "Traceback" not in answer.text


def test_a_reader_may_look_and_not_judge(review: Review) -> None:
    page = review.ask("/clusters", token=READER)
    assert page.status == 200
    assert "v-duplicate" not in page.text
    fields = {"list": "clusters", "item": 0, "pair": 1, "seen": 0, "verdict": "duplicate"}
    for path in ("/verdicts", "/undo", "/statements", "/sample"):
        assert review.ask(path, fields, token=READER).status == 403
        assert review.ask(path, fields, token="").status == 401
        assert review.ask(path, fields, Origin="https://evil.example").status == 403
    assert review.ask("/clusters", token="").status == 401
    assert review.ask("/clusters", Host="evil.example").status == 403
    assert review.states() == []


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/verdicts", {}, 404), ("/verdicts", {"list": "clusters"}, 422),
        ("/undo", {"list": "clusters", "item": "x"}, 422),
        ("/verdicts", {"list": "clusters", "item": 0, "pair": 5, "seen": 0, "verdict": "duplicate"}, 404),
        ("/verdicts", {"list": "clusters", "item": 9, "pair": 5, "seen": 0, "verdict": "duplicate"}, 404),
        ("/verdicts", {**FIRST, "verdict": "maybe"}, 422),
        ("/verdicts", {"list": "clusters", "item": 0, "pair": 0, "seen": 0, "verdict": "different"}, 422),
        ("/verdicts", {"list": "pairs", "item": 1, "pair": 1, "seen": 0, "verdict": "take_out"}, 422),
        ("/verdicts", {**FIRST, "verdict": "unsure", "note": "x" * 20_000}, 422),
        ("/statements", {"left": "zz", "right": ""}, 422),
        ("/statements", {"left": "00" * 16, "right": "11" * 16}, 404),
        ("/sample", {"pairs": 0, "seed": 1}, 422), ("/name", {"who": ""}, 422), ("/name", {"who": "a\nb"}, 422),
        ("/sample", {f"field-{number}": 1 for number in range(200)}, 400),
    ],
)  # fmt: skip
def test_nonsense_is_refused_in_one_line(review: Review, path: str, fields: dict[str, object], status: int) -> None:
    answer = review.ask(path, fields, accept="application/json")
    assert answer.status == status, answer.text
    error = json.loads(answer.text)["error"]
    assert error["message"]
    assert "\n" not in error["message"]
    assert review.states() == []


@pytest.mark.parametrize(
    "query", ["low=much", "state=x", "order=x", "page=x", "small=-1", "sample=7", "high=nan", "pair=x"]
)
def test_nonsense_in_an_address_is_refused(review: Review, query: str) -> None:
    answer = review.ask(f"/clusters/0?{query}", accept="application/json")
    assert answer.status in (404, 422)
    assert "Traceback" not in answer.text


def test_an_address_to_go_back_to_is_of_this_server(review: Review) -> None:
    for back in (
        "https://evil.example/",
        "//evil.example/",
        "///evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "/\r\nSet-Cookie: a=b",
    ):
        answer = review.ask("/name", {"who": "Ann", "back": back})
        assert answer.headers["location"] == "/", back
        assert "a=b" not in str(answer.headers)
