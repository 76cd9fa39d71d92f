"""Extract the text of the main content of web pages, in processes of their own."""

from __future__ import annotations

import importlib.util
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from twinset.documents.pages import worker
from twinset.errors import MissingError, RowError, SourceError
from twinset.wording import at_row

if TYPE_CHECKING:
    from twinset.documents.parts import Part, Unreadable

MOST_BYTES = 16 * 2**20
"""Maximum size of a page: to parse it takes up to a hundred times as much memory."""

_LARGE = 2**20  # such pages are parsed one at a time, whatever the number of threads
_REQUEST = 2**20  # bytes of pages that are sent together
# By somebody else, maybe, or because nobody asked for a while: the page is tried again.
_ENDED = (-signal.SIGTERM, -signal.SIGKILL, -signal.SIGALRM)

_EXTRACTOR = "resiliparse"
_PROGRAM = worker.__file__


@dataclass
class PageTexts:
    """The texts of some pages, null where there is none; the unreadable rows, and those with replaced bytes."""

    texts: Any
    unreadable: list[tuple[int, str]] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)


def check_extractor() -> str:
    """Return the folder in which the extractor is installed; raise `MissingError` if it is not."""
    spec = importlib.util.find_spec(_EXTRACTOR)
    folders = None if spec is None else spec.submodule_search_locations
    if not folders:
        raise MissingError.of(_EXTRACTOR, "html")
    return os.path.dirname(next(iter(folders)))


def page_texts(pages: Sequence[bytes | None], charsets: Sequence[str] | None = None) -> PageTexts:
    """Extract the text of the main content of each page; None gives null.

    charsets: the encoding of each page, empty where it is not known; without them no encoding is.

    Examples
    --------
    >>> pages = [b"<nav><a href=/>Home</a></nav><main><p>One &amp; two.</main>", None, b""]
    >>> page_texts(pages).texts.to_pylist()
    ['One & two.', None, '']
    """
    labels = ["" if charset is None else charset for charset in charsets or [""] * len(pages)]
    texts: list[str | None] = [None] * len(pages)
    done = PageTexts(None)
    for rows in _requests(pages, done.unreadable):
        for row, (how, text) in zip(rows, _extracted([(labels[row], pages[row] or b"") for row in rows]), strict=True):
            if how == worker.REFUSED:
                done.unreadable.append((row, f"not a readable page: {text}"))
                continue
            texts[row] = text
            if how == worker.REPLACED:
                done.replaced.append(row)
    done.unreadable.sort()
    done.texts = pa.array(texts, pa.large_string())
    return done


def compared_texts(
    part: Part, texts: Any, first_row: int, bad: Unreadable, *, decoded: bool = True
) -> tuple[Any, list[int]]:
    """Return the texts of a block to compare, and the rows with replaced bytes: with ``--html`` those of its pages.

    A page that cannot be parsed is recorded in `bad`. `decoded`: pages in bytes are UTF-8, whatever they declare.
    """
    if not part.options.html:
        return texts, []
    known = decoded or pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)
    done = page_texts(texts.cast(pa.large_binary()).to_pylist(), ["utf-8" if known else ""] * len(texts))
    add_unreadable(part, bad, done.unreadable, first_row)
    return done.texts, done.replaced


def add_unreadable(part: Part, bad: Unreadable, pages: Unreadable, first_row: int) -> None:
    """Record pages that cannot be read, as pictures are: only ``--on-error stop`` stops for them."""
    known = {row for row, _ in bad}
    for row, reason in pages:
        if part.options.on_error == "stop":
            where = at_row(part.name, first_row + row)
            raise RowError(f"{reason}; use --on-error skip to skip such pages", where=where)
        if row not in known:
            bad.append((row, reason))


def _requests(pages: Sequence[bytes | None], unreadable: list[tuple[int, str]]) -> Iterator[list[int]]:
    """Group the rows of pages into requests; refuse pages that are too long."""
    rows: list[int] = []
    size = 0
    for row, page in enumerate(pages):
        if page is None:
            continue
        if len(page) > MOST_BYTES:
            unreadable.append((row, f"the page is longer than {MOST_BYTES // 2**20} MiB, the maximum"))
            continue
        if rows and size + len(page) > _REQUEST:
            yield rows
            rows, size = [], 0
        rows.append(row)
        size += len(page)
    if rows:
        yield rows


def _extracted(pages: list[tuple[str, bytes]]) -> list[tuple[int, str]]:
    """The answers for a request; a page with which its process ends is refused."""
    if len(pages[0][1]) <= _LARGE:
        return _answered(pages)
    with _POOL.large:
        return _answered(pages)


def _answered(pages: list[tuple[str, bytes]]) -> list[tuple[int, str]]:
    answers: list[tuple[int, str]] = []
    tried = 0
    while len(answers) < len(pages):
        before = len(answers)
        with _POOL.process() as process:
            code = process.ask(pages[len(answers) :], answers)
        if code is None:
            continue
        tried = tried + 1 if len(answers) == before else 1
        if code not in _ENDED or tried == 3:
            answers.append((worker.REFUSED, _why_ended(code)))
            tried = 0
    return answers


def _why_ended(code: int) -> str:
    if code == -signal.SIGXCPU:
        return "to parse it takes too long"
    return f"the parser failed ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"


class _Process:
    """A process that extracts texts."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-S", _PROGRAM, check_extractor()]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise SourceError(f"web pages cannot be read: no process can be started: {error.strerror}") from error
        if self._output.read(1) != b"\x01":
            code = self.end()
            raise SourceError(
                f"web pages cannot be read: the extractor cannot be loaded (exit code {code}); reinstall {_EXTRACTOR}"
            )

    @property
    def _output(self) -> Any:
        return self._process.stdout

    def ask(self, pages: list[tuple[str, bytes]], answers: list[tuple[int, str]]) -> int | None:
        """Add the answers for some pages; return the exit code if the process ended before the last."""
        labels = [label.encode("ascii", "ignore")[:100] for label, _ in pages]
        sizes = [struct.pack("<HI", len(label), len(page)) for label, (_, page) in zip(labels, pages, strict=True)]
        body = [piece for label, (_, page) in zip(labels, pages, strict=True) for piece in (label, page)]
        stdin: Any = self._process.stdin
        try:
            stdin.write(b"".join([struct.pack("<I", len(pages)), *sizes, *body]))
            stdin.flush()
            for _ in pages:
                how, size = struct.unpack("<BI", self._exactly(5))
                answers.append((how, self._exactly(size).decode()))
        except (EOFError, OSError):
            return self.end()
        return None

    def _exactly(self, size: int) -> bytes:
        data: bytes = self._output.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def end(self) -> int:
        """End the process; return its exit code."""
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError, AttributeError):
                stream.close()  # type: ignore[union-attr]
        try:
            return self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    @property
    def runs(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None


class _Pool:
    """Processes that wait for the next request; as many as threads ask at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.large = threading.Lock()
        self._waiting: list[_Process] = []

    @contextmanager
    def process(self) -> Iterator[_Process]:
        """Take a process, for one thread; one that was interrupted in an answer is ended."""
        with self._lock:
            taken = self._waiting.pop() if self._waiting else None
        process = taken if taken is not None and taken.runs else _Process()
        whole = False
        try:
            yield process
            whole = True
        finally:
            if whole and process.runs:
                with self._lock:
                    self._waiting.append(process)
            elif not whole:
                process.end()


_POOL = _Pool()


def _forget() -> None:
    """Forget the processes in a forked child: they belong to the parent."""
    global _POOL
    _POOL = _Pool()


os.register_at_fork(after_in_child=_forget)
