"""Read the column of a keep rule as numbers or dates, so that its values can be ordered.

Columns of CSV files and many others hold numbers and dates as text. What a column holds is decided from all its values,
never from a sample: the same rows in another order, or in other batches, are read in the same way.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.clusters.date_kinds import format_of_date, formats_of_digits, kinds_of
from twinset.errors import ColumnError
from twinset.options.checks import shown_value
from twinset.options.keep_rules import KEEP_RULES

_LEAST_SHARE = 10
"""A column holds numbers, or dates, if at least one in this many of its values can be read as such."""
_NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"
_WITH_COMMAS = r"^[+-]?[$€£]? ?\d+(?:[.' ]\d{3})*,\d+(?:[,.]\d+)*(?: ?[%€])?$"
_SHORT_YEAR = r"^\d{1,2}([-/.])\d{1,2}[-/.]\d{2}(?:\D|$)"
_TIME = (
    r"(?:(?:T|,? +)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,6})\d*)?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?: ?(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?)?$"
)
_YEAR_FIRST = r"^(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})" + _TIME
_YEAR_LAST = r"^(?P<one>\d{1,2})[-/.](?P<two>\d{1,2})[-/.](?P<year>\d{4})" + _TIME

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RuleColumn:
    """The column that a keep rule reads, with the date format that the user has named."""

    rule: str
    name: str
    date_format: str | None = None

    def __str__(self) -> str:
        return f"--keep {self.rule}:{self.name}"

    @property
    def noun(self) -> str:
        """What the rule looks for in the column."""
        return "date" if KEEP_RULES[self.rule].dates else "number"

    @property
    def dates(self) -> bool:
        """Whether the rule reads dates."""
        return KEEP_RULES[self.rule].dates

    @property
    def dated(self) -> str:
        """The rule with the same order that reads dates."""
        return f"{'newest' if self.rule in ('newest', 'highest') else 'oldest'}:{self.name}"


@dataclass(frozen=True)
class Unread:
    """The documents without a value that could be read, and the values that are there.

    `example`: one of these values; None if all are empty. `odd`: how many look like numbers with commas, or like dates
    with a year of two digits. `odd_example`: one of them.
    """

    missing: npt.NDArray[np.bool_]
    example: str | None = None
    odd: int = 0
    odd_example: str | None = None


def unread(column: pa.ChunkedArray, values: pa.ChunkedArray, of: RuleColumn, readable: npt.NDArray[np.bool_]) -> Unread:
    """Describe what `read_column` made null among the documents that are `readable`."""
    missing = np.asarray(values.is_null()).astype(np.bool_) & readable
    if not missing.any() or not _is_text(column.type):
        return Unread(missing)
    texts = pc.utf8_trim_whitespace(column.filter(pa.array(missing)).cast(pa.large_string()))
    texts = texts.filter(pc.fill_null(pc.not_equal(texts, ""), False))
    if not len(texts):
        return Unread(missing)
    odd = texts.filter(pc.match_substring_regex(texts, _SHORT_YEAR if of.dates else _WITH_COMMAS))
    return Unread(missing, str(texts[0].as_py()), len(odd), str(odd[0].as_py()) if len(odd) else None)


def read_column(column: pa.ChunkedArray, of: RuleColumn) -> pa.ChunkedArray:
    """Return values that can be ordered; what cannot be read is null.

    Texts become numbers or moments. Other types stay as they are.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _is_text(column.type):
        column = _read_text(column, of)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if of.dates and _is_number(column.type):
        _check_kinds(column, of)
    return column


def _is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _check_kinds(numbers: pa.ChunkedArray, of: RuleColumn) -> None:
    """Refuse dates as numbers of different kinds, whose order says nothing."""
    kinds = kinds_of(numbers)
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise ColumnError(
            f"{of} cannot order column {shown_value(of.name)}, which mixes kinds of dates: {first} ({one}) and "
            f"{second} ({other}); write all dates in one way, or compare plain numbers with "
            f"--keep {'highest' if of.rule == 'newest' else 'lowest'}:{of.name}"
        )


def _read_text(column: pa.ChunkedArray, of: RuleColumn) -> pa.ChunkedArray:
    texts = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    if of.date_format is not None and of.dates:
        return _formatted_dates(texts, of, of.date_format)
    for cast in (_cast_truth, _cast_whole, _cast_float):
        try:
            return cast(texts)
        except pa.ArrowInvalid:
            continue
    numeric, first, last = (
        pc.fill_null(pc.match_substring_regex(texts, pattern), False) for pattern in (_NUMBER, _YEAR_FIRST, _YEAR_LAST)
    )
    numbers, n_first, n_last = (pc.sum(mask).as_py() or 0 for mask in (numeric, first, last))
    dates, values = n_first + n_last, len(texts) - texts.null_count
    if _LEAST_SHARE * max(numbers, dates) < values:
        example = _first(texts, pc.invert(pc.or_(numeric, pc.or_(first, last))))
        raise _no_order(of, example)
    if _LEAST_SHARE * min(numbers, dates) >= values:
        raise _mixed(of, _first(texts, numeric), _first(texts, pc.or_(first, last)))
    if numbers >= dates:
        return _cast_float(pc.if_else(numeric, texts, pa.scalar(None, texts.type)))
    if n_first and n_last:
        raise _mixed(of, _first(texts, first), _first(texts, last))
    return _dates(texts, first if n_first else last, of, year_first=bool(n_first))


def _cast_truth(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast texts that are all true or false, as databases export them; others raise `ArrowInvalid`."""
    if not pc.all(pc.fill_null(pc.match_substring_regex(texts, "^(?i:true|false)$"), True)).as_py():
        raise pa.ArrowInvalid("not a column of truth values")
    return texts.cast(pa.bool_())


def _cast_whole(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return texts.cast(pa.int64())


def _cast_float(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring_regex(texts, r"^\+", "").cast(pa.float64())


def _first(texts: pa.ChunkedArray, mask: pa.ChunkedArray) -> str | None:
    """Return the first text of a mask."""
    place = pc.index(mask, True).as_py()
    return None if place < 0 else str(texts[place].as_py())


def _no_order(of: RuleColumn, example: str | None) -> ColumnError:
    """Make the error for values that are neither numbers nor dates."""
    text = example or ""
    remedy = "name another column"
    if of.dates:
        fitting = format_of_date(text)
        remedy += ", or the format of its dates with --date-format" + (f" '{fitting}'" if fitting else "")
    elif re.match(_WITH_COMMAS, text):
        remedy += ", or write numbers without thousands separators and with a decimal point: 1234.5"
    elif format_of_date(text):
        remedy += f", or use {of.dated} for dates"
    return ColumnError(
        f"{of} cannot order column {shown_value(of.name)}: its values, such as {shown_value(example)}, are neither "
        f"numbers nor dates that can be read; {remedy}"
    )


def _mixed(of: RuleColumn, one: str | None, other: str | None) -> ColumnError:
    named = ", or name the one to read with --date-format: other values then come last" if of.dates else ""
    return ColumnError(
        f"{of} cannot order column {shown_value(of.name)}, which mixes formats, such as {shown_value(one)} and "
        f"{shown_value(other)}; write all values in one format{named}"
    )


def _formatted_dates(texts: pa.ChunkedArray, of: RuleColumn, date_format: str) -> pa.ChunkedArray:
    """Read dates in a format that the user has named."""
    try:
        moments = pc.strptime(texts, format=date_format, unit="us", error_is_null=True)
    except pa.ArrowInvalid as error:
        raise ColumnError(f"date_format is {date_format!r}, which cannot be used: {error}") from error
    if moments.null_count == len(texts) > texts.null_count:
        example = _first(texts, pc.is_valid(texts)) or ""
        fitting = format_of_date(example)
        raise ColumnError(
            f"{of} finds no date of the format {date_format!r} in column {shown_value(of.name)}, whose values look "
            f"like {shown_value(example)}; name the format of its dates with --date-format"
            + (f" '{fitting}'" if fitting else "")
        )
    return moments


def _dates(texts: pa.ChunkedArray, mask: pa.ChunkedArray, of: RuleColumn, *, year_first: bool) -> pa.ChunkedArray:
    """Return the moments of texts in microseconds since 1970; those without a zone are taken as UTC."""
    chosen = texts.filter(mask)
    fields = pc.extract_regex(chosen, _YEAR_FIRST if year_first else _YEAR_LAST)
    if year_first:
        month, day = _whole(fields, "month"), _whole(fields, "day")
    else:
        month, day = _in_order(chosen, _whole(fields, "one"), _whole(fields, "two"), of)
    months = 12 * (_whole(fields, "year") - 1970) + month - 1
    days = months.astype("M8[M]").astype("M8[D]") + (day - 1)
    valid = (month >= 1) & (month <= 12) & (day >= 1) & (days.astype("M8[M]").astype(np.int64) == months)
    time, valid_time = _time_of_day(fields)
    moments = np.zeros(len(texts), np.int64)
    is_read = np.asarray(mask).astype(np.bool_)
    moments[is_read] = days.astype("M8[us]").astype(np.int64) + time
    is_read[is_read] = valid & valid_time
    return pa.chunked_array([pa.array(moments, mask=~is_read).cast(pa.timestamp("us"))])


def _in_order(texts: pa.ChunkedArray, one: Whole, two: Whole, of: RuleColumn) -> tuple[Whole, Whole]:
    """Return months and days; a number above 12 in any date shows which of the two comes first in all."""
    day_first = (one > 12) & (one <= 31) & (two <= 12)
    month_first = (two > 12) & (two <= 31) & (one <= 12)
    if day_first.any() and month_first.any():
        raise _mixed(of, *(texts[int(np.argmax(mask))].as_py() for mask in (day_first, month_first)))
    differ = (one != two) & (one <= 12) & (two <= 12)
    if differ.any() and not day_first.any() and not month_first.any():
        example = str(texts[int(np.argmax(differ))].as_py())
        formats = " or ".join(one if " " not in one else f"'{one}'" for one in formats_of_digits(example))
        remedy = f"name the format with --date-format {formats}" if of.dates else f"use {of.dated} for dates"
        raise ColumnError(
            f"{of}: {shown_value(example)} in column {shown_value(of.name)} may begin with the day or with the month, "
            f"and no other date decides it; {remedy}"
        )
    return (one, two) if month_first.any() else (two, one)


def _time_of_day(fields: pa.ChunkedArray) -> tuple[Whole, npt.NDArray[np.bool_]]:
    """Return the microseconds of the day in UTC, and whether they are a time."""
    hour, minute, second = (_whole(fields, name) for name in ("hour", "minute", "second"))
    half = np.asarray(pc.utf8_lower(_field(fields, "half")))
    of_twelve = half != ""
    valid = (hour < 24) & (minute < 60) & (second <= 60) & (~of_twelve | ((hour >= 1) & (hour <= 12)))
    hour = np.where(of_twelve, hour % 12 + 12 * (half == "p"), hour)
    fraction = _numbers(pc.utf8_rpad(_field(fields, "fraction"), 6, "0"))
    zone = _field(fields, "zone")
    digits = _numbers(pc.utf8_rpad(pc.replace_substring_regex(zone, r"\D", ""), 4, "0"))
    minutes = (digits // 100 * 60 + digits % 100) * np.where(np.asarray(pc.starts_with(zone, "-")), -1, 1)
    micros: Whole = ((hour * 60 + minute - minutes) * 60 + second) * 1_000_000 + fraction
    return micros, valid


def _field(fields: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    return pc.struct_field(fields, name)


def _whole(fields: pa.ChunkedArray, name: str) -> Whole:
    return _numbers(_field(fields, name))


def _numbers(digits: Any) -> Whole:
    """Cast digits to numbers; none are 0."""
    return np.asarray(pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64()))
