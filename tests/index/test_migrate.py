"""An index of an older format is read as it is, never written to, and brought up to date by `migrate`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import twinset
from tests.index.conftest import Files, Place
from tests.index.corpora import families
from twinset.errors import BusyError, DamagedError, StateError
from twinset.index.backend import open_backend
from twinset.index.settings import FORMAT
from twinset.index.sqlite import tables

TEXTS = families(80, seed=9) | {"a\0b": "an id with a NUL in it", "\uffff": "one that is no character"}
# As it was. What made such files is gone, so this must never change.
FORMAT_1 = {
    "settings": "CREATE TABLE settings (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "documents": (
        "CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
        "shingles INTEGER NOT NULL, text BLOB) STRICT"
    ),
    "shingles": "CREATE TABLE shingles (document INTEGER PRIMARY KEY, hashes BLOB NOT NULL) STRICT",
    "sketches": "CREATE TABLE sketches (document INTEGER PRIMARY KEY, slots BLOB NOT NULL) STRICT",
    "bands": (
        "CREATE TABLE bands (key INTEGER NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (key, document)) "
        "STRICT, WITHOUT ROWID"
    ),
}
DOCUMENTS = (
    "SELECT d.number, d.id, s.shingles, d.text FROM documents AS d JOIN sketches AS s ON s.document = d.number "
    "ORDER BY d.number"
)


def make_old(place: Place, new: str, old: str, settings: dict[str, str]) -> None:
    """Write what an index of today holds as format 1 had it."""
    rows = {**settings, "format": "1"}
    if place.kind == "sqlite":
        tables.create(old, "cksmvfs", rows, 1)
    else:
        from twinset.index.postgres.backend import PostgresBackend

        PostgresBackend.create(old, rows, 1).close()
    copies = {
        "documents (number, id, shingles, text)": place.run(new, DOCUMENTS),
        "shingles (document, hashes)": place.run(new, "SELECT document, hashes FROM shingles"),
        "sketches (document, slots)": place.run(new, "SELECT document, slots FROM sketches"),
        "bands (key, document)": place.run(new, "SELECT key, document FROM bands"),
    }
    for table, found in copies.items():
        for first in range(0, len(found), 1000):
            some = found[first : first + 1000]
            marks = ", ".join([f"({', '.join('?' * len(some[0]))})"] * len(some))
            place.run(old, f"INSERT INTO {table} VALUES {marks}", *(one for row in some for one in row))


def answered(index: twinset.Index, store: str) -> list[Any]:
    """Everything that an index can be asked."""
    found = [
        len(index), list(index), index.query(TEXTS).to_pydict(), index.query(TEXTS, k=4).to_pydict(),
        [index.similar_to(id).to_pydict() for id in list(TEXTS)[:20]], index.verify(), "d1" in index,
    ]  # fmt: skip
    return [*found, index.texts(list(TEXTS))] if store == "text" else found


@pytest.mark.parametrize("store", ["text", "shingles", "none"])
def test_format_1(place: Place, store: str) -> None:
    new, old = place.new(), place.new()
    words = {"seed": 3, "shingle": "word:2", "threshold": 0.6, "store": store}
    with twinset.Index.create(new, **words) as index:
        index.add(TEXTS)
        expected = answered(index, store)
        settings = index.settings.to_rows()
    make_old(place, new, old, settings)
    for _ in range(2):
        with twinset.Index.open(old, read_only=True, **words) as index:
            assert index.stats()["format"] == 1
            assert answered(index, store) == expected
            with pytest.raises(StateError, match="opened read-only"):
                index.add(["new"], ["text"])
    with pytest.raises(StateError, match=r"older format 1; open it read-only, or .* twinset index migrate") as raised:
        twinset.Index.open(old)
    assert type(raised.value) is StateError
    assert twinset.Index.migrate(old) == 1
    assert twinset.Index.migrate(old) == FORMAT
    with twinset.Index.open(old, **words) as index:
        assert index.stats()["format"] == FORMAT
        assert answered(index, store) == expected
        assert index.add(["new"], ["a document of the new time"]).added == 1
        assert index.update({"d1": "other"}).replaced == 1
        assert index.remove(["d2"]) == 1
        index.compact()
        assert index.verify() == []
        assert len(index) == len(TEXTS)


def test_an_older_format_can_be_exported(place: Place, tmp_path: Any) -> None:
    new, old, again = place.new(), place.new(), place.new()
    with twinset.Index.create(new, seed=3, shingle="word:2", threshold=0.6) as index:
        index.add(TEXTS)
        expected = answered(index, "text")
        settings = index.settings.to_rows()
    make_old(place, new, old, settings)
    with twinset.Index.open(old, read_only=True) as index:
        assert index.export(tmp_path / "old.parquet") == len(TEXTS)
    twinset.Index.import_from(tmp_path / "old.parquet", again).close()
    with twinset.Index.open(again) as index:
        assert index.stats()["format"] == FORMAT
        assert answered(index, "text") == expected


def aged(place: Place) -> str:
    """An index of format 1."""
    new, old = place.new(), place.new()
    with twinset.Index.create(new, seed=3, shingle="word:2", threshold=0.6) as index:
        index.add(TEXTS)
        settings = index.settings.to_rows()
    make_old(place, new, old, settings)
    return old


def test_a_migration_that_fails_changes_nothing(place: Place) -> None:
    old = aged(place)

    def stopped() -> None:
        backend = open_backend(old, read_only=False)
        with closing(backend), backend.writer(0, "migrating"), backend.transaction():
            backend.migrate()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    with twinset.Index.open(old, read_only=True) as index:
        assert index.stats()["format"] == 1
        assert list(index) == list(TEXTS)
        assert index.verify() == []
    assert twinset.Index.migrate(old) == 1
    with twinset.Index.open(old) as index:
        assert index.verify() == []


def test_a_migration_while_the_older_format_is_read(place: Place) -> None:
    old = aged(place)
    with twinset.Index.open(old, read_only=True) as index:
        if place.kind == "sqlite":
            assert twinset.Index.migrate(old) == 1
            for act in (lambda: index.query(TEXTS), index.verify):
                with pytest.raises(StateError, match="changed by another process; open it again"):
                    act()
        else:
            with pytest.raises(BusyError, match=r"another program uses the tables: .*; try again later"):
                twinset.Index.migrate(old)
            assert index.verify() == []
            assert list(index) == list(TEXTS)
    assert twinset.Index.migrate(old) == (FORMAT if place.kind == "sqlite" else 1)
    with twinset.Index.open(old) as index:
        assert index.verify() == []
        assert list(index) == list(TEXTS)


def test_damage_after_a_migration_is_damage(tmp_path: Path) -> None:
    old = aged(Files(tmp_path))
    with twinset.Index.open(old, read_only=True) as index:
        assert twinset.Index.migrate(old) == 1
        Path(old).write_bytes(b"\xa5" * Path(old).stat().st_size)
        with pytest.raises(DamagedError, match="restore a backup"):
            index.query(TEXTS)
        assert len(index.verify()) == 1


def test_a_migration_between_two_looks_at_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = aged(Files(tmp_path))
    done: list[int] = []

    def meddling(db: apsw.Connection) -> None:
        def at(event: dict[str, Any]) -> None:
            if "sqlite_schema" in (event["sql"] or "") and not done:
                done.append(0)
                done[0] = twinset.Index.migrate(old)

        db.trace_v2(apsw.SQLITE_TRACE_STMT, at)

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, meddling])
    with twinset.Index.open(old, read_only=True) as index:
        assert done == [1]
        with pytest.raises(StateError, match="open it again"):
            index.query(TEXTS)
    with twinset.Index.open(old) as index:
        assert index.verify() == []


def test_the_tables_of_format_1_never_change() -> None:
    assert tables.TABLES[1] == FORMAT_1
