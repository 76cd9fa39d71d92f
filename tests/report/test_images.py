"""The report of pictures: thumbnails side by side, in the page itself; and reports of other measures."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image

import twinset
from tests.pictures import EDITS, encoded, scene
from tests.report.browser import Browser

ODD = "<img src=x onerror=window.hacked=1>.png"


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    exif[0x0112] = 6
    files = {f"{seed}.png": encoded(scene(seed)) for seed in range(4)}
    files["small/1.png"] = EDITS["half the size"](scene(1))
    files["small/1.jpg"] = EDITS["JPEG, quality 20"](scene(1))
    files["turned.jpg"] = encoded(scene(2).transpose(Image.Transpose.ROTATE_90), "JPEG", exif=exif)
    files[ODD] = EDITS["with a watermark"](scene(3))
    for name, data in files.items():
        place = folder / "in" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    twinset.dedup(folder / "in", images=True, distance=8, output=folder / "OUT")
    twinset.open_result(folder / "OUT").report(folder / "report.html")
    return folder


def test_the_page_holds_small_pictures_and_nothing_else_of_the_files(out: Path) -> None:
    page = out / "report.html"
    data = data_of(page)
    assert set(data["removed"]["id"]) == {"small/1.jpg", "small/1.png", "turned.jpg", ODD}
    assert set(data["pictures"]["kept"]) == {"0", "1", "2"}
    assert set(data["pictures"]["removed"]) == {"0", "1", "2", "3"}
    assert data["unit"] == "bit"
    assert all(0 <= far <= 8 for far in data["removed"]["distance"])
    assert "img-src data:;" in page.read_text()
    assert b"taken at home" not in page.read_bytes()
    place = data["removed"]["id"].index("turned.jpg")
    shown = data["pictures"]["removed"][str(place)]
    assert (shown["width"], shown["height"], shown["bytes"]) == (160, 120, (out / "in/turned.jpg").stat().st_size)
    kind, _, text = shown["src"].partition(",")
    small = base64.b64decode(text)
    assert kind == "data:image/jpeg;base64"
    assert b"taken at home" not in small
    assert Image.open(io.BytesIO(small)).size == (160, 120)
    assert "Of 8 pictures, 4 are kept and 4 removed as near-duplicates: each is at most 8 bits from" in page.read_text()


def test_without_texts_there_are_no_pictures_either(out: Path) -> None:
    page = twinset.open_result(out / "OUT").report(out / "without.html", texts=False)
    assert "pictures" not in data_of(page)
    assert "data:image" not in page.read_text()
    assert "img-src" not in page.read_text()
    assert "Pictures were left out of this report." in page.read_text()


def test_pictures_that_changed_or_moved(out: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    for path in (out / "in").rglob("*.*"):
        target = moved / path.relative_to(out / "in")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    result = twinset.open_result(out / "OUT")
    page = result.report(tmp_path / "moved.html", source=(str(moved),))
    assert data_of(page)["pictures"] == data_of(out / "report.html")["pictures"]
    (moved / "0.png").write_bytes(encoded(scene(9)))
    with pytest.raises(twinset.errors.SourceError, match="changed since that run"):
        result.report(tmp_path / "changed.html", source=(str(moved),))


def test_pictures_stand_side_by_side_in_a_browser(browser: Browser, out: Path) -> None:
    browser.size(1280, 900)
    browser.open(out / "report.html")
    assert browser.count("#clusters-rows > details > summary img") == 3
    assert browser.count("#removed-rows > details > summary img") == 8
    browser.click("#clusters-rows > details:nth-child(1) > summary")
    browser.wait("document.querySelectorAll('#clusters-rows .pair figure img').length === 2")
    browser.wait("[...document.images].every((one) => one.complete && one.naturalWidth > 0)")
    assert browser.run("return [...document.querySelectorAll('.pair img')].map((one) => one.alt)[0]") == "1.png"
    assert "160 × 120" in browser.text("#clusters-rows .pair .l figcaption")
    assert "distance" in browser.text("#clusters-rows .member .facts")
    for width in (1280, 400):
        browser.size(width, 900)
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.run("return window.hacked === undefined")
    assert browser.console() == []
    asked = [one for one in browser.requests() if not one.startswith("data:image/jpeg;base64,")]
    assert asked == [(out / "report.html").resolve().as_uri()]


def test_reports_of_codes_and_of_vectors(tmp_path: Path) -> None:
    codes = pa.table({"id": ["a", "b", "c"], "code": pa.array([1, 3, 2**60 - 1], pa.uint64())})
    twinset.dedup(codes, codes="code", output=tmp_path / "codes")
    page = twinset.open_result(tmp_path / "codes").report(tmp_path / "codes.html")
    assert data_of(page)["removed"]["distance"] == [1]
    assert "at most 3 bits from one that is kept" in page.read_text()
    vectors = pa.table({"id": ["a", "b", "c"], "v": pa.array([[1.0, 2.0], [1.0, 2.25], [-5.0, 1.0]])})
    for words, told in (({"distance": 0.5}, "at most 0.5 from one"), ({"threshold": 0.9}, "at least 0.9 similar")):
        place = tmp_path / f"vectors-{next(iter(words))}"
        twinset.dedup(vectors, vectors="v", output=place, **words)
        page = twinset.open_result(place).report(place / "report.html")
        assert data_of(page)["removed"]["id"] == ["b"]
        assert told in page.read_text()
