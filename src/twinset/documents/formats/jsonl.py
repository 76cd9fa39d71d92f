"""JSON lines: parsed by orjson; kept lines are written as their own bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import orjson

from twinset.documents.compressed import open_reader
from twinset.documents.encodings import check_splittable, decode, is_utf8, refuse_utf16
from twinset.documents.formats.byte_rows import LineScanner, Records, ending_of, skip_mark, split_records
from twinset.documents.formats.object_values import EscapedRow, MalformedRow, ReplacedRow
from twinset.documents.formats.objects import ObjectsPart
from twinset.documents.items.chat import no_chats
from twinset.documents.parts import Unreadable
from twinset.options import ReadOptions
from twinset.options.checks import shown_value
from twinset.options.formats import DELIMITERS


class JsonLinesPart(ObjectsPart):
    """A file of JSON objects, one per line; blank lines are skipped."""

    format = "jsonl"
    row_noun = "line"

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path, codec: str | None = None) -> None:
        self.encoding = None if is_utf8(options.encoding) else options.encoding
        texts = options.item_kind in ("text", "records")  # an element of a set must not be changed
        self._replacing = texts and options.on_error == "replace"
        check_splittable(options.encoding, name)
        super().__init__(name, source, options, path, codec)

    def split(self, batch_bytes: int) -> Generator[Records, None, None]:
        """Split into lines, after the byte-order mark if there is one."""
        with open_reader(self.path or "", self.codec, self.name) as stream:
            self.head, rest = skip_mark(stream)
            yield from split_records(rest, LineScanner(), batch_bytes, drop_blank=True)

    def check_head(self, data: bytes) -> None:
        """Refuse UTF-16."""
        if self.encoding is None:
            refuse_utf16(data, self.name)

    def parse(self, row: memoryview) -> Any:
        """Return the value of a line, or the exception that explains why it has none."""
        if self.encoding is None:
            return _parsed(row, self._replacing)
        text, odd = decode(bytes(row), self.encoding)
        values = _parsed(text.encode(), self._replacing)
        return ReplacedRow(values) if odd and isinstance(values, dict) else values

    def refuse_row(self, bad: Unreadable, records: Records, row: int, reason: str) -> None:
        """Refuse a malformed row; if it is the first, the file may have another format."""
        if records.first_row + row == 0 and reason.startswith(_NOT_JSON):
            first = bytes(records.data[records.starts[row] : records.ends[row]])
            if not first.lstrip().startswith((b"{", b"[")):
                format = _likely_format(first)
                reason += f"; if these are not JSON lines, name the format, such as --format {format}, or use --lines"
        super().refuse_row(bad, records, row, reason)

    def add_flags(self, row: bytes, values: tuple[Any, ...]) -> bytes:
        """Insert the flags before the closing brace of a line."""
        flags = dict(zip(self.flag_names, values, strict=True))
        # Only ASCII is sure to be the same in another encoding.
        added = orjson.dumps(flags) if self.encoding is None else json.dumps(flags, separators=(",", ":")).encode()
        body = row.rstrip()
        comma = b"" if body[:-1].rstrip() == b"{" else b","
        return body[:-1].rstrip() + comma + added[1:] + ending_of(row)

    def rewrite_text(self, row: bytes, text: str) -> bytes:
        """Replace the string of the text; all else in the row stays, also the other values of a repeated key."""
        encoding = self.encoding or "utf-8"
        line = row.decode(encoding, "surrogateescape")
        start, end = _span_of(line, str(self.options.text))
        if line[start] != '"':
            raise ValueError(no_chats(str(self.options.text)))
        # A row of ASCII stays one, and JSON can escape what an encoding lacks.
        ascii_only = row.isascii() or not _encodes(text, encoding)
        new = json.dumps(text, ensure_ascii=ascii_only).encode(encoding)
        return line[:start].encode(encoding, "surrogateescape") + new + line[end:].encode(encoding, "surrogateescape")


def _parsed(line: memoryview | bytes, replacing: bool) -> Any:
    """Return the value of a line of UTF-8, or the `MalformedRow` that explains why it has none.

    `replacing`: whether an escape of half a surrogate pair becomes U+FFFD.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        reason = MalformedRow(f"{_NOT_JSON}: {error.msg} at column {error.colno}")
    data = bytes(line)
    try:
        if replacing and _HALF.search(data):
            row = json.loads(data.decode("utf-8", "replace"), parse_constant=_no_constant)
            whole = _without_halves(row)
            if whole != row:
                return ReplacedRow(whole) if isinstance(whole, dict) else whole
        # Invalid UTF-8 does not make a row malformed: its bytes are carried through, to be replaced.
        text = data.decode("utf-8", "surrogateescape")
        if not _encodes(text):
            row = json.loads(text, parse_constant=_no_constant)
            return EscapedRow(row) if isinstance(row, dict) else row
    except (ValueError, RecursionError):
        pass
    return reason


_NOT_JSON = "not JSON"
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
# Numbers stay text: they are only passed over, and Python refuses the longest.
_SCAN = json.JSONDecoder(strict=False, parse_int=str, parse_float=str).raw_decode


def _without_halves(value: Any) -> Any:
    """The value with U+FFFD for each unpaired surrogate of its strings."""
    if isinstance(value, str) and not _encodes(value):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_without_halves(one) for one in value]
    if isinstance(value, dict):
        return {_without_halves(key): _without_halves(one) for key, one in value.items()}
    return value


def _encodes(text: str, encoding: str = "utf-8") -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _span_of(line: str, name: str) -> tuple[int, int]:
    """Return the start and end of the value of a key or path in an object, or of a line that is a string.

    Examples
    --------
    >>> line = '{"n": 1, "meta": {"body": "one"}}'
    >>> line[slice(*_span_of(line, "meta.body"))], line[slice(*_span_of(line, "n"))]
    ('"one"', '1')
    """
    start = _skip(line, 0)
    try:
        span = (start, _SCAN(line, start)[1]) if line[start] == '"' else _find(line, start, name)
    except RecursionError:
        raise ValueError("the row is nested too deeply for its text to be replaced") from None
    if span is None:
        raise ValueError(f"the text {shown_value(name)} is not found in the bytes of the row")
    return span


def _find(line: str, start: int, name: str) -> tuple[int, int] | None:
    """Find a value of the object that starts at a place, as `value_at` does; of a repeated key the last one counts."""
    values: dict[str, tuple[int, int]] = {}
    at = _skip(line, start + 1)
    while line[at] == '"':
        key, at = _SCAN(line, at)
        value = _skip(line, at)
        _, at = _SCAN(line, value)
        values[key] = (value, at)
        at = _skip(line, at)
    at = -1 if name in values else name.find(".")
    while at >= 0:
        inner = values.get(name[:at])
        if inner and line[inner[0]] == "{" and (span := _find(line, inner[0], name[at + 1 :])):
            return span
        at = name.find(".", at + 1)
    return values.get(name)


def _skip(line: str, at: int) -> int:
    """Return the place of the next character that is part of a value; a byte-order mark is none."""
    while line[at] in " \t\r\n,:\ufeff":
        at += 1
    return at


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _likely_format(header: bytes) -> str:
    """Guess the separated format of a row. Commas are also in texts, so any other delimiter is more telling.

    >>> _likely_format(b"id\\ttitle, text"), _likely_format(b"id,text"), _likely_format(b"text")
    ('tsv', 'csv', 'csv')
    """
    return next((name for name, one in DELIMITERS.items() if one != "," and one.encode() in header), "csv")
