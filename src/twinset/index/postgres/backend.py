"""The back end in one schema of a PostgreSQL database."""

from __future__ import annotations

import os
import socket
import struct
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, cast

import numpy as np

from twinset.errors import BusyError, DamagedError, OutputError, StateError
from twinset.index.backend import (
    CHANGES,
    REQUESTS,
    REQUESTS_END,
    Backend,
    Document,
    Int64s,
    SketchRows,
)
from twinset.index.kinds.text_entries import Entries
from twinset.index.postgres import tables
from twinset.index.postgres.connection import connected, parsed_url, psycopg, sql, translate_errors
from twinset.index.settings import FORMAT
from twinset.system import batch_sizes

_SETTING = "SELECT name, value FROM settings WHERE "
_LOCK = 0x5457_534E
_PAUSE = 0.05
_COPY_HEAD, _COPY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
_POSTING = np.dtype([("n", ">i2"), ("a", ">i4"), ("key", ">i4"), ("b", ">i4"), ("document", ">i4")])
# PostgreSQL's text cannot hold NUL, but an id can. U+FFFF, which is not a character, marks the replacement.
_MARK = "\uffff"


class PostgresBackend(Backend):
    """An index in a PostgreSQL schema, which the URL's parameter `schema` names; the default is `twinset`."""

    most_number = 2**31 - 1

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        address, self.schema, self.name = parsed_url(url)
        self.read_only = read_only
        self._depth = 0
        with self._errors():
            self._db = connected(address)
            try:
                self._run("SELECT set_config('search_path', quote_ident(%s), false)", self.schema)
                self._recognise()
                if read_only:  # afterwards: `_recognise` may create temporary views
                    self._run("SET default_transaction_read_only = on")
            except BaseException:
                self._db.close()
                raise

    @classmethod
    def create(cls, url: str, settings: dict[str, str], format: int = FORMAT) -> PostgresBackend:
        """Make the schema and its tables; an existing index raises `OutputError`."""
        address, schema, name = parsed_url(url)
        with translate_errors(name), connected(address) as db, db.transaction():
            if db.execute("SELECT to_regnamespace(%s)", (_quoted(schema),)).fetchone() == (None,):
                # Even IF NOT EXISTS needs the right to create schemas, so an existing one is not created.
                db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
            db.execute("SELECT set_config('search_path', quote_ident(%s), true)", (schema,))
            existing = db.execute(tables.EXISTING, (_quoted(schema), list(tables.NAMES))).fetchall()
            if existing:
                raise OutputError(
                    f"{name}: the schema already holds the table {existing[0][0]!r}; open the index that it holds, or "
                    "name another schema with ?schema=NAME"
                )
            for statement in (*tables.TABLES[format].values(), *tables.STORAGE):
                db.execute(statement)
            for pair in settings.items():
                db.execute("INSERT INTO settings VALUES (%s, %s)", pair)
        return cls(url)

    def _recognise(self) -> None:
        existing = set(self._rows(tables.EXISTING, _quoted(self.schema), list(tables.NAMES)))
        if existing and not self._rows("SELECT has_schema_privilege(%s, 'USAGE')", self.schema)[0][0]:
            raise StateError(
                f"{self.name}: no permission to use the schema {self.schema!r}; its owner can GRANT USAGE on it and "
                "SELECT on its tables"
            )
        if not existing:
            raise StateError(f"{self.name}: there is no index here; create one with twinset index create")
        formats = [format for format, columns in tables.COLUMNS.items() if columns == existing]
        if not formats:
            raise DamagedError(f"{self.name}: the tables of the schema are damaged, or not those of an index")
        self.format = formats[0]
        for older in tables.older_formats(self.format):
            for statement in tables.AS_NEW[older]:
                self._run(statement.replace("{schema}", _quoted(self.schema)))

    def _errors(self) -> AbstractContextManager[None]:
        return translate_errors(self.name)

    def _run(self, statement: str, *values: Any) -> Any:
        with self._errors():
            cursor = self._db.cursor(binary=True)
            return cursor.execute(statement, values or None)

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        with self._errors():
            return cast("list[Any]", self._run(statement, *values).fetchall())

    def _number(self, statement: str, *values: Any) -> int:
        return int(self._rows(statement, *values)[0][0])

    def settings(self, only: str | None = None) -> dict[str, str]:
        if only is not None:
            return dict(self._rows(_SETTING + "name = %s", only))
        return dict(self._rows(_SETTING + "name <> %s AND (name < %s OR name >= %s)", CHANGES, REQUESTS, REQUESTS_END))

    def drop_requests(self, before: str) -> None:
        statement = 'DELETE FROM settings WHERE name >= %s AND name < %s AND value COLLATE "C" < %s'
        self._run(statement, REQUESTS, REQUESTS_END, before)

    def change_settings(self, rows: dict[str, str]) -> None:
        for pair in rows.items():
            self._run(
                "INSERT INTO settings VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value", *pair
            )

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            yield
            return
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield
        finally:
            if not self._db.closed:
                self._run("ROLLBACK")

    @contextmanager
    def writer(self, timeout: float, doing: str) -> Iterator[None]:
        if self._depth == 0:
            self._acquire(timeout, doing)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0 and not self._db.closed:
                with suppress(psycopg.Error):  # a lost connection has lost its lock too
                    self._run("SELECT pg_advisory_unlock(%s, %s)", _LOCK, self._lock)

    @property
    def _lock(self) -> int:
        """The lock number of the schema; advisory locks are separate for each database."""
        return int.from_bytes(zlib.crc32(self.schema.encode()).to_bytes(4, "big"), "big", signed=True)

    def _acquire(self, timeout: float, doing: str) -> None:
        until = time.monotonic() + timeout
        while not self._rows("SELECT pg_try_advisory_lock(%s, %s)", _LOCK, self._lock)[0][0]:
            if time.monotonic() >= until:
                found = self._rows(tables.HOLDER, _LOCK, self._lock)
                who = (
                    f"{found[0][0]}, from {found[0][1] or 'the same machine'}, connected {found[0][2]}" if found else ""
                )
                raise BusyError(
                    f"{self.name}: another writer holds the index ({who or 'unknown process'}); waited {timeout:g} "
                    "s: wait longer with --timeout, or stop the other writer"
                )
            time.sleep(_PAUSE)
        label = f"twinset, {doing}, process {os.getpid()} on {socket.gethostname()}"
        self._run("SELECT set_config('application_name', %s, false)", label[:63])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._run("BEGIN")
        try:
            yield
            self._run(tables.COUNT_CHANGE, CHANGES)
            self._run("COMMIT")
        except BaseException:
            if not self._db.closed:
                with suppress(psycopg.Error):
                    self._db.execute("ROLLBACK")
            raise

    def flush(self) -> None:
        return  # the server has received everything

    def count(self) -> int:
        return self._number("SELECT count(*) FROM documents")

    def last_number(self) -> int:
        return self._number("SELECT coalesce(max(number), 0) FROM documents")

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        escaped = [_escaped(id) for id in ids]
        rows = self._rows("SELECT id, number FROM documents WHERE id = ANY(%s::text[])", escaped) if ids else []
        return {_unescaped(id): number for id, number in rows}

    def postings(self, keys: Int64s, table: str = "bands") -> tuple[Int64s, Int64s]:
        rows = self._rows(tables.LOOK_UP.format(table), keys.tolist()) if len(keys) else []
        found = np.array(rows, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def first_postings(self, keys: Int64s, most: int, table: str) -> tuple[Int64s, Int64s]:
        rows = self._rows(tables.FIRST_POSTINGS.format(table), keys.tolist(), most) if len(keys) else []
        found = np.array(rows, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def posting_portions(self, keys: Int64s, table: str) -> Iterator[tuple[Int64s, Int64s]]:
        if not len(keys):
            return
        with self._errors(), self._db.cursor("twinset_postings") as cursor:  # rows stay in the server until fetched
            cursor.execute(tables.LOOK_UP.format(table).encode(), [keys.tolist()])
            while rows := cursor.fetchmany(batch_sizes.INDEX_ROWS):
                found = np.array(rows, np.int64)
                yield found[:, 0], found[:, 1]

    def shingle_counts(self, numbers: Int64s) -> tuple[Int64s, Int64s]:
        statement = "SELECT document, shingles FROM sketches WHERE document = ANY(%s::integer[]) ORDER BY document"
        found = np.array(self._rows(statement, numbers.tolist()) if len(numbers) else [], np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def sketches(self, numbers: Int64s) -> SketchRows:
        statement = (
            "SELECT document, shingles, slots FROM sketches WHERE document = ANY(%s::integer[]) ORDER BY document"
        )
        return SketchRows.from_rows(self._rows(statement, numbers.tolist()) if len(numbers) else [], self.name)

    def sketch_page(self, after: int, most: int) -> SketchRows:
        return SketchRows.from_rows(self._rows(tables.SKETCH_PAGE, after, most), self.name)

    def documents(self, numbers: Int64s, *, contents: bool) -> list[Document]:
        kept = "coalesce(d.text, h.hashes)" if contents else "NULL"
        join = "LEFT JOIN shingles AS h ON h.document = d.number" if contents else ""
        statement = (
            f"SELECT d.number, d.id, {kept} FROM documents AS d {join} WHERE d.number = ANY(%s::integer[]) "
            "ORDER BY d.number"
        )
        rows = self._rows(statement, numbers.tolist()) if len(numbers) else []
        return [Document(number, _unescaped(id), content) for number, id, content in rows]

    def page(self, after: int, most: int) -> Int64s:
        rows = self._rows("SELECT number FROM documents WHERE number > %s ORDER BY number LIMIT %s", after, most)
        return np.array(rows, np.int64).reshape(-1)

    def insert(self, numbers: Int64s, entries: Entries) -> None:
        listed, done, store = numbers.tolist(), entries.sketched, entries.contents
        texts = store if entries.are_texts and store is not None else None
        ids = [_escaped(id).encode() for id in entries.ids]
        rows = [
            _field_head(3, number) + struct.pack(">i", len(id)) + id + _bytea(texts[at] if texts else None)
            for at, (number, id) in enumerate(zip(listed, ids, strict=True))
        ]
        self._copy("COPY documents (number, id, text) FROM STDIN (FORMAT binary)", b"".join(rows))
        if store is not None and texts is None:
            rows = [_field_head(2, number) + _bytea(one) for number, one in zip(listed, store, strict=True)]
            self._copy("COPY shingles (document, hashes) FROM STDIN (FORMAT binary)", b"".join(rows))
        width = 4 * done.slots.shape[1]
        row = np.dtype(
            [("n", ">i2"), ("a", ">i4"), ("document", ">i4"), ("b", ">i4"), ("shingles", ">i4"), ("c", ">i4"),
             ("slots", f"V{width}")]
        )  # fmt: skip
        records = np.zeros(len(listed), row)
        records["n"], records["a"], records["b"], records["c"] = 3, 4, 4, width
        records["document"], records["shingles"] = numbers, done.shingles
        records["slots"] = np.ascontiguousarray(done.slots).view(f"V{width}").reshape(-1) if width else b""
        self._copy("COPY sketches (document, shingles, slots) FROM STDIN (FORMAT binary)", records.tobytes())

    def insert_postings(self, table: str, rows: Int64s) -> None:
        records = np.zeros(len(rows), _POSTING)
        records["n"], records["a"], records["b"] = 2, 4, 4
        records["key"], records["document"] = rows >> 32, rows & 0xFFFFFFFF
        self._copy(f"COPY {table} (key, document) FROM STDIN (FORMAT binary)", records.tobytes())

    def _copy(self, statement: str, rows: bytes) -> None:
        with self._errors(), self._db.cursor().copy(statement) as copy:
            copy.write(_COPY_HEAD)
            copy.write(rows)
            copy.write(_COPY_END)

    def delete(self, numbers: Int64s, postings: Mapping[str, Int64s]) -> None:
        if not len(numbers):
            return
        for table, rows in postings.items():
            self._run(
                f"DELETE FROM {table} AS b USING unnest(%s::integer[], %s::integer[]) AS w(key, document) "
                "WHERE b.key = w.key AND b.document = w.document",
                (rows >> 32).tolist(),
                (rows & 0xFFFFFFFF).tolist(),
            )
        for table, column in (("sketches", "document"), ("shingles", "document"), ("documents", "number")):
            self._run(f"DELETE FROM {table} WHERE {column} = ANY(%s::integer[])", numbers.tolist())

    def posting_rows(self, table: str) -> Iterator[tuple[Int64s, Int64s]]:
        if table not in tables.TABLES[self.format]:
            return  # a view of an older format, which cannot be copied
        buffer, head = bytearray(), len(_COPY_HEAD)
        with self._errors(), self._db.cursor().copy(f"COPY {table} (key, document) TO STDOUT (FORMAT binary)") as copy:
            for piece in copy:  # one row each: they are appended in place
                buffer += piece
                if len(buffer) < 2**20:
                    continue
                rows = (len(buffer) - head) // _POSTING.itemsize
                found = np.frombuffer(buffer, _POSTING, rows, head)
                buffer, head = buffer[head + rows * _POSTING.itemsize :], 0
                yield found["key"].astype(np.int64), found["document"].astype(np.int64)
        rows = (len(buffer) - head) // _POSTING.itemsize  # the two bytes of the trailer remain
        found = np.frombuffer(buffer, _POSTING, max(rows, 0), head)
        yield found["key"].astype(np.int64), found["document"].astype(np.int64)

    def orphans(self) -> dict[str, int]:
        return {name: self._number(statement) for name, statement in tables.ORPHANS.items()}

    def integrity_errors(self) -> list[str]:
        try:
            for table in tables.TABLES[self.format]:
                self._number(f"SELECT count(*) FROM {_quoted(self.schema)}.{table}")
        except DamagedError as error:
            return [str(error)]
        return []

    def compact(self) -> None:
        for table in tables.NAMES:
            self._run(f"VACUUM (FULL, ANALYZE) {_quoted(self.schema)}.{table}")

    def sizes(self) -> dict[str, int]:
        each = {
            table: self._number("SELECT pg_total_relation_size(%s::regclass)", f"{_quoted(self.schema)}.{table}")
            for table in tables.TABLES[self.format]
        }
        return {"total": sum(each.values()), **each}

    def migrate(self) -> None:
        for older in tables.older_formats(self.format):
            for statement in tables.UP[older]:
                self._run(statement.replace("{schema}", _quoted(self.schema)))
        self.format = FORMAT

    def facts(self) -> dict[str, Any]:
        return {"backend": "PostgreSQL", "server": self._rows("SHOW server_version")[0][0], "schema": self.schema}

    def close(self) -> None:
        self._db.close()


def _field_head(fields: int, number: int) -> bytes:
    """Return the start of a COPY row, including its first field, the document number."""
    return struct.pack(">hii", fields, 4, number)


def _bytea(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else struct.pack(">i", len(value)) + value


def _escaped(id: str) -> str:
    return id.replace(_MARK, _MARK + "1").replace("\0", _MARK + "0") if _MARK in id or "\0" in id else id


def _unescaped(id: str) -> str:
    return id.replace(_MARK + "0", "\0").replace(_MARK + "1", _MARK) if _MARK in id else id


def _quoted(schema: str) -> str:
    """Quote the name of a schema for SQL."""
    return '"' + schema.replace('"', '""') + '"'
