"""The file of verdicts: one SQLite database with one table, the log of events.

The write-ahead log is flushed at each commit (``synchronous=FULL``). Each row has a check value of itself and of all
rows before it, so that damage inside a row is an error and not another verdict.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self
from urllib.parse import quote

import apsw

from twinset.errors import BusyError, DamagedError, OutputError, StateError
from twinset.schema import DIGEST_BYTES
from twinset.verdicts.events import KINDS, Event

FORMAT = 1
_APPLICATION = 0x54575631  # "TWV1"
WAIT = 10.0
"""Seconds to wait for another program that writes."""
_RESTORE = "restore a backup, or import an export (twinset verdicts import)"
_COLUMNS = "mark, step, time, who, kind, left, right, left_id, right_id, note, of, basis, data"
_CREATE = f"""
CREATE TABLE events (
    number INTEGER PRIMARY KEY, mark TEXT NOT NULL UNIQUE, step TEXT NOT NULL, time INTEGER NOT NULL,
    who TEXT NOT NULL, kind TEXT NOT NULL, left BLOB NOT NULL, right BLOB NOT NULL, left_id TEXT NOT NULL,
    right_id TEXT NOT NULL, note TEXT NOT NULL, of TEXT NOT NULL, basis TEXT NOT NULL, data TEXT NOT NULL,
    chain BLOB NOT NULL
) STRICT;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {FORMAT};
"""
_INSERT = f"INSERT INTO events (number, {_COLUMNS}, chain) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
_SELECT = f"SELECT {_COLUMNS}, number, chain FROM events WHERE number > ? ORDER BY number"
_BAD_READS = {apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS}


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Turn errors of SQLite inside the block into those of Twinset; `name` is the file."""
    try:
        yield
    except apsw.ConnectionClosedError as error:
        raise StateError(f"{name}: the verdicts were closed; open them again") from error
    except apsw.BusyError as error:
        raise BusyError(f"{name}: another program writes verdicts ({error}); try again when it is done") from error
    except apsw.FullError as error:
        raise OutputError(f"{name}: no space is left on the disk; earlier verdicts are safe") from error
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError) as error:
        raise DamagedError(f"{name} is damaged, or not a file of verdicts: {error}; {_RESTORE}") from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) in _BAD_READS:
            raise DamagedError(f"{name} is damaged: a page cannot be read; {_RESTORE}") from error
        raise OutputError(f"{name}: reading or writing failed: {error}; earlier verdicts are safe") from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError) as error:
        folder = os.path.dirname(os.path.abspath(name))
        raise OutputError(f"{name} cannot be opened: {error}; check the permissions of files in {folder}") from error
    except apsw.Error as error:
        raise DamagedError(f"{name} cannot be used: {error}; {_RESTORE}") from error


class Database:
    """One connection to a file of verdicts. The caller takes care that one thread uses it at a time.

    A file that does not exist is made by the first transaction: a person who only looks leaves no file behind.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool) -> None:
        self.name, self.read_only = os.fspath(path), read_only
        self._seen, self._chain = 0, b""  # of the last event read
        self._connection: apsw.Connection | None = None
        self._closed = False
        _check_place(self.name, read_only)
        if read_only or os.path.exists(self.name):
            self._open()

    @property
    def _db(self) -> apsw.Connection:
        """The connection; it is opened by the first use."""
        return self._connection or self._open()

    def _open(self) -> apsw.Connection:
        if self._closed:
            raise StateError(f"{self.name}: the verdicts were closed; open them again")
        with translated(self.name):
            self._connection = self._connect()
            try:
                self._connection.set_busy_timeout(round(1000 * WAIT))
                self._recognise()
            except BaseException:
                self._connection.close()
                self._connection = None
                raise
        return self._connection

    def _connect(self) -> apsw.Connection:
        if not self.read_only:
            return apsw.Connection(self.name)
        # In a folder that cannot be written to, SQLite cannot make the shared memory that a log needs.
        logged = os.path.exists(self.name + "-wal") and os.path.getsize(self.name + "-wal") > 0
        writable = os.access(os.path.dirname(os.path.abspath(self.name)), os.W_OK)
        still = "" if logged or writable else "&immutable=1"
        address = f"file:{quote(os.fsencode(os.path.abspath(self.name)))}?mode=ro{still}"
        return apsw.Connection(address, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)

    def _recognise(self) -> None:
        """Check that this is a file of verdicts of this version; make an empty file into one."""
        if not self.read_only:
            self._db.pragma("synchronous", "full")
            self._db.pragma("fullfsync", True)  # macOS only: beyond the cache of the drive
            if self._is_new():  # before the log is used: other programs recognise the file by its header
                with self.transaction():
                    if self._is_new():
                        self._db.execute(_CREATE)
            if self._db.pragma("application_id") == _APPLICATION:
                self._db.pragma("journal_mode", "wal")
        found, version = self._db.pragma("application_id"), self._db.pragma("user_version")
        if found != _APPLICATION:
            raise DamagedError(f"{self.name} is not a file of verdicts; name one that twinset review has made")
        if version != FORMAT:
            raise StateError(
                f"{self.name} has format {version}, and this version of Twinset reads format {FORMAT}; use the "
                "version of Twinset that wrote it, and export its verdicts"
            )
        wrong = self._db.execute("PRAGMA quick_check(1)").get
        if wrong != "ok":
            raise DamagedError(f"{self.name} is damaged: {wrong}; {_RESTORE}")

    def _is_new(self) -> bool:
        """Whether the file is an empty database."""
        return not self._db.execute("SELECT count(*) FROM sqlite_schema").get and self._db.pragma("application_id") == 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the right to write; commit at the end of the block, or take everything back after an error."""
        with translated(self.name):
            self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            with translated(self.name):
                self._db.execute("COMMIT")
        except BaseException:
            with suppress(apsw.Error):
                self._db.execute("ROLLBACK")
            raise

    def insert(self, events: Sequence[Event]) -> None:
        """Append events in a transaction, after `read`; the next `read` returns them."""
        rows, chain = [], self._chain
        for number, event in enumerate(events, self._seen + 1):
            chain = event.check(chain)
            row = (event.mark, event.step, event.time, event.who, event.kind, event.left, event.right, event.left_id,
                   event.right_id, event.note, event.of, event.basis, event.data)  # fmt: skip
            rows.append((number, *row, chain))
        with translated(self.name):
            self._db.executemany(_INSERT, rows)

    def read(self) -> list[Event]:
        """Read the events since the last call, and check them."""
        if self._connection is None and not self._closed and not os.path.exists(self.name):
            return []
        with translated(self.name):
            last = self._db.execute("SELECT max(number) FROM events").get or 0
            if last == self._seen:
                return []
            rows = self._db.execute(_SELECT, (self._seen,)).fetchall()
        return [self._checked(row) for row in rows]

    def _checked(self, row: tuple[Any, ...]) -> Event:
        event = Event(*row[:14])
        chain = event.check(self._chain)
        fits = len(event.left) in (0, DIGEST_BYTES) and len(event.right) in (0, DIGEST_BYTES)
        if chain != row[14] or event.number != self._seen + 1 or event.kind not in KINDS or not fits:
            raise DamagedError(f"{self.name} is damaged: event {self._seen + 1} was changed or lost; {_RESTORE}")
        self._seen, self._chain = event.number, chain
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the last connection that writes copies the log into it."""
        self._closed = True
        if self._connection is not None:
            self._connection.close()


def _check_place(name: str, read_only: bool) -> None:
    if os.path.isdir(name):
        raise OutputError(f"{name} is a folder; name a file of verdicts")
    if read_only and not os.path.exists(name):
        raise StateError(
            f"{name}: there is no such file of verdicts; the first verdict in twinset review OUT makes OUT.verdicts"
        )
    folder = os.path.dirname(os.path.abspath(name))
    if not os.path.isdir(folder):
        raise OutputError(f"{name} cannot be made: there is no folder {folder}")
    if not (read_only or os.path.exists(name) or os.access(folder, os.W_OK)):
        raise OutputError(f"{name} cannot be made: files cannot be written to {folder}; check its permissions")
