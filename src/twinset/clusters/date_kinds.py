"""Recognise what the dates of a column are: kinds of numbers, and formats of texts.

Messages name a format that fits the value they show.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SECONDS = (31_536_000, 4_102_444_800)  # 1971 to 2100; below, a number may be a date such as 20240531
_UNITS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
_CALENDAR = {
    "years": (1900, 2101),
    "year and month": (1900_00, 2101_00),
    "year, month and day": (1900_00_00, 2101_00_00),
    "date and time": (1900_00_00_00_00_00, 2101_00_00_00_00_00),
}
_SHORT = ("years", "year and month")  # counters such as revisions have such numbers too
_FORMATS = (
    "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d", "%y/%m/%d",
    "%d %b %Y", "%d %b %y", "%b %d, %Y", "%b %d %Y", "%d-%b-%Y", "%d-%b-%y", "%d. %b %Y", "%a, %d %b %Y", "%a %b %d %Y",
    "%Y-%m", "%Y/%m", "%m/%Y", "%m.%Y", "%b %Y", "%Y %b %d", "%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S", "%a %b %d %H:%M:%S %Y",
)  # fmt: skip
_TIMES = ("", " %H:%M:%S %z", " %H:%M:%S GMT", " %H:%M:%S", " %H:%M", " %I:%M %p", " %I:%M:%S %p", ", %H:%M")


def kinds_of(numbers: pa.ChunkedArray) -> dict[str, str]:
    """Return the kinds of dates in a column of numbers, each with its first value.

    Kinds differ in magnitude: seconds and their fractions of the years 1971 to 2100, and digits of years from
    1900 to 2100. Other numbers are of no kind.

    Examples
    --------
    >>> kinds_of(pa.chunked_array([[20240531, 1704412800, 0]]))
    {'year, month and day': '20240531', 'seconds': '1704412800'}
    """
    values = np.asarray(pc.fill_null(numbers.cast(pa.float64(), safe=False), 0.0))
    low, high = _SECONDS
    bounds = {**_CALENDAR, **{unit: (low * factor, high * factor) for unit, factor in _UNITS.items()}}
    masks = {kind: (values >= first) & (values < end) for kind, (first, end) in bounds.items()}
    if sum(int(np.count_nonzero(mask)) for mask in masks.values()) + numbers.null_count < len(values):
        masks = {kind: mask for kind, mask in masks.items() if kind not in _SHORT}
    return {kind: _plain(numbers[int(np.argmax(mask))].as_py()) for kind, mask in masks.items() if mask.any()}


def _plain(number: Any) -> str:
    return str(int(number) if number == int(number) else number)


def format_of_date(text: str) -> str | None:
    """Return a format of `strptime` that fits a date; None if none is known.

    Examples
    --------
    >>> format_of_date("5 Jan 2024"), format_of_date("12/31/23"), format_of_date("red")
    ('%d %b %Y', '%m/%d/%y', None)
    """
    value = pa.array([text])
    for date in _FORMATS:
        for time in _TIMES:
            if pc.strptime(value, format=date + time, unit="us", error_is_null=True).null_count == 0:
                return date + time
    return None


def formats_of_digits(text: str) -> tuple[str, str]:
    """Return the format of a date such as 1/2/2024 10:30, with the day first and with the month first.

    Examples
    --------
    >>> formats_of_digits("01.02.2024"), formats_of_digits("1/2/2024 10:30")[0]
    (('%d.%m.%Y', '%m.%d.%Y'), '%d/%m/%Y %H:%M')
    """
    date = re.match(r"\d+([-/.])\d+([-/.])\d+", text)
    if date is None:
        raise ValueError(text)
    rest = text[date.end() :]
    half = re.search(r"[AaPp][Mm]", rest) is not None
    rest = re.sub(r"\d+:\d+", "%I:%M" if half else "%H:%M", rest, count=1)
    rest = re.sub(r"(?<=%M):\d+", ":%S", rest)
    rest = re.sub(r"[+-]\d\d:?\d*$", "%z", re.sub(r"[AaPp][Mm]", "%p", rest))
    one, other = date.groups()
    return f"%d{one}%m{other}%Y{rest}", f"%m{one}%d{other}%Y{rest}"
