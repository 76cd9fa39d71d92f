"""Convert text of legacy encodings to UTF-8, and changed text back."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from twinset.errors import OptionError, SourceError

# In these, bytes below 128 may be part of other characters, so rows and fields cannot be split as bytes.
_SHIFTING = ("utf-7", "utf-16", "utf-32", "iso2022", "hz")
_EBCDIC = ("cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140")


def is_utf8(encoding: str) -> bool:
    """Whether bytes of this encoding need no conversion."""
    return known(encoding) in ("utf-8", "utf-8-sig", "ascii")


def known(encoding: str) -> str:
    """Canonical name of an encoding; an unknown one raises `OptionError`."""
    try:
        name = codecs.lookup(encoding).name
        if isinstance(b"".decode(name), str):
            return name
    except (LookupError, ValueError):
        pass
    raise OptionError(f"encoding: there is no text encoding {encoding!r}; examples: utf-8, latin-1, cp1252")


def check_splittable(encoding: str, name: str) -> None:
    """Raise when rows of this encoding cannot be split as bytes."""
    usual = known(encoding).replace("_", "-")
    if usual.startswith(_SHIFTING) or usual in _EBCDIC:
        raise OptionError(
            f"{name}: rows cannot be split in the encoding {encoding!r}, which is for whole text files only; "
            "convert the file to utf-8"
        )


_LOOKED_AT = 256


def utf16_in(head: bytes) -> str | None:
    """Guess UTF-16 from the first bytes of a file, by its byte-order mark or its zeros; None for other bytes.

    >>> utf16_in("words".encode("utf-16")), utf16_in("words".encode("utf-16-be")), utf16_in(b"words")
    ('utf-16', 'utf-16-be', None)
    """
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    head = head[:_LOOKED_AT]
    even, odd = head[::2].count(0), head[1::2].count(0)
    # Most of a text is ASCII, at least spaces and line ends; the zeros of other files are not so regular.
    if len(head) >= 8 and 4 * max(even, odd) >= len(head) and not min(even, odd):
        return "utf-16-le" if odd else "utf-16-be"
    return None


def refuse_utf16(head: bytes, name: str) -> None:
    """Raise when a file of rows looks like UTF-16, whose rows cannot be split as bytes."""
    if utf16_in(head):
        raise SourceError("looks like UTF-16, in which rows cannot be split; convert the file to utf-8", where=name)


def decode(data: bytes, encoding: str) -> tuple[str, bool]:
    """Decode a text without its byte-order mark; also return whether bytes were replaced by U+FFFD."""
    try:
        text, replaced = data.decode(encoding), False
    except UnicodeDecodeError:
        text, replaced = data.decode(encoding, "replace"), True
    text = text.removeprefix("\ufeff")
    if not text.isascii():
        # Some codecs accept half a surrogate pair, which UTF-8 cannot encode.
        clean = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return clean, replaced or clean != text
    return text, replaced


def decode_array(values: Any, encoding: str) -> tuple[Any, list[int]]:
    """Decode an array of bytes; also return the rows in which bytes were replaced."""
    texts: list[str | None] = []
    rows: list[int] = []
    for row, value in enumerate(values.to_pylist()):
        if value is None:
            texts.append(None)
            continue
        text, replaced = decode(value, encoding)
        texts.append(text)
        if replaced:
            rows.append(row)
    return pa.array(texts, pa.string()), rows


def encode_file(text: str, encoding: str, before: bytes) -> bytes:
    """Encode the text of a whole file with the byte-order mark that its bytes `before` start with, if any.

    Examples
    --------
    >>> encode_file("a", "utf-8", codecs.BOM_UTF8 + b"abc"), encode_file("a", "utf-16", "abc".encode("utf-16-be"))
    (b'\\xef\\xbb\\xbfa', b'a\\x00')
    """
    name = "utf-8" if is_utf8(encoding) else known(encoding)
    orders = [name]
    if name in ("utf-16", "utf-32"):
        # Without a mark these names mean the order of the machine, which comes first.
        orders = [f"{name}-{order}" for order in ("le", "be")][:: 1 if sys.byteorder == "little" else -1]
    for order in orders:
        mark = "\ufeff".encode(order, "ignore")
        if mark and before.startswith(mark):
            return mark + text.encode(order)
    return text.encode(orders[0])


@contextmanager
def replacing(where: str, encoding: str) -> Iterator[None]:
    """Turn a `ValueError` about a text that cannot be written at a place into a `SourceError`."""
    try:
        yield
    except UnicodeEncodeError as error:
        lacking = error.object[error.start]
        message = f"the new text has U+{ord(lacking):04X}, which {encoding} cannot encode; use another --mark, or"
        if lacking == "\ufffd":
            message = f"the text has bytes that are not {encoding}, so it cannot be written back;"
        raise SourceError(f"{message} convert the source to utf-8", where=where) from error
    except ValueError as error:
        raise SourceError(str(error), where=where) from error
