"""Columns of long values read from a Parquet file, where Snappy packed them or nothing: twice as fast as by Arrow.

Whatever is unusual in the pages, damage included, is left to Arrow: then nothing is given.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.parquet import snappy_kernels as kernels
from twinset.documents.parquet.long_values import LongColumn
from twinset.documents.parquet.pages import CODECS, Page, Pages, column_pages
from twinset.documents.parquet.thrift import read_varint

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
_T = TypeVar("_T")

_MOST = 2**31 - 1
_WIDEST = 32
_LONGEST_NUMBER = 10
_LARGEST = 2**24
_ROOM = 2 * _LARGEST  # bytes of pages, compressed and not, that are unpacked by turns


class Unusual(Exception):
    """A page that Arrow shall look at."""


class LongReading:
    """Reads the long columns of a file, by any number of threads."""

    def __init__(self, path: Path, metadata: Any, columns: list[LongColumn]) -> None:
        self._path, self._metadata = path, metadata
        self.columns = {column.name: column for column in columns if column.codec in CODECS}
        self._pages: dict[tuple[str, int], Pages | None] = {}

    def read(self, name: str, groups: list[int], kind: Any, rows: range | None = None, most: int = _LARGEST) -> Any:
        """A column of some row groups, or of some rows of one, as one array; None where Arrow is to read it.

        A row group with a page of more than `most` bytes is not read here.
        """

        def task(file: int) -> Any:
            found = [self._found(file, self.columns[name], group) for group in groups]
            if any(one.largest > most for one in found):
                return None
            skipped = 0
            if rows is not None:
                [whole] = found
                found, skipped = [whole.around(rows)], whole.row_before(rows)
            array = _filled([_Column(file, one) for one in found], kind)
            return array if rows is None else array.slice(rows.start - skipped, len(rows))

        return self._tried(task)

    def longest_coded(self, group: int, leaf: int) -> int | None:
        """Bytes of the longest value in the dictionary of any flat column; None where Arrow is to look."""

        def task(file: int) -> int | None:
            optional = self._metadata.schema.column(leaf).max_definition_level > 0
            pages = column_pages(file, self._metadata.row_group(group), leaf, optional)
            if pages is None or pages.dictionary is None or pages.largest > _LARGEST:
                return None
            _, ends = _Column(file, Pages(pages.dictionary, [])).dictionary
            return int(np.diff(ends).max(initial=0))

        return self._tried(task)

    def _tried(self, task: Callable[[int], _T]) -> _T | None:
        """What a task makes of the opened file; None where it cannot: whatever it is, Arrow says it in words."""
        file = os.open(self._path, os.O_RDONLY)
        try:
            return task(file)
        except (Unusual, IndexError, ValueError, OverflowError, MemoryError, OSError):
            return None
        finally:
            os.close(file)
            _space.release()

    def _found(self, file: int, column: LongColumn, group: int) -> Pages:
        key = (column.name, group)
        if key not in self._pages:
            self._pages[key] = column_pages(file, self._metadata.row_group(group), column.leaf, column.optional)
        pages = self._pages[key]
        if pages is None:
            raise Unusual
        return pages


def _filled(columns: list[_Column], kind: Any) -> Any:
    """The values of a column in some row groups, one after another."""
    wide = kind in (pa.large_string(), pa.large_binary())
    size, rows = sum(one.size for one in columns), sum(one.rows for one in columns)
    if not wide and size > _MOST:
        raise Unusual
    values, upto = pa.allocate_buffer(size), np.zeros(rows + 1, np.int64)
    row = 0
    for one in columns:
        row = one.read(np.frombuffer(values, np.uint8), upto, row)
    ends = pa.py_buffer(upto if wide else upto.astype(np.int32))
    return pa.Array.from_buffers(kind, rows, [None, ends, values.slice(0, int(upto[-1]))], 0)


class _Space(threading.local):
    """Working memory of one thread, which is used again: fresh memory costs more than it seems."""

    _bytes: Bytes = np.empty(0, np.uint8)

    def release(self) -> None:
        """Let go of what is exceptional."""
        if self._bytes.size > _ROOM:
            self._bytes = np.empty(0, np.uint8)

    def room(self, size: int) -> Bytes:
        """That many bytes, or more."""
        if self._bytes.size < size:
            self._bytes = np.empty(size * 5 // 4, np.uint8)
        return self._bytes


def _load(file: int, page: Page, space: Bytes) -> None:
    """Read the bytes of a page."""
    done = 0
    while done < page.size:
        count = os.preadv(file, [space.data[done : page.size]], page.place + done)
        if not count:
            raise Unusual
        done += count
    if page.checksum is not None and zlib.crc32(space.data[: page.size]) != page.checksum:
        raise Unusual


_space = _Space()


class Laid(NamedTuple):
    """A page in memory: where it begins and ends, its size once unpacked, if it is packed; its levels and values."""

    at: int
    end: int
    unpacked: int
    packed: bool
    levels: bool
    values: int


def about_pages(pages: Iterable[Laid]) -> npt.NDArray[np.uint64]:
    """What `unpack_values` must know of pages. Room for one that is packed is `BEHIND` bytes behind it."""
    known = np.zeros((kernels.TOGETHER, kernels.DONE + 1), np.uint64)
    for row, page in zip(known, pages, strict=False):
        at, room = page.at, page.end + kernels.BEHIND
        place, total = room, room + page.unpacked
        if not page.packed:
            at, room, place, total = page.end, page.at, page.end, page.end
        row[: kernels.COUNT + 1] = at, page.end, place, room, total, page.levels, page.values
    return known


class _Column:
    """A column of one row group."""

    def __init__(self, file: int, pages: Pages) -> None:
        self._file, self._pages = file, pages
        self._codes: dict[Page, Numbers] = {}
        self.rows = sum(page.values for page in pages.data)
        self.size = sum(self._size(page) for page in pages.data)
        """Bytes of all values, and perhaps a few more."""

    def _size(self, page: Page) -> int:
        if not page.coded:
            return page.unpacked - 4 * page.values
        codes = self._codes[page] = self._read_codes(page)
        sizes = np.diff(self.dictionary[1])
        if codes.min(initial=0) < 0 or codes.max(initial=0) >= len(sizes):
            raise Unusual
        return int(sizes[codes].sum())

    @cached_property
    def dictionary(self) -> tuple[Bytes, Numbers]:
        """The values of the dictionary, and where each begins and ends."""
        one = self._pages.dictionary
        if one is None:
            raise Unusual
        found, ends = np.empty(one.unpacked, np.uint8), np.zeros(one.values + 1, np.int64)
        self._unpack([one], found, ends, 0)
        return found, ends

    def _unpack(self, pages: Sequence[Page], values: Bytes, upto: Numbers, row: int) -> None:
        space = _space.room(sum(_space_of(page) for page in pages) + kernels.BEHIND)
        known, at = list[Laid](), 0
        for page in pages:
            _load(self._file, page, space[at:])
            begin, end = at + page.before, at + page.size
            length = 0
            if page.packed:
                unpacked, length = read_varint(space[begin : begin + _LONGEST_NUMBER].tobytes(), 0)
                if unpacked != page.unpacked:
                    raise Unusual
            known.append(Laid(begin + length, end, page.unpacked, page.packed, page.levels, page.values))
            at += _space_of(page)
        if kernels.unpack_values(space, about_pages(known), kernels.ELEMENTS, values, upto, row) == kernels.DAMAGED:
            raise Unusual
        for page, laid in zip(pages, known, strict=True):
            begin = laid.end + kernels.BEHIND if page.packed else laid.at
            _check_levels(page, space[laid.end - page.size :], space[begin:])

    def _read_codes(self, page: Page) -> Numbers:
        raw = _space.room(page.size)
        _load(self._file, page, raw)
        data = raw[page.before : page.size].tobytes()
        if page.packed:
            if read_varint(data, 0)[0] != page.unpacked:
                raise Unusual
            data = pa.Codec("snappy").decompress(data, page.unpacked, asbytes=True)
        after = _check_levels(page, raw, np.frombuffer(data, np.uint8))
        return _unpacked_codes(data, after, page.values)

    def read(self, values: Bytes, upto: Numbers, row: int) -> int:
        """Fill in the values and where they end, from a row on; gives the row after the last."""
        waiting: list[Page] = []
        for page in self._pages.data:
            if waiting and (
                page.coded or len(waiting) == kernels.TOGETHER or sum(map(_space_of, (*waiting, page))) > _ROOM
            ):
                row = self._read_plain(waiting, values, upto, row)
                waiting = []
            if page.coded:
                data, ends = self.dictionary
                if kernels.take_values(data, ends, self._codes[page], values, upto, row) == kernels.DAMAGED:
                    raise Unusual
                row += page.values
            else:
                waiting.append(page)
        return self._read_plain(waiting, values, upto, row)

    def _read_plain(self, pages: list[Page], values: Bytes, upto: Numbers, row: int) -> int:
        if pages:
            self._unpack(pages, values, upto, row)
        return row + sum(page.values for page in pages)


def _space_of(page: Page) -> int:
    """Bytes that a page takes while it is unpacked."""
    return page.size + kernels.BEHIND + (page.unpacked if page.packed else 0)


def _check_levels(page: Page, raw: Bytes, unpacked: Bytes) -> int:
    """See to it that every row of a page is said to have a value; gives where in the unpacked page the values begin."""
    if not page.levels and not page.before:
        return 0
    levels, after = raw[: page.before].tobytes(), 0
    if page.levels:
        after = 4 + int.from_bytes(unpacked[:4].tobytes(), "little")
        levels = unpacked[4:after].tobytes()
    if not (_unpacked_codes(b"\x01" + levels, 0, page.values) == 1).all():
        raise Unusual
    return after


def _unpacked_codes(data: bytes, at: int, count: int) -> Numbers:
    """Numbers in Parquet's mix of repeats and packed bits."""
    width, at = data[at], at + 1
    if width > _WIDEST:
        raise ValueError("too many bits")
    found, have = list[Numbers](), 0
    while have < count:
        head, at = read_varint(data, at)
        if head & 1:
            size = (head >> 1) * width
            bits = np.unpackbits(np.frombuffer(data, np.uint8, size, at), bitorder="little")
            run = bits.reshape(-1, max(1, width)) @ (1 << np.arange(max(1, width), dtype=np.int64))
        else:
            size = (width + 7) // 8
            if at + size > len(data):
                raise ValueError("a run without its value")
            run = np.full(min(head >> 1, count), int.from_bytes(data[at : at + size], "little"), np.int64)
        if not len(run):
            raise ValueError("a run of nothing")
        found.append(run)
        at, have = at + size, have + len(run)
    return np.concatenate([*found, np.zeros(0, np.int64)])[:count]
