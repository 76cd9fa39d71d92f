"""Find files in folders and by patterns, and detect their formats by extension."""

from __future__ import annotations

import codecs
import fnmatch
import glob
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from twinset.documents.compressed import Reader, open_reader, reading, split_codec
from twinset.documents.encodings import is_utf8, utf16_in
from twinset.documents.own_files import names_in, why_our_file, why_our_folder, why_our_rows
from twinset.errors import SourceError
from twinset.options import ReadOptions
from twinset.options.formats import DELIMITERS, endings_for, format_by_ending
from twinset.options.place import DETAILS_ENDING

_HEAD = 8192
_LEAVE_OUT = "use --on-error skip to skip and report it; in a folder, --exclude also skips it"

_SETTINGS = (".json", ".yaml", ".yml", ".toml")
_DESCRIBING = re.compile(r"(readme|licen[sc]e|copying|citation|changelog|contributing)([-_.].*)?")

AMONG_TEXTS = "table among texts"
"""Part of the reason for which a table in a folder of texts is skipped."""

PAGE_ENDINGS = (".html", ".htm", ".xhtml", ".shtml")
"""File extensions of web pages in folders and patterns."""

NOT_PAGE = "not a web page, judging by its extension; --include selects files of other names"
"""Reason for which a file is skipped with ``--html``."""

UTF_16 = "looks like UTF-16"
"""Beginning of the reason for which a text in UTF-16 is skipped."""

NOT_FOLLOWED = ("hidden", "a symbolic link")
"""Reasons for which entries of a folder are not looked at."""

Skipped = list[tuple[str, str]]
"""Files and folders that are skipped, each with the reason; the name of a folder ends with a slash."""


def format_of(name: str) -> tuple[str, str | None]:
    """Detect the format and the compression of a file by its name.

    >>> format_of("news.jsonl.gz"), format_of("notes.md")
    (('jsonl', 'gzip'), ('text', None))
    """
    plain, codec = split_codec(name)
    known = format_by_ending(plain)
    return "text" if known is None else known.name, codec


def is_plain(name: str) -> bool:
    """Whether a file of a folder or a pattern is a text, judging by its name.

    >>> is_plain("notes.md"), is_plain("settings.json"), is_plain("news.jsonl")
    (True, True, False)
    """
    known = format_by_ending(split_codec(name)[0])
    return known is None or known.named


def is_page(name: str) -> bool:
    """Whether a file has the extension of a web page.

    >>> is_page("site/INDEX.HTM"), is_page("news.html.gz"), is_page("style.css")
    (True, True, False)
    """
    return os.path.splitext(split_codec(name)[0])[1].lower() in PAGE_ENDINGS


def is_documentation(name: str, beside: str) -> bool:
    """Whether a file among tables describes or configures them, and is not a document itself.

    `beside` is the format of the tables. CSV, like every separated format, is also written for people, among notes in
    Markdown, so that beside it only files named README, LICENSE and so on count.
    """
    ending = os.path.splitext(name)[1].lower()
    return describes(name) or ending in _SETTINGS or (ending == ".md" and beside not in DELIMITERS)


def describes(name: str) -> bool:
    """Whether a file has the name of documentation, such as README.md."""
    stem, ending = os.path.splitext(name.rsplit("/", 1)[-1].lower())
    return ending in ("", ".md", ".txt", ".rst") and _DESCRIBING.fullmatch(stem) is not None


def is_marker(name: str) -> bool:
    """Whether a file is a marker that Spark and others write beside tables."""
    last = name.rsplit("/", 1)[-1]
    return last in ("_SUCCESS", "_metadata", "_common_metadata") or last.startswith(("_started_", "_committed_"))


def files_in(folder: Path, options: ReadOptions, skipped: Skipped) -> list[str]:
    """Paths of the files below a folder, relative to it, sorted, without hidden files and links.

    These, Twinset's own files, and unreadable ones where that is allowed, go to `skipped`; a hidden folder is one.
    """
    return sorted(_walk(str(folder), "", options, skipped))


def _walk(folder: str, below: str, options: ReadOptions, skipped: Skipped) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        if not below:
            raise SourceError(f"cannot be read: {error.strerror}", where=folder) from error
        if options.on_error != "skip":
            raise SourceError(f"cannot be read: {error.strerror}; {_LEAVE_OUT}", where=folder) from error
        skipped.append((f"{Path(folder).as_posix()}/", f"cannot be read: {error.strerror}"))
        return
    if reason := why_our_folder(folder, [entry.name for entry in entries]):
        if not below:
            raise SourceError(f"this is {reason}", where=folder)
        skipped.append((f"{Path(folder).as_posix()}/", reason))
        return
    details = {entry.name for entry in entries if entry.name.endswith(DETAILS_ENDING)}
    for entry in entries:
        name = below + entry.name
        if entry.name.startswith(".") or entry.is_symlink():
            mark = "/" if entry.is_dir(follow_symlinks=False) else ""
            if chosen(name + mark, options):
                skipped.append((Path(entry.path).as_posix() + mark, NOT_FOLLOWED[not entry.name.startswith(".")]))
            continue
        if entry.is_dir(follow_symlinks=False):
            if not any(_holds(name, pattern) for pattern in options.exclude):
                yield from _walk(entry.path, f"{name}/", options, skipped)
        elif entry.is_file(follow_symlinks=False) and chosen(name, options):
            beside = f"{entry.name}{DETAILS_ENDING}" in details
            if reason := why_our_file(entry.path) or (why_our_rows(entry.path) if beside else None):
                skipped.append((Path(entry.path).as_posix(), reason))
            else:
                yield name


def chosen(name: str, options: ReadOptions) -> bool:
    """Whether ``--include`` and ``--exclude`` select a file."""
    if options.include and not any(_matches(name, pattern) for pattern in options.include):
        return False
    return not any(_matches(name, pattern) for pattern in options.exclude)


def _matches(name: str, pattern: str) -> bool:
    """Whether a pattern matches the path, the file name, or a folder above the file."""
    pattern = _plain(pattern)
    folders = name.split("/")[:-1]
    return any(fnmatch.fnmatchcase(one, pattern) for one in [name, name.rsplit("/", 1)[-1], *_paths(folders)])


def _holds(folder: str, pattern: str) -> bool:
    """Whether a pattern matches every file of a folder."""
    pattern = _plain(pattern)
    if pattern.endswith("/*") and fnmatch.fnmatchcase(folder, pattern[:-2]):
        return True
    return any(fnmatch.fnmatchcase(one, pattern) for one in _paths(folder.split("/")))


def _plain(pattern: str) -> str:
    pattern = pattern.removeprefix("./").removeprefix("**/")
    return pattern + "*" if pattern.endswith("/") else pattern


def _paths(folders: list[str]) -> list[str]:
    """The names of nested folders, and the paths of those below the first."""
    return [*folders, *("/".join(folders[:count]) for count in range(2, len(folders) + 1))]


def matches_of(pattern: str) -> list[str]:
    """The paths that match a pattern, sorted."""
    return sorted(glob.glob(pattern, recursive=True), key=lambda path: Path(path).as_posix())


def without_ours(matches: list[str], pattern: str, skipped: Skipped) -> list[str]:
    """Drop paths below folders that Twinset wrote, unless the pattern names such a folder itself."""
    named = list(itertools.takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts))
    ours: dict[Path, str | None] = {}
    left: list[str] = []
    for match in matches:
        above = [folder for folder in Path(match).parents if len(folder.parts) > len(named)]
        for folder in above:
            if folder not in ours:
                ours[folder] = why_our_folder(str(folder), names_in(str(folder)))
        reason = why_our_file(match) or why_our_rows(match)
        if reason:
            skipped.append((Path(match).as_posix(), reason))
        elif not any(ours[folder] for folder in above):
            left.append(match)
    skipped += [(f"{folder.as_posix()}/", reason) for folder, reason in ours.items() if reason]
    return left


def is_pattern(given: str) -> bool:
    """Whether a path holds one of the characters ``* ? [``."""
    return glob.has_magic(given)


def why_not_text(
    path: str, name: str, codec: str | None, options: ReadOptions, *, among: bool = False
) -> str | None:
    """Why a file is not a text: its format is binary, or it has NUL bytes near its head; None if it is one.

    `among`: whether it is one of many, which may have other encodings.
    """
    try:
        with open_reader(path, codec, name) as stream:
            head = stream.read(_HEAD)
    except SourceError as error:
        if codec == "zip":
            return error.message
        reason = why_not_opened(path, name, options)
        if reason is None and codec is None:
            raise
        # Damaged and unreadable files are counted when the document is read.
        return None if os.path.exists(path) else reason
    utf8 = is_utf8(options.encoding)
    has_nul = b"\0" in head if utf8 else "\0" in head.decode(options.encoding, "ignore")
    if reason := why_not_text_by_name(name, options, has_nul=has_nul and utf8):
        return reason
    if not has_nul or not utf8:
        return "a binary file" if has_nul else None
    encoding = utf16_in(head)
    if encoding == "utf-16" and options.html:
        return None  # a byte-order mark says how to read a page
    if encoding is None:
        return "a binary file"
    if among:
        return f"{UTF_16}; convert it to utf-8, or leave it out with --exclude (--encoding is for all files alike)"
    return f"{UTF_16}; name it with --encoding {encoding}"


def why_not_text_by_name(name: str, options: ReadOptions, *, has_nul: bool = False) -> str | None:
    """Why a file is not a text, judging by its name: its format is binary, or is a table and it has NUL bytes."""
    known = None if options.format == "text" else format_by_ending(split_codec(name)[0])
    if known is None or not (known.binary or has_nul):
        return None
    return f"a {known.name} {AMONG_TEXTS}; name it as a source, or select it with --include '*{Path(name).suffix}'"


def reads_tables(names: Sequence[str], options: ReadOptions) -> bool:
    """Whether a folder with these files is read as tables: it has tables and, besides, only documentation."""
    if of_columns(options) or options.images:
        return of_columns(options)
    if options.format is not None:
        return options.format != "text"
    names = [name for name in names if not is_marker(name)]
    found = {format_of(name)[0] for name in names if not is_plain(name)}
    beside = "csv" if found & DELIMITERS.keys() else "parquet"
    return bool(found) and all(is_documentation(name, beside) for name in names if is_plain(name))


def of_columns(options: ReadOptions) -> bool:
    """Whether items are made of columns, or of arrays."""
    return options.item_kind not in ("text", "images")


def why_no_table(name: str, options: ReadOptions) -> str | None:
    """Why a file of a folder of tables is skipped; None if it is a table."""
    if is_marker(name):
        return "a marker file of a table"
    if options.format is not None:
        return "documentation beside tables" if describes(name) else None
    if not is_plain(name):
        return None
    if of_columns(options):
        return f"not a table, but {options.item_flag} needs tables"
    return "documentation or settings beside tables"


def why_no_document(path: str, shown: str, options: ReadOptions) -> str | None:
    """Why a file among others is skipped; None if it is a document."""
    if options.html and not options.include and not is_page(shown):
        return NOT_PAGE
    if not options.images:
        return why_not_text(path, shown, format_of(path)[1], options, among=True)
    return why_no_picture(path)


def why_no_picture(name: str) -> str | None:
    """Why a file is skipped where pictures are compared, judging by its name."""
    from twinset.documents.items.image_files import is_picture

    return None if is_picture(name) else "not a picture, judging by its extension"


def why_not_opened(path: str, name: str, options: ReadOptions) -> str | None:
    """Why a file cannot be opened, where such files are skipped; otherwise raise. None if it can be."""
    try:
        with reading(name):
            open(path, "rb", buffering=0).close()
    except SourceError as error:
        if options.on_error != "skip":
            raise SourceError(f"{error.message}; {_LEAVE_OUT}", where=name) from error
        return error.message
    return None


def rows_format(path: Path | str, format: str, codec: str | None, name: str, options: ReadOptions) -> str:
    """Tell JSON arrays, JSON lines and texts apart by the first bytes of a file; return other formats unchanged."""
    if format not in ("json", "jsonl"):
        return format
    if format == "json" and options.lines and options.format is None:
        return "text"
    with open_reader(path, codec, name) as stream:
        head = _first_bytes(stream)
    layout = _json_layout(head, whole=len(head) < _HEAD)
    if format == "jsonl":
        return "json" if layout == "json" else "jsonl"
    if layout is not None:
        return layout
    if options.format is None and not head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{"):
        return "text"
    raise SourceError(
        "neither a JSON array nor JSON lines: rows are read from [{…}, …], or from one object per line; to read the "
        "file as one text, use --format text",
        where=name,
    )


def _first_bytes(stream: Reader) -> bytes:
    head = b""
    while len(head) < _HEAD and (piece := stream.read(_HEAD - len(head))):
        head += piece
    return head


def _json_layout(head: bytes, whole: bool) -> str | None:
    """Guess the layout of a file from its first bytes: ``json`` (an array), ``jsonl``, or None for neither.

    `whole`: whether they are the whole file.

    >>> _json_layout(b'[{"a": 1}]', True), _json_layout(b'{"a": 1}\\n{"a"', False), _json_layout(b'{\\n "a": 1}', True)
    ('json', 'jsonl', None)
    """
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    line, _, rest = start.partition(b"\n")
    if not line:
        return None
    complete = line.rstrip().endswith(b"}" if line.startswith(b"{") else b"]")
    if line.startswith(b"["):
        return "jsonl" if complete and (rest.strip() or not whole) else "json"
    return "jsonl" if line.startswith(b"{") and (complete or not (rest or whole)) else None


def nothing_found(
    what: str, passed_over: Sequence[str], skipped: Sequence[tuple[str, str]], options: ReadOptions
) -> str:
    """Say that a folder or a pattern has nothing to read, and what was looked for."""
    if options.images:
        return _no_pictures(what, options)
    endings = ", ".join(endings_for(options.item_kind))
    if options.item_kind != "text":
        return f"no tables in this {what}, but {options.item_flag} needs tables: looked for {endings}"
    sought = f"{', '.join(PAGE_ENDINGS)}, or what --include selects" if options.html else "text files"
    looked = f"no documents in this {what}: looked for {sought}, {endings}, except hidden files and links"
    if options.include or options.exclude:
        looked += f", with --include {list(options.include)} --exclude {list(options.exclude)}"
    if any(reason.startswith(UTF_16) for _, reason in skipped):
        return f"{looked}; its texts look like UTF-16: name it with --encoding utf-16"
    binary = bool(passed_over) and not any(reason == NOT_PAGE for _, reason in skipped)
    return looked + (f"; all its files are binary{_pictures(passed_over)}" if binary else "")


def _no_pictures(what: str, options: ReadOptions) -> str:
    from twinset.documents.items.image_decode import ENDINGS

    looked = f"no pictures in this {what}: looked for {', '.join(ENDINGS)}, except hidden files and links"
    if options.include or options.exclude:
        looked += f", with --include {list(options.include)} --exclude {list(options.exclude)}"
    return looked


def _pictures(names: Sequence[str]) -> str:
    """A hint for files that look like pictures, if any."""
    from twinset.documents.items.image_decode import ENDINGS

    picture = next((name for name in names if name.lower().endswith(ENDINGS)), None)
    return f"; {picture} looks like a picture: --images compares pictures" if picture else ""
