"""The page of passages in a real Chromium: by mouse, by keyboard, attacked, and at two widths."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.browser import Browser
from tests.report.passages import Shared, boilerplate_table, written
from tests.report.test_browser import PAYLOADS, opened

LONG = "plain words that nobody else has written anywhere " * 30
HARBOUR = "the harbour wall 🚢 was raised by a full metre after the flood of 1953"
LOCK = "a second lock was added so that larger ships could reach the inner basin"
FERRY = "the ferry to the island ran twice a day in summer"
FOOTER = "all rights are reserved by the editors of this series of essays"
TEXTS = {
    "essay": f"{LONG}{HARBOUR}. {LONG}{LOCK}; {FERRY}. {LONG}{FOOTER}",
    "book": f"{LOCK}; {FERRY}. {LONG}{HARBOUR}. {LONG}{FOOTER} {LONG}",
    "leaflet": f"{LONG}{FERRY}",
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    both = f"{LOCK}; {FERRY}"
    rows = [
        *(("essay", "book", phrase, 2) for phrase in (HARBOUR, both, FERRY)),
        *(("essay", "book", FOOTER, 9), ("essay", "leaflet", FERRY, 3), ("book", "leaflet", FERRY, 3)),
    ]
    boilerplate = boilerplate_table([(FOOTER, 12, 9, "essay")])
    return written(tmp_path_factory.mktemp("passages"), Shared(TEXTS, rows), boilerplate)


def open_row(browser: Browser, id: str) -> None:
    ids = browser.run(
        "return [...document.querySelectorAll('#documents-rows summary .id')].map((one) => one.innerText)"
    )
    browser.click(f"#documents-rows > details:nth-child({ids.index(id) + 1}) > summary")
    browser.wait("document.querySelector('details[open] .inside')")


def focused(browser: Browser) -> tuple[int, str]:
    """The side of the badge that has the focus, and its number."""
    script = """
        const one = document.activeElement, panes = [...document.querySelectorAll("details[open] .pane")];
        return [panes.findIndex((pane) => pane.contains(one)), one.matches(".badge") ? one.textContent : ""];
    """
    side, number = browser.run(script)
    return side, number


def badge(side: int, number: int) -> str:
    return f"details[open] .pane:nth-child({side + 1}) .badge[title^='Passage {number},']"


def in_its_pane(browser: Browser, side: int, number: int) -> bool:
    script = """
        const one = document.querySelector(arguments[0]);
        const inner = one.getBoundingClientRect(), outer = one.closest(".text").getBoundingClientRect();
        return inner.top >= outer.top && inner.bottom <= outer.bottom && inner.top >= 0 && inner.bottom <= innerHeight;
    """
    return bool(browser.run(script, badge(side, number)))


def test_it_opens_offline_and_lists_documents_by_share(browser: Browser, page: Path) -> None:
    opened(browser, page)
    ids = browser.run("return [...document.querySelectorAll('#documents-rows .id')].map((one) => one.textContent)")
    shares = browser.run("return [...document.querySelectorAll('.gauge')].map((one) => one.textContent)")
    assert sorted(ids) == sorted(TEXTS)
    assert shares == sorted(shares, reverse=True)
    open_row(browser, "essay")
    assert browser.count(".pane") == 2
    browser.type("#documents-search", "leaf")
    browser.wait("document.querySelector('#documents-count').textContent.includes('found')")
    assert browser.console() == []
    assert browser.requests() == [page.resolve().as_uri()]


def test_the_same_passage_has_the_same_number_and_colour_on_both_sides(browser: Browser, page: Path) -> None:
    opened(browser, page)
    open_row(browser, "essay")
    script = """
        return [...document.querySelectorAll("details[open] .pane")].map((pane) =>
          Object.fromEntries([...pane.querySelectorAll(".mark")].filter((one) => one.offsetParent !== null).map((one) =>
            [Number(one.dataset.passage) + 1, [one.textContent, getComputedStyle(one).backgroundColor]])));
    """
    left, right = browser.run(script)
    assert left == right
    assert {number: words for number, (words, _) in left.items()} == {"1": HARBOUR, "2": f"{LOCK}; ", "3": FERRY}
    assert len({colour for _, colour in left.values()}) == 3
    below = browser.run("return getComputedStyle(document.querySelector('.mark.u-c1')).borderBottomColor")
    strong = browser.run(
        "return getComputedStyle(arguments[0]).backgroundColor".replace(
            "arguments[0]", "document.querySelector('.badge.c1')"
        )
    )
    assert below == strong, "where passages overlap, the line has the colour of the outer one"


def test_a_click_moves_to_the_partner(browser: Browser, page: Path) -> None:
    opened(browser, page)
    open_row(browser, "essay")
    browser.click("details[open] .pane:nth-child(1) .mark[data-passage='0']")
    browser.wait("document.activeElement.matches('.badge')")
    assert focused(browser) == (1, "1")
    assert in_its_pane(browser, 0, 1)
    assert in_its_pane(browser, 1, 1)
    browser.click(badge(1, 3))
    assert focused(browser) == (0, "3")
    assert in_its_pane(browser, 0, 3)


def test_the_keyboard_is_enough(browser: Browser, page: Path) -> None:
    opened(browser, page)
    browser.run("document.querySelector('#documents-search').focus()")
    browser.type("#documents-search", "n")
    assert browser.run("return document.querySelector('#documents-search').value") == "n", (
        "a letter in a field is typed"
    )
    browser.press("escape", "j")
    browser.wait("document.activeElement.matches('summary')")
    first = browser.run("return document.activeElement.querySelector('.id').textContent")
    browser.press("enter")
    browser.wait("document.querySelector('details[open] .view')")
    browser.press("n")
    assert focused(browser) == (0, "1")
    browser.press("n", "enter")
    assert focused(browser) == (1, "2")
    assert in_its_pane(browser, 0, 2)
    assert in_its_pane(browser, 1, 2)
    browser.press("p")
    assert focused(browser) == (1, "1")
    browser.press("p")
    assert focused(browser) == (1, "1"), "there is none before the first"
    browser.press("tab")
    side, number = focused(browser)
    assert (side, number != "1") == (1, True), f"Tab goes on in {first}"


def test_boilerplate_and_long_stretches_are_folded(browser: Browser, page: Path) -> None:
    opened(browser, page)
    open_row(browser, "essay")
    shown = browser.text("details[open] .pane:nth-child(1) .text")
    assert "boilerplate 4: 12 words in 9 documents" in shown
    assert FOOTER not in shown
    assert len(shown) < 900
    browser.run(
        "[...document.querySelectorAll('.bar button')].find((one) => one.innerText.startsWith('Show boil')).click()"
    )
    assert FOOTER in browser.text("details[open] .pane:nth-child(1) .text")
    assert browser.text(badge(0, 4)) == "4"
    browser.click("details[open] .pane:nth-child(1) .unfold.gap")
    assert len(browser.text("details[open] .pane:nth-child(1) .text")) > 1500
    browser.run(
        "[...document.querySelectorAll('.bar button')].find((one) => one.innerText === 'Show whole texts').click()"
    )
    inner = "return document.querySelectorAll('details[open] .text')[1]"
    text = browser.run(f"{inner}.innerText")
    for phrase in (LOCK, FERRY, HARBOUR, FOOTER):
        assert phrase in text
    assert browser.console() == []


def test_another_partner_is_chosen(browser: Browser, page: Path) -> None:
    opened(browser, page)
    open_row(browser, "essay")
    heads = "return [...document.querySelectorAll('details[open] .head .id')].map((one) => one.textContent)"
    assert browser.run(heads) == ["essay", "book"]
    browser.click("details[open] .partners label:nth-of-type(2) > span")
    browser.wait("document.querySelectorAll('details[open] .head .id')[1].textContent === 'leaflet'")
    assert browser.count("details[open] .pane:nth-child(2) .badge") == 1
    open_row(browser, "leaflet")
    assert browser.run(heads)[0] == "leaflet", "the chosen document is first, whatever the order in the table"
    browser.press("n")
    assert focused(browser) == (0, "1")


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_sticks_out_and_both_sides_are_seen(browser: Browser, page: Path, width: int, dark: bool) -> None:
    opened(browser, page, width=width, height=844, dark=dark)
    open_row(browser, "essay")
    browser.press("n", "n")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert in_its_pane(browser, 0, 2)
    assert in_its_pane(browser, 1, 2)
    boxes = browser.run(
        "return [...document.querySelectorAll('details[open] .pane')].map((one) => one.getBoundingClientRect().left)"
    )
    assert (boxes[0] == boxes[1]) is (width == 390)
    weak = browser.run(
        """
        const light = (colour) => {
          const part = colour.match(/[\\d.]+/g).slice(0, 3).map((one) => one / 255)
            .map((one) => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
          return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
        };
        return [...document.querySelectorAll(".mark, .badge")].filter((one) => {
          const { color, backgroundColor } = getComputedStyle(one);
          const [low, high] = [light(color), light(backgroundColor)].sort((a, b) => a - b);
          return (high + 0.05) / (low + 0.05) < 4.5;
        }).map((one) => one.className);
        """
    )
    assert weak == []


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents whose ids, texts and passages all try to run a script, or to turn the line around."""
    payloads = [*PAYLOADS, "\u202etxet desrever", "\u2066\u2067isolated", "\ud83d\ude00" + "w" * 400]
    texts, rows = {}, []
    for number, payload in enumerate(one.encode("utf-16", "surrogatepass").decode("utf-16") for one in payloads):
        phrase = f"shared {payload} words {number} of two documents"
        texts[f"{payload} left {number}"] = f"{payload} {LONG}{phrase} {payload}"
        texts[f"{payload} right {number}"] = f"{payload} {phrase} {LONG}{payload}"
        rows.append((f"{payload} left {number}", f"{payload} right {number}", phrase, 2 + 9 * (number % 2)))
    boilerplate = boilerplate_table([(payload, 3, 9, payload) for payload in PAYLOADS])
    return written(tmp_path_factory.mktemp("attack"), Shared(texts, rows), boilerplate)


@pytest.mark.parametrize("width", [1200, 390])
def test_scripts_in_ids_and_texts_do_not_run(browser: Browser, attacked: Path, width: int) -> None:
    opened(browser, attacked, width=width)
    rows = "document.querySelectorAll('#documents-rows > details')"
    browser.run(f"for (const one of {rows}) {{ one.removeAttribute('name'); one.open = true; }}")
    browser.wait(
        "[...document.querySelectorAll('#documents-rows > details')].every((one) => one.querySelector('.view'))"
    )
    browser.run("for (const one of document.querySelectorAll('.unfold')) one.click()")
    browser.type("#documents-search", "</script>")
    browser.wait("document.querySelector('#documents-count').textContent.includes('found')")
    assert browser.run("return window.hacked === undefined && Object.prototype.hacked === undefined")
    assert browser.count("script") == 2
    assert browser.count("img, iframe, object, embed, svg[onload], a[href^='javascript'], main style, main script") == 0
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.console() == []
    assert browser.requests() == [attacked.resolve().as_uri()]


def test_documents_without_their_text_name_a_command(browser: Browser, page: Path, tmp_path: Path) -> None:
    shared = Shared(TEXTS, [("essay", "book", FERRY, 2)])
    for limits in ({"documents": 0}, {"characters": 10}):
        opened(browser, written(tmp_path, shared, **limits))
        open_row(browser, "essay")
        browser.wait_for_text("details[open] .inside", "twinset explain 'OUT/<b>'")
        assert browser.console() == []
