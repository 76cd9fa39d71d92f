"""The contract: what a backend of an index does. SQLite and PostgreSQL keep it; one suite of tests runs over both.

Five tables, the same in every backend, named after the nouns:

    settings   name, value                  what the index was made with
    documents  number, id, text             the documents; text is null where it is not kept
    shingles   document, hashes             their shingle hashes, where those are kept instead
    sketches   document, shingles, slots    how many shingles, and the sketch
    bands      key, document                one row a band: who shares a key is a candidate

A code or a vector is its own sketch: `slots` has its bytes, `shingles` is 1, and nothing else of it is kept.

Numbers count up from 1 in the order of adding and are never used for two documents at a time. A back end knows nothing
of texts, hashing or similarity.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.errors import DamagedError, OptionError
from twinset.index.kinds.text_entries import Entries, Keys
from twinset.schema import Numbers, Sketches

Int64s = npt.NDArray[np.int64]
"""Document numbers and keys, as a database takes them."""
_POSTGRES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class SketchRows:
    """Sketches of some documents, in the order of their numbers."""

    numbers: Int64s
    shingles: Numbers
    slots: Sketches

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[int, int, bytes]], where: str) -> SketchRows:
        """From rows of the table `sketches`; what cannot be sketches of one plan raises `DamagedError`."""
        if not rows:
            return cls(np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros((0, 0), np.uint32))
        numbers, shingles, slots = zip(*rows, strict=True)
        try:
            width, whole = len(slots[0]), bytearray().join(slots)
            counts = np.array(shingles, np.int64)
            if len(whole) != width * len(rows):
                width, slots = _pad_empty(counts.tolist(), slots)
                whole = bytearray().join(slots)
        except (TypeError, ValueError, OverflowError):  # a database may hold what its tables do not allow
            raise DamagedError(f"{where} is damaged: sketches of documents are not as they were written") from None
        if width % 4 or any(len(one) != width for one in slots) or counts.min() < 0 or counts.max() >= 2**32:
            raise DamagedError(f"{where} is damaged: sketches of documents are not as they were written")
        return cls(
            np.array(numbers, np.int64),
            counts.astype(np.uint32),
            np.frombuffer(whole, np.uint32).reshape(len(rows), -1) if width else np.zeros((len(rows), 0), np.uint32),
        )

    def padded_to(self, slots: int) -> SketchRows:
        """The same at so many slots, where all are empty and were written before it was known how many there are."""
        if self.slots.shape[1] == slots or self.slots.shape[1] or self.shingles.any():
            return self
        return SketchRows(self.numbers, self.shingles, np.zeros((len(self.numbers), slots), np.uint32))


def _pad_empty(counts: Sequence[int], slots: Sequence[bytes]) -> tuple[int, tuple[bytes, ...]]:
    """The width of sketches, and the sketches: empty ones are of no width if they came before all others."""
    width = max(map(len, slots))
    return width, tuple(one or (b"" if count else bytes(width)) for count, one in zip(counts, slots, strict=True))


@dataclass(frozen=True)
class Document:
    """A document as it is kept: `content` is its packed text or its shingle hashes, or nothing."""

    number: int
    id: str
    content: bytes | None


class Backend(ABC):
    """Where an index lives. Reads see what was committed; several of them inside `snapshot` see the same state."""

    name: str
    """The path or address, without secrets: for messages."""
    read_only: bool
    most_number: int = 2**32 - 1
    """The greatest number that a document can have here."""

    def files(self) -> list[str]:
        """The files that the index is kept in, where it is kept in files: they are no documents of any folder."""
        return []

    @abstractmethod
    def settings(self, only: str | None = None) -> dict[str, str]:
        """The rows of the table `settings`, or only the one of this name."""

    @abstractmethod
    def change_settings(self, rows: dict[str, str]) -> None:
        """Put rows into the table `settings`; within `transaction` only."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """All reads inside see one state of the index, whatever writers do meanwhile."""

    @abstractmethod
    def writer(self, timeout: float, doing: str) -> AbstractContextManager[None]:
        """Be the only writer; after `timeout` seconds of waiting raise `BusyError`, which says who is.

        May be entered again by whoever is inside.
        """

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All writes inside are committed together, durably, or none of them; within `writer` only."""

    @abstractmethod
    def flush(self) -> None:
        """Write what the transaction has so far, uncommitted: where there is no room for it, that shows now."""

    @abstractmethod
    def count(self) -> int:
        """The number of documents."""

    @abstractmethod
    def last_number(self) -> int:
        """The greatest number in use, 0 if there is none."""

    @abstractmethod
    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of those ids that are there."""

    @abstractmethod
    def postings(self, keys: Int64s) -> tuple[Int64s, Int64s]:
        """Every row of `bands` with one of these keys (ascending, distinct): keys and documents."""

    @abstractmethod
    def sketches(self, numbers: Int64s) -> SketchRows:
        """The sketches of those of these documents (ascending) that are there."""

    @abstractmethod
    def sketch_page(self, after: int, most: int) -> SketchRows:
        """The sketches of at most so many documents beyond `after`, ascending."""

    @abstractmethod
    def documents(self, numbers: Int64s, *, contents: bool) -> list[Document]:
        """Those of these documents (ascending) that are there, in order, with or without what is kept of them."""

    @abstractmethod
    def page(self, after: int, most: int) -> Int64s:
        """Numbers of at most so many documents beyond `after`, ascending."""

    @abstractmethod
    def insert(self, numbers: Int64s, entries: Entries) -> None:
        """Write new documents, but for their bands; within `transaction` only."""

    @abstractmethod
    def insert_bands(self, numbers: Int64s, keys: Keys) -> None:
        """Write the bands of new documents, keys (n, bands); within `transaction` only.

        Keys fall everywhere in their table, so many at a time are written much faster than few.
        """

    @abstractmethod
    def delete(self, numbers: Int64s, keys: Keys) -> None:
        """Delete documents, with their band keys (n, bands); within `transaction` only."""

    @abstractmethod
    def band_rows(self) -> Iterator[tuple[Int64s, Int64s]]:
        """Every row of `bands`, keys and documents, portion by portion."""

    @abstractmethod
    def orphans(self) -> dict[str, int]:
        """How many rows of shingles and sketches belong to no document, and how many documents have no sketch."""

    @abstractmethod
    def integrity_errors(self) -> list[str]:
        """What the database itself finds wrong with its files."""

    @abstractmethod
    def compact(self) -> None:
        """Give space of removed documents back; within `writer` only."""

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Bytes on disk, in all and by table."""

    @abstractmethod
    def migrate(self) -> None:
        """Bring the tables of an older format up to date; within `transaction` only."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""

    def facts(self) -> dict[str, Any]:
        """What else there is to say about this kind of backend, in plain values."""
        return {}


def open_backend(where: str | os.PathLike[str], *, read_only: bool) -> Backend:
    """Open the backend that is at a path or URL."""
    name = _checked_name(where)
    if name.startswith(_POSTGRES):
        from twinset.index.postgres.backend import PostgresBackend

        return PostgresBackend(name, read_only=read_only)
    from twinset.index.sqlite.backend import SqliteBackend

    return SqliteBackend(name, read_only=read_only)


def create_backend(where: str | os.PathLike[str], settings: dict[str, str]) -> Backend:
    """Make a backend at a path or URL, with these settings and nothing else."""
    name = _checked_name(where)
    if name.startswith(_POSTGRES):
        from twinset.index.postgres.backend import PostgresBackend

        return PostgresBackend.create(name, settings)
    from twinset.index.sqlite.backend import SqliteBackend

    return SqliteBackend.create(name, settings)


def _checked_name(where: str | os.PathLike[str]) -> str:
    name = os.fspath(where)
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    if not name or "\0" in name:
        raise OptionError(f"an index is named by a path or a URL, not by {name!r}")
    if "://" in name and not name.startswith(_POSTGRES):
        kind = name.partition("://")[0]  # what follows may hold a password
        raise OptionError(f"{kind}://…: an index lives in a file or at postgresql://…; there is no other address")
    return name
