"""JSON arrays: the standard library finds the elements, and kept elements are written as their own bytes.

A row is an element with a comma and a line feed in front, so that kept rows only need to be joined.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from twinset.documents.compressed import Reader, open_reader
from twinset.documents.formats.byte_rows import Records, RecordWriter, skip_mark
from twinset.documents.formats.jsonl import JsonLinesPart
from twinset.documents.formats.lines import no_flags
from twinset.documents.formats.object_values import MalformedRow
from twinset.documents.parts import LEAST_ROW, MAX_ROW_BYTES, KeptWriter
from twinset.errors import SourceError

_BETWEEN = b",\n"
_PIECE = 2**18
_SPACE = " \t\r\n"
_SCAN = json.JSONDecoder(strict=False).raw_decode  # control characters are refused when the row is parsed


class JsonArrayPart(JsonLinesPart):
    """A file that is one JSON array, of objects or of strings."""

    format = "json"
    row_noun = "row"

    def split(self, batch_bytes: int) -> Generator[Records, None, None]:
        """Split into elements."""
        with open_reader(self.path or "", self.codec, self.name) as stream:
            self.head, rest = skip_mark(stream)
            self.head += b"["
            yield from _batches(self._elements(rest), batch_bytes)

    def _elements(self, stream: Reader) -> Iterator[bytes]:
        """The bytes of each element."""
        encoding = self.encoding or "utf-8"
        text = _Text(stream, encoding, self.name)
        text.expect("[")
        if text.next() == "]":
            return text.end()
        while True:
            yield _BETWEEN + text.value().encode(encoding, "surrogateescape")
            if text.next() == "]":
                return text.end()
            text.expect(",")

    def parse(self, row: memoryview) -> Any:
        """Return the object of an element; a string is the text of a row without other columns."""
        value = super().parse(row[len(_BETWEEN) :])
        if not isinstance(value, str) or self.options.item_kind != "text":
            return value
        if self.flagged:
            return MalformedRow("--flag adds keys, but the element is a string and has none")
        return {str(self.options.text): value}

    def check_flag(self) -> None:
        """Strings have no keys to add to."""
        if self._strings:
            raise no_flags(self.name, "strings")
        super().check_flag()

    @property
    def _strings(self) -> bool:
        with closing(self.split(1)) as batches:
            records = next(batches, None)
        return records is not None and records.data.startswith(_BETWEEN + b'"')

    def add_flags(self, row: bytes, values: tuple[Any, ...]) -> bytes:
        """Insert the flags before the closing brace of an element."""
        return _BETWEEN + super().add_flags(row[len(_BETWEEN) :], values)

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the file of kept elements: an array of them."""
        return _ArrayWriter(out / "kept" / self.kept_name, self.codec, self.head, self.add_flags if flag else None)


class _Text:
    """The text of a file, decoded piece by piece; `at` is the place of the next character."""

    def __init__(self, stream: Reader, encoding: str, name: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
        self._name = name
        self._text = ""
        self._at = 0
        self._before = 0
        self._ended = False

    def next(self) -> str:
        """The next character that is not white space; empty at the end of the file."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def expect(self, character: str) -> None:
        """Move past a character that must come next."""
        found = self.next()
        if found != character:
            raise self._damage(f"expected {character!r}, not {found!r}" if found else "the array has no end")
        self._at += 1

    def end(self) -> None:
        """Move past the closing bracket; nothing may follow."""
        self.expect("]")
        if self.next():
            raise self._damage("there is more after the end of the array")

    def value(self) -> str:
        """Move past a value, and return its text."""
        self.next()
        size = _PIECE
        while True:
            try:
                _, end = _SCAN(self._text, self._at)
            except RecursionError:
                raise self._damage("an element is nested too deeply") from None
            except ValueError as error:
                fault = str(getattr(error, "msg", error))
                end = len(self._text)
            else:
                fault = "the array has no end"
            if end < len(self._text) and end - self._at <= MAX_ROW_BYTES:  # at the end a number may continue
                value, self._at = self._text[self._at : end], end
                return value
            if len(self._text) - self._at > MAX_ROW_BYTES:
                raise self._damage(
                    f"an element is longer than {MAX_ROW_BYTES // 2**20} MiB, the maximum, or is not JSON ({fault})"
                )
            if not self._more(size):
                raise self._damage(fault)
            size *= 2

    def _more(self, size: int = _PIECE) -> bool:
        """Read more of the file; return False at its end."""
        if self._ended:
            return False
        self._before += self._at
        rest, self._at, pieces = self._text[self._at :], 0, []
        while size > 0 and not self._ended:
            data = self._stream.read(min(size, _PIECE))
            self._ended = not data
            pieces.append(self._decoder.decode(data, final=not data))
            size -= len(data)
        self._text = "".join([rest, *pieces])
        return any(pieces)

    def _damage(self, reason: str) -> SourceError:
        return SourceError(f"not a JSON array: {reason}, at character {self._before + self._at:,}", where=self._name)


def _batches(elements: Iterator[bytes], batch_bytes: int) -> Iterator[Records]:
    """Join elements to records of about `batch_bytes`."""
    rows: list[bytes] = []
    size = first = 0
    for element in elements:
        rows.append(element)
        size += max(len(element), LEAST_ROW)
        if size >= batch_bytes:
            yield _records(rows, first)
            first, rows, size = first + len(rows), [], 0
    if rows:
        yield _records(rows, first)


def _records(rows: list[bytes], first: int) -> Records:
    ends = np.cumsum([len(row) for row in rows]).astype(np.int64)
    return Records(b"".join(rows), np.concatenate(([0], ends[:-1])).astype(np.int64), ends, first, 1)


class _ArrayWriter(RecordWriter):
    """Write kept elements as an array."""

    _any = False

    def put(self, data: bytes | memoryview) -> None:
        """Append elements; no comma precedes the first."""
        if len(data):
            super().put(data if self._any else data[1:])
            self._any = True

    def close(self) -> None:
        """Close the array."""
        super().put(b"\n]\n")
        super().close()
