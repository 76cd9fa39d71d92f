"""The interface of a back end: where an index stores its tables.

Every back end has the same seven tables:

    settings   name, value                  the options and the plan of the index
    documents  number, id, text             the documents; text is null if it is not stored
    shingles   document, hashes             their shingle hashes, if those are stored instead
    sketches   document, shingles, slots    the number of shingles, and the sketch
    bands      key, document                one row for each band; documents that share a key are candidates
    anchors    key, document                one row for each anchor, in an index that knows passages
    samples    key, document                one row for each sampled shingle, in an index that knows containment

The last three are tables of postings. Their rows also travel as one number each, key above document.
A code or a vector is its own sketch: `slots` has its bytes, `shingles` is 1, and nothing else is stored.

Documents are numbered from 1 in the order of adding, and no two documents have the same number at the same time. A back
end knows nothing of texts, hashing or similarity. One suite of tests runs over all back ends.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.errors import DamagedError, OptionError, StateError
from twinset.index.kinds.text_entries import Entries
from twinset.schema import Numbers, Sketches

CHANGES = "changes"
"""The row of `settings` that counts the committed transactions that changed the index."""
REQUESTS = "request:"
"""How the rows of `settings` begin that store what a service answered to requests with a key."""
REQUESTS_END = "request;"
"""What follows all of them: the next character after the colon is a semicolon."""
POSTINGS = ("bands", "anchors", "samples")
"""The tables of postings: key, document."""
Int64s = npt.NDArray[np.int64]
"""Document numbers, keys, and rows of postings, as a database stores them."""
_POSTGRES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class SketchRows:
    """Rows of the table `sketches`, in the order of the document numbers."""

    numbers: Int64s
    shingles: Numbers
    slots: Sketches

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[int, int, bytes]], where: str) -> SketchRows:
        """Read rows of a database; raise `DamagedError` if they cannot be sketches of one plan."""
        if not rows:
            return cls(np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros((0, 0), np.uint32))
        numbers, shingles, slots = zip(*rows, strict=True)
        try:
            width, whole = len(slots[0]), bytearray().join(slots)
            counts = np.array(shingles, np.int64)
            if len(whole) != width * len(rows):
                width, slots = _pad_empty(counts.tolist(), slots)
                whole = bytearray().join(slots)
        except (TypeError, ValueError, OverflowError):  # another program can write values of wrong types
            raise DamagedError(f"{where} is damaged: the stored sketches are not valid") from None
        if width % 4 or any(len(one) != width for one in slots) or counts.min() < 0 or counts.max() >= 2**32:
            raise DamagedError(f"{where} is damaged: the stored sketches are not valid")
        return cls(
            np.array(numbers, np.int64),
            counts.astype(np.uint32),
            np.frombuffer(whole, np.uint32).reshape(len(rows), -1) if width else np.zeros((len(rows), 0), np.uint32),
        )

    def padded_to(self, slots: int) -> SketchRows:
        """Return sketches with this number of slots; empty documents may have been written before there was a plan."""
        if self.slots.shape[1] == slots or self.slots.shape[1] or self.shingles.any():
            return self
        return SketchRows(self.numbers, self.shingles, np.zeros((len(self.numbers), slots), np.uint32))


def _pad_empty(counts: Sequence[int], slots: Sequence[bytes]) -> tuple[int, tuple[bytes, ...]]:
    """Return the width of sketches, and the sketches; those of empty documents may lack a width."""
    width = max(map(len, slots))
    return width, tuple(one or (b"" if count else bytes(width)) for count, one in zip(counts, slots, strict=True))


@dataclass(frozen=True)
class Document:
    """A stored document: `content` is its packed text, its shingle hashes, or None."""

    number: int
    id: str
    content: bytes | None


class ChangedMeanwhile(StateError):
    """An index that is read as it lies there was changed by another process: it is to be opened again."""


class Backend(ABC):
    """A store of index tables. A read sees committed data; all reads inside `snapshot` see the same state."""

    name: str
    """The path or URL for messages, without user and password."""
    read_only: bool
    format: int
    """The format of the tables."""
    most_number: int = 2**32 - 1
    """The maximum number of a document."""

    def files(self) -> list[str]:
        """Return the files of the index, which must not be read as documents; none in a database server."""
        return []

    @abstractmethod
    def settings(self, only: str | None = None) -> dict[str, str]:
        """Return the rows of the table `settings`, or only the row of this name.

        Rows that describe changes and requests are returned by name only.
        """

    @abstractmethod
    def change_settings(self, rows: dict[str, str]) -> None:
        """Insert or replace rows of the table `settings`; within `transaction` only."""

    @abstractmethod
    def drop_requests(self, before: str) -> None:
        """Delete the rows of requests whose values are less than this; within `transaction` only."""

    def version(self) -> int:
        """Return the number of committed transactions that changed the index."""
        return int(self.settings(CHANGES).get(CHANGES, 0))

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads inside see one state of the index, whatever writers do meanwhile."""

    @abstractmethod
    def writer(self, timeout: float, doing: str) -> AbstractContextManager[None]:
        """Hold the writer lock; after `timeout` seconds of waiting raise `BusyError`, which names the holder.

        The holder may enter it again.
        """

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Commit all writes inside durably, or none of them; within `writer` only."""

    @abstractmethod
    def flush(self) -> None:
        """Write the uncommitted changes of the transaction to disk, so that a lack of space shows before the commit."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of documents."""

    @abstractmethod
    def last_number(self) -> int:
        """Return the maximum document number in use, or 0."""

    @abstractmethod
    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the document numbers of ids; unknown ids are left out."""

    def postings(self, keys: Int64s, table: str = "bands") -> tuple[Int64s, Int64s]:
        """Return every row of a table with one of these keys (ascending, distinct): keys and documents."""
        return concatenated(self.posting_portions(keys, table))

    @abstractmethod
    def posting_portions(self, keys: Int64s, table: str) -> Iterator[tuple[Int64s, Int64s]]:
        """Yield the rows that `postings` returns in portions: those of crowded keys need not be in memory together."""

    @abstractmethod
    def first_postings(self, keys: Int64s, most: int, table: str) -> tuple[Int64s, Int64s]:
        """Return the rows that `postings` returns, but of each key only those of the first `most` documents."""

    @abstractmethod
    def shingle_counts(self, numbers: Int64s) -> tuple[Int64s, Int64s]:
        """Return how many shingles documents have (numbers ascending): numbers and counts.

        Unknown numbers are left out.
        """

    @abstractmethod
    def sketches(self, numbers: Int64s) -> SketchRows:
        """Return the sketches of documents (numbers ascending); unknown numbers are left out."""

    @abstractmethod
    def sketch_page(self, after: int, most: int) -> SketchRows:
        """Return the sketches of up to `most` documents with numbers above `after`, ascending."""

    @abstractmethod
    def documents(self, numbers: Int64s, *, contents: bool) -> list[Document]:
        """Return documents (numbers ascending) with or without their contents; unknown numbers are left out."""

    @abstractmethod
    def page(self, after: int, most: int) -> Int64s:
        """Return up to `most` document numbers above `after`, ascending."""

    @abstractmethod
    def insert(self, numbers: Int64s, entries: Entries) -> None:
        """Insert new documents without their postings; within `transaction` only."""

    @abstractmethod
    def insert_postings(self, table: str, rows: Int64s) -> None:
        """Insert rows of new documents (ascending, distinct) into a table; within `transaction` only.

        Keys are spread over the whole table, so large batches are much faster than small ones.
        """

    @abstractmethod
    def delete(self, numbers: Int64s, postings: Mapping[str, Int64s]) -> None:
        """Delete documents, with their rows in the tables of postings; within `transaction` only."""

    @abstractmethod
    def posting_rows(self, table: str) -> Iterator[tuple[Int64s, Int64s]]:
        """Yield every row of a table in portions: keys and documents."""

    @abstractmethod
    def orphans(self) -> dict[str, int]:
        """Count rows of `shingles` and `sketches` without a document, and documents without a sketch."""

    def refuse_orphans(self) -> None:
        """Raise `DamagedError` if a table lacks rows of a document, or has rows of none."""
        for name, count in self.orphans().items():
            if count:
                raise DamagedError(f"{self.name} is damaged: {count:,} {name}; run twinset index verify")

    @abstractmethod
    def integrity_errors(self) -> list[str]:
        """Return the errors that the database finds in its own files."""

    @abstractmethod
    def compact(self) -> None:
        """Return the space of removed documents; within `writer` only."""

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Return the bytes on disk, in total and by table."""

    @abstractmethod
    def migrate(self) -> None:
        """Convert the tables of an older format to the newest; within `transaction` only."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections and files."""

    def facts(self) -> dict[str, Any]:
        """Return facts about this back end for `stats`, in plain values."""
        return {}


@contextmanager
def named_damage(name: str) -> Iterator[None]:
    """Name the index in errors of those who do not know it: damaged texts and contents."""
    try:
        yield
    except DamagedError as error:
        if name in str(error):
            raise
        raise DamagedError(f"{name}: {error}") from error


def concatenated(portions: Iterable[tuple[Int64s, Int64s]]) -> tuple[Int64s, Int64s]:
    """Return rows of two columns that come in portions."""
    listed = list(portions)
    if len(listed) == 1:
        return listed[0]
    none = np.zeros(0, np.int64)
    first, second = zip((none, none), *listed, strict=True)
    return np.concatenate(first), np.concatenate(second)


def open_backend(where: str | os.PathLike[str], *, read_only: bool, untouched: bool = False) -> Backend:
    """Open the back end at a path or URL."""
    name = _checked_name(where)
    if name.startswith(_POSTGRES):
        from twinset.index.postgres.backend import PostgresBackend

        return PostgresBackend(name, read_only=read_only)
    from twinset.index.sqlite.backend import SqliteBackend

    return SqliteBackend(name, read_only=read_only, untouched=untouched)


def create_backend(where: str | os.PathLike[str], settings: dict[str, str]) -> Backend:
    """Make a back end at a path or URL, with these settings and no documents."""
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
        scheme = name.partition("://")[0]  # the rest may hold a password
        raise OptionError(f"{scheme}://…: an index is in a file or at postgresql://…; other URLs are not supported")
    return name
