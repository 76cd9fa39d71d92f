"""Copy sources that can be read only once to scratch: stdin and pipes."""

from __future__ import annotations

import os
import sys
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from twinset.documents.compressed import codec_of, split_codec, writing
from twinset.errors import SourceError
from twinset.options import ReadOptions
from twinset.options.formats import CODECS, format_by_ending

_PIECE = 2**20
_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow"}


class Spooled(NamedTuple):
    """A copy in scratch: its path, a name with the ending of its format and compression, and both of these."""

    path: Path
    name: str
    format: str
    codec: str | None


def is_pipe(given: str) -> bool:
    """Whether a path is a pipe or a device, such as the ``/dev/fd/63`` of a process substitution."""
    return os.path.exists(given) and not os.path.isfile(given) and not os.path.isdir(given)


def spool_stdin(folder: Path, name: str, options: ReadOptions) -> Spooled:
    """Copy stdin."""
    if sys.stdin is None:
        raise SourceError("standard input is closed, and - reads from it; name a file, a folder or a pattern")
    path = folder / name
    _copy(sys.stdin.buffer, path)
    return _described(path, name, options)


def spool_pipe(given: str, folder: Path, number: int, options: ReadOptions) -> Spooled:
    """Copy what comes out of a pipe."""
    path = folder / f"pipe-{number}"
    try:
        with open(given, "rb") as pipe:
            _copy(pipe, path)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", where=given) from error
    return _described(path, PurePosixPath(given).name, options)


def _copy(stream: IO[bytes], path: Path) -> None:
    """Copy a stream to a new file."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "wb")  # noqa: SIM115 - closed below
    with file:
        while piece := stream.read(_PIECE):
            with writing(path):
                file.write(piece)
        with writing(path):
            file.flush()


def _described(path: Path, name: str, options: ReadOptions) -> Spooled:
    """Recognise a copy: its compression, and a binary format, by its first bytes; else it is JSON lines, or lines."""
    with open(path, "rb") as file:
        head = file.read(8)
    codec = codec_of(head)
    plain = split_codec(name)[0]
    known = format_by_ending(plain)
    binary = next((one for magic, one in _BINARY.items() if head.startswith(magic)), None)
    usual = "text" if options.lines else "jsonl"
    format = options.format or binary or (known.name if known else usual)
    ending = "" if known else ".txt" if format == "text" else f".{format}"
    packed = next((one for one, packer in CODECS.items() if packer == codec), "")
    return Spooled(path, f"{plain}{ending}{packed}", format, codec)
