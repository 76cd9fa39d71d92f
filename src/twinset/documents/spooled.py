"""Copy sources that can be read only once to scratch: stdin, pipes, and files on the web."""

from __future__ import annotations

import http.client
import os
import re
import sys
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit

from twinset.documents.compressed import codec_of, split_codec, writing
from twinset.errors import SourceError
from twinset.options import ReadOptions
from twinset.options.formats import CODECS, format_by_ending

_PIECE = 2**20
_TIMEOUT = 60  # seconds without a byte
_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow"}


class Spooled(NamedTuple):
    """A copy in scratch: its path, a name with the ending of its format and compression, and both of these."""

    path: Path
    name: str
    format: str
    codec: str | None


def is_url(given: str) -> bool:
    """Whether a source is a file on the web.

    >>> is_url("https://example.org/news.jsonl"), is_url("s3://news/a.jsonl"), is_url("news.jsonl")
    (True, False, False)
    """
    return re.match(r"(?i)https?://", given) is not None


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


def spool_url(url: str, folder: Path, number: int, options: ReadOptions) -> Spooled:
    """Fetch a file; an answer that is not complete is refused."""
    from urllib.request import Request, urlopen  # loads much, so only where needed

    path = folder / f"web-{number}"
    try:
        with urlopen(Request(url, headers={"User-Agent": "twinset"}), timeout=_TIMEOUT) as answer:
            size = _copy(answer, path)
            expected = answer.headers.get("Content-Length")
    except HTTPError as error:
        raise SourceError(f"the server answers {error.code} {error.reason}", where=url) from error
    except (URLError, OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise SourceError(f"cannot be fetched: {getattr(reason, 'strerror', None) or reason}", where=url) from error
    if expected is not None and expected.isdigit() and int(expected) != size:
        raise SourceError(f"the connection broke after {size:,} of {int(expected):,} bytes; run again", where=url)
    name = PurePosixPath(unquote(urlsplit(url).path)).name or urlsplit(url).netloc
    plain, codec = split_codec(name)
    known = format_by_ending(plain)
    return Spooled(path, name, options.format or (known.name if known else "text"), codec)


def _copy(stream: IO[bytes] | Any, path: Path) -> int:
    """Copy a stream to a new file; return its size."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "wb")  # noqa: SIM115 - closed below
    with file:
        while piece := stream.read(_PIECE):
            with writing(path):
                file.write(piece)
        with writing(path):
            file.flush()
    return path.stat().st_size


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
