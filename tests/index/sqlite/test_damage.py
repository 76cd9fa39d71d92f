"""`verify` finds every kind of damage that plain SQL can do, and no damage becomes a wrong answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests.index.conftest import Files, Place
from tests.index.corpora import words
from twinset.errors import DamagedError, TwinsetError
from twinset.index.kinds.pack_text import pack

TEXTS = {f"d{number}": " ".join(words(30, f"w{number // 3}x") + words(3, f"v{number}x")) for number in range(30)} | {
    "empty": ""
}
SECOND = "(SELECT number FROM documents WHERE id = 'd2')"
STORES = ("text", "shingles", "none")

# What is done, in which kinds of index, and what verify has to say of it.
DAMAGE: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a band row is gone": (f"DELETE FROM bands WHERE document = {SECOND} AND key = (SELECT max(key) FROM bands WHERE "
                           f"document = {SECOND})", STORES, "a band row is missing: 'd2'"),
    "all band rows of a document are gone": (f"DELETE FROM bands WHERE document = {SECOND}", STORES, "missing: 'd2'"),
    "all band rows are gone": ("DELETE FROM bands", STORES, "0 are stored, 480 are expected"),
    "a band row has another key": ("UPDATE bands SET key = (SELECT max(key) FROM bands) / 2 WHERE document = 3 AND key "
                                   "= (SELECT min(key) FROM bands WHERE document = 3)", STORES, "missing: 'd2'"),
    "a band row leads to another document": ("UPDATE bands SET document = 30 WHERE document = 3 AND key = (SELECT "
                                             "min(key) FROM bands WHERE document = 3)", STORES, "missing: 'd2'"),
    "a band row is too many": ("INSERT INTO bands VALUES (5, 3)", STORES, "481 are stored, 480 are expected"),
    "a band row leads nowhere": ("INSERT INTO bands VALUES (5, 777)", STORES, "481 are stored, 480 are expected"),
    "an empty document has a band row": ("INSERT INTO bands VALUES (5, 31)", STORES, "481 are stored, 480 are"),
    "two band rows were exchanged": ("UPDATE bands SET document = 33 - document WHERE document IN (3, 30) AND key IN "
                                     "(SELECT min(key) FROM bands WHERE document IN (3, 30) GROUP BY document)", STORES,
                                     "the band rows are wrong: 480 are stored, 480 are expected"),
    "a sketch is gone": ("DELETE FROM sketches WHERE document = 3", STORES, "1 documents without a sketch"),
    "a sketch is another's": ("UPDATE sketches SET slots = (SELECT slots FROM sketches WHERE document = 9) WHERE "
                              "document = 3", STORES, "are stored, 480 are expected"),
    "a count is wrong": ("UPDATE sketches SET shingles = shingles + 1 WHERE document = 3", ("text", "shingles"),
                         "the number of shingles does not match the stored .*: 'd2'"),
    "a count says empty": ("UPDATE sketches SET shingles = 0 WHERE document = 3", STORES, "464 are expected"),
    "a count is no count": ("UPDATE sketches SET shingles = -1 WHERE document = 3", STORES,
                            "stored sketches are not valid"),
    "a sketch is too short": ("UPDATE sketches SET slots = substr(slots, 1, 500) WHERE document = 3", STORES,
                              "stored sketches are not valid"),
    "a sketch is no sketch": ("UPDATE sketches SET slots = substr(slots, 1, 501) WHERE document = 3", STORES,
                              "stored sketches are not valid"),
    "all sketches are too short": ("UPDATE sketches SET slots = substr(slots, 1, 256)", STORES, "the 128 slots of"),
    "a document is gone": ("DELETE FROM documents WHERE id = 'd2'", STORES, "1 sketches without a document"),
    "hashes without a document": ("DELETE FROM documents WHERE id = 'd2'", ("shingles",), "1 shingles without a doc"),
    "hashes are gone": ("DELETE FROM shingles WHERE document = 3", ("shingles",), "documents lack contents, or"),
    "some hashes are gone": ("UPDATE shingles SET hashes = substr(hashes, 9) WHERE document = 3", ("shingles",),
                             "the number of shingles does not match the stored shingles: 'd2'"),
    "hashes are cut": ("UPDATE shingles SET hashes = substr(hashes, 1, 20) WHERE document = 3", ("shingles",),
                       "its stored shingles cannot be read: 'd2'"),
    "hashes are another's": ("UPDATE shingles SET hashes = (SELECT hashes FROM shingles WHERE document = 9) WHERE "
                             "document = 3", ("shingles",), "the sketch does not match the stored shingles: 'd2'"),
    "a text is gone": ("UPDATE documents SET text = NULL WHERE id = 'd2'", ("text",), "cannot be read: 'd2'"),
    "a text is another's": ("UPDATE documents SET text = (SELECT text FROM documents WHERE id = 'd9') WHERE id = 'd2'",
                            ("text",), "the sketch does not match the stored text: 'd2'"),
    "a text is cut": ("UPDATE documents SET text = substr(text, 1, 40) WHERE id = 'd2'", ("text",),
                      "its stored text cannot be read: 'd2'"),
    "a text is there that is not kept": ("UPDATE documents SET text = (SELECT slots FROM sketches WHERE document = 3) "
                                         "WHERE id = 'd2'", ("none",), "contents that an index with store 'none' does"),
}  # fmt: skip


def made(place: Place, store: str) -> str:
    where = place.new()
    with twinset.Index.create(where, seed=1, shingle="word:1", threshold=0.8, store=store) as index:
        index.add(TEXTS)
        assert (index.plan.n_hashes, index.plan.n_bands) == (128, 16)
        assert index.verify() == []
    return where


@contextmanager
def damaged(index: twinset.Index, statement: str, *values: Any) -> Iterator[None]:
    """Damage for a while: in a transaction of the index's own connection, which is rolled back."""
    db = index._backend._db  # type: ignore[attr-defined]
    db.execute("BEGIN")
    try:
        db.execute(statement.replace("?", "%s") if "psycopg" in type(db).__module__ else statement, values or None)
        yield
    finally:
        db.execute("ROLLBACK")


def found(index: twinset.Index) -> list[str]:
    """What verify says; whatever else is asked is answered, or refused in our own words."""
    said = index.verify()
    asks = (
        lambda: index.query(TEXTS), lambda: index.query(TEXTS, k=3), lambda: index.query(TEXTS["d2"]), index.stats,
        lambda: [index.similar_to(id) for id in ("d1", "d2", "d3") if id in index], lambda: list(index),
        lambda: index.texts(list(index)),
    )  # fmt: skip
    for ask in asks:
        with suppress(TwinsetError):
            ask()
    return said


@pytest.mark.parametrize("store", STORES)
def test_every_kind_of_damage_is_found(place: Place, store: str) -> None:
    unseen = {}
    with twinset.Index.open(made(place, store)) as index:
        for name, (statement, stores, expected) in DAMAGE.items():
            if store in stores:
                with damaged(index, statement):
                    said = found(index)
                if not any(re.search(expected, line) for line in said):
                    unseen[name] = said
        assert unseen == {}
        assert index.verify() == []


@pytest.mark.parametrize("store", STORES)
def test_damage_that_another_program_did(place: Place, store: str) -> None:
    """The same, but done by another program for good; the file's own checksums are right."""
    for name in ("a band row is gone", "a count says empty", "a sketch is too short"):
        where = made(place, store)
        place.run(where, DAMAGE[name][0])
        with twinset.Index.open(where) as index:
            assert any(re.search(DAMAGE[name][2], line) for line in found(index)), name


@pytest.mark.parametrize("store", STORES)
def test_changing_what_is_damaged(place: Place, store: str) -> None:
    """It works, or it is refused and changes nothing."""
    for statement in ("DELETE FROM sketches WHERE document = 3", "UPDATE sketches SET slots = substr(slots, 1, 500)"):
        where = made(place, store)
        place.run(where, statement)
        with twinset.Index.open(where) as index:
            for change in (lambda index=index: index.update({"d2": "other"}), lambda index=index: index.remove("d2")):
                with pytest.raises(DamagedError, match=r"run twinset index verify|stored sketches are not valid"):
                    change()
            assert list(index) == list(TEXTS)
            assert index.add(["new"], ["text"]).added == 1


@pytest.mark.parametrize("store", ["text", "shingles"])
def test_a_slot_that_no_band_has_is_checked_too(place: Place, store: str) -> None:
    where = made(place, store)
    [(slots,)] = place.run(where, "SELECT slots FROM sketches WHERE document = 3")
    changed = bytearray(slots)
    changed[-1] ^= 1  # of the last of 128 slots, of which 96 are in bands
    with (
        twinset.Index.open(where) as index,
        damaged(index, "UPDATE sketches SET slots = ? WHERE document = 3", bytes(changed)),
    ):
        assert found(index) == [f"the sketch does not match the stored {store}: 'd2'"]


def test_texts_that_are_no_texts(place: Place) -> None:
    wrong = (b"", b"\x02other", b"\x01\xff\xff\xff\xff" + b"x" * 20, b"\x00caf\xe9", pack(b"caf\xe9 noir " * 50))
    with twinset.Index.open(made(place, "text")) as index:
        for one in wrong:
            with damaged(index, "UPDATE documents SET text = ? WHERE id = 'd2'", one):
                assert found(index)[0] == "its stored text cannot be read: 'd2'"


def test_sqlite_keys_and_numbers_that_no_document_has(tmp_path: Path) -> None:
    """PostgreSQL's columns hold 32 bits; SQLite's hold 64."""
    with twinset.Index.open(made(Files(tmp_path), "none")) as index:
        for change in ("key = key + 4294967296", "document = document + 4294967296", "document = -document"):
            with damaged(index, f"UPDATE bands SET {change} WHERE document = 3"):
                assert re.search(r"the band rows are wrong|hold values of wrong types", found(index)[0])


def test_much_damage_is_told_in_few_lines(place: Place) -> None:
    with twinset.Index.open(made(place, "text")) as index:
        with damaged(index, "UPDATE sketches SET shingles = shingles + 1"):
            said = found(index)
        assert len(said) == 21
        assert said[-1] == "and 11 more so far"
        with damaged(index, "DELETE FROM bands"):
            assert 1 < len(found(index)) <= 20


def test_damage_never_gives_a_wrong_answer(place: Place) -> None:
    """Where bands lead to a document that is not there, its neighbours are not mistaken for it."""
    lost = {
        "DELETE FROM documents WHERE number = 3": STORES,
        "DELETE FROM sketches WHERE document = 3": STORES,
        "DELETE FROM shingles WHERE document = 3": ("shingles",),
    }
    for store in STORES:
        with twinset.Index.open(made(place, store)) as index:
            asks = (lambda index=index: index.query(TEXTS["d1"]), lambda index=index: index.query(TEXTS, k=3))
            for statement, stores in lost.items():
                with damaged(index, statement):
                    for ask in asks if store in stores else ():
                        with pytest.raises(DamagedError):
                            ask()
