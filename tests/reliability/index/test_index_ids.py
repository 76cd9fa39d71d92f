"""Ids that are tricks come back as they were, in every back end, and nothing else happens."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

import twinset
from tests.reliability.index.index_work import OPTIONS, text_of
from tests.reliability.input.test_names import IDS

INJECTIONS = [
    "'); DELETE FROM documents; --", "'; DROP TABLE documents CASCADE; --", '"; DROP SCHEMA twinset CASCADE; --',
    "' OR '1'='1", "1; SELECT pg_sleep(10)", "$$; DROP TABLE bands; $$", "\\'; DROP TABLE sketches; --", "{}", "{a,b}",
    '{"a","b\\\\"}', "NULL", "%s", "%(id)s", "%%", "?1", ":id", "@id", "\\x00ff", "\\N", "\\.", "a\tb", "/*", "--",
    "x'00'", "E'\\\\0'", "U&'\\0000'", "$1",
    "COPY documents FROM '/etc/passwd'", "ATTACH DATABASE '/tmp/x' AS y", "PRAGMA x",
]  # fmt: skip
SHAPES = [
    "\0", "\0\0", "a\0", "a\0b", "a", "A", "a ", " a", "a\u0301", "á", "Á", "ß", "ss", "ﬁ", "fi", "İ", "i", "\uffff",
    "\uffff0", "\uffff1", "\uffff\0", "\0\uffff", "\uffff\uffff", "\ufffe", "\U0010ffff",
    "\ue000", "\u200b", "\u202e", "0", "00",
    "1e3", "1000", "9" * 1024, "é" * 512, "😀" * 256, "\U0010ffff" * 256, "\0" * 1024, "\uffff" * 341,
]  # fmt: skip


def all_ids() -> list[str]:
    dice = random.Random(1)
    odd = ["".join(chr(dice.choice((0, 34, 37, 39, 92, 0xFFFF, 0x10FFFF, 97))) for _ in range(8)) for _ in range(60)]
    return list(dict.fromkeys([*IDS, *INJECTIONS, *SHAPES, *odd]))


def test_ids_come_back_as_they_were(index_url: str, tmp_path: Path) -> None:
    ids = all_ids()
    texts = [text_of(number // 2, number) for number in range(len(ids))]
    with twinset.Index.create(index_url, **OPTIONS) as index:
        index.add(ids, texts)
        index.add(["bystander"], ["nothing happens to this one at all"])
        assert list(index) == [*ids, "bystander"]
        assert index.texts(ids) == texts
        assert all(id in index for id in ids)
        assert not any(id + "'" in index for id in ids)
        for number, id in enumerate(ids):
            others = index.similar_to(id, k=1).column("id").to_pylist()
            assert others == [ids[number ^ 1]] if number ^ 1 < len(ids) else True
        found = index.query(dict(zip(ids, texts, strict=True)), k=1)
        assert found.column("query").to_pylist() == ids
        assert found.column("id").to_pylist() == ids
        assert index.verify() == []
        index.export(tmp_path / "out.parquet")
        assert index.update(ids[:50], [text + " more" for text in texts[:50]]).replaced == 50
        assert list(index) == [*ids[50:], "bystander", *ids[:50]]
        assert index.remove(ids) == len(ids)
        assert list(index) == ["bystander"]
        assert index.verify() == []
    with twinset.Index.import_from(tmp_path / "out.parquet", tmp_path / "again.twinset") as again:
        assert list(again) == [*ids, "bystander"]
        assert again.texts(ids) == texts


@pytest.mark.parametrize("id", ["x" * 1025, "é" * 513, "\ud800", "a\udfffb"])
def test_ids_that_cannot_be_are_refused(index_url: str, id: str) -> None:
    with twinset.Index.create(index_url, **OPTIONS) as index:
        index.add(["bystander"], ["some text"])
        for change in (index.add, index.update):
            with pytest.raises(twinset.SourceError, match="the id"):
                change(["good", id], ["one", "two"])
        assert id not in index
        assert list(index) == ["bystander"]


SCHEMAS = [
    'x"; DROP SCHEMA twinset CASCADE; --', "x'; DROP SCHEMA twinset CASCADE; --", "public; --", "%s", "{}", "a b",
    '""', "é", "x" * 63, ".", "SELECT", "Twinset",
]  # fmt: skip


def test_names_of_schemas_that_are_tricks(postgres_url: str) -> None:
    twinset.Index.create(postgres_url, **OPTIONS).close()
    for number, schema in enumerate(SCHEMAS):
        url = f"{postgres_url}&schema={quote(schema, safe='')}"
        with twinset.Index.create(url, **OPTIONS) as index:
            index.add([str(number)], [text_of(number, 1)])
            index.compact()
        with twinset.Index.open(url) as index:
            assert list(index) == [str(number)]
            assert index.verify() == []
            assert index.stats()["schema"] == schema
    with psycopg.connect(postgres_url) as db:
        rows = db.execute("SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_|public$)'")
        assert {name for (name,) in rows.fetchall()} == {*SCHEMAS, "twinset"}
    with twinset.Index.open(postgres_url) as index:
        assert list(index) == []


@pytest.mark.parametrize("schema", ["", "$user", "pg_catalog", "pg_temp", "x" * 64, "é" * 32, "a\0b"])
def test_names_of_schemas_that_cannot_be_are_refused(postgres_url: str, schema: str) -> None:
    for make in (twinset.Index.create, twinset.Index.open):
        with pytest.raises(twinset.OptionError, match=r"schema is|named by a path or a URL"):
            make(f"{postgres_url}&schema={quote(schema, safe='')}")
