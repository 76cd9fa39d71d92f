"""The pages of the site in the order of the navigation: `docs/navigation.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

FILE = "docs/navigation.toml"
HOME = PurePosixPath("docs/index.md")
_PLACES = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/results/full/results.md": "benchmark-results.md",
}


@dataclass(frozen=True)
class Page:
    """A page of the navigation.

    `source` is its path in the repository; pages below `api/` are made from docstrings instead.
    """

    source: PurePosixPath
    title: str
    about: str

    @property
    def place(self) -> PurePosixPath:
        """The path of its Markdown on the site."""
        return place_of(self.source)


@dataclass(frozen=True)
class Section:
    """A heading of the navigation, and its pages."""

    title: str
    pages: tuple[Page, ...]


def place_of(source: PurePosixPath) -> PurePosixPath:
    """Return the path on the site of the page with this source.

    >>> str(place_of(PurePosixPath("docs/notebooks/3-bands.ipynb")))
    'notebooks/3-bands.md'
    """
    if str(source) in _PLACES:
        return PurePosixPath(_PLACES[str(source)])
    place = source.relative_to("docs") if source.parts[0] == "docs" else source
    return place.with_suffix(".md")


def read(root: Path) -> tuple[Section, ...]:
    """Read the navigation of a repository."""
    table = tomllib.loads((root / FILE).read_text("utf-8"))
    return tuple(
        Section(one["title"], tuple(Page(PurePosixPath(path), title, about) for path, title, about in one["pages"]))
        for one in table["section"]
    )
