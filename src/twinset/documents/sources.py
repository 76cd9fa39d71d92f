"""Open sources: files, folders, patterns, stdin and Python objects become the parts that are read."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from twinset.documents.compressed import writing
from twinset.documents.encodings import known
from twinset.documents.files import (
    chosen,
    files_in,
    format_of,
    is_marker,
    is_pattern,
    matches_of,
    why_not_one_text,
    why_not_opened,
    why_not_text,
    without_ours,
)
from twinset.documents.open_parts import SourceFile, document_file, file_part, part_class, text_part
from twinset.documents.output_names import components_of, distinct_names
from twinset.documents.parts import DocumentFile, Part
from twinset.documents.python_sources import PythonSources, is_numbered
from twinset.errors import OptionError, SourceError
from twinset.options import ReadOptions
from twinset.options.formats import FORMATS, endings_for


@dataclass
class Sources:
    """The parts to read, in order, and the files that were skipped, each with the reason."""

    parts: list[Part] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def describe(self) -> dict[str, Any]:
        """Describe what would be read, in plain values."""
        return {
            "parts": [part.describe() for part in self.parts],
            "skipped": [{"name": name, "reason": reason} for name, reason in self.skipped],
            "bytes": sum(part.size for part in self.parts),
        }


def open_sources(sources: Sequence[object], options: ReadOptions, *, scratch: Path, against: bool = False) -> Sources:
    """Find and open everything that the sources name; only headers and footers are read.

    sources: paths, patterns, ``"-"`` for JSON lines on stdin, lists and iterators of texts, rows or tables, mappings
        id → text, and objects with Arrow's stream interface.
    scratch: folder for copies of sources that can be read only once: stdin, streams and iterators.
    against: whether these are the sources of ``--against``; lists then get names of their own.

    Examples
    --------
    >>> opened = open_sources([["one text", "another"]], ReadOptions(), scratch=Path("scratch"))
    >>> [chunk.rows for chunk in opened.parts[0].chunks(2**20)]
    [2]
    """
    known(options.encoding)
    if not sources:
        raise SourceError("there is no source to read: name a file, a folder, a pattern or - for stdin")
    opening = _Opening(options, scratch, against, sources)
    for number, given in enumerate(sources):
        opening.add(number, given)
    if not opening.entries:
        name, reason = opening.skipped[0]
        raise SourceError(f"there is nothing to read: {reason}", where=name)
    return opening.finish()


class _Opening:
    """Collects files and parts source by source, then opens them."""

    def __init__(self, options: ReadOptions, scratch: Path, against: bool, sources: Sequence[object]) -> None:
        self.options = options
        self.scratch = scratch
        self.prefix = "against-" if against else ""
        self.alone = sum(map(is_numbered, sources)) == 1 and not against
        self.entries: list[SourceFile | Part] = []
        self.skipped: list[tuple[str, str]] = []
        self.names: set[str] = set()

    def add(self, number: int, given: object) -> None:
        """Add the files or parts of one SOURCE."""
        if self.options.images and (given == "-" if isinstance(given, str) else not isinstance(given, os.PathLike)):
            raise SourceError("pictures are read from files: name a folder, a pattern or a file")
        if isinstance(given, (str, os.PathLike)):
            path = os.fspath(given)
            self._add_path(number, os.fsdecode(path) if isinstance(path, bytes) else path)
        else:
            objects = PythonSources(self.options, self.scratch, self.alone, self._name)
            self.entries.append(objects.open(given, number))

    def _name(self, kind: str) -> str:
        """Choose an unused name for a source without a path."""
        name, count = self.prefix + kind, 2
        while name in self.names:
            name, count = f"{self.prefix}{kind}-{count}", count + 1
        self.names.add(name)
        return name

    def _add_path(self, number: int, given: str) -> None:
        if given == "-":
            self._add_stdin(number)
        elif "\0" in given:
            raise SourceError(f"a path cannot contain a NUL byte: {given!r}")
        elif os.path.isdir(given):
            self._add_folder(number, given)
        elif os.path.isfile(given):
            self._add_file(number, given)
        elif os.path.exists(given):
            raise SourceError("not a file or folder; use - for JSON lines on stdin", where=given)
        elif is_pattern(given):
            self._add_pattern(number, given)
        elif "://" in given:
            raise SourceError("URLs cannot be read, only files on this machine", where=given)
        else:
            raise SourceError(
                "there is no such file or folder; give a path, a pattern, - for JSON lines on stdin "
                "(in Python, give texts in a list)",
                where=given if len(given) < 200 else given[:200] + "…",
            )

    def _add_stdin(self, number: int) -> None:
        name = self.prefix + "stdin"
        if name in self.names:
            raise OptionError("stdin (-) can be read only once; it is given twice")
        if sys.stdin is None:
            raise SourceError("standard input is closed, and - reads from it; name a file, a folder or a pattern")
        self.names.add(name)
        spool = self.scratch / f"{name}.jsonl"
        with writing(spool):
            spool.parent.mkdir(parents=True, exist_ok=True)
            with open(spool, "wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file, 2**20)
        part: Part = part_class(FORMATS["jsonl"])(name, number, self.options, spool)
        part.kept_name = PurePosixPath("stdin.jsonl")
        self.entries.append(part)

    def _add_folder(self, number: int, given: str) -> None:
        folder = Path(given)
        passed_over = len(self.skipped)
        names = files_in(folder, self.options, self.skipped)
        markers = {name for name in names if is_marker(name)}
        others = [name for name in names if name not in markers]
        rows = self.options.item_kind not in ("text", "images")  # these are made of columns, or of arrays
        tables = rows or (not self.options.images and bool(others) and not any(map(_is_plain, others)))
        whole = components_of(folder)
        before = len(self.entries)
        for name in names:
            path = folder / name
            shown = path.as_posix()
            if tables and name in markers:
                self.skipped.append((shown, "a marker file of a table"))
                continue
            if rows and _is_plain(name):
                self.skipped.append((shown, f"not a table, but {self.options.item_flag} needs tables"))
                continue
            if reason := why_not_opened(str(path), shown, self.options) if tables else self._why_not(str(path), shown):
                self.skipped.append((shown, reason))
                continue
            parts = tuple(name.split("/"))
            file = SourceFile(path, shown, number, whole + parts, len(parts))
            if not tables:
                file.folder, file.folder_name = folder, folder.as_posix()
            self.entries.append(file)
        if len(self.entries) == before:
            ours = self.skipped[passed_over:] if not names else []
            more = f"; {ours[0][0]} is skipped: {ours[0][1]}" if ours else ""
            raise SourceError(self._nothing("folder", names) + more, where=given)

    def _nothing(self, what: str, passed_over: Sequence[str]) -> str:
        if self.options.images:
            return self._no_pictures(what)
        endings = ", ".join(endings_for(self.options.item_kind))
        if self.options.item_kind != "text":
            return f"no tables in this {what}, but {self.options.item_flag} needs tables: looked for {endings}"
        looked = f"no documents in this {what}: looked for text files, {endings}, except hidden files and links"
        if self.options.include or self.options.exclude:
            looked += f", with --include {list(self.options.include)} --exclude {list(self.options.exclude)}"
        return looked + (f"; all its files are binary{_pictures(passed_over)}" if passed_over else "")

    def _no_pictures(self, what: str) -> str:
        from twinset.documents.items.image_decode import ENDINGS

        looked = f"no pictures in this {what}: looked for {', '.join(ENDINGS)}, except hidden files and links"
        if self.options.include or self.options.exclude:
            looked += f", with --include {list(self.options.include)} --exclude {list(self.options.exclude)}"
        return looked

    def _why_not(self, path: str, shown: str) -> str | None:
        """Why a file among others is skipped; None if it is a document."""
        if not self.options.images:
            return why_not_text(path, shown, format_of(path)[1], self.options)
        from twinset.documents.items.image_files import is_picture

        return None if is_picture(path) else "not a picture, judging by its extension"

    def _add_file(self, number: int, given: str) -> None:
        path = Path(given)
        kind = "image" if self.options.images else format_of(path.name)[0]
        if kind == "text" and (reason := self._why_not(given, given)):
            raise SourceError(f"not a text: {reason}", where=given)
        if kind == "text" and (reason := why_not_one_text(given, self.options)):
            raise SourceError(reason, where=given)
        if kind not in ("text", "image") and (reason := why_not_opened(given, path.as_posix(), self.options)):
            self.skipped.append((path.as_posix(), reason))
            return
        self.entries.append(SourceFile(path, path.as_posix(), number, components_of(path), 1))

    def _add_pattern(self, number: int, given: str) -> None:
        before, matches = len(self.entries), matches_of(given)
        for match in without_ours(matches, given, self.skipped):
            shown = Path(match).as_posix()
            if not os.path.isfile(match) or not chosen(shown, self.options):
                continue
            plain = self.options.images or _is_plain(match)
            if reason := self._why_not(match, shown) if plain else why_not_opened(match, shown, self.options):
                self.skipped.append((shown, reason))
                continue
            self.entries.append(SourceFile(Path(match), shown, number, components_of(match), 1))
        if len(self.entries) == before:
            raise SourceError(
                self._nothing("pattern", matches) if matches else "no file matches this pattern",
                where=given,
            )

    def finish(self) -> Sources:
        """Name the outputs and open the parts."""
        files = [one for one in self.entries if isinstance(one, SourceFile)]
        taken = [(tuple(one.kept_name.parts), 1) for one in self.entries if isinstance(one, Part)]
        names = distinct_names([*taken, *((one.components, one.least) for one in files)])
        kept = {id(one): name for one, name in zip(files, names[len(taken) :], strict=True)}
        parts: list[Part] = []
        texts: list[tuple[SourceFile, DocumentFile]] = []
        for one in self.entries:
            text = isinstance(one, SourceFile) and self._is_text(one)
            if texts and not (text and isinstance(one, SourceFile) and one.goes_with(texts[0][0])):
                parts.append(text_part(texts, self.options))
                texts = []
            if isinstance(one, Part):
                parts.append(one)
            elif text:
                texts.append((one, document_file(one, kept[id(one)])))
            else:
                parts.append(file_part(one, kept[id(one)], self.options))
        if texts:
            parts.append(text_part(texts, self.options))
        if self.options.group is not None:
            from twinset.documents.long_tables.part import (  # loads kernels, so only where needed
                GroupsPart,
            )

            parts = [GroupsPart(parts, self.options, self.scratch)]
        return Sources(parts, self.skipped)

    def _is_text(self, file: SourceFile) -> bool:
        """Whether a file is one document; in a folder of texts every file is."""
        if self.options.lines:
            return False
        return self.options.images or file.folder is not None or format_of(file.path.name)[0] == "text"


def _pictures(names: Sequence[str]) -> str:
    """A hint for files that look like pictures, if any."""
    from twinset.documents.items.image_decode import ENDINGS

    picture = next((name for name in names if name.lower().endswith(ENDINGS)), None)
    return f"; {picture} looks like a picture: --images compares pictures" if picture else ""


def _is_plain(name: str) -> bool:
    return format_of(name)[0] == "text"
