"""An index of records or of weighted sets: changed, reopened, exported, damaged; other versions refuse it."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow.parquet as pq
import pytest

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.kinds.column_sources import KINDS, Columns
from tests.index.sqlite.test_damage import damaged
from twinset.errors import DamagedError, DuplicateIdError, StateError


@pytest.fixture(params=["lists", "records"])
def kind(request: pytest.FixtureRequest) -> Columns:
    """Each kind by turns."""
    return KINDS[request.param]


def answered(index: twinset.Index, documents: dict[str, Any]) -> list[Any]:
    asks = (index.query(documents), index.query(documents, k=3), *(index.similar_to(id, k=2) for id in list(index)[:5]))
    return [list(index), *(table.to_pydict() for table in asks)]


@pytest.mark.parametrize("store", ["text", "shingles"])
def test_added_changed_removed_reopened(place: Place, tmp_path: Path, kind: Columns, store: str) -> None:
    where, options = place.new(), {**kind.options, "threshold": 0.5, "store": store}
    ids, items = list(kind.documents), list(kind.documents.values())
    with twinset.Index.create(where, seed=1, **options) as index:
        assert index.add(ids[:40], items[:40]).added == 40
        assert index.add(ids, items).unchanged == 40
        assert index.add(kind.documents).unchanged == len(ids)
        with pytest.raises(DuplicateIdError, match=r"and another (weighted set|record); replace it"):
            index.add(ids[:1], items[1:2])
        index.query(kind.documents, k=2)
        assert index.update(ids[:2], [items[9], items[1]]).replaced == 1
        assert ids[0] in index.query(items[9], k=2)["id"].to_pylist()
        assert index.remove([ids[9], ids[3]]) == 2
        assert ids[9] not in index.query(items[9], k=1000)["id"].to_pylist()
        assert index.verify() == []
        index.compact()
        before = answered(index, kind.documents)
        index.export(tmp_path / "a.parquet")
    with twinset.Index.open(where, read_only=True, **options) as index:
        assert answered(index, kind.documents) == before
        assert index.verify() == []
        assert index.stats()["format"] == 6
    content = {"text": "text", "shingles": "hashes"}[store]
    assert pq.read_schema(tmp_path / "a.parquet").names == ["id", content, "shingles", "slots"]
    with twinset.Index.import_from(tmp_path / "a.parquet", place.new()) as again:
        assert answered(again, kind.documents) == before
        assert again.verify() == []
        again.export(tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert twinset.Index.migrate(where) == 6


DAMAGE = {
    "DELETE FROM bands WHERE document = 3": "missing: ",
    "DELETE FROM sketches WHERE document = 3": "1 documents without a sketch",
    "UPDATE sketches SET shingles = shingles + 1 WHERE document = 3": "the number of shingles does not match",
    "UPDATE sketches SET slots = (SELECT slots FROM sketches WHERE document = 9) WHERE document = 3": "sketch does not",
}
CONTENTS = {
    "text": {
        "UPDATE documents SET text = NULL WHERE number = 3": "its stored text cannot be read",
        "UPDATE documents SET text = ? WHERE number = 3": "its stored text cannot be read",
        "UPDATE documents SET text = (SELECT text FROM documents WHERE number = 9) WHERE number = 3": "does not match",
    },
    "shingles": {
        "DELETE FROM shingles WHERE document = 3": "its stored shingles cannot be read",
        "UPDATE shingles SET hashes = substr(hashes, 1, 12) WHERE document = 3": "its stored shingles cannot be read",
        "UPDATE shingles SET hashes = (SELECT hashes FROM shingles WHERE document = 9) WHERE document = 3": "does not",
    },
}


@pytest.mark.parametrize("store", ["text", "shingles"])
def test_damage_is_found_and_never_answers(new_index: NewIndex, kind: Columns, store: str) -> None:
    index = new_index(**kind.options, threshold=0.5, store=store)
    index.add(list(kind.documents), list(kind.documents.values()))
    third = list(kind.documents)[2]
    right, nearest = index.query(kind.documents).to_pylist(), index.query(kind.documents, k=3).to_pylist()
    unseen, wrong = {}, b'\0{"name": [7]}'
    for statement, expected in {**DAMAGE, **CONTENTS[store]}.items():
        with damaged(index, statement, *([wrong] if "?" in statement else [])):
            said = index.verify()
            answers, near = right, nearest
            with suppress(DamagedError):
                answers = index.query(kind.documents).to_pylist()
                near = index.query(kind.documents, k=3).to_pylist()
        if not any(re.search(expected, line) for line in said):
            unseen[statement] = said
        if "document = 9" not in statement and "number = 9" not in statement:
            for found, known in ((answers, right), (near, nearest)):
                others = [row for row in found if third not in (row["id"], row["query"])]
                assert all(row in known for row in others), statement
    assert unseen == {}
    assert index.verify() == []


def test_a_stored_set_that_is_no_list(new_index: NewIndex) -> None:
    index = new_index(items="movies", threshold=0.5)
    index.add(["a", "b", "c"], [["Ran", "Alien"], ["Ran", "Alien", "Babe"], ["Ponyo"]])
    for wrong in (b'\0["Ran', b'\0["Ran", {}]'):
        with damaged(index, "UPDATE documents SET text = ? WHERE number = 2", wrong):
            assert any("its stored text cannot be read" in line for line in index.verify())
            for k in (None, 3):
                with pytest.raises(DamagedError, match="the content of a document is damaged: ") as raised:
                    index.query([["Ran", "Alien"]], k=k)
                assert str(raised.value).startswith(f"{index.name}: ")
    assert index.verify() == []


def test_stored_weights_that_are_none(new_index: NewIndex) -> None:
    """Hashes out of order, or a weight of 0, are damage and no answer."""
    kind = KINDS["lists"]
    index = new_index(**kind.options, threshold=0.5, store="shingles")
    index.add(kind.documents)
    stored = index._backend.documents(np.array([3]), contents=True)[0].content or b""
    for change in (stored[:8] + bytes(8) + stored[16:], stored[16:32] + stored[:16] + stored[32:]):
        with damaged(index, "UPDATE shingles SET hashes = ? WHERE document = 3", change):
            assert any("its stored shingles cannot be read" in line for line in index.verify())
            with pytest.raises(DamagedError, match="stored hashes and weights"):
                index.query(kind.documents, k=3)
    assert index.verify() == []


def test_other_versions_and_settings_refuse_it(place: Place, kind: Columns) -> None:
    where = place.new()
    twinset.Index.create(where, **kind.options).close()
    [(value,)] = place.run(where, "SELECT value FROM settings WHERE name = 'options'")
    options = orjson.loads(value)
    for format, text in (("4", value), ("5", value), ("6", orjson.dumps({**options, "weight": "w"}).decode())):
        if format == "6" and "weight" in options:
            text = orjson.dumps({name: one for name, one in options.items() if name != "weight"}).decode()
        place.run(where, "UPDATE settings SET value = ? WHERE name = 'format'", format)
        place.run(where, "UPDATE settings SET value = ? WHERE name = 'options'", text)
        with pytest.raises(DamagedError, match="the settings of the index are damaged"):
            twinset.Index.open(where)
    place.run(where, "UPDATE settings SET value = '7' WHERE name = 'format'")
    with pytest.raises(StateError, match="knows formats up to 6"):
        twinset.Index.open(where)
