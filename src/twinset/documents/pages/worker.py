"""Program of a process that extracts the text of web pages; only this module imports the extractor.

`extract.py` starts it by its path, so that nothing else is loaded: it takes 12 MB and starts in 30 ms. It is a
process of its own for three reasons. The extractor holds the interpreter lock, so that threads would not use a second
core. A page that needs too much time or memory ends this process only. And what the parser keeps is given back.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import struct
import sys
from typing import Any, BinaryIO

DEEPEST = 512
"""Maximum depth of nested elements, as in browsers; the time of the extractor grows with its square."""

_TOO_DEEP = "*>" * DEEPEST + "*"
_SECONDS = 10  # of processor time for one page; a large one takes less than one
_MEMORY = 1536 * 2**20
_IDLE = 60  # seconds without a request, after which a process ends
_SNIFFED = 2**16  # bytes that are looked at to detect an encoding

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))

_PLAIN: Any = {"alt_texts": False, "list_bullets": False}  # words that are seen, and nothing else

READ, REPLACED, REFUSED = range(3)
"""How a page was read: as it is, with undecodable bytes replaced, or not at all."""


def page_text(page: bytes, charset: str) -> tuple[int, str]:
    """Return how a page was read, and the text of its main content or the reason.

    `charset` is the encoding if it is known; otherwise the page's declaration counts, then what its bytes look like.
    A page whose main content has no word gives all its text.
    """
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    text, replaced = _decoded(page, charset)
    if not text.strip():
        return REPLACED if replaced else READ, ""
    tree = HTMLTree.parse(text)
    if text.count("<") > DEEPEST and tree.document and tree.document.query_selector(_TOO_DEEP) is not None:
        return REFUSED, f"its elements are nested deeper than {DEEPEST:,} levels, the maximum"
    main = str(extract_plain_text(tree, main_content=True, comments=False, post_meta=False, **_PLAIN))
    if not any(map(str.isalnum, main)):
        main = str(extract_plain_text(tree, main_content=False, **_PLAIN))
    # Escapes such as &#xD800; may give half a surrogate pair, which UTF-8 cannot encode.
    return REPLACED if replaced else READ, main.encode("utf-8", "replace").decode()


def _decoded(page: bytes, charset: str) -> tuple[str, bool]:
    """Decode a page; also return whether bytes were replaced."""
    for mark, name in _MARKS:
        if page.startswith(mark):
            return _decode(page[len(mark) :], name)
    return _decode(page, _known(charset) or _detected(page))


def _decode(page: bytes, encoding: str) -> tuple[str, bool]:
    try:
        return page.decode(encoding), False
    except UnicodeDecodeError:
        return page.decode(encoding, "replace"), True


def _known(charset: str) -> str | None:
    """The encoding that a label means on the web, where latin1 is cp1252; None for an unknown label.

    >>> _known("Latin1"), _known("nonsense")
    ('cp1252', None)
    """
    from resiliparse.parse.encoding import map_encoding_to_html5

    name = map_encoding_to_html5(charset, fallback_utf8=False) if charset else None
    return None if name is None or not _has_codec(name) else str(name)


def _has_codec(name: str) -> bool:
    try:
        b"".decode(name)
    except LookupError:
        return False
    return True


def _detected(page: bytes) -> str:
    from resiliparse.parse.encoding import detect_encoding

    name = str(detect_encoding(page, max_len=_SNIFFED, from_html_meta=True) or "utf-8")
    return name if _has_codec(name) else "utf-8"


def _limit_time(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (spent + 1 + seconds, hard))


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:  # whoever started this process has ended
        raise EOFError
    return data


def _answer(page: bytes, charset: str) -> tuple[int, str]:
    try:
        return page_text(page, charset)
    except MemoryError:
        return REFUSED, f"to parse it takes more than {_MEMORY // 2**20:,} MiB of memory"
    except Exception as error:
        return REFUSED, f"it cannot be parsed: {str(error) or type(error).__name__}"


def main(stdin: BinaryIO, stdout: BinaryIO, idle: int = 0, seconds: int = 0) -> None:
    """Answer requests until there are no more, or none comes for `idle` seconds (0: wait forever).

    A page may take `seconds` of processor time (0: any time). Both limits are of the process, and end it.

    A request is a number of pages, and the charset and the bytes of each, after their lengths. All of a request is read
    before the first answer is written, so that neither side waits for the other. An answer is how a page was read,
    and its text or the reason.
    """
    stdout.write(b"\x01")
    stdout.flush()
    while True:
        if idle:
            signal.alarm(idle)  # its signal ends the process
        (count,) = struct.unpack("<I", _read(stdin, 4))
        if idle:
            signal.alarm(0)
        sizes = [struct.unpack("<HI", _read(stdin, 6)) for _ in range(count)]
        pages = [(_read(stdin, label).decode(), _read(stdin, size)) for label, size in sizes]
        for charset, page in pages:
            if seconds:
                _limit_time(seconds)
            how, text = _answer(page, charset)
            data = text.encode()
            stdout.write(struct.pack("<BI", how, len(data)) + data)
            stdout.flush()


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run that started this process decides when to stop
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a page that ends this process leaves no file
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    import resiliparse.extract.html2text  # noqa: F401 - before the first answer

    with contextlib.suppress(EOFError, BrokenPipeError):
        main(sys.stdin.buffer, sys.stdout.buffer, _IDLE, _SECONDS)
