"""Separated values, such as CSV and TSV: fields stay text, and kept rows keep their bytes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.compressed import Reader, codec_of, open_reader
from twinset.documents.encodings import check_splittable, decode_array, is_utf8, refuse_utf16
from twinset.documents.formats.byte_rows import (
    Numbers,
    Prefixed,
    Records,
    RecordWriter,
    ending_of,
    null_where,
    rewrite_rows,
    skip_mark,
    split_records,
)
from twinset.documents.formats.byte_rows_kernels import AFTER_CR, QUOTED, scan_separated, take_field
from twinset.documents.items.pack import packed
from twinset.documents.items.vectors import need_column
from twinset.documents.pages.extract import compared_texts
from twinset.documents.parts import MAX_ROW_BYTES, Block, Chunk, KeptWriter, Mask, Part, Unreadable
from twinset.errors import ColumnError, SourceError
from twinset.options import ReadOptions
from twinset.options.formats import CODECS, DELIMITERS
from twinset.schema import Places
from twinset.wording import counted

_CAPACITY = 2**16
_SEPARATOR_AT = len("sep=")
_LOOKED_AT = 2**12
_LIKELY = frozenset((";", "|", *DELIMITERS.values()))


class SeparatedScanner:
    """Finds the ends of records; a line end within quotes does not count."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = np.uint8(ord(delimiter))
        self._state = np.zeros(3, np.int64)
        self._ends = np.empty(_CAPACITY, np.int64)
        self._fields = np.empty(_CAPACITY, np.int64)

    def feed(self, piece: bytes) -> tuple[Numbers, Numbers]:
        """Scan the next piece."""
        data = np.frombuffer(piece, np.uint8)
        ends, fields = [], []
        self._state[0] = 0
        while self._state[0] < len(data):
            count = scan_separated(data, self._delimiter, self._state, self._ends, self._fields)
            ends.append(self._ends[:count].copy())
            fields.append(self._fields[:count].copy())
        return np.concatenate(ends), np.concatenate(fields)

    def finish(self) -> Numbers:
        """Fields of the last record; -1 for an unclosed quote."""
        _, mode, done = self._state.tolist()
        return np.array([-1 if mode == QUOTED else done if mode == AFTER_CR else done + 1])


class SeparatedPart(Part):
    """A file of values with a delimiter between them, below a header row unless ``--no-header`` is given.

    `format` is a name of `DELIMITERS`.
    """

    def __init__(
        self, name: str, source: int, options: ReadOptions, path: Path, codec: str | None = None, format: str = "csv"
    ) -> None:
        super().__init__(name, source, options, path)
        self.format, self.codec = format, codec
        self.delimiter = options.delimiter or DELIMITERS[format]
        self.encoding = "utf-8" if is_utf8(options.encoding) else options.encoding
        check_splittable(options.encoding, name)
        with open_reader(path, codec, name) as stream:
            self.mark, first, _ = self._open_header(stream, find_delimiter=options.delimiter is None)
        if codec is None:
            _refuse_compressed(first, name)
        if is_utf8(options.encoding):
            refuse_utf16(first, name)
        self.header = first if options.header else b""
        self._first_row = first[:_LOOKED_AT].decode(self.encoding, "replace")
        self._names = self._parse_header(first)
        self.id_name = options.id or ("id" if "id" in self._names and not options.no_id else None)
        need_column(options, name)
        for column in options.item_columns:
            self.check_column(column, f"{options.flag_of(column)} NAME")
        for name_of, option in ((options.id, "--id NAME"), (options.by, "--by NAME")):
            if name_of is not None:
                self.check_column(name_of, option)

    def _open_header(self, stream: Reader, *, find_delimiter: bool = False) -> tuple[bytes, bytes, Reader]:
        """Read the byte-order mark with a line ``sep=;`` for Excel, and the header from a stream."""
        mark, rest = skip_mark(stream)
        named, rest = _skip_separator(rest)
        if named and find_delimiter:
            self.delimiter = chr(named[_SEPARATOR_AT])
        mark += named
        scanner = SeparatedScanner(self.delimiter)
        head = bytearray()
        while piece := rest.read(2**16):
            ends, fields = scanner.feed(piece)
            full = np.flatnonzero(fields)
            if len(full):
                end = int(ends[full[0]])
                return mark, bytes(head + piece[:end]), Prefixed(piece[end:], rest)
            head += piece
            if len(head) > MAX_ROW_BYTES:
                raise SourceError("the header row has no end; is a quote unclosed?", where=self.name)
        if not head.strip():
            expected = "a header row is expected" if self.options.header else "at least one row is expected"
            raise SourceError(f"the file is empty: {expected}", where=self.name)
        if scanner.finish()[0] < 0:
            raise SourceError("a quote in the header row is never closed", where=self.name)
        return mark, bytes(head), Prefixed(b"", rest)

    def _parse_header(self, first: bytes) -> list[str]:
        """The names of the columns, from the first row."""
        if not self.options.header:
            scanner = SeparatedScanner(self.delimiter)
            counts = [*scanner.feed(first)[1], *scanner.finish()]
            return [str(number) for number in range(next(int(count) for count in counts if count))]
        text = first.decode(self.encoding, "replace").lstrip("\r\n")
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter), [])
        ids = None if self.options.no_id else self.options.id or "id"
        used = [*self.options.item_columns, self.options.by, ids]
        for name in used:
            if name is not None and names.count(name) > 1:
                raise ColumnError(f"the header names the column {name!r} more than once", where=self.name)
        return names

    @property
    def column_names(self) -> list[str]:
        """The names in the header."""
        return self._names

    def no_column(self, name: str, option: str) -> ColumnError:
        """Make the error for a missing column; another delimiter before the first field's end suggests that one."""
        error = super().no_column(name, option)
        unquoted = re.sub('"[^"]*"', "", self._first_row)
        likely = next((one for one in unquoted if one in _LIKELY or one == self.delimiter), self.delimiter)
        if likely == self.delimiter:
            return error
        shown = "tab" if likely == "\t" else f"'{likely}'"
        return ColumnError(f"{error.message}, or name the separator of fields: --delimiter {shown}", where=error.where)

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Split into records."""
        with open_reader(self.path or "", self.codec, self.name) as stream:
            _, first, rest = self._open_header(stream)
            rest = rest if self.header else Prefixed(first, rest)
            line = 1 + (self.mark + self.header).count(b"\n")
            scanner = SeparatedScanner(self.delimiter)
            for records in split_records(rest, scanner, batch_bytes, drop_blank=True, line=line):
                yield SeparatedChunk(self, records)

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the file of kept records; it always has the header."""
        head = self.mark + (self._flagged(self.header, self.flag_names) if flag and self.header else self.header)
        path = out / "kept" / self.kept_name
        return RecordWriter(path, self.codec, head, self._flagged if flag else None)

    def _flagged(self, line: bytes, values: tuple[Any, ...]) -> bytes:
        """Append fields to a record."""
        text = io.StringIO()
        csv.writer(text, delimiter=self.delimiter, lineterminator="").writerow([_field(v) for v in values])
        ending = ending_of(line)
        body = line.removesuffix(ending) if ending else line
        # Ids may come from another file, with characters that this file's encoding lacks.
        more = text.getvalue().encode(self.encoding, "backslashreplace")
        return body + self.delimiter.encode() + more + ending

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """The kept records, every column as strings."""
        records: Records = block.payload
        unreadable = [row for row, _ in block.unreadable]
        columns = [self.column(records, at, unreadable)[0] for at in range(len(self._names))]
        table = pa.Table.from_arrays([_strings(column) for column in columns], names=self._names)
        return table.filter(pa.array(chosen))

    def payload_with(self, block: Block, rows: Places, texts: Sequence[str]) -> Records:
        """Replace the field of the text; other fields keep their bytes."""
        return rewrite_rows(self, block, rows, texts, self._with_text)

    def _with_text(self, record: bytes, text: str) -> bytes:
        """Replace the field of the text in a record; it stays without quotes if it was and needs none."""
        column = self._names.index(self.options.item_columns[0])
        start, end = next(islice(self._fields.finditer(record), column, None)).span(1)
        field = self.encode_text(text)
        special = (self.delimiter.encode(), b'"', b"\r", b"\n")
        # An empty field could be read as null, or as a blank line.
        if not field or record.startswith(b'"', start) or any(one in field for one in special):
            field = b'"' + field.replace(b'"', b'""') + b'"'
        return record[:start] + field + record[end:]

    @cached_property
    def _fields(self) -> re.Pattern[bytes]:
        """A field and what ends it, as in `take_field`."""
        delimiter = re.escape(self.delimiter.encode())
        return re.compile(rb'((?:"(?:[^"]++|"")*+"?)?[^%b\r\n]*+)(?:%b|[\r\n]|\Z)' % (delimiter, delimiter))

    def encode_text(self, text: str) -> bytes:
        """Encode a field in the encoding of the file."""
        return text.encode(self.encoding)

    def column(self, records: Records, at: int, unreadable: list[int]) -> tuple[Any, list[int]]:
        """One column's bytes or strings, null where a row is unreadable; and the rows with replaced bytes."""
        starts, ends = records.starts, records.ends
        if unreadable:
            ends = ends.copy()
            ends[unreadable] = starts[unreadable]
        out = np.empty(int((ends - starts).sum()), np.uint8)
        offsets = np.empty(len(starts) + 1, np.int32)
        data = np.frombuffer(records.data, np.uint8)
        size = take_field(data, starts, ends, at, np.uint8(ord(self.delimiter)), out, offsets)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(out[:size])]
        values = pa.Array.from_buffers(pa.binary(), len(starts), buffers)
        replaced: list[int] = []
        if not is_utf8(self.encoding):
            values, replaced = decode_array(values, self.encoding)
        return null_where(values, unreadable), replaced


def _refuse_compressed(first: bytes, name: str) -> None:
    """Refuse compressed data under a name that does not say so; a header may begin with the letters of a magic."""
    head = first[:14]
    packer = None if head.isascii() and b"\0" not in head else codec_of(head)
    if packer is not None:
        ending = next(ending for ending, one in CODECS.items() if one == packer)
        raise SourceError(f"it is compressed with {packer}; give its name the ending {ending}", where=name)


def _skip_separator(stream: Reader) -> tuple[bytes, Reader]:
    """Strip a line such as ``sep=;``, by which Excel is told the delimiter; return it (or nothing) and the rest."""
    head = b""
    while len(head) < _SEPARATOR_AT + 3 and (piece := stream.read(_SEPARATOR_AT + 3 - len(head))):
        head += piece
    found = re.match(rb"sep=[;,|\t](?:\r\n|\n)", head)
    line = found[0] if found else b""
    return line, Prefixed(head[len(line) :], stream)


class SeparatedChunk(Chunk):
    """Some records, parsed when read."""

    def __init__(self, part: SeparatedPart, records: Records) -> None:
        self._part = part
        self._records = records
        self.rows = len(records.starts)
        self.first_row = records.first_row

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Parse the records."""
        part, records = self._part, self._records
        bad: Unreadable = []
        self._check_fields(bad)
        rows = [row for row, _ in bad]
        texts, replaced = self._items(rows, bad)
        for row in replaced:
            if part.options.on_error == "stop":
                part.bad_row(bad, row, records.line_of(row), f"the row has bytes that are not {part.encoding}")
        texts, undecoded = compared_texts(part, texts, self.first_row, bad)
        replaced = sorted({*replaced, *undecoded})
        block = Block(self.rows, self.first_row, texts, unreadable=bad, replaced=replaced)
        if not texts_only:
            if part.id_name is not None:
                block.ids = self._ids(part.id_name, rows, bad)
            if part.options.by is not None:
                block.by = _strings(self._column(part.options.by, rows)[0])
            block.columns = {name: _strings(self._column(name, rows)[0]) for name in sorted(part.wanted)}
        late = [row for row, _ in bad[len(rows) :]]
        block.texts = null_where(block.texts, late)
        block.payload = records if whole else None
        return block if texts_only else part.add_partition(block)

    def _items(self, rows: list[int], bad: Unreadable) -> tuple[Any, list[int]]:
        """Return the texts or packed items, and the rows with replaced bytes."""
        part, options = self._part, self._part.options
        columns = [self._column(name, rows) for name in options.item_columns]
        replaced = sorted({row for _, replaced_rows in columns for row in replaced_rows})
        if options.item_kind == "text":
            return columns[0]
        texts, refused = packed(options, [column for column, _ in columns], from_text=True)
        unreadable = set(rows)
        for row, reason in refused:
            if row not in unreadable:
                part.bad_row(bad, row, self._records.line_of(row), reason)
        return texts, replaced

    def _column(self, name: str, unreadable: list[int]) -> tuple[Any, list[int]]:
        return self._part.column(self._records, self._part.column_names.index(name), unreadable)

    def _check_fields(self, bad: Unreadable) -> None:
        """Refuse records that do not have the header's number of fields."""
        part, records = self._part, self._records
        if records.too_long:
            most = f"{MAX_ROW_BYTES // 2**20} MiB, the maximum; is a quote unclosed?"
            part.bad_row(bad, 0, records.first_line, f"the row is longer than {most}")
            return
        fields = records.fields if records.fields is not None else np.empty(0, np.int64)
        expected = len(part.column_names)
        for row in np.flatnonzero(fields != expected).tolist():
            if fields[row] < 0:
                reason = "a quote is opened and never closed"
            else:
                others = "the header has" if part.header else "the first row has"
                reason = f"the row has {counted(int(fields[row]), 'field')}, {others} {expected}"
            part.bad_row(bad, row, records.line_of(row), reason)

    def _ids(self, name: str, rows: list[int], bad: Unreadable) -> Any:
        values, _ = self._column(name, rows)
        if values.type == pa.string():
            return values
        try:
            return values.cast(pa.string())
        except pa.ArrowInvalid:
            ids: list[str | None] = []
            for row, value in enumerate(values.to_pylist()):
                try:
                    ids.append(None if value is None else value.decode())
                except UnicodeDecodeError:
                    self._part.bad_row(bad, row, self._records.line_of(row), f"the id {name!r} is not UTF-8")
                    ids.append(None)
            return pa.array(ids, pa.string())


def _field(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _strings(values: Any) -> Any:
    """Decode bytes; invalid UTF-8 is replaced."""
    if values.type == pa.string():
        return values
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array(
            [None if value is None else value.decode("utf-8", "replace") for value in values.to_pylist()],
            pa.string(),
        )
