"""Notebooks as pages: their cells, what they printed, and their figures."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ALTERNATIVE = "Figure {number}: drawn by the cell above"


def page_of(notebook: Path, pictures: str) -> tuple[str, dict[str, bytes]]:
    """Return the Markdown of a notebook, and its figures by file name; names begin with `pictures`."""
    figures: dict[str, bytes] = {}
    parts = list(_parts(json.loads(notebook.read_text("utf-8")), pictures, figures))
    first, *others = parts
    about = f"This page is the notebook `docs/notebooks/{notebook.name}`, as it ran; open it in Jupyter to try it."
    return "\n\n".join([first, about, *others]) + "\n", figures


def _parts(notebook: dict[str, Any], pictures: str, figures: dict[str, bytes]) -> Iterator[str]:
    for cell in notebook["cells"]:
        text = _joined(cell["source"])
        if cell["cell_type"] == "markdown":
            # The first cell has the title and more: the note on the notebook comes between them.
            title, _, rest = text.partition("\n") if text.startswith("# ") else (text, "", "")
            yield title
            if rest.strip():
                yield rest.strip()
            continue
        yield f"```python\n{text}\n```"
        for output in cell["outputs"]:
            if "text" in output:
                yield f"```text\n{_joined(output['text']).rstrip()}\n```"
            elif picture := output.get("data", {}).get("image/png"):
                name = f"{pictures}-{len(figures) + 1}.png"
                figures[name] = base64.b64decode(_joined(picture))
                yield f"![{ALTERNATIVE.format(number=len(figures))}]({name})"


def _joined(text: str | list[str]) -> str:
    """Return the text of a cell or an output, which a notebook stores whole or line by line."""
    return text if isinstance(text, str) else "".join(text)
