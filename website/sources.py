"""Source files and folders that pages link to, as pages.

There is no address of a repository to link to, and a site that opens offline could not reach it. So what a page links
to is on the site: a file with its text, a folder with the list of its files. Pages on sources are not in the search.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

LANGUAGES = {
    ".py": "python", ".toml": "toml", ".md": "markdown", ".js": "javascript", ".css": "css", ".html": "html",
    ".json": "json", ".jsonl": "json", ".service": "ini",
}  # fmt: skip
PICTURES = (".png", ".svg")
MOST_BYTES = 200_000
"""Larger files are named, and not shown."""
HIDDEN = "---\nsearch:\n  exclude: true\n---\n\n"


def is_text(path: Path) -> bool:
    """Whether a file can be shown as text."""
    if path.stat().st_size > MOST_BYTES:
        return False
    try:
        path.read_text("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def page_of_file(path: Path, name: PurePosixPath) -> str:
    """Return the page of a text file."""
    text = path.read_text("utf-8").rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    language = LANGUAGES.get(path.suffix, "text")
    return f"{HIDDEN}# `{name}`\n\n{fence}{language}\n{text}\n{fence}\n"


def page_of_folder(files: list[Path], name: PurePosixPath) -> str:
    """Return the page of a folder; its links are those of the repository, from within the folder."""
    rows = []
    for path in files:
        shown = is_text(path) or path.suffix in PICTURES
        rows.append(f"- [`{path.name}`]({path.name})" if shown else f"- `{path.name}`, {path.stat().st_size:,} bytes")
    return f"{HIDDEN}# `{name}/`\n\n" + "\n".join(rows) + "\n"
