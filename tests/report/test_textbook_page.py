"""The page of ``twinset textbook`` in a real Chromium: its numbers, its keys, its looks, and hostile documents."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

import twinset
from tests.report.browser import Browser
from tests.report.picture import MOVE
from tests.report.test_browser import PAYLOADS
from tests.web import axe
from twinset import textbook
from twinset.evaluation import real_pairs
from twinset.jobs.report import write_textbook
from twinset.report.textbook_page import plans

SAMPLE = Path(__file__).parents[2] / "src/twinset/cli/sample/articles.jsonl"
RIGHT, LEFT, HOME, END, SPACE = "\ue014", "\ue012", "\ue011", "\ue010", " "


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_textbook([str(SAMPLE)], tmp_path_factory.mktemp("textbook") / "page.html", name="the sample")


def opened(browser: Browser, page: Path, width: int = 1200, height: int = 1000, dark: bool = False) -> None:
    browser.size(width, height, dark)
    browser.open(page)
    browser.wait("document.getElementById('said').innerText")


def move(browser: Browser, **sliders: int) -> None:
    browser.run("document.getElementById('said').textContent = ''")
    browser.run(MOVE, sliders)
    browser.wait("document.getElementById('said').innerText")


def shown(browser: Browser) -> dict[str, int]:
    names = ("similar", "found", "missed", "candidates", "false")
    return {name: int(browser.text(f"#{name}").replace(",", "")) for name in names}


@cache
def by_definition() -> tuple[dict[tuple[str, str], float], dict[str, tuple[int, ...]]]:
    """The similarities of all pairs of the sample, by the textbook, and the signatures of the product."""
    rows = [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]
    sets = {row["id"]: textbook.shingles(row["text"], "char:5") for row in rows}
    pairs = {(left, right): s for left, right, s in textbook.all_pairs(sets, 0.0)}
    texts = {row["id"]: row["text"] for row in rows}
    made = twinset.sketch(texts, shingle="char:5", sketch="kperm", n_hashes=256)
    bits = real_pairs.compare_all([texts], real_pairs.TextbookOptions.of())
    assert len(bits.lefts) == len(pairs)
    signatures = {}
    for row in made.table.to_pylist():
        packed = row["sketch"]
        slots = [packed[4 * i : 4 * i + 4] for i in range(256)] if isinstance(packed, bytes) else packed
        signatures[row["id"]] = tuple(slots) if row["shingles"] else ()
    return pairs, {name: one for name, one in signatures.items() if one}


@pytest.mark.parametrize(
    ("bands", "rows", "threshold"),
    [(20, 5, 80), (15, 5, 50), (9, 9, 55), (1, 1, 5), (128, 2, 90), (8, 32, 100), (50, 3, 45), (1, 32, 80)],
)
def test_counts_are_those_of_the_textbook(browser: Browser, page: Path, bands: int, rows: int, threshold: int) -> None:
    pairs, signatures = by_definition()
    opened(browser, page)
    move(browser, bands=1, rows=1)
    move(browser, bands=bands, rows=rows, threshold=threshold)
    candidates = textbook.candidates(signatures, bands, rows)
    found = candidates | {(right, left) for left, right in candidates}
    similar = {pair for pair, similarity in pairs.items() if similarity >= threshold / 100}
    assert shown(browser) == {
        "similar": len(similar),
        "found": len(similar & found),
        "missed": len(similar - found),
        "candidates": len(candidates),
        "false": len(candidates) - len(similar & found),
    }
    mean = sum(textbook.band_probability(pairs[pair], bands, rows) for pair in similar)
    assert float(browser.text("#found-mean")) == pytest.approx(mean, abs=0.51)
    assert f"{bands} band" in browser.text("#said")
    assert f"threshold {threshold / 100:.2f}" in browser.text("#said")


def test_it_opens_offline_without_a_word_in_the_console(browser: Browser, page: Path) -> None:
    opened(browser, page)
    assert browser.text("h1") == "Bands, rows and threshold"
    assert browser.text(".lead").startswith("55 documents of the sample, compared pair by pair: 546 pairs")
    assert browser.count("#plot svg path.curve") == 1
    assert browser.count("#pairs-rows > details") == 20
    assert browser.console() == []
    assert browser.requests() == [page.resolve().as_uri()]


def test_it_prints_the_table_of_the_lecture(browser: Browser, page: Path) -> None:
    opened(browser, page)
    cells = browser.run("return [...document.querySelectorAll('#points-p td')].map((one) => one.innerText)")
    assert cells[1:8] == [".006", ".047", ".186", ".470", ".802", ".975", ".9996"]
    assert browser.text("#step-value") == "step at 0.55"
    assert browser.text(".formula span") == "P(candidate) = 1 − (1 − s5)20"
    move(browser, bands=128, rows=2)
    cells = browser.run("return [...document.querySelectorAll('#points-p td')].map((one) => one.innerText)")
    assert cells[-1] == ">.9999", "what is not certain is never shown as 1"


def test_everything_can_be_done_with_keys(browser: Browser, page: Path) -> None:
    opened(browser, page)
    browser.run("document.getElementById('bands').focus()")
    browser.press(RIGHT, RIGHT)
    assert browser.text("#bands-value") == "22"
    browser.press("tab", LEFT)
    assert browser.text("#rows-value") == "4"
    browser.press("tab", HOME)
    assert browser.text("#threshold-value") == "0.05"
    assert browser.run("return document.getElementById('threshold').getAttribute('aria-valuetext')") == "0.05"
    browser.press(END)
    assert browser.text("#threshold-value") == "1.00"
    browser.press("tab", SPACE)
    assert (browser.text("#bands-value"), browser.text("#rows-value")) == ("20", "5")
    browser.press("tab", "enter")
    assert (browser.text("#bands-value"), browser.text("#rows-value")) == ("15", "5")
    browser.wait("document.getElementById('said').innerText.startsWith('15 bands of 5 rows, threshold 1.00')")
    # The list: its first row by j, open by Enter, and it stays open when a slider moves.
    browser.run("document.querySelector('#pairs').scrollIntoView({behavior: 'instant'}); document.activeElement.blur()")
    browser.press("j", "enter")
    browser.wait("document.querySelector('#pairs-rows details[open] .bands')")
    assert browser.count("#pairs-rows details[open] .bands > span") == 15
    first = browser.text("#pairs-rows details[open] .both")
    move(browser, bands=14)
    browser.wait("document.querySelectorAll('#pairs-rows details[open] .bands > span').length === 14")
    assert browser.text("#pairs-rows details[open] .both") == first


def test_a_signature_has_no_more_hashes_than_it_has(browser: Browser, page: Path) -> None:
    opened(browser, page)
    move(browser, bands=100)
    assert (browser.text("#bands-value"), browser.text("#rows-value")) == ("100", "2")
    assert browser.text("#said").startswith("A signature has 256 hashes: rows reduced to 2. 100 bands of 2 rows")
    move(browser, rows=32)
    assert (browser.text("#bands-value"), browser.text("#rows-value")) == ("8", "32")
    assert browser.text("#used") == "256 of 256 hashes are used"


def test_the_plan_is_that_of_twinset_and_the_step_that_of_the_old_rule(browser: Browser, page: Path) -> None:
    opened(browser, page)
    for threshold in (45, 80, 95):
        move(browser, threshold=threshold)
        browser.click("#plan")
        made = twinset.plan(threshold / 100, n_hashes=256)
        assert browser.text("#bands-value") == str(made.n_bands)
        assert browser.text("#rows-value") == str(made.rows_per_band)
        assert browser.run("return document.getElementById('plan').getAttribute('aria-pressed')") == "true"
        browser.click("#step")
        bands = textbook.bands_by_step(threshold / 100, 100)
        assert browser.text("#bands-value") == str(bands)
        assert browser.text("#rows-value") == str(100 // bands)
    assert [plans(16)[hundredth] for hundredth in (1, 20)] == [None, None]


def test_other_hashes_are_other_draws_of_the_same_pairs(browser: Browser, page: Path) -> None:
    opened(browser, page)
    move(browser, bands=15, rows=5, threshold=50)
    found = [shown(browser)]
    for number in range(1, 9):
        browser.run("document.getElementById('said').textContent = ''")
        browser.click("#shuffle")
        browser.wait("document.getElementById('said').innerText")
        assert f"Hashes in another order, number {number}. " in browser.text("#said")
        found.append(shown(browser))
    assert {one["similar"] for one in found} == {48}
    assert len({one["found"] for one in found}) > 1
    mean = float(browser.text("#found-mean"))
    # Eleven of the pairs may go either way; the mean of nine draws is within four of its standard errors.
    assert abs(sum(one["found"] for one in found) / 9 - mean) < 4 * (11 * 0.25) ** 0.5 / 3 + 0.5


def test_the_list_has_errors_first_and_is_searched(browser: Browser, page: Path) -> None:
    opened(browser, page)
    move(browser, bands=15, rows=5, threshold=50)
    counts = shown(browser)
    outcomes = browser.run("return [...document.querySelectorAll('#pairs-rows .outcome')].map((one) => one.innerText)")
    wrong = ["missed"] * counts["missed"] + ["false candidate"] * counts["false"]
    assert outcomes == [*wrong, *["found"] * 20][:20]
    browser.click("input[value=least] + span")
    assert browser.text("#pairs-rows .gauge") < "0.1"
    browser.type("#pairs-search", "missed")
    browser.wait_for_text("#pairs-count", f"1 to {counts['missed']} of {counts['missed']} found")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 800, 1200])
def test_it_fits_the_window_and_axe_finds_nothing(browser: Browser, page: Path, width: int, dark: bool) -> None:
    opened(browser, page, width, 900, dark)
    browser.click("#pairs-rows > details > summary")
    browser.wait("document.querySelector('#pairs-rows details[open] .bands')")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert axe.violations(browser) == []
    label = browser.run("return document.querySelector('#plot svg').getAttribute('aria-label')")
    assert "a pair becomes a candidate with probability .9996" in label


def test_documents_cannot_get_out_of_the_page(browser: Browser, tmp_path: Path) -> None:
    texts = {f"{number}{payload}": f"{payload} the same words in every text" for number, payload in enumerate(PAYLOADS)}
    page = write_textbook([texts], tmp_path / "page.html", name=PAYLOADS[1])
    opened(browser, page)
    for place in range(1, 6):
        browser.click(f"#pairs-rows > details:nth-child({place}) > summary")
    browser.wait("document.querySelectorAll('#pairs-rows details[open] .quote').length === 10")
    assert browser.run("return window.hacked ?? null") is None
    assert browser.count("main script, main iframe, main img") == 0
    assert PAYLOADS[1] in browser.text(".lead")
    assert browser.console() == []
    assert browser.requests() == [page.resolve().as_uri()]


def test_a_page_without_texts_has_none(tmp_path: Path) -> None:
    page = write_textbook([str(SAMPLE)], tmp_path / "page.html", texts=False).read_text("utf-8")
    assert '"excerpts":null' in page
    assert "allotment society" not in page
    assert "notice-1" in page


def test_a_large_collection_is_a_sample_and_says_so(browser: Browser, tmp_path: Path) -> None:
    texts = {f"d{number}": f"the words of document {number} are these" for number in range(300)}
    page = write_textbook([texts], tmp_path / "page.html", documents=120, shingle="char:4")
    opened(browser, page)
    notes = browser.text("#how .note")
    assert "The documents are a sample, drawn by their contents." in notes
    assert "The page has the 6,000 most similar pairs one by one. Of the other 1,140" in notes
    move(browser, bands=128, rows=2, threshold=99)
    # What is not on the page is a candidate on average, and counted there only.
    assert float(browser.text("#candidates-mean").replace(",", "")) > shown(browser)["candidates"] + 1000
    assert page.read_bytes() == write_textbook(
        [texts], tmp_path / "again.html", documents=120, shingle="char:4"
    ).read_bytes()
