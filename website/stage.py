"""Every page and picture of the site in one folder, with links that lead from one to another."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from website import navigation, notebooks, reference, sources
from website.markdown import headings, levelled, with_links

SOURCE = PurePosixPath("source")
_README = PurePosixPath("README.md")


class BrokenLinkError(Exception):
    """Links of pages that lead nowhere."""


class Stage:
    """The folder of the pages, while it is filled."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        self.sections = navigation.read(root)
        listed = [page.source for section in self.sections for page in section.pages]
        self._places = {source: navigation.place_of(source) for source in [navigation.HOME, *listed]}
        self._places[_README] = self._places[navigation.HOME]
        self._made = reference.pages(root)
        self._anchors: dict[PurePosixPath, set[str]] = {}
        self._waiting: list[PurePosixPath] = []
        self._broken: list[str] = []

    def fill(self) -> int:
        """Write all pages and return their number; links that lead nowhere are an error that names them."""
        pages = [source for source in self._places if source != _README]
        for source in pages:
            self._write_page(source)
        while self._waiting:
            self._write_source(self._waiting.pop())
        if self._broken:
            raise BrokenLinkError("\n".join(self._broken))
        return len(pages)

    def _write_page(self, source: PurePosixPath) -> None:
        place = self._places[source]
        if source.suffix == ".ipynb":
            text, figures = notebooks.page_of(self.root / source, place.stem)
            for name, picture in figures.items():
                self._write(place.parent / name, picture)
            self._write_text(source, text, figures)
        elif source in self._made:
            self._write_text(source, self._made[source])
        else:
            self._write_text(source, (self.root / source).read_text("utf-8"))

    def _write_text(self, source: PurePosixPath, text: str, own: Collection[str] = ()) -> None:
        """Write a page; `own` are files beside it that are there already."""
        place = self._place_of(source)

        def lead(target: str) -> str:
            return target if target in own else self._lead(target, source, place)

        self._write(place, levelled(with_links(text, lead)).encode())

    def _write_source(self, source: PurePosixPath) -> None:
        path = self.root / source
        if path.is_dir():
            files = sorted(one for one in path.iterdir() if one.is_file() and not one.name.startswith("."))
            self._write_text(source, sources.page_of_folder(files, source))
        elif source.suffix not in sources.PICTURES and sources.is_text(path):
            self._write(self._place_of(source), sources.page_of_file(path, source).encode())
        else:
            self._write(self._place_of(source), path.read_bytes())

    def _lead(self, target: str, source: PurePosixPath, place: PurePosixPath) -> str:
        """Return where a link of a page leads on the site."""
        path, _, anchor = target.partition("#")
        folder = source if (self.root / source).is_dir() else source.parent
        file = PurePosixPath(os.path.normpath(folder / path)) if path else source
        known = file in self._places or (".." not in file.parts and (self.root / file).exists())
        if not known:
            self._broken.append(f"{source} links to {target}: there is no such file")
            return target
        if anchor and file.suffix == ".md" and anchor not in self._anchors_of(file):
            self._broken.append(f"{source} links to {target}: {file} has no such heading")
        if not path:
            return target
        leads = PurePosixPath(os.path.relpath(self._place_of(file), place.parent))
        return f"{leads}#{anchor}" if anchor else str(leads)

    def _place_of(self, file: PurePosixPath) -> PurePosixPath:
        """Return the path of a file on the site, and have it written if it is a source."""
        if file in self._places:
            return self._places[file]
        path = self.root / file
        if path.is_dir():
            place = SOURCE / file / "index.md"
        elif file.suffix in sources.PICTURES:
            place = file.relative_to("docs") if file.parts[0] == "docs" else SOURCE / file
        else:
            place = SOURCE / f"{file}.md" if sources.is_text(path) else SOURCE / file
        self._places[file] = place
        self._waiting.append(file)
        return place

    def _anchors_of(self, file: PurePosixPath) -> set[str]:
        file = navigation.HOME if file == _README else file
        if file not in self._anchors:
            text = self._made.get(file) or (self.root / file).read_text("utf-8")
            self._anchors[file] = {anchor for _, _, anchor in headings(text)}
        return self._anchors[file]

    def _write(self, place: PurePosixPath, content: bytes) -> None:
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def copy_assets(website: Path, folder: Path) -> None:
    """Copy style and scripts of the site."""
    shutil.copytree(website / "assets", folder / "assets", dirs_exist_ok=True)
