"""Open sources: files, folders, patterns, stdin and Python objects become the parts that are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twinset.documents.compressed import member_of, split_codec
from twinset.documents.data_sets.card import (
    CARD,
    check_separator,
    choose_subset,
    files_of,
    read_card,
    refuse_choice,
)
from twinset.documents.encodings import known
from twinset.documents.files import (
    NOT_FOLLOWED,
    NOT_PAGE,
    PAGE_ENDINGS,
    UTF_16,
    chosen,
    describes,
    files_in,
    format_of,
    is_documentation,
    is_marker,
    is_page,
    is_pattern,
    is_plain,
    matches_of,
    rows_format,
    why_not_opened,
    why_not_text,
    without_ours,
)
from twinset.documents.open_parts import SourceFile, document_file, file_part, text_part
from twinset.documents.output_names import components_of, distinct_names, least_components
from twinset.documents.parts import DocumentFile, Part
from twinset.documents.python_sources import PythonSources, is_numbered
from twinset.documents.spooled import Spooled, is_pipe, is_url, spool_pipe, spool_stdin, spool_url
from twinset.documents.stored_sources import StoredSource
from twinset.errors import OptionError, SourceError
from twinset.options import ReadOptions
from twinset.options.checks import shown_value
from twinset.options.formats import DELIMITERS, endings_for, format_by_ending
from twinset.options.spoken import speaks_flags


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

    sources: paths, patterns, addresses on the web, ``"-"`` for stdin, lists and iterators of texts, rows or tables,
        mappings id → text, and objects with Arrow's stream interface.
    scratch: folder for copies of sources that can be read only once: stdin, pipes, files on the web, streams and
        iterators.
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
        is_path = isinstance(given, (str, os.PathLike))
        if not self.prefix and not (is_path and os.path.isdir(given)):  # type: ignore[arg-type]
            refuse_choice(self.options.subset, self.options.data_split, f"{shown_value(given)} is none")
        if isinstance(given, (str, os.PathLike)):
            path = os.fspath(given)
            self._add_path(number, os.fsdecode(path) if isinstance(path, bytes) else path)
        elif isinstance(given, StoredSource):
            self.names.add(given.name)
            self.entries.append(given.open(number, self.options))
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
        copies = (self.scratch, len(self.entries), self.options)
        if given == "-":
            self._add_stdin(number)
        elif "\0" in given:
            raise SourceError(f"a path cannot contain a NUL byte: {given!r}")
        elif is_url(given):
            self._add_copy(number, given, spool_url(given, *copies))
        elif os.path.isdir(given):
            self._add_folder(number, given)
        elif os.path.isfile(given):
            path = Path(given)
            self._add_file(self._source(path, number, *self._format(given)))
        elif is_pipe(given):
            self._add_copy(number, given, spool_pipe(given, *copies))
        elif is_pattern(given):
            self._add_pattern(number, given)
        elif "://" in given:
            raise SourceError("only files on this machine and http:// or https:// addresses can be read", where=given)
        else:
            in_python = "" if speaks_flags() else " (give texts in a list)"
            raise SourceError(
                f"there is no such file or folder; give a path, a pattern, - for JSON lines on stdin{in_python}",
                where=given if len(given) < 200 else given[:200] + "…",
            )

    def _source(self, path: Path, number: int, format: str, codec: str | None) -> SourceFile:
        shown = path.as_posix()
        least = 1 if format == "text" else least_components(shown)
        return SourceFile(path, shown, number, components_of(path), least, format, codec)

    def _format(self, name: str) -> tuple[str, str | None]:
        """The format and the compression of a file, as its name or ``--format`` says."""
        format, codec = format_of(name)
        return self.options.format or format, codec

    def _add_stdin(self, number: int) -> None:
        name = self.prefix + "stdin"
        if name in self.names:
            raise OptionError("stdin (-) can be read only once; it is given twice")
        self.names.add(name)
        self._add_copy(number, name, spool_stdin(self.scratch, name, self.options))

    def _add_copy(self, number: int, shown: str, copy: Spooled) -> None:
        self._add_file(SourceFile(copy.path, shown, number, (copy.name,), 1, copy.format, copy.codec))

    def _add_folder(self, number: int, given: str) -> None:
        folder = Path(given)
        passed_over = len(self.skipped)
        splits = self._files_of_card(folder)
        names = files_in(folder, self.options, self.skipped) if splits is None else list(splits)
        markers = {name for name in names if is_marker(name)}
        tables = self._reads_tables([name for name in names if name not in markers])
        whole = components_of(folder)
        before = len(self.entries)
        for name in names:
            path = folder / name
            shown = path.as_posix()
            if tables:
                reason = "a marker file of a table" if name in markers else self._why_no_table(name)
                reason = reason or why_not_opened(str(path), shown, self.options)
            else:
                reason = self._why_not(str(path), shown)
            if reason:
                self.skipped.append((shown, reason))
                continue
            parts = tuple(name.split("/"))
            format, codec = self._format(name)
            file = SourceFile(path, shown, number, whole + parts, len(parts), format if tables else "text", codec)
            file.split = splits[name] if splits else ""
            if not tables and (self.options.images or not splits):
                file.folder, file.folder_name = folder, folder.as_posix()
            self._add_resolved(file)
        if len(self.entries) == before:
            ours = self.skipped[passed_over:] if not names else []
            ours.sort(key=lambda one: one[1] in NOT_FOLLOWED)
            more = f"; {ours[0][0]} is skipped: {ours[0][1]}" if ours else ""
            raise SourceError(self._nothing("folder", names, self.skipped[passed_over:]) + more, where=given)

    def _files_of_card(self, folder: Path) -> dict[str, str] | None:
        """Return the files that the card of a data set names, each with its split; None for other folders."""
        subsets, where = read_card(folder), folder.as_posix()
        choice = (None, None) if self.prefix else (self.options.subset, self.options.data_split)
        if not subsets:
            refuse_choice(*choice, f"{where} has no {CARD} that names subsets")
            return None
        subset = choose_subset(subsets, choice[0], where)
        check_separator(subset, self.options.delimiter, where)
        files = {str(folder / name): split for name, split in files_of(subset, folder, choice[1]).items()}
        ours = without_ours(list(files), where, self.skipped)
        names = {path: path.removeprefix(str(folder)).lstrip("/") for path in ours}
        return {name: files[path] for path, name in names.items() if chosen(name, self.options)}

    @property
    def _rows(self) -> bool:
        """Whether items are made of columns, or of arrays."""
        return self.options.item_kind not in ("text", "images")

    def _reads_tables(self, names: list[str]) -> bool:
        """Whether a folder with these files is read as tables: it has tables and, besides, only documentation."""
        if self._rows or self.options.images:
            return self._rows
        if self.options.format is not None:
            return self.options.format != "text"
        found = {format_of(name)[0] for name in names if not is_plain(name)}
        beside = "csv" if found & DELIMITERS.keys() else "parquet"
        return bool(found) and all(is_documentation(name, beside) for name in names if is_plain(name))

    def _why_no_table(self, name: str) -> str | None:
        """Why a file of a folder of tables is skipped; None if it is a table."""
        if self.options.format is not None:
            return "documentation beside tables" if describes(name) else None
        if not is_plain(name):
            return None
        if self._rows:
            return f"not a table, but {self.options.item_flag} needs tables"
        return "documentation or settings beside tables"

    def _nothing(self, what: str, passed_over: Sequence[str], skipped: Sequence[tuple[str, str]]) -> str:
        if self.options.images:
            return self._no_pictures(what)
        endings = ", ".join(endings_for(self.options.item_kind))
        if self.options.item_kind != "text":
            return f"no tables in this {what}, but {self.options.item_flag} needs tables: looked for {endings}"
        sought = f"{', '.join(PAGE_ENDINGS)}, or what --include selects" if self.options.html else "text files"
        looked = f"no documents in this {what}: looked for {sought}, {endings}, except hidden files and links"
        if self.options.include or self.options.exclude:
            looked += f", with --include {list(self.options.include)} --exclude {list(self.options.exclude)}"
        if any(reason.startswith(UTF_16) for _, reason in skipped):
            return f"{looked}; its texts look like UTF-16: name it with --encoding utf-16"
        binary = bool(passed_over) and not any(reason == NOT_PAGE for _, reason in skipped)
        return looked + (f"; all its files are binary{_pictures(passed_over)}" if binary else "")

    def _no_pictures(self, what: str) -> str:
        from twinset.documents.items.image_decode import ENDINGS

        looked = f"no pictures in this {what}: looked for {', '.join(ENDINGS)}, except hidden files and links"
        if self.options.include or self.options.exclude:
            looked += f", with --include {list(self.options.include)} --exclude {list(self.options.exclude)}"
        return looked

    def _why_not(self, path: str, shown: str) -> str | None:
        """Why a file among others is skipped; None if it is a document."""
        if self.options.html and not self.options.include and not is_page(shown):
            return NOT_PAGE
        if not self.options.images:
            return why_not_text(path, shown, format_of(path)[1], self.options, among=True)
        from twinset.documents.items.image_files import is_picture

        return None if is_picture(path) else "not a picture, judging by its extension"

    def _add_file(self, file: SourceFile) -> None:
        """Add a file that is named itself."""
        if self.options.images:
            self.entries.append(file)
            return
        if file.format != "text" and (reason := why_not_opened(str(file.path), file.shown, self.options)):
            self.skipped.append((file.shown, reason))
            return
        if file.codec == "zip" and file.format == "text" and self.options.format is None:
            _look_inside(file)
        self._add_resolved(file)
        if file.format == "text" and (reason := why_not_text(str(file.path), file.shown, file.codec, self.options)):
            raise SourceError(f"not a text: {reason}", where=file.shown)

    def _add_resolved(self, file: SourceFile) -> None:
        """Add a file after detecting which kind of JSON it is."""
        file.format = rows_format(file.path, file.format, file.codec, file.shown, self.options)
        self.entries.append(file)

    def _add_pattern(self, number: int, given: str) -> None:
        before, matches, passed_over = len(self.entries), matches_of(given), len(self.skipped)
        for match in without_ours(matches, given, self.skipped):
            shown = Path(match).as_posix()
            if not os.path.isfile(match) or not chosen(shown, self.options):
                continue
            format, codec = self._format(match)
            format = "text" if self.options.format is None and is_plain(match) else format
            plain = self.options.images or format == "text"
            if reason := self._why_not(match, shown) if plain else why_not_opened(match, shown, self.options):
                self.skipped.append((shown, reason))
                continue
            self._add_resolved(self._source(Path(match), number, format, codec))
        if len(self.entries) == before:
            raise SourceError(
                self._nothing("pattern", matches, self.skipped[passed_over:])
                if matches
                else "no file matches this pattern",
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
        self._check_separated(parts)
        if self.options.group is not None:
            from twinset.documents.long_tables.part import (  # loads kernels, so only where needed
                GroupsPart,
            )

            parts = [GroupsPart(parts, self.options, self.scratch)]
        self.skipped.sort(key=lambda one: one[1] in NOT_FOLLOWED)  # of less interest than other files
        return Sources(parts, self.skipped)

    def _check_separated(self, parts: list[Part]) -> None:
        """Refuse options of CSV where no source is CSV; the sources of ``--against`` may be."""
        unused = "--delimiter" if self.options.delimiter else "" if self.options.header else "--no-header"
        if unused and not self.options.against and all(part.format not in DELIMITERS for part in parts):
            raise OptionError(
                f"{unused} is for CSV, but {parts[0].name} is read as {parts[0].format}; --format csv reads it as CSV"
            )

    def _is_text(self, file: SourceFile) -> bool:
        """Whether a file is one document; in a folder of texts every file is."""
        if self.options.lines or (file.split and not self.options.images):
            return False
        return self.options.images or file.format == "text"


def _pictures(names: Sequence[str]) -> str:
    """A hint for files that look like pictures, if any."""
    from twinset.documents.items.image_decode import ENDINGS

    picture = next((name for name in names if name.lower().endswith(ENDINGS)), None)
    return f"; {picture} looks like a picture: --images compares pictures" if picture else ""


def _look_inside(file: SourceFile) -> None:
    """Take the format of the only file in a ZIP file; the kept rows get its ending."""
    member = member_of(file.path, file.shown).filename
    known, ending = format_by_ending(member), os.path.splitext(member)[1].lower()
    if known is not None:
        name = f"{split_codec(file.components[-1])[0]}{ending}.zip"
        file.format, file.components = known.name, (*file.components[:-1], name)
