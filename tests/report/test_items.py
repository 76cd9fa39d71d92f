"""Reports of items that are no texts: weighted sets by their elements, codes by their bits, vectors by their angle."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests.components import skip_without
from tests.report.browser import Browser, missing
from tests.report.test_images import data_of
from twinset.report.numbers import Bin
from twinset.report.page_charts import histogram

HOSTILE = "<img src=x onerror=window.hacked=1>"
BASKETS: dict[str, dict[str, float]] = {
    "ann": {"bread": 2, "milk": 0.5, "salt": 1, HOSTILE: 0.25},
    "bob": {"bread": 1.5, "milk": 0.5, "sugar": 0.125, "salt": 1},
    "cid": {"nails": 1, "glue": 1},
    "dan": {"nails": 1, "glue": 1},
}


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def lists(folder: Path) -> dict[str, Any]:
    rows = [{"id": id, "things": list(one), "n": list(one.values())} for id, one in BASKETS.items()]
    return {"sources": written(folder, rows), "items": "things", "weight": "n", "threshold": 0.5}


def long(folder: Path) -> dict[str, Any]:
    rows = [{"who": id, "what": name, "n": weight} for id, one in BASKETS.items() for name, weight in one.items()]
    return {"sources": written(folder, rows), "group": "who", "item": "what", "weight": "n", "threshold": 0.5}


def dedup(folder: Path, words: dict[str, Any]) -> twinset.DedupResult:
    twinset.dedup(words.pop("sources"), output=folder / "OUT", **words)
    return twinset.open_result(folder / "OUT")


def test_a_page_speaks_of_what_its_items_are(tmp_path: Path) -> None:
    vectors = [[1, 0, 0], [1, 0.01, 0], [0, 1, 0], [0, 1, 0.01]]
    rows = [{"id": str(number), "v": one} for number, one in enumerate(vectors)]
    twinset.dedup(written(tmp_path, rows), output=tmp_path / "OUT", vectors="v", threshold=0.9)
    page = twinset.open_result(tmp_path / "OUT").report(tmp_path / "report.html").read_text("utf-8")
    shown = re.sub(r"(?s)<style>.*?</style>|<script>.*?</script>", "", page)
    assert "Of 4 vectors, 2 are kept" in shown
    assert "vectors in it" in shown
    assert 'placeholder="id of the kept vector"' in shown
    results = re.sub(r"<[^>]*>", " ", shown.partition('id="done"')[0])
    assert not re.search(r"\b(documents?|words?|texts?)\b", results)


def test_close_counts_are_written_on_the_bars() -> None:
    drawn = histogram([Bin(0.8 + i / 20, 0.85 + i / 20, 61 + i) for i in range(4)], 0.8)
    assert re.findall(r'class="value"[^>]*>(\d+)<', drawn) == ["61", "62", "63", "64"]


@pytest.mark.parametrize("make", [lists, long])
def test_weighted_sets_show_their_elements_the_most_telling_first(tmp_path: Path, make: Any) -> None:
    result = dedup(tmp_path, make(tmp_path))
    found = result.explain("bob").explanation
    assert found is not None
    assert found.shared == ("bread (1.5 and 2)", "salt (1 and 1)", "milk (0.5 and 0.5)")
    assert (found.left_only, found.right_only) == (("sugar (0.125)",), (f"{HOSTILE} (0.25)",))
    assert found.similarity == result.removed["similarity"].to_pylist()[0]
    data = data_of(result.report(tmp_path / "report.html"))
    assert data["removed"]["id"] == ["bob", "dan"]
    assert data["differences"]["0"]["elements"] == [
        ["in both", [["bread", "2", "1.5"], ["salt", "1", "1"], ["milk", "0.5", "0.5"]], 0],
        ["in the kept one only", [[HOSTILE, "0.25", ""]], 0],
        ["in the removed one only", [["sugar", "", "0.125"]], 0],
    ]
    assert data["differences"]["1"]["same"]
    assert data["excerpts"]["kept"]["0"] == f"bread 2, salt 1, milk 0.5, {HOSTILE} 0.25"
    assert "bread" not in result.report(tmp_path / "bare.html", texts=False).read_text()


def test_only_so_many_elements_are_shown(tmp_path: Path) -> None:
    large = {f"thing {number}": 1 + number % 7 for number in range(100)}
    done = twinset.dedup([large, {**large, "more": 1}], items="i", weight="w")
    page = done.report(tmp_path / "report.html")
    (both, rows, left_out), other = data_of(page)["differences"]["0"]["elements"]
    assert (both, len(rows), left_out) == ("in both", 40, 60)
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)
    assert other == ["in the removed one only", [["more", "", "1"]], 0]


def test_codes_show_the_bits_that_differ(tmp_path: Path) -> None:
    done = twinset.dedup({"a": "ff00ff00ff00ff00", "b": "ff00ff00ff00ff03", "c": "ff00ff00ff00ff00"}, codes="c")
    account = done.explain("b")
    assert account.explanation is None
    assert account.to_dict()["apart"] == {
        "distance": 2, "bits": 64, "left": "ff00ff00ff00ff03", "right": "ff00ff00ff00ff00", "differing": [62, 63],
    }  # fmt: skip
    data = data_of(done.report(tmp_path / "report.html"))
    found = data["differences"][str(data["removed"]["id"].index("b"))]
    assert found["hunks"][0][1][-1] == [0, "00", "11"]
    assert found["mono"]
    assert data["differences"][str(data["removed"]["id"].index("c"))]["same"]


def test_vectors_show_their_angle_and_lengths(tmp_path: Path) -> None:
    done = twinset.dedup({"a": [3.0, 4.0], "b": [6.0, 8.0], "c": [4.0, -3.0]}, vectors=True, threshold=0.9)
    apart = done.explain("b").apart
    assert apart is not None
    assert apart.to_dict() == {
        "distance": 5.0, "cosine": 1.0, "angle": 0.0, "left_length": 10.0, "right_length": 5.0, "dimensions": 2,
    }  # fmt: skip
    facts = data_of(done.report(tmp_path / "report.html"))["differences"]["0"]["facts"]
    assert facts == "distance 5 · cosine 1.0000 · an angle of 0 degrees · length 5 (kept) and 10"


def test_each_kind_is_told_of_in_its_own_words(tmp_path: Path) -> None:
    places = [(number, place) for number in range(9) for place in range(2)]
    families = {f"{number}-{place}": [float(number), 1.0, place] for number, place in places}
    done = twinset.dedup({**families, "copy": [0.0, 2.0, 0.0]}, vectors=True, threshold=0.7)
    page = done.report(tmp_path / "vectors.html").read_text("utf-8")
    assert "pairs drawn; 1 more has the same direction." in page
    assert '<div class="two"><figure class="card"><h3>How similar the pairs are' in page  # not as wide as the page
    assert "shingles" not in page.partition("All other options")[0]
    weighted = dedup(tmp_path, lists(tmp_path)).report(tmp_path / "weighted.html").read_text("utf-8")
    assert "1 more shares all elements and weights." in weighted


@pytest.mark.parametrize("most", [1, 5, 6, 9, 10, 11, 17, 50, 99, 1234])
def test_ticks_stand_where_they_say(most: int) -> None:
    drawn = histogram([Bin(0.8, 0.9, most), Bin(0.9, 1.0, 1)], 0.8)
    found = re.findall(r'y="([\d.]+)" text-anchor="end">([\d,]+)<', drawn)
    heights = [(float(y), int(label.replace(",", ""))) for y, label in found]
    assert len(heights) == 5
    (bottom, none), (top, whole) = heights[0], heights[-1]
    assert none == 0
    assert whole >= most
    for y, label in heights:
        assert y == pytest.approx(bottom + (top - bottom) * label / whole, abs=0.02)


def test_bars_beside_the_removed_measure_them(tmp_path: Path) -> None:
    sizes = {"one": 2, "two": 2, "three": 2, "four": 3}
    texts = {f"{name} {copy}": f"a text named {name}" for name, size in sizes.items() for copy in range(size)}
    page = twinset.dedup(texts).report(tmp_path / "report.html")
    found = re.findall(r'<td class="number">(\d+)</td><td class="spark">.*?<rect width="([\d.]+)"', page.read_text())
    assert [removed for removed, _ in found] == ["3", "2"]
    most = max(int(removed) for removed, _ in found)
    assert all(float(width) == pytest.approx(100 * int(removed) / most, abs=0.01) for removed, width in found)


def test_records_show_the_words_that_differ(tmp_path: Path) -> None:
    people = {"a": {"name": "Ann Hill", "city": "York"}, "b": {"name": "Ann Hall", "city": "York"}}
    done = twinset.dedup(people, text=["name,char:2", "city,char:2"], threshold=0.3)
    data = data_of(done.report(tmp_path / "report.html"))
    assert data["differences"]["0"]["hunks"] == [
        [0, [[1, "name: Ann "], [0, "Hill\n", "Hall\n"], [1, "city: York"]]],
    ]
    assert data["excerpts"]["kept"]["0"] == "Ann Hill · York"


def test_a_distance_of_more_than_all_bits(tmp_path: Path) -> None:
    page = twinset.dedup([1, 2**64 - 2], codes="c", distance=10**15).report(tmp_path / "report.html")
    assert "How far apart the pairs are" in page.read_text()


def test_a_floor_of_distances_is_told(tmp_path: Path) -> None:
    page = twinset.dedup([1, 3, 0xFF], codes="c", floor=9).report(tmp_path / "report.html")
    assert "The search went up to 9 bits apart; pairs beyond 3 bits remove nothing." in page.read_text()


def test_pages_of_items_in_a_browser(tmp_path: Path) -> None:
    skip_without(missing())
    pages = {}
    for name, words in (("weighted", lists(tmp_path)), ("codes", {"codes": "c"})):
        source = words.pop("sources", {"a": 0xFF00, HOSTILE: 0xFF03})
        pages[name] = twinset.dedup(source, **words).report(tmp_path / f"{name}.html")
    with Browser() as browser:
        for name, page in pages.items():
            browser.open(page)
            browser.click("#clusters-rows > details:nth-child(1) > summary")
            shown = "table.elements" if name == "weighted" else ".pair.mono"
            browser.wait(f"document.querySelector('#clusters-rows {shown}')")
            browser.wait("document.querySelectorAll('#clusters-rows del, #clusters-rows ins').length > 1")
            text = browser.run(f"return document.querySelector('#clusters-rows {shown}').innerText")
            marks = browser.run("return [...document.querySelectorAll('#clusters-rows del, #clusters-rows ins')]"
                                ".map((one) => one.tagName + one.textContent)")  # fmt: skip
            if name == "weighted":
                assert HOSTILE in text
                assert "in both: 3 elements" in text
                assert marks == ["DEL2", "INS1.5", "DEL0.25", "INS0.125"]
            else:
                assert marks == ["DEL00", "INS11"]
            assert browser.run("return window.hacked ?? null") is None
            assert browser.console() == []
