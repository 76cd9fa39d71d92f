"""Read and write structures of Thrift's compact protocol, as in Parquet footers and page headers.

Most fields are passed through without interpretation.
"""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Struct = dict[int, tuple[int, Any]]
"""Field number → (type, value)."""


def read_struct(data: bytes, at: int) -> tuple[Struct, int]:
    """Read a structure at a position; return it and its end."""
    struct: Struct = {}
    number = 0
    while True:
        head = data[at]
        at += 1
        kind = head & 15
        if kind == 0:
            return struct, at
        if head >> 4:
            number += head >> 4
        else:
            raw, at = read_varint(data, at)
            number = _signed(raw)
        value, at = (kind == TRUE, at) if kind in (TRUE, FALSE) else _read_value(data, at, kind)
        struct[number] = (kind, value)


def _read_value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (TRUE, FALSE, BYTE):  # in lists a boolean is a byte
        return data[at], at + 1
    if kind in (I16, I32, I64):
        raw, at = read_varint(data, at)
        return _signed(raw), at
    if kind == DOUBLE:
        _ = data[at + 7]
        return data[at : at + 8], at + 8
    if kind == BINARY:
        length, at = read_varint(data, at)
        return data[at : at + length], at + length
    if kind in (LIST, SET):
        return _read_list(data, at)
    if kind == STRUCT:
        return read_struct(data, at)
    raise ValueError(f"a Parquet footer with a field of type {kind}")


def _read_list(data: bytes, at: int) -> tuple[Any, int]:
    size, kind = data[at] >> 4, data[at] & 15
    at += 1
    if size == 15:
        size, at = read_varint(data, at)
    items = []
    for _ in range(size):
        item, at = _read_value(data, at, kind)
        items.append(item)
    return (kind, items), at


def write_struct(struct: Struct) -> bytes:
    """Write a structure; the inverse of `read_struct`."""
    out, last = bytearray(), 0
    for number, (kind, value) in sorted(struct.items()):
        if kind in (TRUE, FALSE):
            kind = TRUE if value else FALSE
        if 0 < number - last <= 15:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            out += varint(_unsigned(number))
        if kind not in (TRUE, FALSE):
            out += _value(kind, value)
        last = number
    out.append(0)
    return bytes(out)


def _value(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE, BYTE):
        return bytes([value])
    if kind in (I16, I32, I64):
        return varint(_unsigned(value))
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind in (LIST, SET):
        item_kind, items = value
        head = (
            bytes([len(items) << 4 | item_kind]) if len(items) < 15 else bytes([0xF0 | item_kind]) + varint(len(items))
        )
        return head + b"".join(_value(item_kind, item) for item in items)
    return write_struct(value)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a number of any length, seven bits a byte; return it and its end."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def varint(value: int) -> bytes:
    """Write a number; the inverse of `read_varint`."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _signed(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _unsigned(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1
