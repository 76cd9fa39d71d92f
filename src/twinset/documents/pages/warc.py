"""WARC files: the records of a crawl, whose documents are the pages that servers answered with.

Records are split by us, because a damaged or incomplete one must be an error and a kept one must be the input's own
bytes. What is in a record (headers, chunks, compressed contents) is read by fastwarc; only this module imports it.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.compressed import ByteWriter, open_reader
from twinset.documents.encodings import decode, is_utf8
from twinset.documents.pages.extract import MOST_BYTES as _MOST_PAGE
from twinset.documents.pages.extract import add_unreadable, page_texts
from twinset.documents.pages.hosts import host_of
from twinset.documents.pages.warc_records import DOCUMENTS, Record, Splitter
from twinset.documents.parts import MAX_ROW_BYTES, Block, Chunk, KeptWriter, Mask, Part, Unreadable
from twinset.errors import ColumnError, MissingError, OptionError
from twinset.options import ReadOptions
from twinset.schema import Places

_BREAK = b"\r\n\r\n"

_PAGES = ("text/html", "application/xhtml+xml")
_TEXTS = ("text/plain",)
_NUL = 1024  # bytes that are looked at to tell a text
_BOMB = 100  # growth that no page of more than `_SMALL` bytes has
_SMALL = 2**16

_COLUMNS = {
    "url": pa.string(),
    "host": pa.string(),
    "date": pa.string(),
    "type": pa.string(),
    "status": pa.int64(),
    "record": pa.string(),
}


@dataclass(slots=True)
class _Document:
    """What is read of a record: its columns, and its text as bytes, or the reason for which there is none."""

    columns: dict[str, Any]
    body: bytes | None = None
    charset: str = ""
    is_page: bool = False
    reason: str = ""


@dataclass(slots=True)
class _Records:
    """Some records."""

    rows: list[Record] = field(default_factory=list)
    nbytes: int = 0


class WarcPart(Part):
    """A WARC file."""

    format = "warc"

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path, codec: str | None = None) -> None:
        _check_package()
        super().__init__(name, source, options, path)
        self.codec = codec
        for column in options.item_columns:
            if column != "text":
                raise self.no_column(column, options.flag_of(column))
        for given, flag in ((options.id, "--id"), (options.by, "--by")):
            if given is not None:
                self.check_column(given, flag)
        self.id_name = None if options.no_id else options.id or "url"
        self.head = b""
        with open_reader(path, codec, name) as stream:
            first = next(Splitter(stream, name).records(), None)
        if first is not None and first.type == b"warcinfo":
            self.head = first.data

    @property
    def column_names(self) -> list[str]:
        """The columns that every record has."""
        return list(_COLUMNS)

    def no_column(self, name: str, option: str) -> ColumnError:
        """Make the error for a missing column."""
        error = super().no_column(name, option)
        if not option.startswith("--text"):
            return error
        return ColumnError(f"a WARC file has no column of texts but its pages: {error.message}", where=error.where)

    def check_flag(self) -> None:
        """Records have no columns to add to."""
        raise OptionError(f"{self.name}: --flag adds columns, but WARC records have none; see clusters.parquet")

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Split into records; those that are not documents are left out."""
        row, batch = 0, _Records()
        with open_reader(self.path or "", self.codec, self.name) as stream:
            for record in Splitter(stream, self.name).records():
                if record.type not in DOCUMENTS:
                    continue
                batch.rows.append(record)
                batch.nbytes += record.room
                if batch.nbytes >= batch_bytes:
                    yield WarcChunk(self, row, batch)
                    row, batch = row + len(batch.rows), _Records()
        if batch.rows:
            yield WarcChunk(self, row, batch)

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the file of kept records, which begins with the description of the file if this one does."""
        if flag:
            self.check_flag()
        return WarcWriter(out / "kept" / self.kept_name, self.codec, self.head)

    def check_texts_replaceable(self, inserted: str = "") -> None:
        """Refuse to change pages: their records say how long they are, and have digests."""
        raise OptionError(f"{self.name}: texts in WARC records cannot be changed; name other sources")

    def payload_with(self, block: Block, rows: Places, texts: Sequence[str]) -> Any:
        """Return the records as they are; none can be changed."""
        if len(rows):
            self.check_texts_replaceable()
        return block.payload

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """The columns of records, and their texts."""
        documents = [_read(one, self.options.html) for one in block.payload.rows]
        columns = {name: [one.columns.get(name) for one in documents] for name in _COLUMNS}
        arrays = {name: pa.array(columns[name], kind) for name, kind in _COLUMNS.items()}
        return pa.table({**arrays, "text": block.texts}).filter(pa.array(chosen))


class WarcChunk(Chunk):
    """Some records, read when needed."""

    def __init__(self, part: WarcPart, first_row: int, records: _Records) -> None:
        self._part, self.first_row, self._records = part, first_row, records
        self.rows = len(records.rows)

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Read headers and contents."""
        part, options = self._part, self._part.options
        documents = [_read(one, options.html) for one in self._records.rows]
        bad: Unreadable = []
        refused = [(row, one.reason) for row, one in enumerate(documents) if one.reason]
        if part.id_name is not None:
            unnamed = [one.columns.get(part.id_name) is None and not one.reason for one in documents]
            nameless = (row for row, one in enumerate(unnamed) if one)
            refused += [(row, f"the record has no {part.id_name}") for row in nameless]
        add_unreadable(part, bad, sorted(refused), self.first_row)
        for row, _ in bad:
            documents[row].body = None
        texts, replaced = self._texts(documents, bad)
        block = Block(self.rows, self.first_row, texts, unreadable=sorted(bad), replaced=replaced)
        if not texts_only:
            block.ids = None if part.id_name is None else _column(documents, part.id_name).cast(pa.string())
            if options.by is not None:
                block.by = _column(documents, options.by).cast(pa.string())
            block.columns = {name: _column(documents, name) for name in sorted(part.wanted)}
        block.payload = self._records if whole else None
        return block if texts_only else part.add_partition(block)

    def _texts(self, documents: list[_Document], bad: Unreadable) -> tuple[Any, list[int]]:
        """The texts of all documents, and the rows with replaced bytes."""
        texts: list[str | None] = [None] * len(documents)
        replaced: list[int] = []
        pages = [row for row, one in enumerate(documents) if one.is_page and one.body is not None]
        for row, one in enumerate(documents):
            if one.body is not None and not one.is_page:
                texts[row], odd = _decoded(one.body, one.charset or self._part.options.encoding)
                replaced += [row] if odd else []
        if pages:
            encoding = self._part.options.encoding
            unknown = "" if is_utf8(encoding) else encoding  # otherwise the page says it, or its bytes do
            charsets = [documents[row].charset or unknown for row in pages]
            done = page_texts([documents[row].body for row in pages], charsets)
            for row, text in zip(pages, done.texts.to_pylist(), strict=True):
                texts[row] = text
            refused = [(pages[at], reason) for at, reason in done.unreadable]
            add_unreadable(self._part, bad, refused, self.first_row)
            replaced += [pages[at] for at in done.replaced]
        return pa.array(texts, pa.large_string()), sorted(replaced)


class WarcWriter(KeptWriter):
    """Write kept records as the input's own bytes; in a gzip file each is a member, as readers of WARC expect."""

    def __init__(self, path: Path, codec: str | None, head: bytes) -> None:
        self._members = codec == "gzip"
        self._file = ByteWriter(path, None if self._members else codec)
        if head:
            self._put(head)

    def _put(self, record: bytes) -> None:
        self._file.write(gzip.compress(record, 6, mtime=0) if self._members else record)

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Write the kept records."""
        for row in np.flatnonzero(chosen).tolist():
            self._put(block.payload.rows[row].data)

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def abort(self) -> None:
        """Remove the file."""
        self._file.abort()


def _read(given: Record, html: bool) -> _Document:
    """Read a record; with `html` pages are to be extracted."""
    from fastwarc.warc import ArchiveIterator

    data = given.data
    if not given.is_whole:
        long = f"the record is longer than {MAX_ROW_BYTES // 2**20} MiB, the maximum"
        return _Document(_columns_of_head(data), reason=long)
    try:
        record = next(iter(ArchiveIterator(io.BytesIO(data), parse_http=True, auto_decode="all", stream_detect=False)))
        columns = _columns_of(record)
        most = _MOST_PAGE if html else MAX_ROW_BYTES
        body = record.reader.read(min(most, max(_SMALL, _BOMB * len(data))) + 1)
    except (OSError, StopIteration, ValueError) as error:
        return _Document(_columns_of_head(data), reason=f"the record cannot be read: {error or 'it is malformed'}")
    kind, done = columns["type"], _Document(columns)
    if len(body) > most:
        done.reason = f"the page is longer than {most // 2**20} MiB, the maximum"
    elif len(body) > max(_SMALL, _BOMB * len(data)):
        done.reason = f"the page is compressed to less than one {_BOMB}th of its size, as no page is"
    elif kind is not None and kind not in (*_PAGES, *_TEXTS):
        done.reason = f"not a web page: its content type is {kind}"
    elif b"\0" in body[:_NUL] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        done.reason = f"not a web page: binary content{f' of type {kind}' if kind else ''}"
    else:
        done.body, done.is_page = body, html and kind not in _TEXTS
        done.charset = record.http_charset or _charset(record.headers.get("Content-Type"))
    return done


def _columns_of(record: Any) -> dict[str, Any]:
    """The columns of a record."""
    url = _clean(record.headers.get("WARC-Target-URI"))
    if url is not None and url.startswith("<") and url.endswith(">"):
        url = url[1:-1]  # as some programs write it
    http = record.http_headers
    kind = http.get("Content-Type") if http is not None else record.headers.get("Content-Type")
    kind = (kind or "").partition(";")[0].strip().lower() or None
    return {
        "url": url,
        "host": None if url is None else host_of(url),
        "date": _clean(record.headers.get("WARC-Date")),
        "type": _clean(kind),
        "status": None if http is None else http.status_code,
        "record": _clean(record.headers.get("WARC-Record-ID")),
    }


def _columns_of_head(data: bytes) -> dict[str, Any]:
    """The URL of a record that cannot be parsed, so that it can be named."""
    url = re.search(rb"(?im)^warc-target-uri:[ \t]*(\S+)", data.partition(_BREAK)[0])
    text = None if url is None else url[1].decode("utf-8", "replace")
    return {"url": text, "host": None if text is None else host_of(text)}


def _clean(value: str | None) -> str | None:
    """A header as text that UTF-8 can encode; None for an empty one."""
    return value.encode("utf-8", "replace").decode() if value else None


def _charset(kind: str | None) -> str:
    found = re.search(r"(?i)charset=[\"']?([\w.:-]+)", kind or "")
    return found[1] if found else ""


def _decoded(body: bytes, charset: str) -> tuple[str, bool]:
    try:
        return decode(body, charset)
    except LookupError:
        return decode(body, "utf-8")


def _column(documents: list[_Document], name: str) -> Any:
    return pa.array([one.columns.get(name) for one in documents], _COLUMNS[name])


def _check_package() -> None:
    """Raise `MissingError` unless fastwarc is installed."""
    try:
        import fastwarc  # noqa: F401 - checks that it is installed
    except ImportError as error:
        raise MissingError.of("fastwarc", "html") from error
