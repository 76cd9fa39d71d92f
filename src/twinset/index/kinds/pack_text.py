"""Compress the texts of an index one by one, so that each can be read alone."""

import pyarrow as pa

from twinset.documents.parts import MAX_ROW_BYTES
from twinset.errors import DamagedError

_PLAIN, _PACKED = b"\0", b"\1"
_WORTH = 48
"""Texts of up to this many bytes are not compressed: a frame has an overhead."""
_LARGEST = 3 * MAX_ROW_BYTES
"""Maximum bytes of a text: each invalid byte is stored as three."""

_codec = pa.Codec("zstd", compression_level=1)


def pack(text: bytes) -> bytes:
    """Return a text in stored form.

    Examples
    --------
    >>> len(pack(b"rose " * 1000)) < 100
    True
    >>> unpack(pack(b"rose " * 1000)) == b"rose " * 1000
    True
    """
    if len(text) > _WORTH:
        packed: bytes = _codec.compress(text, asbytes=True)
        if len(packed) + 4 < len(text):
            return _PACKED + len(text).to_bytes(4, "little") + packed
    return _PLAIN + text


def unpacked_size(kept: bytes | None) -> int:
    """Return the number of bytes of a text as its header states it."""
    if kept is None or kept[:1] != _PACKED:
        return len(kept or b"")
    return int.from_bytes(kept[1:5], "little")


def unpack(kept: bytes) -> bytes:
    """Return the text; raise `DamagedError` if it is not a packed text."""
    if kept[:1] == _PLAIN:
        return kept[1:]
    size = int.from_bytes(kept[1:5], "little")
    if kept[:1] != _PACKED or not _WORTH < size <= _LARGEST:
        raise DamagedError("the text of a document is damaged: it is not a packed text")
    try:
        text: bytes = _codec.decompress(kept[5:], decompressed_size=size, asbytes=True)
    except (OSError, pa.ArrowException) as error:
        raise DamagedError(f"the text of a document is damaged: {error}") from error
    if len(text) != size:
        raise DamagedError(f"the text of a document is damaged: it has {len(text)} bytes instead of {size}")
    return text


def unpack_text(kept: bytes | None) -> str:
    """Return the text as a string; raise `DamagedError` if it is not one."""
    try:
        return unpack(kept or b"").decode()
    except UnicodeDecodeError as error:
        raise DamagedError(f"the text of a document is damaged: {error}") from error
