"""The texts of the documents shown, in one scratch file: the sources are read once, and a page reads one text."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.engines.local.budget import give_back
from twinset.options.items import VECTORS
from twinset.report.numbers import Whole
from twinset.results.reopen_sources import check_lengths
from twinset.results.stored import StoredResult
from twinset.system.memory import temporary_folder
from twinset.system.scratch import cannot_write

BEGINNING = 160
"""Characters of a text that the search looks at and the list shows."""

_BATCH, _TIDY = 1 << 20, 50
_MISSING = -1

Advance = Callable[[int], None]


class TextFile:
    """Texts by place, from 0 to the number of documents shown; None where there is no text.

    The file has no name any more once it is open: the system removes it with the process, however that ends.
    """

    def __init__(self, count: int, scratch: str | None = None) -> None:
        folder = temporary_folder(scratch)
        self._path = Path(folder.name) / "texts"
        self._starts = np.zeros(count, np.int64)
        self._sizes = np.full(count, _MISSING, np.int64)
        self._end = 0
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        folder.cleanup()
        self._lock = threading.Lock()

    def add(self, places: Whole, texts: Sequence[bytes | None]) -> None:
        """Append texts; None marks a missing one."""
        known = [text or b"" for text in texts]
        sizes = np.fromiter(map(len, known), np.int64, len(known))
        data = b"".join(known)
        with self._lock:
            self._starts[places] = self._end + np.cumsum(sizes) - sizes
            self._sizes[places] = np.where([text is None for text in texts], _MISSING, sizes)
            try:
                done = 0
                while done < len(data):
                    done += os.pwrite(self._file, memoryview(data)[done:], self._end + done)
            except OSError as error:
                raise cannot_write(self._path, error) from error
            self._end += len(data)

    def bytes_of(self, place: int, most: int | None = None) -> bytes | None:
        """Read the bytes of a text, or the first `most` of them."""
        size = int(self._sizes[place])
        if size == _MISSING:
            return None
        return os.pread(self._file, size if most is None else min(size, most), int(self._starts[place]))

    def text(self, place: int) -> str | None:
        """Read a text."""
        data = self.bytes_of(place)
        return None if data is None else data.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the file, which removes it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def beginning_of(data: bytes) -> str:
    """Return the beginning of a text, with each run of white space as one space.

    Examples
    --------
    >>> beginning_of(b"two  words\\n"), len(beginning_of(b"x" * 500))
    ('two words', 160)
    """
    return " ".join(data[: 8 * BEGINNING].decode("utf-8", "replace").split())[:BEGINNING]


def read_items(recorded: StoredResult, numbers: Whole, advance: Advance) -> Iterator[tuple[Whole, list[bytes | None]]]:
    """Yield the items of documents in portions: their places in `numbers`, and their bytes.

    Texts are UTF-8, records, sets and weighted sets JSON, codes and vectors packed. The numbers ascend; those beyond
    the last document of the run belong to documents of an index. Raises `SourceError` if a source is missing or has
    changed.
    """
    kind = recorded.options.item_kind
    own = int(np.searchsorted(numbers, len(recorded.ids)))
    if kind == "text":
        yield from _read_plain_texts(recorded, numbers[:own], advance)
    elif kind in ("codes", *VECTORS):
        yield np.arange(own), recorded.packed(numbers[:own].tolist())
        advance(own)
    elif own:
        yield np.arange(own), _encoded(recorded.texts(numbers[:own].tolist()))
        advance(own)
    if own < len(numbers):
        yield np.arange(own, len(numbers)), _encoded(recorded.texts(numbers[own:].tolist()))
        advance(len(numbers) - own)


def _encoded(texts: Sequence[str | None]) -> list[bytes | None]:
    return [None if text is None else text.encode("utf-8", "replace") for text in texts]


def _read_plain_texts(
    recorded: StoredResult, numbers: Whole, advance: Advance
) -> Iterator[tuple[Whole, list[bytes | None]]]:
    """Yield texts chunk by chunk, in the order of the parts."""
    where = recorded.documents.take(pa.array(numbers)) if len(numbers) else recorded.documents.slice(0, 0)
    part_of, row_of, length_of = (np.array(where[name], np.int64) for name in ("part", "row", "length"))
    del where
    recorded.forget("documents")  # they are large, and what is needed of them is here
    give_back()
    for number in np.unique(part_of).tolist():
        places = np.flatnonzero(part_of == number)
        places = places[np.argsort(row_of[places], kind="stable")]
        rows = row_of[places]
        part = recorded.sources.trusted(number)
        known = part.lasts and recorded.sources.listed[number]["sha256"] is not None  # else it is an object in memory
        for count, chunk in enumerate(part.chunks(_BATCH)):
            if count % _TIDY == 0:
                give_back()
            first, last = np.searchsorted(rows, [chunk.first_row, chunk.first_row + chunk.rows])
            if first == last:
                continue
            texts: Any = chunk.read(texts_only=True).texts.take(pa.array(rows[first:last] - chunk.first_row))
            if not known:
                check_lengths(part, texts, length_of[places[first:last]])
            yield places[first:last], texts.cast(pa.large_binary()).to_pylist()
            advance(int(last - first))
        part.check_unchanged()
