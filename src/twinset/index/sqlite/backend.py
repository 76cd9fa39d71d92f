"""The default back end: one SQLite file.

Every page has a checksum, which is checked when the page is read (SQLite's extension `cksumvfs`): a damaged page is an
error. Otherwise the file is an ordinary database, which any SQLite can read. Arrays are passed to statements
with `carray`. The package apsw brings a SQLite with both extensions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import apsw
import apsw.sqlite_extra
import numpy as np

from twinset.errors import BusyError, DamagedError, OutputError, StateError
from twinset.index.backend import Backend, ChangedMeanwhile, Document, Int64s, SketchRows, concatenated
from twinset.index.kinds.text_entries import Entries
from twinset.index.settings import FORMAT
from twinset.index.sqlite import tables
from twinset.index.sqlite.database_errors import translate_errors
from twinset.index.sqlite.log import WAIT, Log
from twinset.system import batch_sizes
from twinset.system.disk import sync
from twinset.system.locks import WriterLock

_CACHE = 48 * 1024
"""Page cache of one connection, in KiB; the operating system caches the rest."""
_VFS = "cksmvfs"
_EXISTS = "add documents to it with twinset index add, or choose another name"


def _register() -> None:
    """Load the extension for page checksums, once in a process."""
    if _VFS not in apsw.vfs_names():
        boot = apsw.Connection(":memory:")
        apsw.sqlite_extra.load(boot, "cksumvfs")
        boot.close()


class SqliteBackend(Backend):
    """An index in one SQLite file. `create` makes the file, and the constructor opens it."""

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False, untouched: bool = False) -> None:
        self.name = os.fspath(path)
        self.read_only, self._untouched = read_only, untouched
        # The real path: symbolic links and a change of directory must lead to the same lock and log.
        self._path = os.path.realpath(self.name)
        self._lock = WriterLock(self._path + "-lock", self.name)
        self._log = Log(self._path, self._lock)
        self._still: tuple[int, int] | None = None
        self._closed = False
        self.format = FORMAT
        if not os.path.isfile(self.name):
            raise StateError(
                f"{self.name}: {'not a file' if os.path.exists(self.name) else 'there is no such index'}; "
                "create one with twinset index create"
            )
        with self._errors():
            self._db = self._connect()
            self._db.set_busy_timeout(round(1000 * WAIT))
            self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # only the holder of the writer lock may
            try:
                tables.configure(self._db, _CACHE)
                with self.snapshot():  # another process may migrate the tables, but not between these two
                    self.format = tables.recognise(self._db, self.name)
                    tables.show_as_new(self._db, self.format)
                self._log.check(self._db)
            except BaseException:
                self._db.close()
                raise

    @classmethod
    def create(cls, path: str | os.PathLike[str], settings: dict[str, str]) -> SqliteBackend:
        """Make a file without documents; an existing file raises `OutputError`."""
        name = os.fspath(path)
        if os.path.lexists(name):
            raise OutputError(f"{name} exists already; {_EXISTS}")
        if not os.path.isdir(folder := os.path.dirname(name) or "."):
            raise OutputError(f"{name} cannot be made: there is no folder {folder}")
        made = f"{name}-{os.getpid()}.new"
        _register()
        try:
            with translate_errors(name):
                try:
                    tables.create(made, _VFS, settings)
                except (apsw.CantOpenError, apsw.PermissionsError, apsw.ReadOnlyError) as error:
                    raise OutputError(f"{name} cannot be made: the folder {folder} cannot be written to") from error
            tables.put_in_place(made, name)
            sync(Path(name).absolute().parent)
        except FileExistsError:
            raise OutputError(f"{name} exists already; {_EXISTS}") from None
        except OSError as error:
            raise OutputError(f"{name} cannot be made: {error.strerror or error}") from error
        finally:
            for ending in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):
                    os.unlink(made + ending)
        return cls(name)

    def _connect(self) -> apsw.Connection:
        _register()
        if not self.read_only:
            return apsw.Connection(self._path, apsw.SQLITE_OPEN_READWRITE, vfs=_VFS)
        # SQLite cannot make its shared-memory file in a read-only folder, and beside a read-only file it makes one that
        # the next reader cannot use. It is not needed while nobody writes, which is checked after every read.
        still = (self._untouched or not self._is_writable()) and not self._logged()
        self._still = self._stamp() if still else None
        address = f"file:{quote(os.fsencode(self._path))}?mode=ro" + ("&immutable=1" if still else "")
        return apsw.Connection(address, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, vfs=_VFS)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with translate_errors(self.name):
                yield
        except DamagedError as error:
            with suppress(apsw.Error):  # if even this fails, the damage is the error to report
                if self.format < FORMAT and self._db.pragma("user_version") != self.format:
                    raise self._changed() from error
            raise

    def _changed(self) -> StateError:
        return ChangedMeanwhile(f"{self.name} was changed by another process; open it again")

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        with self._errors():
            try:
                rows = cast("list[Any]", self._db.execute(statement, values).fetchall())
            except UnicodeDecodeError as error:
                raise self._wrong_types() from error
        if self._still and (self._logged() or self._stamp() != self._still):
            raise self._changed()
        return rows

    def _wrong_types(self) -> DamagedError:
        """Return the error for values that the tables do not allow, which another program may have written."""
        return DamagedError(f"{self.name} is damaged: its tables hold values of wrong types; {tables.RESTORE}")

    def _logged(self) -> bool:
        """Whether the log has content; an empty log is left where it cannot be removed."""
        with suppress(FileNotFoundError):
            return os.path.getsize(self._path + "-wal") > 0
        return False

    def _stamp(self) -> tuple[int, int]:
        about = os.stat(self._path)
        return about.st_size, about.st_mtime_ns

    def files(self) -> list[str]:
        return [self._path + ending for ending in ("", "-wal", "-shm", "-lock")]

    def settings(self, only: str | None = None) -> dict[str, str]:
        return dict(self._rows(tables.SETTINGS) if only is None else self._rows(tables.SETTING, only))

    def drop_requests(self, before: str) -> None:
        with self._errors():
            self._db.execute(tables.DROP_REQUESTS, (before,))

    def change_settings(self, rows: dict[str, str]) -> None:
        with self._errors():
            self._db.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", rows.items())

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._db.in_transaction:
            yield
            return
        with self._errors():
            self._db.execute("BEGIN")
        try:
            yield
        finally:
            with self._errors():
                if self._db.in_transaction:  # a read error has ended it already
                    self._db.execute("COMMIT")

    def writer(self, timeout: float, doing: str) -> AbstractContextManager[None]:
        return self._lock.hold(timeout, doing)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._errors():
            self._log.settle(self._db)
            self._db.execute("BEGIN IMMEDIATE")
            before = self._db.total_changes()
            try:
                yield
                if changed := self._db.total_changes() != before:
                    self._log.count(self._db)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            if changed:
                self._log.checkpoint(self._db)

    def flush(self) -> None:
        try:
            self._db.cache_flush()
        except (apsw.FullError, apsw.IOError) as error:  # without a message here
            raise OutputError(f"{self.name}: no space is left on the disk; what was committed is safe") from error

    def count(self) -> int:
        return int(self._rows("SELECT count(*) FROM documents")[0][0])

    def last_number(self) -> int:
        return int(self._rows("SELECT coalesce(max(number), 0) FROM documents")[0][0])

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        if not ids:
            return {}
        statement = (
            "SELECT d.id, d.number FROM carray(?) AS w CROSS JOIN documents AS d ON d.id = CAST(w.value AS TEXT)"
        )
        # As bytes: a string in carray ends at its first NUL, and an id may hold one.
        return dict(self._rows(statement, apsw.carray(tuple(id.encode() for id in ids))))

    def posting_portions(self, keys: Int64s, table: str) -> Iterator[tuple[Int64s, Int64s]]:
        if len(keys):
            yield from self._postings(tables.LOOK_UP.format(table), apsw.carray(keys))

    def first_postings(self, keys: Int64s, most: int, table: str) -> tuple[Int64s, Int64s]:
        if not len(keys):
            return keys, keys
        return concatenated(self._postings(tables.FIRST_POSTINGS.format(table), apsw.carray(keys), most - 1))

    def _postings(self, statement: str, *values: Any) -> Iterator[tuple[Int64s, Int64s]]:
        for found in self._pairs(statement, *values):
            if not 0 <= found[:, 1].min() <= found[:, 1].max() <= self.most_number:
                raise self._wrong_types()
            yield found[:, 0], found[:, 1]

    def shingle_counts(self, numbers: Int64s) -> tuple[Int64s, Int64s]:
        if not len(numbers):
            return numbers, numbers
        statement = "SELECT s.document, s.shingles FROM carray(?) AS w CROSS JOIN sketches AS s ON s.document = w.value"
        found = np.concatenate([np.zeros((0, 2), np.int64), *self._pairs(statement, apsw.carray(numbers))])
        return found[:, 0], found[:, 1]

    def _pairs(self, statement: str, *values: Any) -> Iterator[Int64s]:
        """Yield rows of two numbers in portions, (n, 2): as Python integers they would take ten times the memory."""
        with self._errors():
            cursor = self._db.execute(statement, values)
            try:
                while rows := list(islice(cursor, batch_sizes.INDEX_ROWS)):
                    yield np.fromiter(chain.from_iterable(rows), np.int64, 2 * len(rows)).reshape(-1, 2)
            except (TypeError, ValueError, OverflowError) as error:
                raise self._wrong_types() from error

    def sketches(self, numbers: Int64s) -> SketchRows:
        statement = (
            "SELECT s.document, s.shingles, s.slots FROM carray(?) AS w CROSS JOIN sketches AS s "
            "ON s.document = w.value"
        )
        return SketchRows.from_rows(self._rows(statement, apsw.carray(numbers)) if len(numbers) else [], self.name)

    def sketch_page(self, after: int, most: int) -> SketchRows:
        return SketchRows.from_rows(self._rows(tables.SKETCH_PAGE, after, most), self.name)

    def documents(self, numbers: Int64s, *, contents: bool) -> list[Document]:
        if not len(numbers):
            return []
        kept = "coalesce(d.text, h.hashes)" if contents else "NULL"
        join = "LEFT JOIN shingles AS h ON h.document = d.number" if contents else ""
        statement = (
            f"SELECT d.number, d.id, {kept} FROM carray(?) AS w "
            f"CROSS JOIN documents AS d ON d.number = w.value {join}"
        )
        rows = self._rows(statement, apsw.carray(numbers))
        if not all(type(id) is str and (content is None or type(content) is bytes) for _, id, content in rows):
            raise self._wrong_types()
        return [Document(*row) for row in rows]

    def page(self, after: int, most: int) -> Int64s:
        rows = self._rows("SELECT number FROM documents WHERE number > ? ORDER BY number LIMIT ?", after, most)
        return np.array(rows, np.int64).reshape(-1)

    def insert(self, numbers: Int64s, entries: Entries) -> None:
        listed, done, store = numbers.tolist(), entries.sketched, entries.contents
        width = 4 * done.slots.shape[1]
        slots = memoryview(done.slots.tobytes())
        texts: Sequence[bytes | None] | None = store if entries.are_texts else None
        with self._errors():
            self._db.executemany(
                "INSERT INTO documents VALUES (?, ?, ?)",
                zip(listed, entries.ids, texts or [None] * len(listed), strict=True),
            )
            if store is not None and texts is None:
                self._db.executemany("INSERT INTO shingles VALUES (?, ?)", zip(listed, store, strict=True))
            self._db.executemany(
                "INSERT INTO sketches VALUES (?, ?, ?)",
                (
                    (number, count, slots[at * width : (at + 1) * width])
                    for at, (number, count) in enumerate(zip(listed, done.shingles.tolist(), strict=True))
                ),
            )

    def insert_postings(self, table: str, rows: Int64s) -> None:
        if len(rows):
            statement = f"INSERT INTO {table} SELECT value >> 32, value & 4294967295 FROM carray(?)"
            with self._errors():
                self._db.execute(statement, (apsw.carray(rows),))

    def delete(self, numbers: Int64s, postings: Mapping[str, Int64s]) -> None:
        if not len(numbers):
            return
        with self._errors():
            for table, rows in postings.items():
                self._db.executemany(
                    f"DELETE FROM {table} WHERE key = ? AND document = ?",
                    zip((rows >> 32).tolist(), (rows & 0xFFFFFFFF).tolist(), strict=True),
                )
            for table, column in (("sketches", "document"), ("shingles", "document"), ("documents", "number")):
                statement = f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM carray(?))"
                self._db.execute(statement, (apsw.carray(numbers),))

    def posting_rows(self, table: str) -> Iterator[tuple[Int64s, Int64s]]:
        for found in self._pairs(f"SELECT key, document FROM {table}"):
            yield found[:, 0], found[:, 1]

    def orphans(self) -> dict[str, int]:
        return {name: int(self._rows(statement)[0][0]) for name, statement in tables.ORPHANS.items()}

    def integrity_errors(self) -> list[str]:
        try:
            found = [str(row[0]) for row in self._rows("PRAGMA integrity_check")]
        except DamagedError as error:
            return [str(error)]
        return [] if found == ["ok"] else found

    def compact(self) -> None:
        with self._errors():
            self._db.execute("VACUUM")
            self._log.count(self._db)
            self._log.empty(self._db)

    def sizes(self) -> dict[str, int]:
        by_table = dict(self._rows("SELECT name, sum(pgsize) FROM dbstat WHERE aggregate = TRUE GROUP BY name"))
        log_bytes = os.path.getsize(self._path + "-wal") if os.path.exists(self._path + "-wal") else 0
        total = self._db.pragma("page_count") * self._db.pragma("page_size")
        free = self._db.pragma("freelist_count") * self._db.pragma("page_size")
        known = {name: int(by_table.get(name, 0)) for name in tables.NAMES}
        ids = int(by_table.get("sqlite_autoindex_documents_1", 0))
        return {"total": int(total), "log": log_bytes, "free": int(free), **known, "ids": ids}

    def migrate(self) -> None:
        with self._errors():
            tables.migrate(self._db, self.format)
        self.format = FORMAT

    def facts(self) -> dict[str, Any]:
        return {"backend": "SQLite", "sqlite": apsw.sqlite_lib_version(), "page_size": self._db.pragma("page_size")}

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with self._errors():
            try:
                if not self._still and not self._db.in_transaction:
                    self._tidy_up()
            finally:
                self._db.close()

    def _tidy_up(self) -> None:
        """Close the file, and remove the files beside it, unless another process uses them.

        A reader leaves a log that has content to the next writer.
        """
        beside = [self._path + ending for ending in ("-wal", "-shm", "-lock")]
        keeps = self.read_only and (self._untouched or self._logged() or not self._is_writable())
        if keeps or not any(map(os.path.exists, beside)):
            return
        self._db.set_busy_timeout(0)
        with suppress(BusyError, OutputError), self._lock.hold(0, "closing"):
            if self._logged() and not self.read_only:
                self._log.empty(self._db)
            if self._logged():
                return
            if self.read_only:
                self._db.close()
                self._db = apsw.Connection(self._path, apsw.SQLITE_OPEN_READWRITE, vfs=_VFS)
                self._db.set_busy_timeout(0)
                with suppress(apsw.Error):
                    self._db.pragma("schema_version")  # opens the log, which is removed when its last user closes it
            else:
                self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            self._db.close()
            self._lock.discard()

    def _is_writable(self) -> bool:
        return all(os.access(path, os.W_OK) for path in (self._path, os.path.dirname(self._path)))
