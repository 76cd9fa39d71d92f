"""Pages of real documentation whose main element is known, from packages of Debian that were unpacked into a folder.

    apt-get download python-django-doc postgresql-doc-15 python-sqlalchemy-doc python-pandas-doc rust-doc nodejs-doc
    for package in *.deb; do dpkg -x $package FOLDER; done

Each set names the element of its layout that has the content; an extractor does not know it.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa

SETS = {
    "Django": ("python-django-doc/html", "#yui-main"),
    "PostgreSQL": ("postgresql-doc-15/html", "div.navheader + div"),
    "SQLAlchemy": ("python-sqlalchemy-doc/html", "#docs-body"),
    "pandas": ("python-pandas-doc/html", "main"),
    "Rust": ("rust-doc/html", "main"),
    "Node.js": ("nodejs/api", "#apicontent"),
}
_LEAST_BYTES = 2000  # smaller files are redirects


def sample(folder: Path, most: int) -> Any:
    """Up to so many pages of each set, as a table: the name of the set, the selector, and the page."""
    rows: dict[str, list[Any]] = {"id": [], "selector": [], "html": []}
    for name, (below, selector) in SETS.items():
        files = sorted((folder / "usr/share/doc" / below).rglob("*.html"))
        random.Random(name).shuffle(files)
        pages = (path.read_bytes() for path in files if path.is_file() and path.stat().st_size >= _LEAST_BYTES)
        for page in [page for page, _ in zip(pages, range(most), strict=False)]:
            rows["id"].append(name)
            rows["selector"].append(selector)
            rows["html"].append(page)
    return pa.table({**rows, "html": pa.array(rows["html"], pa.large_binary())})
