"""The tables of an index in SQLite: make the file, recognise its format, migrate it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

import apsw

from twinset.errors import DamagedError, StateError
from twinset.index.backend import CHANGES, REQUESTS, REQUESTS_END
from twinset.index.settings import FORMAT, NEWEST
from twinset.system.locks import WriterLock

APPLICATION = 0x5457_534E  # "TWSN", in the file's header: distinguishes our files from other databases
PAGE = 8192
CHECKSUM_BYTES = 8
RESTORE = "restore a backup"
_WAIT = 10.0  # seconds to wait for another process that makes the same file

_SETTINGS = "CREATE TABLE settings (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID"
_SHINGLES = "CREATE TABLE shingles (document INTEGER PRIMARY KEY, hashes BLOB NOT NULL) STRICT"
_POSTINGS = (
    "CREATE TABLE {} (key INTEGER NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (key, document)) "
    "STRICT, WITHOUT ROWID"
)
_BANDS = _POSTINGS.format("bands")
TABLES: dict[int, dict[str, str]] = {
    1: {
        "settings": _SETTINGS,
        "documents": (
            "CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
            "shingles INTEGER NOT NULL, text BLOB) STRICT"
        ),
        "shingles": _SHINGLES,
        "sketches": "CREATE TABLE sketches (document INTEGER PRIMARY KEY, slots BLOB NOT NULL) STRICT",
        "bands": _BANDS,
    },
    2: {
        "settings": _SETTINGS,
        "documents": "CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text BLOB) STRICT",
        "shingles": _SHINGLES,
        "sketches": (
            "CREATE TABLE sketches (document INTEGER PRIMARY KEY, shingles INTEGER NOT NULL, slots BLOB NOT NULL) "
            "STRICT"
        ),
        "bands": _BANDS,
    },
}
"""The tables of each format. Format 3 has those of 2."""
TABLES[4] = {**TABLES[2], "anchors": _POSTINGS.format("anchors"), "samples": _POSTINGS.format("samples")}
NAMES = tuple(TABLES[FORMAT])
_FOUND = (
    "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema "
    "WHERE sql IS NOT NULL OR type <> 'index'"
)

LOOK_UP = "SELECT b.key, b.document FROM carray(?) AS w CROSS JOIN {} AS b ON b.key = w.value"
"""Candidates: documents that share a key with the query in a table of postings."""
FIRST_POSTINGS = (
    "SELECT b.key, b.document FROM carray(?) AS w CROSS JOIN {0} AS b ON b.key = w.value AND b.document <= coalesce("
    "(SELECT c.document FROM {0} AS c WHERE c.key = w.value ORDER BY c.document LIMIT 1 OFFSET ?), 9223372036854775807)"
)
"""The same, but only the first documents of each key: the offset is the number of the last one, from 0."""
SETTING = "SELECT name, value FROM settings WHERE name = ?"
_OF_REQUEST = f"name >= '{REQUESTS}' AND name < '{REQUESTS_END}'"
SETTINGS = f"SELECT name, value FROM settings WHERE name <> '{CHANGES}' AND NOT ({_OF_REQUEST})"
DROP_REQUESTS = f"DELETE FROM settings WHERE {_OF_REQUEST} AND value < ?"
SKETCH_PAGE = "SELECT document, shingles, slots FROM sketches WHERE document > ? ORDER BY document LIMIT ?"

ORPHANS = {
    "documents without a sketch": (
        "SELECT count(*) FROM documents AS d WHERE NOT EXISTS (SELECT 1 FROM sketches WHERE document = d.number)"
    ),
    "sketches without a document": (
        "SELECT count(*) FROM sketches AS s WHERE NOT EXISTS (SELECT 1 FROM documents WHERE number = s.document)"
    ),
    "shingles without a document": (
        "SELECT count(*) FROM shingles AS s WHERE NOT EXISTS (SELECT 1 FROM documents WHERE number = s.document)"
    ),
}

_AS_NEW = {
    1: """
        CREATE TEMP VIEW sketches AS
            SELECT s.document, d.shingles, s.slots
            FROM main.sketches AS s JOIN main.documents AS d ON d.number = s.document;
        CREATE TEMP VIEW documents AS SELECT number, id, text FROM main.documents;
    """,
    2: """
        CREATE TEMP VIEW anchors AS SELECT 0 AS key, 0 AS document WHERE FALSE;
        CREATE TEMP VIEW samples AS SELECT 0 AS key, 0 AS document WHERE FALSE;
    """,
}
"""Temporary views that show the tables of an older format in the newest."""

_UP = {
    1: """
        DROP VIEW IF EXISTS temp.sketches;
        DROP VIEW IF EXISTS temp.documents;
        ALTER TABLE documents RENAME TO documents_1;
        ALTER TABLE sketches RENAME TO sketches_1;
        {documents};
        {sketches};
        INSERT INTO documents SELECT number, id, text FROM documents_1 ORDER BY number;
        INSERT INTO sketches
            SELECT s.document, d.shingles, s.slots FROM sketches_1 AS s JOIN documents_1 AS d ON d.number = s.document
            ORDER BY s.document;
        DROP TABLE sketches_1;
        DROP TABLE documents_1;
    """,
    2: """
        DROP VIEW IF EXISTS temp.anchors;
        DROP VIEW IF EXISTS temp.samples;
        {anchors};
        {samples};
    """,
}


def create(path: str, vfs: str, settings: dict[str, str], format: int = FORMAT) -> None:
    """Make a durable file with empty tables."""
    db = apsw.Connection(path, vfs=vfs)
    try:
        db.pragma("page_size", PAGE)
        db.reserve_bytes(reserve=CHECKSUM_BYTES)
        db.execute("VACUUM")  # reserves the space for checksums
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", "full")
        _flush_fully(db)
        db.execute("BEGIN")  # not `with db`, whose rollback would hide the first error
        db.pragma("application_id", APPLICATION)
        db.pragma("user_version", format)
        for statement in TABLES[format].values():
            db.execute(statement)
        db.executemany("INSERT INTO settings VALUES (?, ?)", settings.items())
        db.execute("COMMIT")
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        db.close()


def configure(db: apsw.Connection, cache: int) -> None:
    """Set up a connection: do not trust the schema of the file, commit durably, limit the memory."""
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    db.pragma("cell_size_check", True)
    db.pragma("synchronous", "full")
    _flush_fully(db)
    db.pragma("cache_size", -cache)
    db.pragma("wal_autocheckpoint", 0)
    db.pragma("temp_store", "file")


def _flush_fully(db: apsw.Connection) -> None:
    """Have macOS flush the cache of the drive, too; elsewhere this changes nothing."""
    db.pragma("fullfsync", True)
    db.pragma("checkpoint_fullfsync", True)


def recognise(db: apsw.Connection, name: str) -> int:
    """Return the format of the file; raise an error if it is not an index."""
    if not db.pragma("page_count"):
        raise DamagedError(f"{name} is empty: it is not an index")
    if db.pragma("application_id") != APPLICATION:
        raise DamagedError(f"{name} is a SQLite database, but not an index of twinset")
    format = int(db.pragma("user_version"))
    if format > FORMAT:
        raise StateError(
            f"{name}: the index has format {format}, and this version of twinset knows formats up to {NEWEST}; "
            "use a newer version"
        )
    found = db.execute(_FOUND).fetchall()
    ours = {tuple(word.encode() for word in ("table", table, sql)) for table, sql in TABLES.get(format, {}).items()}
    # Foreign views and triggers would run with our statements, so any other object is refused.
    if len(found) != len(ours) or set(found) != ours:
        raise DamagedError(f"{name} is damaged, or not an index: its tables are not those of format {format}")
    if db.reserve_bytes() != CHECKSUM_BYTES or str(db.pragma("checksum_verification")) != "1":
        raise DamagedError(f"{name}: the pages of the file have no checksums, so another program made it; {RESTORE}")
    return format


def show_as_new(db: apsw.Connection, format: int) -> None:
    """Create views that show this connection an older format as the newest."""
    for older, _ in _steps(format):
        db.execute(_AS_NEW[older])


def migrate(db: apsw.Connection, format: int) -> None:
    """Convert the tables to the newest format; within a transaction."""
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    for older, newer in _steps(format):
        db.execute(_UP[older].format(**TABLES[newer]))
    db.pragma("user_version", FORMAT)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


def _steps(format: int) -> Iterator[tuple[int, int]]:
    """Yield the formats from this one to the newest, each with the next."""
    return pairwise(one for one in TABLES if one >= format)


def put_in_place(made: str, name: str) -> None:
    """Give a new file its name, and remove the log that an earlier file of that name left."""
    lock = WriterLock(name + "-lock", name)
    with lock.hold(_WAIT, "creating"):
        if os.path.lexists(name):
            raise FileExistsError
        for ending in ("-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                os.unlink(name + ending)
        lock.note(b"")
        os.link(made, name)  # unlike a rename, this never replaces a file

