"""Notebooks as pages: their cells, what they printed, and their figures."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

ALTERNATIVE = "Figure {number}: drawn by the cell above"


def page_of(notebook: Path, pictures: str) -> tuple[str, dict[str, bytes]]:
    """Return the Markdown of a notebook, and its figures by file name; names begin with `pictures`."""
    figures: dict[str, bytes] = {}
    parts = list(_parts(json.loads(notebook.read_text("utf-8")), pictures, figures))
    first, *others = parts
    about = f"This page is the notebook `docs/notebooks/{notebook.name}`, as it ran; open it in Jupyter to try it."
    return "\n\n".join([first, about, *others]) + "\n", figures


def _parts(notebook: dict[str, list[dict[str, object]]], pictures: str, figures: dict[str, bytes]) -> Iterator[str]:
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
        for output in _outputs(cell):
            if "text" in output:
                yield f"```text\n{_joined(output['text']).rstrip()}\n```"
            elif isinstance(data := output.get("data"), dict) and "image/png" in data:
                name = f"{pictures}-{len(figures) + 1}.png"
                figures[name] = base64.b64decode(_joined(data["image/png"]))
                yield f"![{ALTERNATIVE.format(number=len(figures))}]({name})"


def _outputs(cell: dict[str, object]) -> list[dict[str, object]]:
    outputs = cell["outputs"]
    return outputs if isinstance(outputs, list) else []


def _joined(text: object) -> str:
    return text if isinstance(text, str) else "".join(text)  # type: ignore[call-overload, no-any-return]
