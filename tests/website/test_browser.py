"""The site in a real Chromium, opened from files: its size, its search, its schemes, and who it asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.browser import Browser
from tests.web import axe
from website import navigation

ROOT = Path(__file__).resolve().parents[2]
ALL = [page.place.with_suffix(".html") for section in navigation.read(ROOT) for page in section.pages]
MAIN = ["index", "start", "recipes/test-set", "api/functions", "commands", "gallery", "architecture"]
INSIDE = "[...document.querySelectorAll('*')].find((one) => one.shadowRoot?.querySelector('input')).shadowRoot"


def is_sound(browser: Browser, page: Path, width: int, dark: bool) -> None:
    """Open a page, and see that it fits, says nothing in the console, and asks for files only."""
    browser.size(width, 900, dark)
    browser.open(page)
    wide, window = browser.run("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= window, f"{page.name} is {wide} pixels wide at {width}"
    assert browser.console() == []
    assert [one for one in browser.requests() if not one.startswith(("file:", "data:"))] == []
    scheme = browser.run("return document.body.dataset.mdColorScheme")
    assert scheme == ("slate" if dark else "default")
    broken = "return [...document.images].filter((one) => one.complete && !one.naturalWidth).map((one) => one.src)"
    assert browser.run(broken) == []


@pytest.mark.parametrize("name", MAIN)
def test_a_page_fits_and_asks_nobody(browser: Browser, site: Path, name: str) -> None:
    page = site / f"{name}.html"
    for width, dark in ((390, True), (1200, False)):
        is_sound(browser, page, width, dark)


@pytest.mark.soak
@pytest.mark.parametrize("place", ALL, ids=str)
def test_every_page_fits_and_asks_nobody(browser: Browser, site: Path, place: Path) -> None:
    for width in (390, 1200):
        for dark in (False, True):
            is_sound(browser, site / place, width, dark)
            assert axe.violations(browser) == []


@pytest.mark.parametrize(("name", "dark"), [("start", False), ("api/functions", True), ("commands", True)])
def test_axe_finds_nothing_serious(browser: Browser, site: Path, name: str, dark: bool) -> None:
    browser.size(1300, 900, dark)
    browser.open(site / f"{name}.html")
    assert axe.violations(browser) == []


def search(browser: Browser, words: str) -> None:
    browser.click(".md-search__button")
    browser.wait(f"{INSIDE}.activeElement?.tagName === 'INPUT'")
    browser.press(*words)
    browser.wait(f"{INSIDE}.querySelectorAll('a').length > 0")


def test_the_search_finds_a_word_and_leads_to_it(browser: Browser, site: Path) -> None:
    browser.size(1300, 900)
    browser.open(site / "recipes" / "test-set.html")
    search(browser, "winnowing")
    browser.wait(f"{INSIDE}.querySelector('a').innerText.toLowerCase().includes('winnowing')")
    browser.press("enter")
    browser.wait("document.readyState === 'complete' && !location.pathname.endsWith('test-set.html')")
    assert "innowing" in browser.text("article")
    # The theme's search field has autofocus, which a browser says it passes over where an address has an anchor.
    assert [said for said in browser.console() if "Autofocus processing was blocked" not in said] == []


def test_links_to_headings_are_followed(browser: Browser, site: Path) -> None:
    browser.size(1200, 900)
    browser.open(site / "start.html")
    browser.click('article a[href="afterwards.html#recut"]')
    browser.wait("location.hash === '#recut' && document.readyState === 'complete'")
    assert browser.text("#recut").startswith("Recut")


def test_the_button_copies_what_is_typed(browser: Browser, site: Path) -> None:
    browser.size(1200, 900)
    browser.open(site / "start.html")
    button = "article .language-console button[data-clipboard-target]"
    browser.click(button)
    copied = browser.run("return document.querySelector(arguments[0]).dataset.clipboardText", button)
    lines = copied.splitlines()
    assert lines[0] == "mkdir notes"
    assert lines[2] == "sed 's/Thursday/Friday/' notes/club.txt > notes/club2.txt"
    browser.open(site / "questions.html")
    browser.click(button)
    copied = browser.run("return document.querySelector(arguments[0]).dataset.clipboardText", button)
    assert "The city opens the new harbour bridge" in copied
    assert '"left","right"' not in copied
    assert not [line for line in copied.splitlines() if line.startswith(("$ ", "> "))]


def test_wide_code_can_be_scrolled_by_keys(browser: Browser, site: Path) -> None:
    browser.size(390, 900)
    browser.open(site / "start.html")
    wide = "[...document.querySelectorAll('pre > code')].filter((one) => one.scrollWidth > one.clientWidth)"
    assert browser.run(f"return {wide}.length") > 3
    assert browser.run(f"return {wide}.every((one) => one.tabIndex === 0)")
