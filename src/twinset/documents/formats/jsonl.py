"""JSON lines: parsed by orjson; kept lines are written as their own bytes."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import orjson

from twinset.documents.compressed import open_reader
from twinset.documents.encodings import check_splittable, decode, is_utf8, refuse_utf16
from twinset.documents.formats.byte_rows import LineScanner, Records, ending_of, skip_mark, split_records
from twinset.documents.formats.object_values import EscapedRow, MalformedRow, ReplacedRow
from twinset.documents.formats.objects import ObjectsPart
from twinset.options import ReadOptions


class JsonLinesPart(ObjectsPart):
    """A file of JSON objects, one per line; blank lines are skipped."""

    format = "jsonl"
    row_noun = "line"

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path, codec: str | None = None) -> None:
        self.encoding = None if is_utf8(options.encoding) else options.encoding
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
            return _parsed(row)
        text, odd = decode(bytes(row), self.encoding)
        values = _parsed(text.encode())
        return ReplacedRow(values) if odd and isinstance(values, dict) else values

    def add_flags(self, row: bytes, values: tuple[Any, ...]) -> bytes:
        """Insert the flags before the closing brace of a line."""
        flags = dict(zip(self.flag_names, values, strict=True))
        # Only ASCII is sure to be the same in another encoding.
        added = orjson.dumps(flags) if self.encoding is None else json.dumps(flags, separators=(",", ":")).encode()
        body = row.rstrip()
        comma = b"" if body[:-1].rstrip() == b"{" else b","
        return body[:-1].rstrip() + comma + added[1:] + ending_of(row)


def _parsed(line: memoryview | bytes) -> Any:
    """Return the value of a line of UTF-8, or the `MalformedRow` that explains why it has none."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        reason = MalformedRow(f"not JSON: {error.msg} at column {error.colno}")
    data = bytes(line)
    try:
        data.decode()
    except UnicodeDecodeError:
        # Invalid UTF-8 does not make a row malformed: its bytes are carried through, to be replaced.
        try:
            row = json.loads(data.decode("utf-8", "surrogateescape"), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return reason
        return EscapedRow(row) if isinstance(row, dict) else row
    return reason


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")
