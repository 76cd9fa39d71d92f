"""Open sources: files, folders, patterns, stdin and Python objects become the parts that are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinset.documents.data_sets.card import CARD, files_below, files_by_split, refuse_choice
from twinset.documents.encodings import known
from twinset.documents.files import (
    NOT_FOLLOWED,
    chosen,
    files_in,
    format_of,
    is_pattern,
    is_plain,
    matches_of,
    nothing_found,
    reads_tables,
    rows_format,
    why_no_document,
    why_no_table,
    why_not_opened,
    why_not_text,
    without_ours,
)
from twinset.documents.open_parts import SourceFile, check_separated, document_file, file_part, look_inside, text_part
from twinset.documents.output_names import components_of, distinct_names, least_components
from twinset.documents.parts import DocumentFile, Part
from twinset.documents.python_sources import PythonSources, is_numbered
from twinset.documents.spooled import Spooled, is_pipe, spool_pipe, spool_stdin
from twinset.documents.stored_sources import StoredSource
from twinset.errors import OptionError, SourceError
from twinset.options import ReadOptions
from twinset.options.checks import shown_value
from twinset.options.spoken import speaks_flags
from twinset.system.addresses import READABLE, is_address
from twinset.wording import either

if TYPE_CHECKING:
    from twinset.documents.remote.copies import LocalCopy
    from twinset.documents.remote.fetch import Fetcher
    from twinset.documents.remote.listing import RemoteSource
    from twinset.documents.remote.requests import Receiver


@dataclass
class Sources:
    """The parts to read, in order, and the files that were skipped, each with the reason."""

    parts: list[Part] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    fetcher: Fetcher | None = None
    copies: list[LocalCopy] = field(default_factory=list)

    def fetch(self) -> None:
        """Fetch what is read of remote tables at once; it would otherwise be fetched file by file."""
        if self.fetcher is not None:
            from twinset.documents.remote.tables import fetch_tables

            fetch_tables(self.parts, 0, self.fetcher)

    def describe(self) -> dict[str, Any]:
        """Describe what would be read, in plain values."""
        return {
            "parts": [part.describe() for part in self.parts],
            "skipped": [{"name": name, "reason": reason} for name, reason in self.skipped],
            "bytes": sum(part.size for part in self.parts),
        }


def open_sources(
    sources: Sequence[object], options: ReadOptions, *, scratch: Path, against: bool = False,
    fetcher: Fetcher | None = None, progress: Receiver | None = None, outlined: bool = False,
) -> Sources:  # fmt: skip
    """Find and open everything that the sources name; only headers and footers are read.

    sources: paths, patterns, addresses of remote objects, ``"-"`` for stdin, lists and iterators of texts, rows or
        tables, mappings id → text, and objects with Arrow's stream interface.
    scratch: folder for copies of sources that can be read only once: stdin, pipes, streams and iterators.
    against: whether these are the sources of ``--against``; lists then get names of their own.
    fetcher: fetches remote objects; by default to the scratch folder, with `progress` as the receiver of reports.
    outlined: the parts are described only, so that of remote objects no more is fetched than that needs.

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
    if addresses := [one for one in sources if is_address(one)]:
        opening.fetch(addresses, fetcher, progress, outlined)
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
        self.remote: dict[object, RemoteSource] = {}
        self.fetcher: Fetcher | None = None

    def fetch(
        self, addresses: Sequence[Any], fetcher: Fetcher | None, progress: Receiver | None, outlined: bool
    ) -> None:
        """Find what addresses name, and fetch it: of Parquet files the footers only."""
        from twinset.documents.remote import fetch, listing  # not for runs without addresses

        self.fetcher = fetcher = fetcher or fetch.Fetcher(self.scratch / "fetched", progress)
        for given in dict.fromkeys(addresses):
            self.remote[given] = listing.find_source(given, fetcher, self.options, self._choice)
        listing.fetch_sources(list(self.remote.values()), fetcher, self.options, outlined=outlined)

    def add(self, number: int, given: object) -> None:
        """Add the files or parts of one SOURCE."""
        if self.options.images and (given == "-" if isinstance(given, str) else not isinstance(given, os.PathLike)):
            raise SourceError("pictures are read from files: name a folder, a pattern or a file")
        is_path = isinstance(given, (str, os.PathLike))
        is_folder = self.remote[given].is_folder if is_address(given) else is_path and os.path.isdir(given)  # type: ignore[arg-type]
        if not self.prefix and not is_folder:
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
        if given == "-":
            self._add_stdin(number)
        elif "\0" in given:
            raise SourceError(f"a path cannot contain a NUL byte: {given!r}")
        elif is_address(given):
            self._add_remote(number, self.remote[given])
        elif os.path.isdir(given):
            self._add_folder(number, given)
        elif os.path.isfile(given):
            path = Path(given)
            self._add_file(self._source(path, number, *self._format(given)))
        elif is_pipe(given):
            self._add_copy(number, given, spool_pipe(given, self.scratch, len(self.entries), self.options))
        elif is_pattern(given):
            self._add_pattern(number, given)
        elif "://" in given:
            raise SourceError(f"no source begins like this; an address begins with {either(READABLE)}", where=given)
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

    def _add_remote(self, number: int, source: RemoteSource) -> None:
        """Add the copies of remote objects."""
        if source.is_folder:
            self._add_folder(number, str(source.address), source)
            return
        before, passed_over = len(self.entries), len(self.skipped)
        self.skipped += source.skipped
        for name, copy in source.copies.items():
            shown = source.shown(name)
            format, codec = self._format(name)
            format = "text" if source.is_pattern and self.options.format is None and is_plain(name) else format
            least = 1 if format == "text" else least_components(shown)
            file = SourceFile(copy.path, shown, number, copy.one.address.components, least, format, codec, copy)
            if not source.is_pattern:
                self._add_file(file)
                continue
            plain = self.options.images or format == "text"
            if reason := why_no_document(str(copy.path), shown, self.options) if plain else None:
                self.skipped.append((shown, reason))
                continue
            self._add_resolved(file)
        if len(self.entries) == before and source.is_pattern:
            nothing = nothing_found("pattern", source.names, self.skipped[passed_over:], self.options)
            raise SourceError(nothing, where=source.given)

    def _add_folder(self, number: int, given: str, remote: RemoteSource | None = None) -> None:
        folder, passed_over, before = Path(given), len(self.skipped), len(self.entries)
        splits = self._files_of_card(folder) if remote is None else remote.splits
        names = list(splits or ()) if remote is None else remote.names
        if remote is None and splits is None:
            names = files_in(folder, self.options, self.skipped)
        tables = reads_tables(names, self.options)
        if remote is not None:
            self.skipped += remote.skipped
        for name in names if remote is None else remote.copies:
            copy = None if remote is None else remote.copies[name]
            path = folder / name if copy is None else copy.path
            shown = path.as_posix() if remote is None else remote.shown(name)
            if tables:
                reason = why_no_table(name, self.options) or why_not_opened(str(path), shown, self.options)
            else:
                reason = why_no_document(str(path), shown, self.options)
            if reason:
                self.skipped.append((shown, reason))
                continue
            parts = (*(components_of(folder) if remote is None else remote.address.components), *name.split("/"))
            least, (format, codec) = name.count("/") + 1, self._format(name)
            file = SourceFile(path, shown, number, parts, least, format if tables else "text", codec, copy)
            file.split = splits[name] if splits else ""
            if not tables and (self.options.images or not splits):
                file.folder, file.folder_name = folder, given if remote else folder.as_posix()
            self._add_resolved(file)
        if len(self.entries) == before:
            ours = sorted(self.skipped[passed_over:] if not names else [], key=lambda one: one[1] in NOT_FOLLOWED)
            more = f"; {ours[0][0]} is skipped: {ours[0][1]}" if ours else ""
            nothing = nothing_found("folder", names, self.skipped[passed_over:], self.options)
            raise SourceError(nothing + more, where=given)

    @property
    def _choice(self) -> tuple[str | None, str | None]:
        """The subset and the split that are chosen by a card."""
        return (None, None) if self.prefix else (self.options.subset, self.options.data_split)

    def _files_of_card(self, folder: Path) -> dict[str, str] | None:
        """Return the files that the card of a data set names, each with its split; None for other folders."""
        find = partial(files_below, folder)
        splits = files_by_split(folder / CARD, folder.as_posix(), find, self._choice, self.options.delimiter)
        if splits is None:
            return None
        files = {str(folder / name): name for name in splits}
        names = [files[path] for path in without_ours(list(files), folder.as_posix(), self.skipped)]
        return {name: splits[name] for name in names if chosen(name, self.options)}

    def _add_file(self, file: SourceFile) -> None:
        """Add a file that is named itself."""
        if self.options.images:
            self.entries.append(file)
            return
        if file.format != "text" and (reason := why_not_opened(str(file.path), file.shown, self.options)):
            self.skipped.append((file.shown, reason))
            return
        if file.codec == "zip" and file.format == "text" and self.options.format is None:
            look_inside(file)
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
            why_not = why_no_document if plain else why_not_opened
            if reason := why_not(match, shown, self.options):
                self.skipped.append((shown, reason))
                continue
            self._add_resolved(self._source(Path(match), number, format, codec))
        if len(self.entries) == before:
            raise SourceError(
                nothing_found("pattern", matches, self.skipped[passed_over:], self.options)
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
        check_separated(parts, self.options)
        if self.options.group is not None:
            from twinset.documents.long_tables.part import GroupsPart  # loads kernels, so only where needed

            parts = [GroupsPart(parts, self.options, self.scratch)]
        self.skipped.sort(key=lambda one: one[1] in NOT_FOLLOWED)  # of less interest than other files
        copies = {copy.path: copy for source in self.remote.values() for copy in source.copies.values()}
        return Sources(parts, self.skipped, self.fetcher, list(copies.values()))

    def _is_text(self, file: SourceFile) -> bool:
        """Whether a file is one document; in a folder of texts every file is."""
        if self.options.lines or (file.split and not self.options.images):
            return False
        return self.options.images or file.format == "text"
