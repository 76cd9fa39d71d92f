"""The review page in a real Chromium: verdicts by mouse and by keys, several people, and what stays hidden."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.report.browser import Browser
from tests.web.review.reviewing import Review

CLUSTERS = ["a", "b", "c"]


def opened(browser: Browser, review: Review, path: str = "/clusters", width: int = 1200, dark: bool = False) -> None:
    browser.size(width, 900, dark)
    browser.visit(review.url(path))


def rows(browser: Browser) -> list[str]:
    ids = "return [...document.querySelectorAll('#rows .id:first-child')].map((one) => one.textContent)"
    return list(browser.run(ids))


def shows(browser: Browser, right: str) -> None:
    """Wait until the pair with this document on the right is shown."""
    browser.wait("document.querySelector('.head.right .id')?.textContent === arguments[0]", right)


def judged(browser: Browser, count: int) -> None:
    """Wait until so many pairs are decided."""
    browser.wait("document.querySelector('#detail .progress').textContent.startsWith(`${arguments[0]} of`)", count)


def test_the_printed_address_opens_the_list_and_hides_its_token(browser: Browser, review: Review) -> None:
    browser.visit(review.start)
    assert browser.address == f"{review.root}/clusters"
    assert rows(browser) == CLUSTERS
    assert browser.text("h1").startswith("OUT 13 documents, 6 removed in 3 clusters")
    assert browser.text("#count") == "1 to 3 of 3 clusters"
    shows(browser, "a-near")  # the copy is identical: nothing is to be judged
    assert "first" not in browser.text(".pair")
    assert browser.text(".pair ins") == "altered"
    assert browser.console() == []
    asked = browser.requests()
    assert all(one.startswith((review.root, "data:")) for one in asked), asked
    assert {one.partition("?")[0].removeprefix(review.root) for one in asked if one.startswith("http")} == {
        "/", "/clusters", "/static/web.css", "/static/review.css", "/static/review.js"
    }  # fmt: skip


def test_verdicts_by_mouse_are_stored_at_once_and_lead_on(browser: Browser, review: Review) -> None:
    opened(browser, review)
    shows(browser, "a-near")
    browser.click("#v-duplicate")
    shows(browser, "a-far")
    assert review.verdicts() == {("a", "a-near"): "duplicate"}
    browser.click("#v-different")
    shows(browser, "b-near")
    assert browser.text("#detail-title") == "Cluster of b"
    assert review.verdicts()["a", "a-far"] == "different"
    assert [one.who for one in review.states()] == ["Ann", "Ann"]
    browser.click("#v-unsure")
    shows(browser, "b-edge")
    judged(browser, 3)
    assert "2 of 2 decided" in browser.text("#row-0")  # the identical copy needs no verdict
    assert browser.run("return document.querySelector('#row-1 a').getAttribute('aria-current')") == "true"
    assert browser.console() == []


def test_all_verdicts_by_keys_with_undo_and_redo(browser: Browser, review: Review) -> None:
    opened(browser, review)
    shows(browser, "a-near")
    for key, verdict, after in (("d", "duplicate", "a-far"), ("x", "different", "b-near"), ("u", "unsure", "b-edge")):
        browser.press(key)
        shows(browser, after)
        assert verdict in review.verdicts().values()
    browser.press("t")
    shows(browser, "c-near")
    assert review.verdicts()["b", "b-edge"] == review.verdicts()["b-edge", "b-near"] == "different"
    browser.press("c")
    browser.wait("document.querySelector('.head.right .state.principal')")
    assert review.verdicts()["c-near",] == "principal"
    browser.press("z")
    browser.wait("!document.querySelector('.head.right .state.principal')")
    assert ("c-near",) not in review.verdicts()
    browser.press("z")
    shows(browser, "b-edge")
    # One step took two verdicts back, and of these one was unsure before.
    assert ("b", "b-edge") not in review.verdicts()
    assert ("b-edge", "b-near") not in review.verdicts()
    browser.press("y")
    browser.wait("document.querySelector('.verdict .state.different')")
    assert review.verdicts()["b-edge", "b-near"] == "different"
    browser.press("w")
    browser.wait("!document.querySelector('#v-undecided')")
    assert ("b", "b-edge") not in review.verdicts()


def test_ways_by_keys(browser: Browser, review: Review) -> None:
    opened(browser, review)
    shows(browser, "a-near")
    browser.press("n")
    shows(browser, "a-far")
    browser.press("p", "p")
    browser.press("j")
    shows(browser, "b-near")
    browser.press("j")
    shows(browser, "c-near")
    browser.press("k")
    shows(browser, "b-near")
    assert browser.address.endswith("/clusters/1")
    browser.press("g")
    shows(browser, "b-edge")
    browser.press("/")
    browser.wait("document.activeElement.id === 'q'")
    browser.press(*"c-ne")
    browser.wait("document.querySelectorAll('#rows li').length === 1")
    browser.press("escape")
    browser.wait("document.activeElement === document.body")
    shows(browser, "c-near")
    browser.press("?")
    browser.wait("document.getElementById('keys').open")
    browser.press("d")  # not while the sheet is open
    browser.press("escape")
    browser.wait("!document.getElementById('keys').open")
    browser.press("m")
    browser.wait("document.activeElement.id === 'note'")
    browser.press(*"duck")  # letters in a field are letters
    browser.press("escape", "d")
    browser.wait("document.querySelector('.verdict .now')?.textContent.includes('duck')")
    assert [(one.verdict, one.note) for one in review.states()] == [("duplicate", "duck")]
    browser.press("?")
    browser.click("#keys-on")
    browser.press("escape", "x")
    assert browser.run("return document.getElementById('v-duplicate').getAttribute('aria-pressed')") == "true"
    browser.press("?")
    browser.click("#keys-on")
    browser.press("escape")


def test_it_works_by_tab_and_enter_alone(browser: Browser, review: Review) -> None:
    opened(browser, review)
    browser.press("tab")
    browser.wait("document.activeElement.className === 'skip'")
    for _ in range(60):
        browser.press("tab")
        if browser.run("return document.activeElement.id") == "v-duplicate":
            break
    outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    browser.press("enter")
    shows(browser, "a-far")
    assert review.verdicts() == {("a", "a-near"): "duplicate"}
    assert browser.run("return document.activeElement.id") == "v-duplicate"  # the focus stays on the same button


def test_search_filters_and_orders(browser: Browser, review: Review) -> None:
    opened(browser, review)
    browser.type("#q", "b-edge")
    browser.wait("document.querySelectorAll('#rows li').length === 1")
    assert rows(browser) == ["b"]
    assert browser.text("#count") == "1 to 1 of 1 cluster found, 3 in all"
    assert browser.address.endswith("/clusters?q=b-edge")
    browser.click("#clear")
    browser.wait("document.querySelectorAll('#rows li').length === 3")
    choose = (
        "const one = document.querySelector(arguments[0]); one.value = arguments[1];"
        "one.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    browser.run(choose, "[name=order]", "size")
    browser.wait("location.search === '?order=size'")
    assert rows(browser) == CLUSTERS
    browser.run(choose, "[name=state]", "unsure")
    browser.wait("document.querySelectorAll('#rows li').length === 0")
    assert browser.text("#count") == "Nothing is found."


def test_a_tab_that_knows_nothing_of_a_later_verdict_asks(browser: Browser, review: Review) -> None:
    opened(browser, review)
    shows(browser, "a-near")
    first = browser.tab()
    opened(browser, review)
    shows(browser, "a-near")
    browser.press("x")
    shows(browser, "a-far")
    browser.close_tab(first)
    browser.press("d")
    browser.wait("document.getElementById('question-title')")
    said = browser.text("#question-text")
    assert "'a' and 'a-near': Ann has judged it different" in said
    assert review.verdicts() == {("a", "a-near"): "different"}  # nothing was overwritten
    assert browser.run("return document.activeElement.id") == "question-title"
    browser.click(".question button")
    browser.wait("!document.getElementById('question-title')")
    assert review.verdicts() == {("a", "a-near"): "duplicate"}


def test_two_people_see_each_other(browser: Browser, review: Review) -> None:
    opened(browser, review)
    shows(browser, "a-near")
    page = review.ask("/clusters/0?pair=1", who="Bob Øre")
    seen = re.findall(r'name="seen" value="(\d+)"', page.text)[0]
    fields = {"list": "clusters", "item": 0, "pair": 1, "seen": seen, "verdict": "unsure", "note": "too short?"}
    assert review.ask("/verdicts", fields, who="Bob Øre").status == 303
    browser.press("d")
    browser.wait("document.getElementById('question-title')")
    assert "Bob Øre has judged it unsure" in browser.text("#question-text")
    assert "said Bob Øre" in browser.text(".verdict .now")
    browser.click(".question a")
    browser.wait("!document.getElementById('question-title')")
    assert [(one.who, one.verdict) for one in review.states()] == [("Bob Øre", "unsure")]
    browser.click(".history summary")
    assert "Bob Øre" in browser.text(".history")


def test_a_name_is_kept_by_the_browser(browser: Browser, review: Review) -> None:
    opened(browser, review)
    browser.click(".menu summary")
    browser.run("document.getElementById('who').value = ''")
    browser.type("#who", "Zoë O'Hara")
    browser.click(".menu button")
    browser.wait("document.querySelector('.menu summary').textContent === \"Zoë O'Hara\"")
    browser.press("d")
    shows(browser, "a-far")
    assert [one.who for one in review.states()] == ["Zoë O'Hara"]
    browser.run("return fetch('/name', {method: 'POST', body: new URLSearchParams({who: 'Ann'})}).then(() => true)")


def test_a_conflict_is_shown_and_asked(browser: Browser, review: Review) -> None:
    opened(browser, review, "/pairs?q=b")
    for left, right, key in (("b", "b-near", "d"), ("b", "b-edge", "d"), ("b-near", "b-edge", "x")):
        link = (
            "return [...document.querySelectorAll('#rows a')].find((one) => [...one.querySelectorAll('.id')]"
            ".map((id) => id.textContent).join() === arguments[0]).click()"
        )
        browser.run(link, f"{left},{right}")
        browser.wait("document.getElementById('detail-title').textContent === arguments[0]", f"{left} and {right}")
        browser.run("document.getElementById('on').checked = false")
        browser.press(key)
        browser.wait("document.querySelector('.verdict .now')")
    browser.wait("document.querySelector('#detail .conflict-box')")
    assert browser.text("#conflict-count") == "1"
    assert browser.count("#detail .conflict-box li") == 3
    assert "in conflict" in browser.text("#rows a[aria-current]")
    browser.visit(review.url("/conflicts"))
    assert browser.count(".conflict-box li") == 3
    browser.click(".conflict-box li:last-child button[value=duplicate]")
    browser.wait("document.querySelector('main p')?.textContent.includes('No verdicts contradict')")
    assert set(review.verdicts().values()) == {"duplicate"}
    assert browser.text("#conflict-count") == "0"


SCORES = re.compile(r"0\.\d{3,}|similarity|shingles that|of the kept", re.IGNORECASE)


def test_blind_pages_have_no_scores_in_them(browser: Browser, review: Review, result: Path, tmp_path: Path) -> None:
    opened(browser, review)
    assert SCORES.search(browser.run("return document.body.innerHTML"))
    browser.press("h")
    browser.wait("document.getElementById('look').textContent === 'Show scores'")
    for path in ("/clusters", "/clusters/0?pair=2", "/clusters?order=least&low=0.9", "/pairs", "/pairs/3"):
        browser.visit(review.url(path))
        found = SCORES.search(browser.run("return document.querySelector('main').innerHTML"))
        assert not found, (path, found)
    assert rows(browser)
    browser.press("h")
    browser.wait("document.getElementById('look').textContent === 'Hide scores'")
    with Review(result, verdicts=str(tmp_path / "other"), blind=True) as always:
        browser.visit(always.url("/clusters"))
        assert browser.count("#look") == 0
        assert not SCORES.search(browser.run("return document.querySelector('main').innerHTML"))


@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_sticks_out_whatever_the_width(browser: Browser, review: Review, width: int) -> None:
    for dark in (False, True):
        for path in ("/clusters", "/clusters/0?pair=2", "/pairs/4", "/conflicts"):
            opened(browser, review, path, width, dark)
            assert browser.run("return document.documentElement.scrollWidth") <= width, path
            browser.run("for (const one of document.querySelectorAll('details')) one.open = true")
            assert browser.run("return document.documentElement.scrollWidth") <= width, path
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", ground)[:3])) < 120


def test_a_narrow_window_shows_the_list_or_a_pair(browser: Browser, review: Review) -> None:
    opened(browser, review, width=390)
    visible = "return document.querySelector(arguments[0]).offsetParent !== null"
    assert browser.run(visible, "#rows")
    assert not browser.run(visible, "#detail")
    browser.click("#row-1 a")
    shows(browser, "b-near")
    assert browser.run(visible, "#detail")
    assert not browser.run(visible, "#rows")
    browser.click("#v-duplicate")
    shows(browser, "b-edge")
    browser.click(".back")
    assert browser.run(visible, "#rows")


def test_a_note_that_is_not_stored_waits_until_its_pair_is_shown_again(browser: Browser, review: Review) -> None:
    opened(browser, review)
    shows(browser, "a-near")
    browser.type("#note", "look at the last line")
    browser.click("#after")
    browser.wait("document.querySelector('#detail-title').textContent === 'Cluster of b'")
    assert browser.run("return document.querySelector('#note').value") == ""
    browser.click("#before")
    shows(browser, "a-near")
    assert browser.run("return document.querySelector('#note').value") == "look at the last line"
    browser.wait_for_text("#message", "not stored yet")
    browser.click("#principal-left")  # a verdict on a document: the note on the pair still waits
    browser.wait("document.querySelector('#principal-left').getAttribute('aria-pressed') === 'true'")
    assert browser.run("return document.querySelector('#note').value") == "look at the last line"
    opened(browser, review)  # another page load
    shows(browser, "a-near")
    assert browser.run("return document.querySelector('#note').value") == "look at the last line"
    browser.click("#v-duplicate")
    shows(browser, "a-far")
    assert {one.note for one in review.states() if one.verdict == "duplicate"} == {"look at the last line"}
    opened(browser, review, "/clusters/0?pair=1")
    shows(browser, "a-near")
    assert "not stored yet" not in browser.text("#message")
    assert browser.console() == []
