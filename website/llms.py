"""`llms.txt`: the site in one page of links, for language models and the programs around them.

It follows the proposal of llmstxt.org: a title, a summary, and sections of links, each with a line. The links lead to
the Markdown of the pages, which is beside their HTML; `llms-full.txt` has all of it in one file.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from website.navigation import HOME, Page, Section, place_of

NAME = "Twinset"
SUMMARY = (
    "Twinset finds near-duplicate documents: texts, tables, web pages, sets, vectors and pictures in; verified pairs, "
    "clusters and clean data out. It is a Python library and the command `twinset`."
)
_DETAILS = (
    "Every reported pair is verified exactly, every removal has a reason, and every run measures its own recall. "
    "Options have the same names on the command line (`--threshold 0.9`) and in Python (`threshold=0.9`)."
)


def write(sections: tuple[Section, ...], staged: Path, site: Path) -> None:
    """Write llms.txt, llms-full.txt and the Markdown of every page into the site: its links lead to Markdown, too."""
    for path in staged.rglob("*.md"):
        shutil.copyfile(path, site / path.relative_to(staged))
    pages = [page for section in sections for page in section.pages]
    (site / "llms.txt").write_text(_index(sections), "utf-8")
    texts = [(staged / place).read_text("utf-8") for place in [place_of(HOME), *(page.place for page in pages)]]
    (site / "llms-full.txt").write_text("\n\n---\n\n".join(text.strip() for text in texts) + "\n", "utf-8")


def _index(sections: tuple[Section, ...]) -> str:
    parts = [f"# {NAME}", f"> {SUMMARY}", _DETAILS]
    for section in sections:
        parts += [f"## {section.title}", "\n".join(_line(page) for page in section.pages)]
    return "\n\n".join(parts) + "\n"


def _line(page: Page) -> str:
    return f"- [{page.title}]({page.place}): {page.about}"
