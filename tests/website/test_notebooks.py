"""Notebooks as pages: every cell, what it printed, and its figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from website import notebooks

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_page_has_everything_that_the_notebook_shows(path: Path) -> None:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    page, figures = notebooks.page_of(path, path.stem)
    assert page.startswith("# ")
    place = 0
    for cell in cells:
        for part in [cell["source"], *(output.get("text", "") for output in cell.get("outputs", []))]:
            for line in "".join(part).strip().splitlines():
                assert line in page[place:]
                place = page.index(line, place)
    pictures = [output["data"]["image/png"] for cell in cells for output in cell.get("outputs", []) if "data" in output]
    assert len(figures) == len(pictures)
    assert all(picture.startswith(b"\x89PNG") for picture in figures.values())
    assert [name for name in figures if f"]({name})" not in page] == []
