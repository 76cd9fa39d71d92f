"""A file that somebody made to do harm: refused or harmless. It runs no code, takes no memory, and crashes nothing."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pyarrow as pa
import pytest

import twinset
from tests.reliability.index.index_work import OPTIONS, text_of
from tests.reliability.nursery import Nursery
from twinset.index.sqlite.tables import TABLES

MB = 10**6
MOST = 400 * MB
COUNT = 64


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Indexes to be tampered with, one for each thing that can be stored."""
    folder = tmp_path_factory.mktemp("kept")
    for store in ("text", "shingles", "none"):
        with twinset.Index.create(folder / f"{store}.twinset", store=store, **OPTIONS) as index:
            ids = {f"{family}-{member}": text_of(family, member) for family in range(16) for member in range(4)}
            index.add(list(ids), list(ids.values()))
    return folder


Tamper = Callable[[apsw.Connection], object]


def ask(nursery: Nursery, kept: Path, folder: Path, tamper: Tamper, store: str = "text") -> dict[str, Any]:
    """Tamper with an index as whoever made it could have, and ask everything of it in another process."""
    path = folder / "documents.twinset"
    shutil.copy(kept / f"{store}.twinset", path)
    db = apsw.Connection(str(path), vfs="cksmvfs")
    tamper(db)
    db.close()
    [said] = nursery.start("ask_all", path).ended_well(120)
    assert said["took"] < MOST, said
    for why in said["refused"].values():
        assert len(why) < 1000
    return dict(said)


def run(*statements: str) -> Tamper:
    return lambda db: [db.execute(statement).fetchall() for statement in statements]


def in_schema(*statements: str) -> Tamper:
    """Change what the file says of its tables, past everything that SQLite checks."""
    return run("PRAGMA writable_schema = ON", *statements)


def untyped(table: str, *statements: str) -> Tamper:
    """Change rows of a table as if it had no types and no constraints."""
    right = TABLES[2][table].replace("'", "''")
    loose = re.sub(r" STRICT(, (?=WITHOUT))?| NOT NULL| TEXT| INTEGER(?! PRIMARY)", " ", right)
    return lambda db: (
        in_schema(f"UPDATE sqlite_schema SET sql = '{loose}' WHERE name = '{table}'")(db),
        db.execute("PRAGMA writable_schema = RESET"),
        run(*statements)(db),
        in_schema(f"UPDATE sqlite_schema SET sql = '{right}' WHERE name = '{table}'")(db),
    )


HARM = "INSERT OR REPLACE INTO settings VALUES ('harm', 'done')"
ROW = "INSERT INTO sqlite_schema VALUES"
TRIGGER = f"CREATE TRIGGER harm AFTER INSERT ON documents BEGIN {HARM}; END"
QUOTED = TRIGGER.replace("'", "''")
SCHEMAS = {
    "a trigger": run(TRIGGER),
    "a trigger under a table's name": in_schema(f"{ROW} ('trigger', 'bands', 'documents', 0, '{QUOTED}')"),
    "a trigger between the tables": in_schema(
        "UPDATE sqlite_schema SET rowid = 1000 WHERE name = 'bands'",
        f"INSERT INTO sqlite_schema (rowid, type, name, tbl_name, rootpage, sql) "
        f"VALUES (500, 'trigger', 'bands', 'documents', 0, '{QUOTED}')",
    ),
    "a trigger of a table's very name": in_schema(
        f"{ROW} ('trigger', 'bands', 'documents', 0, '{QUOTED.replace('harm', 'bands')}')"
    ),
    "a view": run("CREATE VIEW more AS SELECT zeroblob(1000000000) AS x"),
    "a view for a table": in_schema(
        "DELETE FROM sqlite_schema WHERE name = 'shingles'",
        f"{ROW} ('view', 'shingles', 'shingles', 0, "
        "'CREATE VIEW shingles AS SELECT 1 AS document, zeroblob(1000000000) AS hashes')",
    ),
    "a virtual table": run("CREATE VIRTUAL TABLE more USING fts5(x)"),
    "a table more": run("CREATE TABLE more (x)"),
    "an index on an expression": run("CREATE INDEX more ON documents (abs(number))"),
    "a generated column": run("ALTER TABLE documents ADD COLUMN more BLOB AS (zeroblob(1000000000)) VIRTUAL"),
    "a column more": run("ALTER TABLE sketches ADD COLUMN more BLOB"),
    "a table less": run("DROP TABLE shingles"),
    "a default that is computed": in_schema(
        "UPDATE sqlite_schema SET sql = replace(sql, 'text BLOB', 'text BLOB DEFAULT (zeroblob(1000000000))') "
        "WHERE name = 'documents'"
    ),
    "statements that are none": in_schema("UPDATE sqlite_schema SET sql = 'nonsense' WHERE name = 'bands'"),
    "a number of another program": run("PRAGMA application_id = 1"),
    "a format of the future": run("PRAGMA user_version = 99"),
    "a format that never was": run("PRAGMA user_version = -3"),
}  # fmt: skip


@pytest.mark.parametrize("what", SCHEMAS)
def test_tables_of_another_kind_are_refused(nursery: Nursery, kept: Path, tmp_path: Path, what: str) -> None:
    said = ask(nursery, kept, tmp_path, SCHEMAS[what])
    assert list(said["refused"]) == ["open", "changes"], said
    assert said["given"] == []
    db = apsw.Connection(str(tmp_path / "documents.twinset"))
    with suppress(apsw.CorruptError):  # SQLite does not read it either
        assert db.execute("SELECT count(*) FROM settings WHERE name = 'harm'").fetchall() == [(0,)]


MOVE = "UPDATE sqlite_schema SET rootpage ="
OF = "FROM sqlite_schema WHERE name"
ROOTS = {
    "two tables in one place": f"{MOVE} (SELECT rootpage {OF} = 'documents') WHERE name = 'sketches'",
    "tables in each other's place": f"{MOVE} (SELECT sum(rootpage) {OF} IN ('documents', 'sketches')) - rootpage "
    "WHERE name IN ('documents', 'sketches')",
    "a table in the list of tables": f"{MOVE} 1 WHERE name = 'documents'",
    "a table nowhere": f"{MOVE} 0 WHERE name = 'bands'",
    "a table beyond the end": f"{MOVE} 100000 WHERE name = 'sketches'",
    "a table inside of another": f"{MOVE} rootpage + 1 WHERE name = 'bands'",
}


@pytest.mark.parametrize("what", ROOTS)
def test_tables_in_the_wrong_place(nursery: Nursery, kept: Path, tmp_path: Path, what: str) -> None:
    said = ask(nursery, kept, tmp_path, in_schema(ROOTS[what]))
    assert said["refused"].keys() & {"open", "verify"}, said


def options(**changes: Any) -> Tamper:
    """Settings with other options."""

    def tamper(db: apsw.Connection) -> None:
        [(text,)] = db.execute("SELECT value FROM settings WHERE name = 'options'").fetchall()
        made = json.dumps({**json.loads(str(text)), **changes})
        db.execute("UPDATE settings SET value = ? WHERE name = 'options'", (made,))

    return tamper


def setting(name: str, value: Any) -> Tamper:
    return lambda db: db.execute("UPDATE settings SET value = ? WHERE name = ?", (value, name)).fetchall()


SETTINGS = {
    "hashes without end": options(n_hashes=10**9),
    "hashes beyond counting": options(n_hashes=10**30),
    "hashes below zero": options(n_hashes=-5),
    "no hashes": options(n_hashes=0),
    "half a hash": options(n_hashes=1.5),
    "a word for a number": options(n_bands="many"),
    "bands without end": options(n_bands=65_536, rows_per_band=65_536, n_hashes=65_536),
    "no bands": options(n_bands=None),
    "a threshold of 2": options(threshold=2),
    "a threshold that is no number": options(threshold=float("nan")),
    "shingles of a million words": options(shingle="word:1000000"),
    "shingles of another kind": options(shingle="../../etc/passwd"),
    "a seed below zero": options(seed=-1),
    "a seed too large": options(seed=2**64),
    "no seed": options(seed=None),
    "a store of another kind": options(store="pickle"),
    "an option more": options(more=1),
    "lists in lists": setting("options", "[" * 100_000 + "]" * 100_000),
    "no object": setting("options", "[1, 2]"),
    "nothing": setting("options", "null"),
    "no JSON": setting("options", "__import__('os').system('true')"),
    "another scheme": setting("hash_scheme", "7"),
    "a scheme that is none": setting("hash_scheme", "[]"),
    "a later format": setting("format", "99"),
    "a format below zero": setting("format", "-1"),
    "a format beyond counting": setting("format", "1" + "0" * 5000),
    "a format that is none": setting("format", '"2"x'),
    "no settings": run("DELETE FROM settings"),
    "a setting as bytes": untyped("settings", "UPDATE settings SET value = x'ff00' WHERE name = 'options'"),
    "no UTF-8": untyped("settings", "UPDATE settings SET value = CAST(x'ff22' AS TEXT) WHERE name = 'options'"),
}


@pytest.mark.parametrize("what", SETTINGS)
def test_absurd_settings_are_refused(nursery: Nursery, kept: Path, tmp_path: Path, what: str) -> None:
    said = ask(nursery, kept, tmp_path, SETTINGS[what])
    assert list(said["refused"]) == ["open", "changes"], said


def packed(text: bytes, said: int | None = None) -> str:
    """A text as an index packs it, or says that it did, as SQL writes it."""
    data = b"\1" + (len(text) if said is None else said).to_bytes(4, "little") + pa.compress(text, "zstd", asbytes=True)
    return f"x'{data.hex()}'"


EVERY = "UPDATE documents SET text ="
TEXTS = {
    "not packed by us": f"{EVERY} x'02000000'",
    "empty": f"{EVERY} x''",
    "missing": f"{EVERY} NULL",
    "no zstd": f"{EVERY} x'0110000000ffffffffffffffffffffffffffffffff'",
    "cut short": f"{EVERY} substr(text, 1, length(text) - 7)",
    "said to be longer": f"{EVERY} {packed(b'a b c d e f g' * 20, 10_000)}",
    "said to be shorter": f"{EVERY} {packed(b'a b c d e f g' * 20, 10)}",
    "said to be of a gigabyte": f"{EVERY} {packed(b'a b c d e f g' * 20, 2**30)}",
    "said to be of four gigabytes": f"{EVERY} {packed(b'a b c d e f g' * 20, 2**32 - 1)}",
    "of a gigabyte indeed": f"{EVERY} {packed(bytes(2**30))}",
    "of many words each": f"{EVERY} {packed(b'a b ' * 2**19)}",
    "no UTF-8": f"{EVERY} x'00fffefdfc80'",
    "a word and no bytes": untyped("documents", f"{EVERY} 'word'"),
    "a number and no bytes": untyped("documents", f"{EVERY} 17"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_texts_that_are_none(nursery: Nursery, kept: Path, tmp_path: Path, what: str) -> None:
    statement = TEXTS[what]
    said = ask(nursery, kept, tmp_path, run(statement) if isinstance(statement, str) else statement)
    assert "verify" in said["refused"]
    assert "stats" in said["given"]


SKETCHES = {
    "shorter": "UPDATE sketches SET slots = substr(slots, 1, 40)",
    "one shorter": "UPDATE sketches SET slots = substr(slots, 1, 40) WHERE document = 5",
    "longer": "UPDATE sketches SET slots = CAST(slots || slots AS BLOB)",
    "of an odd length": "UPDATE sketches SET slots = substr(slots, 1, 41)",
    "one empty": "UPDATE sketches SET slots = x'' WHERE document = 7",
    "all empty": "UPDATE sketches SET slots = x''",
    "large": "UPDATE sketches SET slots = zeroblob(30000000) WHERE document = 3",
    "of less than nothing": "UPDATE sketches SET shingles = -1",
    "of more than can be": "UPDATE sketches SET shingles = 1099511627776",
    "of the most that can be": "UPDATE sketches SET shingles = 4294967295",
    "of nothing": "UPDATE sketches SET shingles = 0",
    "as words": untyped("sketches", "UPDATE sketches SET slots = 'word', shingles = 'word'"),
    "as nothing": untyped("sketches", "UPDATE sketches SET slots = NULL, shingles = NULL"),
    "as fractions": untyped("sketches", "UPDATE sketches SET shingles = shingles + 0.5"),
    "gone": "DELETE FROM sketches",
    "one gone": "DELETE FROM sketches WHERE document = 9",
    "of nobody": "UPDATE sketches SET document = document + 1000",
    "of numbers below zero": "UPDATE sketches SET document = -document",
}


@pytest.mark.parametrize("store", ["text", "none"])
@pytest.mark.parametrize("what", SKETCHES)
def test_sketches_that_are_none(nursery: Nursery, kept: Path, tmp_path: Path, what: str, store: str) -> None:
    statement = SKETCHES[what]
    said = ask(nursery, kept, tmp_path, run(statement) if isinstance(statement, str) else statement, store)
    if (what, store) != ("of the most that can be", "none"):  # nothing else is kept that it could be held against
        assert "verify" in said["refused"]


FAR = 2**33
BANDS = {
    "beyond all numbers": f"UPDATE bands SET document = document + {FAR}",
    "of another query": "UPDATE bands SET document = document + 5 * 4294967296",
    "of a million queries on": "UPDATE bands SET document = document + 1000000 * 4294967296",
    "below zero": "UPDATE bands SET document = -document",
    "at the end of all numbers": "UPDATE bands SET document = 9223372036854775807 - document",
    "of nobody": "UPDATE bands SET document = document + 100000",
    "of keys beyond all keys": "UPDATE bands SET key = key * 4294967296",
    "as words": untyped("bands", "UPDATE bands SET document = 'word' || document"),
    "as nothing": untyped("bands", "UPDATE bands SET document = x'ff' || document"),
    "as fractions": untyped("bands", "UPDATE bands SET document = document + 0.25"),
    "gone": "DELETE FROM bands",
    "crowded": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300000) "
    "INSERT OR IGNORE INTO bands SELECT (SELECT key FROM bands WHERE document = 13 LIMIT 1), x FROM n",
}


@pytest.mark.parametrize("what", BANDS)
def test_bands_that_are_none(nursery: Nursery, kept: Path, tmp_path: Path, what: str) -> None:
    statement = BANDS[what]
    said = ask(nursery, kept, tmp_path, run(statement) if isinstance(statement, str) else statement)
    assert "verify" in said["refused"]


HASHES = {
    "of an odd length": "UPDATE shingles SET hashes = CAST(hashes || x'00' AS BLOB)",
    "empty": "UPDATE shingles SET hashes = x''",
    "all nothing": "UPDATE shingles SET hashes = zeroblob(length(hashes))",
    "all the same": "UPDATE shingles SET hashes = CAST(hex(zeroblob(length(hashes) / 2)) AS BLOB)",
    "large": "UPDATE shingles SET hashes = zeroblob(16000000) WHERE document = 13",
    "gone": "DELETE FROM shingles",
    "as words": untyped("shingles", "UPDATE shingles SET hashes = 'a word of 16 abc'"),
}


@pytest.mark.parametrize("what", HASHES)
def test_shingles_that_are_none(nursery: Nursery, kept: Path, tmp_path: Path, what: str) -> None:
    statement = HASHES[what]
    said = ask(
        nursery, kept, tmp_path, run(statement) if isinstance(statement, str) else statement, store="shingles"
    )
    assert "verify" in said["refused"]


IDS = {
    "as bytes": untyped("documents", "UPDATE documents SET id = x'ff00' || number"),
    "no UTF-8": untyped("documents", "UPDATE documents SET id = CAST(x'fffe' || number AS TEXT)"),
    "as numbers": untyped("documents", "UPDATE documents SET id = number"),
    "as nothing": untyped("documents", "UPDATE documents SET id = NULL"),
    "of a megabyte": "UPDATE documents SET id = hex(zeroblob(500000)) || number WHERE number < 5",
    "of numbers below zero": "UPDATE documents SET number = -number",
    "of numbers beyond all": f"UPDATE documents SET number = number + {FAR}",
    "of the last number": "UPDATE documents SET number = 9223372036854775807 WHERE number = 64",
}


@pytest.mark.parametrize("what", IDS)
def test_ids_that_are_none(nursery: Nursery, kept: Path, tmp_path: Path, what: str) -> None:
    statement = IDS[what]
    said = ask(nursery, kept, tmp_path, run(statement) if isinstance(statement, str) else statement)
    assert "verify" in said["refused"]


def test_settings_of_another_plan_are_noticed(nursery: Nursery, kept: Path, tmp_path: Path) -> None:
    """The most hashes there can be, and rows with fewer."""
    said = ask(nursery, kept, tmp_path, options(n_hashes=65_536, n_bands=2000, rows_per_band=3))
    assert {"query", "verify", "similar"} <= said["refused"].keys()
