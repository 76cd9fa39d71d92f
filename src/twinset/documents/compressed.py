"""Read and write compressed files as streams: in bounded memory, with reproducible bytes."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from twinset.errors import OutputError, SourceError
from twinset.options.formats import CODECS
from twinset.wording import counted, reason

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
    b"PK\x03\x04": "zip",
}

# Compressors may end a block with a write; writes of one size make the bytes a function of the content.
_PIECE = 2**20
# `xz -9` needs 65 MiB to decompress; a file that needs more is meant to exhaust the reader.
_XZ_MEMORY = 256 * 2**20

_DAMAGE = (
    *(OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException, UnicodeDecodeError),
    *(zipfile.BadZipFile, NotImplementedError),  # the latter: a ZIP file of an unknown method
)


class Reader(Protocol):
    """A readable stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, none at the end."""

    def close(self) -> None:
        """Close the file."""


def split_codec(name: str) -> tuple[str, str | None]:
    """Split the ending of a compressed file off its name.

    >>> split_codec("news.jsonl.gz")
    ('news.jsonl', 'gzip')
    """
    for ending, codec in CODECS.items():
        if name.lower().endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)], codec
    return name, None


def codec_of(head: bytes) -> str | None:
    """Recognise a compressed file by its first bytes.

    >>> codec_of(b"\\x1f\\x8b\\x08"), codec_of(b"words")
    ('gzip', None)
    """
    return next((codec for magic, codec in _MAGIC.items() if head.startswith(magic)), None)


@contextmanager
def reading(name: str, kind: str = "file") -> Iterator[None]:
    """Turn the errors of a damaged or unreadable file into a `SourceError` that names it."""
    try:
        yield
    except _DAMAGE as error:
        raise SourceError(_error_text(error, kind), where=name) from error


def _error_text(error: BaseException, kind: str) -> str:
    if isinstance(error, OSError) and error.errno is not None and error.strerror:
        return f"cannot be read: {error.strerror}"
    return f"the {kind} is damaged, incomplete or not what its name says: {reason(error)}"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the errors of a full disk or a protected folder into an `OutputError` that names the file."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        what = "there is no space left" if full else str(getattr(error, "strerror", None) or error)
        raise OutputError(f"{path}: cannot be written: {what}") from error


@contextmanager
def open_reader(path: str | Path, codec: str | None, name: str) -> Iterator[Reader]:
    """Open a file for reading and decompress it on the way."""
    with reading(name, codec or "file"):
        reader = _reader(str(path), codec)
        try:
            yield reader
        finally:
            reader.close()


def _reader(path: str, codec: str | None) -> Reader:
    if codec is not None and os.path.getsize(path) == 0:
        raise EOFError("it is empty")
    if codec == "gzip":
        return gzip.GzipFile(path, "rb")
    if codec == "bz2":
        return bz2.BZ2File(path, "rb")
    if codec == "xz":
        return _XzReader(path)
    if codec == "zstd":
        return _ZstdReader(path)
    if codec == "zip":
        return _ZipReader(path)
    return open(path, "rb", buffering=0)


def member_of(path: str | Path, name: str) -> zipfile.ZipInfo:
    """The only file in a ZIP file; one of several files or of none raises `SourceError`."""
    with reading(name, "ZIP file"), zipfile.ZipFile(path) as archive:
        files = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
        if len(files) != 1:
            raise SourceError(
                f"the ZIP file has {counted(len(files), 'file')}, and only one can be read; unpack it first",
                where=name,
            )
        if files[0].flag_bits & 1:
            raise SourceError("the ZIP file is encrypted; unpack it first", where=name)
        return files[0]


class _ZipReader:
    """The only file in a ZIP file."""

    def __init__(self, path: str) -> None:
        member = member_of(path, path)
        self._archive = zipfile.ZipFile(path)
        self._file = self._archive.open(member)

    def read(self, size: int, /) -> bytes:
        return self._file.read(size)

    def close(self) -> None:
        self._file.close()
        self._archive.close()


class _ZstdReader:
    """A Zstandard file; Arrow's stream leaves its file open when it is closed."""

    def __init__(self, path: str) -> None:
        self._file = pa.OSFile(path, "rb")
        self._stream = pa.CompressedInputStream(self._file, "zstd")

    def read(self, size: int, /) -> bytes:
        piece: bytes = self._stream.read(size)
        return piece

    def close(self) -> None:
        self._stream.close()
        self._file.close()


class _XzReader:
    """An xz file of any number of streams; unlike `lzma.LZMAFile`, with a bound on the decoder's memory."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._decoder: lzma.LZMADecompressor | None = None
        self._left = b""
        self._started = False

    def read(self, size: int, /) -> bytes:
        while True:
            if self._decoder is None and not self._next_stream():
                return b""
            decoder = self._decoder
            if decoder is None:
                return b""
            data = b""
            if decoder.needs_input:
                data = self._left or self._file.read(_PIECE)
                self._left = b""
                if not data:
                    raise EOFError("the file ends before its last stream does")
            piece = decoder.decompress(data, size)
            if decoder.eof:
                self._left = decoder.unused_data
                self._decoder = None
            if piece:
                return piece

    def _next_stream(self) -> bool:
        """Start the next stream, after optional zero padding; false at the end."""
        while True:
            if self._started:
                self._left = self._left.lstrip(b"\0")
            if self._left:
                break
            self._left = self._file.read(_PIECE)
            if not self._left:
                return False
        self._started = True
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        return True

    def close(self) -> None:
        self._file.close()


class ByteWriter:
    """Write a file in pieces of one size, so that its bytes do not depend on the sizes of the writes."""

    def __init__(self, path: Path, codec: str | None) -> None:
        self.path = path
        self._buffer = bytearray()
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # Buffered: an unbuffered file may write less than requested, and compressors do not check.
            self._file = open(path, "wb")  # noqa: SIM115 - closed by close() and abort()
            self._packer = _packer(self._file, codec, path)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes."""
        self._buffer += data
        if len(self._buffer) >= _PIECE:
            with writing(self.path):
                whole = len(self._buffer) - len(self._buffer) % _PIECE
                for start in range(0, whole, _PIECE):
                    self._packer.write(bytes(self._buffer[start : start + _PIECE]))
                del self._buffer[:whole]

    def close(self) -> None:
        """Write the last piece and finish the file."""
        with writing(self.path):
            self._packer.write(bytes(self._buffer))
            self._buffer.clear()
            if self._packer is not self._file:
                self._packer.close()
            self._file.close()

    def abort(self) -> None:
        """Close and remove the file."""
        self._buffer.clear()
        with suppress(
            OSError, ValueError, pa.ArrowException
        ):  # a compressor writes when closed, and the disk may be full
            self._packer.close()
        with suppress(OSError):
            self._file.close()
        self.path.unlink(missing_ok=True)


def _packer(file: Any, codec: str | None, path: Path) -> Any:
    if codec == "gzip":
        return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
    if codec == "bz2":
        return bz2.BZ2File(file, "wb")
    if codec == "xz":
        return lzma.LZMAFile(file, "wb")
    if codec == "zstd":
        return pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd")
    if codec == "zip":
        return _ZipPacker(file, split_codec(path.name)[0])
    return file


class _ZipPacker:
    """Write a ZIP file of one file."""

    def __init__(self, file: Any, member: str) -> None:
        self._archive = zipfile.ZipFile(file, "w")
        about = zipfile.ZipInfo(member)  # of a fixed date, so that equal rows give equal bytes
        about.compress_type = zipfile.ZIP_DEFLATED
        self._member = self._archive.open(about, "w", force_zip64=True)

    def write(self, data: bytes) -> None:
        self._member.write(data)

    def close(self) -> None:
        self._member.close()
        self._archive.close()
