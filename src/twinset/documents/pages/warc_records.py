"""Split WARC files into records: a damaged or incomplete one is an error, and a kept one is the input's own bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from twinset.documents.compressed import Reader
from twinset.documents.parts import LEAST_ROW, MAX_ROW_BYTES
from twinset.errors import SourceError

_PIECE = 2**20
_MOST_HEAD = 2**20
_MOST_HTTP = 8192
_BREAK = b"\r\n\r\n"
_LENGTH = re.compile(rb"(?im)^content-length:[ \t]*(\d{1,18})[ \t]*\r?$")
_TYPE = re.compile(rb"(?im)^warc-type:[ \t]*([\w-]+)")

DOCUMENTS = (b"response", b"resource", b"conversion")
"""The types of records that are documents; others say how these were fetched."""
_PACKED = 16  # assumed growth of a compressed page, for planning chunks
_LEAST_PACKED = 2**14


@dataclass(slots=True)
class Record:
    """A record: its type and its bytes, of one that is too long only those before its content."""

    type: bytes
    data: bytes
    is_whole: bool

    @property
    def room(self) -> int:
        """Assumed size of its page; the HTTP header says whether it is compressed."""
        packed = b"content-encoding:" in self.data[:_MOST_HTTP].lower()
        return max(_LEAST_PACKED, _PACKED * len(self.data)) if packed else max(LEAST_ROW, len(self.data))


class Splitter:
    """Splits a stream into records, in bounded memory."""

    def __init__(self, stream: Reader, name: str) -> None:
        self._stream, self._name = stream, name
        self._buffer = bytearray()
        self._place = 0  # of the buffer in the stream

    def records(self) -> Iterator[Record]:
        """Yield every record; one that is malformed or incomplete raises `SourceError`."""
        while self._more():
            place = self._place
            head = self._head(place)
            length = _LENGTH.search(head)
            if length is None:
                raise self._damaged(place, "it has no Content-Length")
            kind = _TYPE.search(head)
            size = int(length[1])
            wanted = kind is not None and kind[1].lower() in (*DOCUMENTS, b"warcinfo")
            body = self._take(size, place, keep=wanted and size <= MAX_ROW_BYTES)
            data = head if body is None else head + body + _BREAK
            yield Record(kind[1].lower() if kind else b"", data, body is not None)

    def _more(self) -> bool:
        """Skip line breaks between records; false at the end of the file."""
        while True:
            rest = self._buffer.lstrip(b"\r\n")
            self._drop(len(self._buffer) - len(rest))
            if rest:
                return True
            if not self._fill():
                return False

    def _head(self, place: int) -> bytes:
        """Take the lines before the content, with the empty line that ends them."""
        start = 0
        while (end := self._buffer.find(_BREAK, start)) < 0:
            if len(self._buffer) >= 5 and not self._buffer.startswith(b"WARC/"):
                break
            start = max(0, len(self._buffer) - 3)
            if len(self._buffer) > _MOST_HEAD:
                raise self._damaged(place, "its header has no end")
            if not self._fill():
                break
        if not self._buffer.startswith(b"WARC/"):
            raise self._damaged(place, "it does not begin with WARC/")
        if end < 0:
            raise self._damaged(place, "the file ends within its header")
        head = bytes(memoryview(self._buffer)[: end + 4])
        self._drop(end + 4)
        return head

    def _take(self, size: int, place: int, keep: bool) -> bytes | None:
        """Take the content of a record; None if it is not to be kept."""
        left = size
        while keep and len(self._buffer) < size:
            if not self._fill():
                raise self._incomplete(place, size, len(self._buffer))
        if keep:
            body = bytes(memoryview(self._buffer)[:size])
            self._drop(size)
            return body
        while left > len(self._buffer):
            left -= len(self._buffer)
            self._drop(len(self._buffer))
            if not self._fill():
                raise self._incomplete(place, size, size - left)
        self._drop(left)
        return None

    def _fill(self) -> bool:
        piece = self._stream.read(_PIECE)
        self._buffer += piece
        return bool(piece)

    def _drop(self, count: int) -> None:
        del self._buffer[:count]
        self._place += count

    def _incomplete(self, place: int, size: int, there: int) -> SourceError:
        return self._damaged(place, f"the file ends after {there:,} of its {size:,} bytes")

    def _damaged(self, place: int, reason: str) -> SourceError:
        return SourceError(f"not a WARC record, or a damaged one, at byte {place:,}: {reason}", where=self._name)
