"""The notebooks of the documentation: clean files, and what they show is what their cells give.

Printed text must be equal, times excepted; of a figure it counts that it is there, where it is shown.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.house.test_documents_run import same
from tests.notebooks.run import executed, read, source_of, values_shown, written

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def printed(cell: dict[str, Any]) -> str:
    return "".join("".join(one["text"]) for one in cell["outputs"] if one["output_type"] == "stream")


def figures(cell: dict[str, Any]) -> int:
    return sum("image/png" in one.get("data", {}) for one in cell["outputs"])


@every_notebook
def test_what_a_notebook_shows_is_what_it_gives(path: Path) -> None:
    """In a process of its own, as Jupyter runs it."""
    program = "import sys; from tests.notebooks.run import *; print(written(executed(read(Path(sys.argv[1])))))"
    command = [sys.executable, "-W", "error", "-c", program, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for number, (recorded, cell) in enumerate(zip(read(path)["cells"], found["cells"], strict=True)):
        if cell["cell_type"] == "code":
            where = f"{path.name}, cell {number}"
            assert same(printed(recorded), printed(cell)), f"{where}: {printed(cell)}"
            assert figures(recorded) == figures(cell), where
            assert recorded["execution_count"] == cell["execution_count"], where


@every_notebook
def test_a_notebook_is_a_clean_file(path: Path) -> None:
    notebook = read(path)
    assert path.read_text("utf-8") == written(notebook), "python -m tests.notebooks.run writes it"
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"] == {"display_name": "Python 3", "language": "python", "name": "python3"}
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", one) for one in ids)
    assert notebook["cells"][0]["cell_type"] == "markdown"
    assert source_of(notebook["cells"][0]).startswith("# ")
    for cell in notebook["cells"]:
        assert source_of(cell) == "".join(cell["source"]).strip()
        if cell["cell_type"] == "code":
            assert set(cell) == {"cell_type", "execution_count", "id", "metadata", "outputs", "source"}
            assert not values_shown(source_of(cell)), "only print and plt.show are shown alike everywhere"
            for one in cell["outputs"]:
                picture = one.get("data", {}).get("image/png")
                assert picture is None or base64.b64decode(picture).startswith(b"\x89PNG")
    assert path.stat().st_size < 300_000


def test_there_are_six_in_order_and_the_docs_link_to_each() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == ["1-", "2-", "3-", "4-", "5-", "6-"]
    page = (ROOT / "docs" / "textbook.md").read_text("utf-8")
    for path in NOTEBOOKS:
        assert f"(notebooks/{path.name})" in page
        assert sum(figures(cell) for cell in read(path)["cells"] if cell["cell_type"] == "code"), path.name


@every_notebook
def test_links_of_a_notebook_lead_somewhere(path: Path) -> None:
    for cell in read(path)["cells"]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", source_of(cell)):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_outputs_are_what_cells_print_and_draw() -> None:
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint(3)"
    sources = ["x = 2", "print(x)\nprint('y')", plot]
    cells = [{"cell_type": "code", "source": [one], "outputs": ["old"]} for one in sources]
    found = executed({"cells": [{"cell_type": "markdown", "source": ["# t"]}, *cells]})["cells"][1:]
    assert [printed(cell) for cell in found] == ["", "2\ny\n", "3\n"]
    assert [figures(cell) for cell in found] == [0, 0, 1]
    assert [cell["execution_count"] for cell in found] == [1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        executed({"cells": [{"cell_type": "code", "source": ["1 / 0"]}]})


@pytest.mark.parametrize(
    ("source", "shown"),
    [("x = 1", False), ("print(1)", False), ("plt.show()", False), ("x", True), ("f()", True), ("", False)],
)
def test_values_that_only_jupyter_would_print(source: str, shown: bool) -> None:
    assert values_shown(source) is shown
