"""Everybody can use the page: axe-core finds nothing serious, in light and in dark, wide and narrow."""

from __future__ import annotations

from pathlib import Path

import pytest

import twinset
from tests.report.browser import Browser
from tests.report.results import families, write
from tests.web.axe import violations
from tests.web.review.reviewing import Review


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)])
def test_nothing_serious_is_found(browser: Browser, review: Review, width: int, dark: bool) -> None:
    judge = {"list": "clusters", "item": 1, "pair": 4, "seen": 0, "verdict": "duplicate", "note": "a note"}
    review.ask("/verdicts", judge)
    review.ask("/verdicts", {**judge, "pair": 3, "verdict": "principal"})
    review.ask("/verdicts", {**judge, "pair": 3, "verdict": "duplicate"})
    review.ask("/verdicts?side=left", {**judge, "pair": 3, "verdict": "principal"})
    review.ask("/verdicts", {**judge, "item": 0, "pair": 2, "verdict": "unsure", "note": ""})
    review.ask("/sample", {"pairs": 5, "seed": 1})
    browser.size(width, 900, dark)
    for path in ("/clusters", "/clusters/1?pair=4", "/clusters?q=nothing+like+it", "/pairs/5", "/conflicts", "/sample"):
        browser.visit(review.url(path))
        assert violations(browser) == [], path
    browser.visit(review.url("/clusters/0?pair=1"))
    browser.press("?")
    browser.wait("document.getElementById('keys').open")
    assert violations(browser) == []
    browser.press("escape")


def test_passages_too(browser: Browser, tmp_path: Path) -> None:
    source = write(tmp_path / "texts.jsonl", families())
    twinset.find_passages(source, output=tmp_path / "found", least=10)
    with Review(tmp_path / "found", who="Ann") as review:
        browser.size(1200, 900)
        browser.visit(review.url("/passages/1"))
        assert browser.count(".pane mark") > 1
        assert violations(browser) == []


def test_each_part_has_a_name(browser: Browser, review: Review) -> None:
    browser.size(1200, 900)
    browser.visit(review.url("/clusters"))
    unnamed = browser.run(
        "return [...document.querySelectorAll('button, a, input:not([type=hidden]), select, textarea, [role=region]')]"
        ".filter((one) => !(one.textContent.trim() || one.ariaLabel || one.labels?.length || one.title))"
        ".map((one) => one.outerHTML)"
    )
    assert unnamed == []
    assert browser.run("return document.querySelector('#message').getAttribute('role')") == "status"
