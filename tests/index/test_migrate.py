"""An index of an older format is read as it is, never written to, and brought up to date by `migrate`."""

from __future__ import annotations

import json
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
FORMAT_2 = FORMAT_1 | {
    "documents": "CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text BLOB) STRICT",
    "sketches": (
        "CREATE TABLE sketches (document INTEGER PRIMARY KEY, shingles INTEGER NOT NULL, slots BLOB NOT NULL) STRICT"
    ),
}
DOCUMENTS = (
    "SELECT d.number, d.id, s.shingles, d.text FROM documents AS d JOIN sketches AS s ON s.document = d.number "
    "ORDER BY d.number"
)
COPIES = {
    1: {
        "documents (number, id, shingles, text)": DOCUMENTS,
        "shingles (document, hashes)": "SELECT document, hashes FROM shingles",
        "sketches (document, slots)": "SELECT document, slots FROM sketches",
        "bands (key, document)": "SELECT key, document FROM bands",
    },
    2: {
        "documents (number, id, text)": "SELECT number, id, text FROM documents ORDER BY number",
        "shingles (document, hashes)": "SELECT document, hashes FROM shingles",
        "sketches (document, shingles, slots)": "SELECT document, shingles, slots FROM sketches",
        "bands (key, document)": "SELECT key, document FROM bands",
    },
}
NEW_OPTIONS = ("contained", "passages")


def make_old(place: Place, new: str, old: str, settings: dict[str, str], format: int = 1) -> None:
    """Write what an index of today holds as an older format had it; 3 is 2 with codes, vectors or pictures."""
    options = {name: value for name, value in json.loads(settings["options"]).items() if name not in NEW_OPTIONS}
    rows = {**settings, "format": str(format), "options": json.dumps(options)}
    if place.kind == "sqlite":
        tables.create(old, "cksmvfs", rows, min(format, 2))
    else:
        from twinset.index.postgres.backend import PostgresBackend

        PostgresBackend.create(old, rows, min(format, 2)).close()
    for table, statement in COPIES[min(format, 2)].items():
        found = place.run(new, statement)
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
    if store != "none":
        found.append(index.query(TEXTS, contained=0.6).to_pydict())
    return [*found, index.texts(list(TEXTS))] if store == "text" else found


@pytest.mark.parametrize("format", [1, 2])
@pytest.mark.parametrize("store", ["text", "shingles", "none"])
def test_older_formats(place: Place, store: str, format: int) -> None:
    new, old = place.new(), place.new()
    words = {"seed": 3, "shingle": "word:2", "threshold": 0.6, "store": store}
    with twinset.Index.create(new, **words) as index:
        index.add(TEXTS)
        expected = answered(index, store)
        settings = index.settings.to_rows()
    make_old(place, new, old, settings, format)
    for _ in range(2):
        with twinset.Index.open(old, read_only=True, **words) as index:
            assert index.stats()["format"] == format
            assert not {"anchors", "samples"} & {name for name, size in index.stats()["bytes"].items() if size}
            assert answered(index, store) == expected
            with pytest.raises(StateError, match="opened read-only"):
                index.add(["new"], ["text"])
    with pytest.raises(StateError, match=rf"older format {format}; open it read-only, or .* index migrate") as raised:
        twinset.Index.open(old)
    assert type(raised.value) is StateError
    assert twinset.Index.migrate(old) == format
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


def test_codes_of_format_3(place: Place) -> None:
    new, old = place.new(), place.new()
    codes = {f"c{number}": number.to_bytes(8, "big") for number in range(60)}
    with twinset.Index.create(new, codes="code", seed=3) as index:
        index.add(list(codes), list(codes.values()))
        expected = index.query(list(codes.values())).to_pydict()
        settings = index.settings.to_rows()
    make_old(place, new, old, settings, 3)
    with twinset.Index.open(old, read_only=True) as index:
        assert index.stats()["format"] == 3
        assert index.query(list(codes.values())).to_pydict() == expected
        assert index.verify() == []
    with pytest.raises(StateError, match="older format 3"):
        twinset.Index.open(old)
    assert twinset.Index.migrate(old) == 3
    with twinset.Index.open(old) as index:
        assert index.stats()["format"] == FORMAT
        assert index.query(list(codes.values())).to_pydict() == expected
        assert index.add(["new"], [b"12345678"]).added == 1
        assert index.verify() == []


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


def aged(place: Place, format: int = 1) -> str:
    """An index of an older format."""
    new, old = place.new(), place.new()
    with twinset.Index.create(new, seed=3, shingle="word:2", threshold=0.6) as index:
        index.add(TEXTS)
        settings = index.settings.to_rows()
    make_old(place, new, old, settings, format)
    return old


@pytest.mark.parametrize("format", [1, 2])
def test_a_migration_that_fails_changes_nothing(place: Place, format: int) -> None:
    old = aged(place, format)

    def stopped() -> None:
        backend = open_backend(old, read_only=False)
        with closing(backend), backend.writer(0, "migrating"), backend.transaction():
            backend.migrate()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    with twinset.Index.open(old, read_only=True) as index:
        assert index.stats()["format"] == format
        assert list(index) == list(TEXTS)
        assert index.verify() == []
    assert twinset.Index.migrate(old) == format
    with twinset.Index.open(old) as index:
        assert index.verify() == []


def test_readers_of_format_2_go_on_while_it_is_migrated(place: Place) -> None:
    old = aged(place, 2)
    with twinset.Index.open(old, read_only=True) as reader:
        expected = answered(reader, "text")
        assert twinset.Index.migrate(old) == 2
        assert answered(reader, "text") == expected
        with twinset.Index.open(old) as index:
            assert index.add(["new"], [TEXTS["d1"]]).added == 1
        assert "new" in reader.query(TEXTS["d1"])["id"].to_pylist()
        assert reader.verify() == []


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


def test_the_tables_of_older_formats_never_change() -> None:
    assert tables.TABLES[1] == FORMAT_1
    assert tables.TABLES[2] == FORMAT_2
