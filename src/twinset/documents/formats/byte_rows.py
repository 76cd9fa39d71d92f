"""Split files into rows of bytes (JSON lines, separated values, lines), and write chosen rows back unchanged."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.compressed import ByteWriter, Reader
from twinset.documents.encodings import replacing
from twinset.documents.formats.byte_rows_kernels import gather_rows
from twinset.documents.parts import LEAST_ROW, MAX_ROW_BYTES, Block, KeptWriter, Mask, Part
from twinset.wording import at_row

Numbers = npt.NDArray[np.int64]
FlagEncoder = Callable[[bytes, tuple[Any, ...]], bytes]

_PIECE = 2**20
_LINE_END = 10


@dataclass(slots=True)
class Records:
    """Rows of bytes: row r is ``data[starts[r]:ends[r]]``, including its line end.

    `fields` counts the fields of separated values (-1: an unclosed quote); `too_long` marks a single row longer than
    `MAX_ROW_BYTES`, without its bytes.
    """

    data: bytes
    starts: Numbers
    ends: Numbers
    first_row: int
    first_line: int
    fields: Numbers | None = None
    too_long: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return len(self.data) + 16 * len(self.starts)

    def line_of(self, row: int) -> int:
        """Line on which a row starts, counted from 1."""
        return self.first_line + self.data.count(b"\n", 0, int(self.starts[row]))

    def rows(self) -> Iterator[memoryview]:
        """The bytes of each row."""
        view = memoryview(self.data)
        for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True):
            yield view[start:end]

    def gather(self, chosen: Mask) -> memoryview:
        """Concatenated bytes of the chosen rows."""
        out = np.empty(int(((self.ends - self.starts) * chosen).sum()), np.uint8)
        gather_rows(np.frombuffer(self.data, np.uint8), self.starts, self.ends, chosen, out)
        return out.data

    def replace(self, rows: Numbers, new: Sequence[bytes]) -> Records:
        """Return the rows with other bytes for some; these are added to the end of `data`, so that nothing moves."""
        starts, ends = self.starts.copy(), self.ends.copy()
        ends[rows] = len(self.data) + np.cumsum([len(one) for one in new])
        starts[rows] = ends[rows] - [len(one) for one in new]
        return replace(self, data=b"".join([self.data, *new]), starts=starts, ends=ends)


class Scanner(Protocol):
    """Finds the ends of rows, piece by piece."""

    def feed(self, piece: bytes) -> tuple[Numbers, Numbers | None]:
        """Return the positions in `piece` after which a row ends, and the rows' numbers of fields, if any."""

    def finish(self) -> Numbers | None:
        """Return the number of fields of the last row, if rows have fields."""


class LineScanner:
    """Rows end with a line feed."""

    def feed(self, piece: bytes) -> tuple[Numbers, Numbers | None]:
        """Find the line feeds."""
        return np.flatnonzero(np.frombuffer(piece, np.uint8) == _LINE_END) + 1, None

    def finish(self) -> None:
        """Lines have no fields."""


class _Splitter:
    """Complete rows not yielded yet, and the bytes of the incomplete last row."""

    def __init__(self, scanner: Scanner, row: int, line: int, drop_blank: bool) -> None:
        self.scanner = scanner
        self.row = row
        self.line = line
        self.drop_blank = drop_blank
        self.buffer = bytearray()
        self.ends: list[Numbers] = []
        self.fields: list[Numbers] = []
        self.last = 0
        self.rows = 0

    def add(self, piece: bytes, ends: Numbers, fields: Numbers | None) -> None:
        if len(ends):
            self.ends.append(ends + len(self.buffer))
            self.last = int(self.ends[-1][-1])
            self.rows += len(ends)
            if fields is not None:
                self.fields.append(fields)
        self.buffer += piece

    def take(self) -> Iterator[Records]:
        """Yield the complete rows."""
        if not self.last:
            return
        data = bytes(memoryview(self.buffer)[: self.last])
        del self.buffer[: self.last]
        ends = np.concatenate(self.ends)
        starts = np.concatenate(([0], ends[:-1])).astype(np.int64)
        fields = np.concatenate(self.fields) if self.fields else None
        self.ends, self.fields, self.last, self.rows = [], [], 0, 0
        if self.drop_blank:
            full = fields != 0 if fields is not None else ~_blank_lines(data, starts, ends)
            if not full.all():
                starts, ends = starts[full], ends[full]
                fields = None if fields is None else fields[full]
        line = self.line
        self.line += data.count(b"\n")
        for records in _without_giants(Records(data, starts, ends, self.row, line, fields)):
            self.row += len(records.starts)
            if len(records.starts):
                yield records

    def giant(self, line: int) -> Records:
        """Return a placeholder for a row that is too long to read."""
        self.row += 1
        none = np.zeros(1, np.int64)
        return Records(b"", none, none.copy(), self.row - 1, line, none + 1, too_long=True)


def split_records(
    stream: Reader, scanner: Scanner, batch_bytes: int, *, drop_blank: bool, row: int = 0, line: int = 1
) -> Iterator[Records]:
    """Split a stream into rows, about `batch_bytes` of them at a time, in bounded memory.

    A row of more than `MAX_ROW_BYTES` comes alone and without its bytes. With `drop_blank`, blank rows are skipped.
    """
    split = _Splitter(scanner, row, line, drop_blank)
    giant_line = 0  # first line of the overlong row being skipped; 0: none
    size = min(_PIECE, max(64, batch_bytes))
    most_rows = max(1, batch_bytes // LEAST_ROW)
    while piece := stream.read(size):
        ends, fields = scanner.feed(piece)
        if giant_line:
            stop = int(ends[0]) if len(ends) else len(piece)
            split.line += piece.count(b"\n", 0, stop)
            if not len(ends):
                continue
            yield split.giant(giant_line)
            giant_line = 0
            piece, ends = piece[stop:], ends[1:] - stop
            fields = None if fields is None else fields[1:]
        split.add(piece, ends, fields)
        if len(split.buffer) - split.last > MAX_ROW_BYTES:
            yield from split.take()
            giant_line = split.line
            split.line += split.buffer.count(b"\n")
            split.buffer.clear()
        elif split.last >= batch_bytes or split.rows >= most_rows:
            yield from split.take()
    fields_left = scanner.finish()
    if giant_line:
        yield split.giant(giant_line)
    elif len(split.buffer) > split.last:
        split.add(b"", np.zeros(1, np.int64), fields_left)
    yield from split.take()


def _blank_lines(data: bytes, starts: Numbers, ends: Numbers) -> Mask:
    """Mask of the lines with nothing but white space."""
    blank = np.frombuffer(data, np.uint8)[starts] <= 32
    for row in np.flatnonzero(blank).tolist():
        blank[row] = not data[starts[row] : ends[row]].strip()
    return blank


def _without_giants(records: Records) -> Iterator[Records]:
    """Separate each row that is too long, without its bytes."""
    sizes = records.ends - records.starts
    if len(records.data) <= MAX_ROW_BYTES or not (sizes > MAX_ROW_BYTES).any():
        yield records
        return
    done = 0
    for giant in [*np.flatnonzero(sizes > MAX_ROW_BYTES).tolist(), len(sizes)]:
        rows = slice(done, giant)
        fields = None if records.fields is None else records.fields[rows]
        row = records.first_row + done
        yield Records(records.data, records.starts[rows], records.ends[rows], row, records.first_line, fields)
        if giant < len(sizes):
            none = np.zeros(1, np.int64)
            line = records.line_of(giant)
            yield Records(b"", none, none.copy(), records.first_row + giant, line, none + 1, too_long=True)
        done = giant + 1


def skip_mark(stream: Reader) -> tuple[bytes, Reader]:
    """Strip a UTF-8 byte-order mark from the head of a stream; return the mark (or nothing) and the rest."""
    head = b""
    while len(head) < 3 and (piece := stream.read(3 - len(head))):
        head += piece
    if head == codecs.BOM_UTF8:
        return head, stream
    return b"", Prefixed(head, stream)


class Prefixed:
    """A stream with bytes put back in front."""

    def __init__(self, head: bytes, stream: Reader) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes."""
        if self._head:
            head, self._head = self._head[:size], self._head[size:]
            return head
        return self._stream.read(size)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


class RecordWriter(KeptWriter):
    """Write kept rows as the input's own bytes, after the file's head (byte-order mark, header row)."""

    def __init__(self, path: Path, codec: str | None, head: bytes, flagged: FlagEncoder | None) -> None:
        self._file = ByteWriter(path, codec)
        self._flagged = flagged
        self._last = b""
        RecordWriter.put(self, head)

    def put(self, data: bytes | memoryview) -> None:
        """Append rows."""
        if len(data):
            self._last = bytes(data[-1:])
            self._file.write(data)

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Write the kept rows, each with its flags if there are any."""
        records: Records = block.payload
        if flags is None or self._flagged is None:
            self.put(records.gather(np.ascontiguousarray(chosen, np.bool_)))
            return
        columns = [flags.column(at).to_pylist() for at in range(flags.num_columns)]
        rows = zip(records.rows(), chosen.tolist(), zip(*columns, strict=True), strict=True)
        self.put(b"".join(self._flagged(bytes(line), values) for line, is_chosen, values in rows if is_chosen))

    def end_line(self) -> None:
        """End the last line, so that rows of another file can follow."""
        if self._last not in (b"", b"\n", b"\r"):
            self.put(b"\n")

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def abort(self) -> None:
        """Remove the file."""
        self._file.abort()


def rewrite_rows(
    part: Part, block: Block, rows: Numbers, texts: Sequence[str], rewrite: Callable[[bytes, str], bytes]
) -> Records:
    """Return the records of a block with other texts in some rows.

    `rewrite` returns the bytes of a row with another text; a `ValueError` says why it cannot have it.
    """
    records: Records = block.payload
    new = []
    for row, text in zip(rows.tolist(), texts, strict=True):
        with replacing(at_row(part.name, block.first_row + row), part.options.encoding):
            new.append(rewrite(records.data[records.starts[row] : records.ends[row]], text))
    return records.replace(rows, new)


def ending_of(line: bytes) -> bytes:
    """The line end of a row, if it has one."""
    for ending in (b"\r\n", b"\n", b"\r"):
        if line.endswith(ending):
            return ending
    return b""


def null_where(array: Any, rows: list[int]) -> Any:
    """The array with nulls at these rows."""
    if not rows:
        return array
    if not isinstance(array, (pa.Array, pa.ChunkedArray)):
        return array.without(rows)  # the rows of a long table
    bad = np.zeros(len(array), bool)
    bad[rows] = True
    return pc.if_else(pa.array(~bad), array, pa.scalar(None, array.type))
