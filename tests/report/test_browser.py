"""The report in a real Chromium: as a person uses it, as a stranger's documents attack it, and when it is large."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests.report.browser import Browser
from tests.report.results import families, made, near, text, write

# Each tries another way out of the place where it stands; all would set window.hacked.
PAYLOADS = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "<img src=x onerror=window.hacked=3>",
    "\"><svg onload=window.hacked=4>",
    "'><iframe srcdoc='<script>parent.hacked=5</script>'>",
    "<!--<script>window.hacked=6//",
    "]]><script>window.hacked=7</script>",
    "{{data}}{{script}}${window.hacked=8}",
    "javascript:window.hacked=9",
    "</title></style></textarea><script>window.hacked=10</script>",
    "\u2028window.hacked=11\u2029",
    "__proto__",
    "constructor",
    "<a href='javascript:window.hacked=12' autofocus onfocus=window.hacked=13>x</a>",
    "\\u003cscript\\u003ewindow.hacked=14\\u003c/script\\u003e",
    "&lt;script&gt;window.hacked=15&lt;/script&gt;",
]


def opened(browser: Browser, page: Path, width: int = 1280, height: int = 900, dark: bool = False) -> None:
    """Open a page in a window of that size."""
    browser.size(width, height, dark)
    browser.open(page)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return twinset.open_result(made(folder)).report(folder / "report.html")


def first_lines(browser: Browser, name: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
    return list(browser.run(script, f"#{name}-rows > details > summary .id"))


def test_it_opens_offline_without_a_word_in_the_console(browser: Browser, page: Path) -> None:
    opened(browser, page)
    assert browser.text("h1") == "OUT"
    assert browser.count("svg.chart") == 2
    assert first_lines(browser, "clusters") == ["a", "b", "c"]
    assert first_lines(browser, "removed") == ["a-copy", "a-near", "a-far", "b-near", "b-edge", "c-near"]
    assert browser.console() == []
    assert browser.requests() == [page.resolve().as_uri()]


def test_a_cluster_opens_with_the_words_that_differ(browser: Browser, page: Path) -> None:
    opened(browser, page)
    browser.click("#clusters-rows > details:nth-child(2) > summary")
    browser.wait("document.querySelector('#clusters-rows .pair')")
    browser.wait("document.querySelectorAll('#clusters-rows .member').length === 2")
    assert browser.text("#clusters-rows .pair del") == text(2).split()[40]
    assert browser.text("#clusters-rows .pair ins") == "altered"
    assert "words the same" in browser.text("#clusters-rows .pair .fold")
    assert "similarity 0." in browser.text("#clusters-rows .member .facts")
    browser.click("#clusters-rows > details:nth-child(2) > summary")
    browser.wait("!document.querySelector('#clusters-rows > details:nth-child(2)').open")


def test_moved_words_have_their_own_colour_and_a_number(browser: Browser, tmp_path: Path) -> None:
    first, rest = " ".join(text(1).split()[:8]), " ".join(text(1).split()[8:])
    out = made(tmp_path, {"kept": f"{first} {rest}", "moved": f"{rest} {first}"})
    for width in (1280, 390):
        opened(browser, twinset.open_result(out).report(tmp_path / "report.html", force=True), width=width)
        browser.click("#clusters-rows > details > summary")
        browser.wait("document.querySelectorAll('#clusters-rows .pair .moved').length === 2")
        shown = browser.run("return [...document.querySelectorAll('.pair .moved')].map((one) => one.innerText)")
        assert shown == [f"1{first}"] * 2
        assert browser.count("#clusters-rows :is(del, ins)") == 0
        assert browser.run("return document.querySelector('.moved').title") == "moved"
        assert browser.run("return document.documentElement.scrollWidth") <= width


def test_removed_documents_are_found_by_id_by_words_and_by_the_kept_one(browser: Browser, page: Path) -> None:
    for words, found in (
        ("NEAR", ["a-near", "b-near", "c-near"]),
        (text(3).split()[0], ["c-near"]),
        ("b-e", ["b-edge"]),
        ("a near", ["a-near", "b-near", "c-near"]),
        ("nothing like it", []),
    ):
        opened(browser, page)
        browser.type("#removed-search", words)
        wanted = json.dumps(found)
        ids = "JSON.stringify([...document.querySelectorAll('#removed-rows .id')].map((one) => one.textContent))"
        browser.wait(f"{ids} === JSON.stringify({wanted})")
        assert "6 in total" in browser.text("#removed-count")
    assert browser.text("#removed-rows") == "No matches."


def test_orders(browser: Browser, page: Path) -> None:
    opened(browser, page)
    browser.click("#clusters-list input[value=least] + span")
    browser.wait("document.querySelector('#clusters-list input[value=least]').checked")
    least = browser.run("return [...document.querySelectorAll('#clusters-rows .gauge')].map((one) => one.textContent)")
    assert least == sorted(least)
    browser.click("#removed-list input[value=similarity] + span")
    browser.wait("document.querySelector('#removed-list input[value=similarity]').checked")
    least = browser.run("return [...document.querySelectorAll('#removed-rows .gauge')].map((one) => one.textContent)")
    assert least == sorted(least)
    assert least[-1] == "1.0000"


def test_it_works_by_keyboard_alone(browser: Browser, page: Path) -> None:
    opened(browser, page)
    browser.press("tab")
    browser.wait("document.activeElement.className === 'skip'")
    browser.run("document.getElementById('removed').scrollIntoView({behavior: 'instant'})")
    browser.press("/")
    browser.wait("document.activeElement.id === 'removed-search'")
    browser.press(*"edge")
    browser.wait("document.querySelectorAll('#removed-rows details').length === 1")
    browser.press("escape")
    browser.wait("document.querySelectorAll('#removed-rows details').length === 6")
    browser.press("j", "j", "k", "j")
    browser.wait("document.activeElement.querySelector('.id')?.textContent === 'a-near'")
    browser.press("enter")
    browser.wait("document.querySelector('#removed-rows details[open] .pair')")
    browser.press("enter")
    browser.wait("!document.querySelector('#removed-rows details[open]')")


def luminance(browser: Browser, selector: str, what: str) -> int:
    colour = browser.run(f"return getComputedStyle(document.querySelector(arguments[0])).{what}", selector)
    return sum(int(part) for part in colour[colour.index("(") + 1 : colour.index(")")].split(",")[:3])


@pytest.mark.parametrize("width", [1280, 700, 390, 320])
def test_nothing_sticks_out_whatever_the_width(browser: Browser, page: Path, width: int) -> None:
    for dark in (False, True):
        opened(browser, page, width=width, dark=dark)
        browser.run("for (const one of document.querySelectorAll('.rows > details, .done details')) one.open = true")
        browser.wait("document.querySelectorAll('.pair').length >= 6")
        assert browser.run("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1200, 390])
def test_no_label_of_a_chart_and_no_bar_is_cut_off(browser: Browser, page: Path, width: int) -> None:
    opened(browser, page, width=width)
    outside = browser.run(
        """
        return [...document.querySelectorAll(".chart text, .chart rect, td.spark rect")].filter((one) => {
          const inner = one.getBoundingClientRect(), outer = one.ownerSVGElement.getBoundingClientRect();
          const card = one.closest(".card").getBoundingClientRect();
          return inner.left < Math.max(outer.left, card.left) - 0.5
            || inner.right > Math.min(outer.right, card.right) + 0.5
            || inner.top < outer.top - 0.5 || inner.bottom > outer.bottom + 0.5;
        }).map((one) => one.textContent)
        """
    )
    assert outside == []
    every = "[...document.querySelectorAll('.chart text')].map((one) => one.getBoundingClientRect().height)"
    assert browser.run(f"return Math.min(...{every})") >= 9


def test_kept_and_removed_are_told_apart_without_red_and_green(browser: Browser, page: Path) -> None:
    for dark in (False, True):
        opened(browser, page, dark=dark)
        browser.click("#clusters-rows > details:nth-child(2) > summary")
        browser.wait("document.querySelector('#clusters-rows .pair ins')")
        colours = []
        for tag in ("del", "ins"):
            found = browser.run(
                "const one = getComputedStyle(document.querySelector(arguments[0]));"
                "return [one.color, one.textDecorationLine, one.fontWeight]",
                f"#clusters-rows .pair {tag}",
            )
            red, _, blue = (int(part) for part in found[0][found[0].index("(") + 1 : -1].split(",")[:3])
            colours.append((blue > red, found[1], int(found[2]) >= 600))
        assert colours == [(True, "underline", False), (False, "none", True)]


def test_light_and_dark(browser: Browser, page: Path) -> None:
    for dark in (False, True):
        opened(browser, page, dark=dark)
        ground, ink = luminance(browser, "body", "backgroundColor"), luminance(browser, "body", "color")
        assert (ground < ink) is dark
        before = browser.text("#theme")
        browser.click("#theme")
        browser.wait("document.querySelector('#theme').innerText !== arguments[0]", before)
        assert (luminance(browser, "body", "backgroundColor") < luminance(browser, "body", "color")) is not dark


def test_it_prints(browser: Browser, page: Path) -> None:
    opened(browser, page, dark=True)
    assert browser.printed().startswith(b"%PDF")
    browser.media("print")
    assert luminance(browser, "body", "backgroundColor") == 3 * 255
    tools = "[...document.querySelectorAll('nav, .tools, .pager, #theme')]"
    assert browser.run(f"return {tools}.every((one) => one.offsetParent === null)")
    assert browser.run("return document.querySelector('#removed-rows summary').offsetParent !== null")
    browser.media("screen")


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on documents whose ids, texts, file, folder and options all try to run a script."""
    folder = tmp_path_factory.mktemp("attack")
    texts = {}
    for number, payload in enumerate(PAYLOADS):
        words = text(number).split()
        texts[f"{payload} kept {number}"] = " ".join([payload, *words[:30], payload, *words[30:], payload])
        words[40] = payload
        texts[f"{payload} removed {number}"] = " ".join([payload, *words[:30], payload, *words[30:], payload])
    source = write(folder / "<img src=x onerror=window.hacked=20>.jsonl", texts)
    out = folder / "<svg onload=window.hacked=21>"
    twinset.dedup(source, output=out, threshold=0.5, include=["<script>window.hacked=22</script>"])
    assert twinset.open_result(out).summary["removed"] >= len(PAYLOADS)
    return twinset.open_result(out).report(folder / "report.html")


def test_scripts_in_ids_and_texts_do_not_run(browser: Browser, attacked: Path) -> None:
    opened(browser, attacked)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.wait("document.querySelectorAll('.pair').length >= arguments[0]", len(PAYLOADS))
    browser.run("document.querySelectorAll('#clusters-rows details').forEach((one) => { one.open = true; })")
    browser.type("#removed-search", "<script>")
    browser.wait("document.querySelector('#removed-count').textContent.includes('found')")
    assert browser.run("return window.hacked === undefined && Object.prototype.hacked === undefined")
    assert browser.count("script") == 2
    assert browser.count("img, iframe, object, embed, svg[onload], a[href^='javascript'], main style, main script") == 0
    assert browser.console() == []
    assert browser.requests() == [attacked.resolve().as_uri()]


def test_what_attacks_is_shown_as_it_is(browser: Browser, attacked: Path) -> None:
    opened(browser, attacked)
    shown = "".join(first_lines(browser, "removed"))
    for payload in PAYLOADS:
        assert payload in shown
    assert browser.text("h1") == "<svg onload=window.hacked=21>"
    assert "<img src=x onerror=window.hacked=20>.jsonl" in browser.text("#done")


def test_the_policy_holds_even_for_a_script_that_got_in(browser: Browser, page: Path) -> None:
    """The second wall: were anything to slip through, it could neither run, nor make markup, nor call anyone."""
    heard: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    opened(browser, page)
    refused = browser.run(
        """
        const refused = [];
        for (const way of [
          () => { document.body.innerHTML = "<img src=x onerror=window.hacked=1>"; },
          () => {
            const script = document.createElement("script");
            script.textContent = "window.hacked=1";
            document.body.append(script);
          },
          () => { document.body.insertAdjacentHTML("beforeend", "<p onclick=window.hacked=1>"); },
        ]) { try { way(); refused.push("done"); } catch (error) { refused.push(error.name); } }
        const image = new Image(); image.src = arguments[0] + "image"; document.body.append(image);
        return refused;
        """,
        address,
    )
    assert refused == ["TypeError"] * 3
    answer = browser.run("return fetch(arguments[0]).then(() => 'sent', (error) => error.name)", address)
    assert answer == "TypeError"
    assert browser.run("return window.hacked === undefined")
    assert len(browser.console()) >= 3, "what is refused is said in the console"
    server.shutdown()
    assert heard == []


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100,000 clusters of two."""
    folder = tmp_path_factory.mktemp("large")
    source = folder / "many.jsonl"
    with source.open("w") as file:
        for number in range(100_000):
            words = f"alpha{number} beta{number} gamma{number} delta{number} epsilon{number} zeta{number} eta{number}"
            for name, last in (("k", "theta"), ("r", "iota")):
                file.write(f'{{"id": "{name}{number}", "text": "{words} {last}"}}\n')
    twinset.dedup(source, output=folder / "OUT", threshold=0.5, shingle="word:2", audit=0)
    return twinset.open_result(folder / "OUT").report(folder / "report.html")


def test_a_hundred_thousand_clusters_do_not_hang(browser: Browser, large: Path) -> None:
    # The driver gives up on a script after some minutes, and on a page: one that hangs fails here.
    opened(browser, large)
    browser.wait_for_text("#clusters-count", "1 to 25 of 100,000")
    assert browser.count("*") < 5000
    browser.click("#clusters-list input[value=least] + span")
    browser.wait("document.querySelector('#clusters-list input[value=least]').checked")
    browser.run(
        "const number = document.querySelector('#clusters-pager input');"
        "number.value = 4000; number.dispatchEvent(new Event('change'))"
    )
    browser.wait_for_text("#clusters-count", "99,976 to 100,000 of 100,000")
    browser.click("#clusters-rows > details:last-child > summary")
    browser.wait("document.querySelector('#clusters-rows details[open] .member')")
    browser.wait_for_text("#clusters-rows details[open]", "twinset explain")
    browser.type("#removed-search", "r99999")
    browser.wait("document.querySelectorAll('#removed-rows details').length === 1")
    browser.type("#clusters-search", "k4711")
    browser.wait("document.querySelectorAll('#clusters-rows details').length === 11")
    assert browser.count("*") < 5000
    assert browser.console() == []


def test_the_paging_keys(browser: Browser, large: Path) -> None:
    opened(browser, large)
    browser.wait_for_text("#removed-count", "1 to 50 of 100,000")
    browser.run("document.getElementById('removed').scrollIntoView({behavior: 'instant'})")
    browser.press("]", "]", "[")
    browser.wait("document.querySelector('#removed-count').textContent.startsWith('51 to 100 of 100,000')")


def test_a_report_without_texts_and_without_results(browser: Browser, tmp_path: Path) -> None:
    for name, texts, words in (("bare", families(), {"texts": False}), ("alone", {"x": near(1, 2)}, {})):
        out = made(tmp_path, texts, name=name)
        opened(browser, twinset.open_result(out).report(tmp_path / f"{name}.html", **words))
        browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        browser.wait("[...document.querySelectorAll('.rows > details')].every((one) => one.children.length > 1)")
        assert browser.console() == []
        assert browser.count(".pair") == 0
        assert (browser.count("#removed-rows details") > 0) is (name == "bare")


SLUG = "https://www.example.org/section/36/some-very-long-slug-that-goes-on-and-on-for-every-single-page"


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    texts = [text(1), near(1, 30), near(1, 40), text(2)]
    for length in range(50, 160, 2):  # pairs of many similarities: small numbers side by side in the histogram
        texts += [text(length, length), text(length, length).replace(" ", " altered ", 9).replace(" altered", "", 8)]
    source = write(folder / "crawl.jsonl", {f"{SLUG}-{number}.html": one for number, one in enumerate(texts)})
    twinset.dedup(source, output=folder / "OUT")
    return twinset.open_result(folder / "OUT").report(folder / "report.html")


@pytest.mark.parametrize("width", [1200, 390])
def test_an_opened_row_shows_whole_ids(browser: Browser, crawl: Path, width: int) -> None:
    opened(browser, crawl, width=width)
    browser.run("for (const one of document.querySelectorAll('.rows > details')) one.open = true")
    browser.wait("document.querySelectorAll('#clusters-rows .member').length >= 2")
    browser.run("for (const one of document.querySelectorAll('.member')) one.open = true")
    cut = browser.run(
        """
        return [...document.querySelectorAll("details[open] > .line .id, details[open] > .line .whole")].filter((one) =>
          one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1
          || getComputedStyle(one).whiteSpace === "nowrap").map((one) => one.textContent)
        """
    )
    assert cut == []
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.count("#removed-rows .whole") == browser.count("#removed-rows > details")


def test_a_closed_row_names_its_ids_in_a_tooltip(browser: Browser, crawl: Path) -> None:
    opened(browser, crawl, width=390)
    script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.title)"
    titles = browser.run(script, "#removed-rows > details > summary [title]")
    assert f"{SLUG}-1.html" in titles
    assert f"{SLUG}-0.html" in titles


@pytest.mark.parametrize("width", [1200, 390])
def test_no_label_of_a_chart_touches_another_or_the_curve(browser: Browser, crawl: Path, width: int) -> None:
    opened(browser, crawl, width=width)
    touching = browser.run(
        """
        const found = [];
        for (const chart of document.querySelectorAll("svg.chart")) {
          const visible = (one) => getComputedStyle(one).visibility === "visible";
          const seen = [...chart.querySelectorAll("text")].filter(visible);
          const boxes = seen.map((one) => [one.textContent, one.getBoundingClientRect()]);
          boxes.forEach(([a, one], i) => boxes.slice(i + 1).forEach(([b, other]) => {
            const across = Math.max(one.left - other.right, other.left - one.right);
            const apart = Math.max(across, one.top - other.bottom, other.top - one.bottom);
            const marked = a.startsWith("threshold") || b.startsWith("threshold");
            if ((marked && apart < 0) || (Math.abs(one.top - other.top) < 6 && across < 2)) found.push([a, b]);
          }));
          const line = chart.querySelector(".curve"), label = boxes.find(([name]) => name.startsWith("threshold"));
          if (!line || !label) continue;
          const matrix = line.getScreenCTM(), box = label[1];
          for (const point of line.points) {
            const at = point.matrixTransform(matrix);
            const beside = at.x < box.left || at.x > box.right || at.y < box.top || at.y > box.bottom;
            if (!beside) found.push([label[0], "curve"]);
          }
        }
        return found;
        """
    )
    assert touching == []
