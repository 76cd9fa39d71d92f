"""Execute notebooks: ``python -m tests.notebooks.run FILE.ipynb ...`` writes the outputs into the files.

A cell's output is what it prints and the figures it draws. Nothing else is shown, so a notebook looks the same here and
in Jupyter: no cell ends with a value that only Jupyter would print (`values_shown`).
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]
DPI = 72


def read(path: Path) -> Notebook:
    notebook: Notebook = json.loads(path.read_text("utf-8"))
    return notebook


def written(notebook: Notebook) -> str:
    """The text of a notebook: one form for each content, so that differences are differences."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def source_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def values_shown(source: str) -> bool:
    """Whether the last statement of a cell is an expression whose value Jupyter would print."""
    body = ast.parse(source).body
    last = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    quiet = ("print", "plt.show")
    return last is not None and not (isinstance(last, ast.Call) and ast.unparse(last.func) in quiet)


def executed(notebook: Notebook) -> Notebook:
    """Run all cells in order, in one namespace and an empty folder; the same notebook with new outputs."""
    os.environ["MPLBACKEND"] = "agg"
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    plt.rcParams.update({"figure.dpi": DPI, "savefig.dpi": DPI})
    with tempfile.TemporaryDirectory(prefix="twinset-notebook-") as folder, chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                number = 1 + sum(one["cell_type"] == "code" for one in cells)
                cell = {**cell, "execution_count": number, "outputs": _outputs(source_of(cell), names, plt)}
            cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], plt: Any) -> list[dict[str, Any]]:
    said, figures = io.StringIO(), list[dict[str, Any]]()

    def show() -> None:
        for number in plt.get_fignums():
            picture = io.BytesIO()
            figure = plt.figure(number)
            # Without a date or a version in it, a picture changes only with its content.
            figure.savefig(picture, format="png", bbox_inches="tight", metadata={"Software": None})
            figures.append(_figure(picture.getvalue()))
            plt.close(figure)

    plt.show = show
    with redirect_stdout(said):
        exec(compile(source, "<cell>", "exec"), names)
    show()
    lines = said.getvalue().splitlines(keepends=True)
    stream = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
    return [*stream, *figures]


def _figure(picture: bytes) -> dict[str, Any]:
    data = {"image/png": base64.b64encode(picture).decode() + "\n", "text/plain": ["<Figure>"]}
    return {"data": data, "metadata": {}, "output_type": "display_data"}


def main(files: list[str]) -> None:
    for file in files:
        path = Path(file)
        path.write_text(written(executed(read(path))), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
