"""Convert bit codes from integers, bytes or hexadecimal digits to bytes.

An integer is its 64 bits, highest first: 255 is the code ``00000000000000ff``. So integers and digits of the same code
are equal.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.normalize import buffers_of
from twinset.schema import Bytes, Places
from twinset.system.arrays import ranges

MOST_BYTES = 1 << 12
"""Maximum bytes of a code."""

_ALLOWED = "allowed: hexadecimal digits, two for each byte, such as c3a51f0000000000"
_WRONG = np.uint8(255)
_BLANK = " \t\r\n"


def _nibbles() -> Bytes:
    table = np.full(256, _WRONG, np.uint8)
    for value, digit in enumerate("0123456789abcdef"):
        table[ord(digit)] = table[ord(digit.upper())] = value
    return table


_NIBBLES = _nibbles()


def holds_codes(kind: Any) -> bool:
    """Whether values of a type can be codes."""
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


def packed_codes(column: Any, from_text: bool = False) -> tuple[Any, list[tuple[int, str]]]:
    """Pack a column of codes; with `from_text`, bytes are the digits of a field in a text file.

    Examples
    --------
    >>> rows, bad = packed_codes(pa.array([255, None]))
    >>> rows.to_pylist(), bad
    ([b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xff', None], [])
    >>> packed_codes(pa.array(["00ff", "0xA1", "a"]))[0].to_pylist()
    [b'\\x00\\xff', b'\\xa1', None]
    """
    kind = column.type
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.large_binary()), []
    if pa.types.is_integer(kind):
        return _numbers(column), []
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or from_text:
        return _digits(column)
    return _limited(column.cast(pa.large_binary()))


def code_of(value: Any) -> bytes:
    """The bytes of a code given as a Python value; a `ValueError` explains why it is not one.

    Examples
    --------
    >>> code_of(255) == code_of("00000000000000ff") == code_of(b"\\0" * 7 + b"\\xff")
    True
    """
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, str):
        digits = value.strip(_BLANK)
        digits = digits[2:] if digits[:2] in ("0x", "0X") else digits
        if not re.fullmatch(r"(?:[0-9A-Fa-f]{2})*", digits):
            raise ValueError(f"the code is {_shown(value)}; {_ALLOWED}")
        return bytes.fromhex(digits)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"the code is {value}, more than 64 bits; longer codes are bytes or hexadecimal digits")
        return (int(value) % 2**64).to_bytes(8, "big")
    raise ValueError("a code must be a whole number, bytes, or hexadecimal digits")


def _numbers(column: Any) -> Any:
    """Integers at their own width; a negative number is its bits (two's complement)."""
    bits = column.type.bit_width
    values = column.fill_null(0).to_numpy(zero_copy_only=False).view(f"u{bits // 8}").astype(">u8")
    offsets = pa.py_buffer(np.arange(len(values) + 1, dtype=np.int64) * 8)
    valid = None
    if column.null_count:
        valid = pa.py_buffer(np.packbits(np.asarray(column.is_valid()), bitorder="little"))
    return pa.Array.from_buffers(pa.large_binary(), len(values), [valid, offsets, pa.py_buffer(values)])


def _digits(column: Any) -> tuple[Any, list[tuple[int, str]]]:
    data, offsets = buffers_of(column)
    starts, ends = offsets[:-1].copy(), offsets[1:].copy()
    none = np.asarray(column.is_null()) if column.null_count else np.zeros(len(column), np.bool_)
    ends[none] = starts[none]
    _strip(data, starts, ends)
    prefixed = np.flatnonzero(ends - starts >= 2)
    at = starts[prefixed]
    prefixed = prefixed[(data[at] == ord("0")) & ((data[at + 1] | 0x20) == ord("x"))]
    starts[prefixed] += 2
    nibbles = _NIBBLES[data]
    wrong = np.concatenate([[0], np.cumsum(nibbles == _WRONG)])
    odd = ((ends - starts) % 2 == 1) | (wrong[ends] > wrong[starts]) | (ends - starts > 2 * MOST_BYTES)
    bad = [(row, _reason(data[starts[row] : ends[row]])) for row in np.flatnonzero(odd).tolist()]
    ends[odd] = starts[odd]
    digits = nibbles[ranges(starts, ends - starts)]
    codes = (digits[0::2] << np.uint8(4)) | digits[1::2]
    reach = np.concatenate([[0], np.cumsum((ends - starts) // 2)])
    valid = pa.py_buffer(np.packbits(~(none | odd), bitorder="little"))
    buffers = [valid, pa.py_buffer(np.ascontiguousarray(reach, np.int64)), pa.py_buffer(np.ascontiguousarray(codes))]
    return pa.Array.from_buffers(pa.large_binary(), len(column), buffers), bad


def _strip(data: Bytes, starts: Places, ends: Places) -> None:
    """Strip blanks on both sides, which are common in separated values."""
    blank = np.isin(data, np.frombuffer(_BLANK.encode(), np.uint8))
    for places, back, step in ((starts, 0, 1), (ends, 1, -1)):
        rows = np.flatnonzero(ends > starts)
        while len(rows := rows[blank[places[rows] - back]]):
            places[rows] += step
            rows = rows[ends[rows] > starts[rows]]


def _limited(column: Any) -> tuple[Any, list[tuple[int, str]]]:
    lengths = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
    long = lengths > MOST_BYTES
    if not long.any():
        return column, []
    bad = [(row, f"the code has {8 * int(lengths[row])} bits; allowed: {8 * MOST_BYTES} at most")
           for row in np.flatnonzero(long).tolist()]  # fmt: skip
    return pc.if_else(pa.array(~long), column, pa.scalar(None, pa.large_binary())), bad


def _reason(text: Bytes) -> str:
    shown = bytes(text[:80]).decode("utf-8", "replace")
    if len(text) > 2 * MOST_BYTES:
        return f"the code has {len(text)} digits; allowed: {2 * MOST_BYTES} at most"
    if re.fullmatch(r"[0-9A-Fa-f]+", shown) and len(text) % 2:
        hint = " (a decimal number? codes in text are hexadecimal)" if shown.isdecimal() and len(shown) > 8 else ""
        return f"the code {_shown(shown)} has an odd number of digits{hint}; {_ALLOWED}, padded with leading zeros"
    return f"the code is {_shown(shown)}; {_ALLOWED}"


def _shown(value: str) -> str:
    return repr(value if len(value) <= 40 else value[:39] + "…")
