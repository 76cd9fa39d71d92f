"""Where the pages of a Parquet column lie: of flat columns without nulls, whose pages hold values one after another.

Some of the values may be in a dictionary, as most programs write the first of them. Of other columns nothing is said.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from twinset.documents.parquet.thrift import Struct, read_struct

_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3  # PageType
_PLAIN, _PLAIN_DICTIONARY, _RLE, _RLE_DICTIONARY = 0, 2, 3, 8  # Encoding
_HEADER = 4096  # bytes in which most headers fit
_LONGEST_HEADER = 2**20
_MOST = 2**31 - 1
CODECS = ("SNAPPY", "UNCOMPRESSED")


@dataclass(frozen=True)
class Page:
    """One page: where its bytes lie in the file, and what is in them."""

    place: int
    size: int
    unpacked: int
    """Bytes of the values once they are uncompressed, and of the levels if they are compressed with them."""
    values: int
    before: int = 0
    """Bytes that come first and are not compressed."""
    coded: bool = False
    """The values are places in the dictionary."""
    levels: bool = False
    """It begins by saying which rows have a value: all."""
    packed: bool = True
    """It is compressed."""
    checksum: int | None = None


@dataclass(frozen=True)
class Pages:
    """The pages of a column in one row group."""

    dictionary: Page | None
    data: list[Page]

    @property
    def largest(self) -> int:
        """Bytes of the largest page, uncompressed."""
        return max((page.unpacked for page in (*self.data, self.dictionary) if page is not None), default=0)

    def around(self, rows: range) -> Pages:
        """Those pages in which some rows are."""
        ends = self._ends()
        first, last = bisect_right(ends, rows.start), bisect_left(ends, rows.stop)
        return Pages(self.dictionary, self.data[first : last + 1])

    def row_before(self, rows: range) -> int:
        """The first row of the first of those pages."""
        ends = self._ends()
        return [0, *ends][bisect_right(ends, rows.start)]

    def _ends(self) -> list[int]:
        return list(accumulate(page.values for page in self.data))


def column_pages(file: int, group: Any, at: int, optional: bool) -> Pages | None:
    """The pages of a column of a row group; None where it is of another kind."""
    about = group.column(at)
    if about.compression not in CODECS:
        return None
    known = about.is_stats_set and about.statistics.has_null_count
    if optional and not (known and about.statistics.null_count == 0):
        return None
    place = about.data_page_offset
    if about.has_dictionary_page and about.dictionary_page_offset:
        place = min(place, about.dictionary_page_offset)
    end = place + about.total_compressed_size
    dictionary, data, rows = None, list[Page](), 0
    while place < end:
        found = _read_header(file, place, end)
        page = None if found is None else _page(*found, optional, about.compression == "SNAPPY")
        if found is None or page is None:
            return None
        if found[0][1][1] == _DICTIONARY:
            if dictionary is not None or data:
                return None
            dictionary = page
        else:
            data.append(page)
            rows += page.values
        place = page.place + page.size
    if place != end or rows != group.num_rows or (dictionary is None and any(page.coded for page in data)):
        return None
    unpacked = sum(page.unpacked for page in data) + (dictionary.unpacked if dictionary else 0)
    return Pages(dictionary, data) if unpacked <= about.total_uncompressed_size else None


def _read_header(file: int, place: int, end: int) -> tuple[Struct, int] | None:
    """The header of a page, and where its body lies."""
    size = _HEADER
    while True:
        data = os.pread(file, min(size, end - place), place)
        try:
            header, length = read_struct(data, 0)
            return header, place + length
        except IndexError:
            if size >= min(_LONGEST_HEADER, end - place):
                return None
            size *= 16
        except (ValueError, RecursionError):
            return None


def _page(header: Struct, place: int, optional: bool, compressed: bool = True) -> Page | None:
    """What a header says; None where it speaks of a page of another kind."""
    try:
        kind, unpacked, size = (header[field][1] for field in (1, 2, 3))
        checksum = header[4][1] & 0xFFFFFFFF if 4 in header else None
        before, flag = 0, True
        if kind == _DICTIONARY:
            about, encoding, levels = header[7][1], header[7][1][2][1], False
            known = encoding in (_PLAIN, _PLAIN_DICTIONARY)
        elif kind == _DATA:
            about, encoding, levels = header[5][1], header[5][1][2][1], optional
            known = not optional or about[3][1] == _RLE
        elif kind == _DATA_2:
            about, encoding, levels = header[8][1], header[8][1][4][1], False
            before, flag = about[5][1] + about[6][1], about.get(7, (0, True))[1]
            known = about[2][1] == 0 and about[3][1] == about[1][1] and about[6][1] == 0 and optional == (before > 0)
        else:
            return None
        coded, packed = encoding != _PLAIN and kind != _DICTIONARY, compressed and flag
        values = about[1][1]
        known = known and encoding in (_PLAIN, _PLAIN_DICTIONARY, _RLE_DICTIONARY) and isinstance(flag, bool)
        if not known or min(size, unpacked) < before:
            return None
        if min(before, values) < 0 or max(size, unpacked, values) > _MOST or not (packed or size == unpacked):
            return None
        return Page(place, size, unpacked - before, values, before, coded, levels, packed, checksum)
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
