"""An index of codes, vectors or pictures lives as one of texts does: added to, changed, exported, damaged, reopened."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.sqlite.test_damage import damaged
from twinset.errors import DamagedError, DuplicateIdError, OptionError, SourceError, StateError, TwinsetError

RNG = np.random.default_rng(9)
CODES = RNG.integers(0, 2**64, 60, np.uint64)
VECTORS = RNG.standard_normal((60, 12)).astype(np.float32)
CODES[30:] = CODES[:30] ^ np.uint64(5)
VECTORS[30:] = VECTORS[:30] + 0.05
KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "codes": ({"codes": "c", "distance": 3}, CODES),
    "cosine": ({"vectors": "v", "threshold": 0.9}, VECTORS),
    "distance": ({"vectors": "v", "distance": 0.5}, VECTORS),
}
IDS = [f"d{row}" for row in range(60)]


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> tuple[dict[str, Any], Any]:
    """Each kind of index by turns: its options, and what it holds."""
    return KINDS[request.param]


def answered(index: twinset.Index, items: Any) -> list[Any]:
    asks = (index.query(items), index.query(items, k=3), *(index.similar_to(id, k=2) for id in list(index)[:5]))
    return [list(index), *(table.to_pydict() for table in asks)]


def test_added_changed_removed_reopened(place: Place, kind: tuple[dict[str, Any], Any]) -> None:
    words, items = kind
    where = place.new()
    with twinset.Index.create(where, seed=1, **words) as index:
        assert index.add(IDS[:40], items[:40]).added == 40
        assert index.add(IDS, items).unchanged == 40
        assert "d30" in index.query(items[0]).column("id").to_pylist()
        with pytest.raises(DuplicateIdError, match=r"and another (code|vector); replace it"):
            index.add(["d0"], items[1:2])
        assert index.update(["d0", "d1"], items[[5, 1]]).replaced == 1
        found = index.query(items[5]).column("id").to_pylist()
        assert {"d0", "d5", "d35"} <= set(found)
        assert "d0" not in index.query(items[30]).column("id").to_pylist()
        assert index.remove(["d5", "d35"]) == 2
        assert not {"d5", "d35"} & set(index.query(items[5]).column("id").to_pylist())
        assert index.verify() == []
        index.compact()
        before = answered(index, items)
    with twinset.Index.open(where, read_only=True, **words) as index:
        assert answered(index, items) == before
        assert len(index) == 58
        assert index.verify() == []
        assert index.stats()["plan"]["reached"] >= 0.99
    other = {"distance": 4} if "codes" in words else {"recall": 0.5}
    with pytest.raises(OptionError, match="but the index was made with"):
        twinset.Index.open(where, **other, **({"codes": "c"} if "codes" in words else {"vectors": "v"}))


def test_there_and_back(place: Place, new_index: NewIndex, tmp_path: Path, kind: tuple[dict[str, Any], Any]) -> None:
    words, items = kind
    index = new_index(**words)
    index.add(IDS, items)
    index.remove(["d3"])
    index.export(tmp_path / "a.parquet")
    assert pq.read_schema(tmp_path / "a.parquet").names == ["id", "shingles", "slots"]
    with twinset.Index.import_from(tmp_path / "a.parquet", place.new()) as again:
        assert answered(again, items) == answered(index, items)
        assert again.verify() == []
        again.export(tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_empty_ones_that_come_first(place: Place, tmp_path: Path, kind: tuple[dict[str, Any], Any]) -> None:
    """They are kept before it is known how large the others are, and are like nothing."""
    words, items = kind
    where = place.new()
    with twinset.Index.create(where, **words) as index:
        assert index.add(["none", "nothing"], [None, None]).empty == 2
        assert index.plan is None
        assert index.query(items[0], k=5).num_rows == 0
        assert index.verify() == []
        index.export(tmp_path / "none.parquet")
        with twinset.Index.import_from(tmp_path / "none.parquet", place.new()) as again:
            assert list(again) == ["none", "nothing"]
            assert again.add(IDS, items).added == 60
            assert again.verify() == []
        index.add(IDS, items)
        assert index.remove(["none"]) == 1
        assert index.update(["nothing"], items[:1]).replaced == 1
        assert index.add(["none"], [None]).added == 1
        assert "nothing" in index.query(items[0]).column("id").to_pylist()
        assert index.similar_to("none", k=3).num_rows == 0
        assert index.verify() == []


def test_what_the_first_ones_tell_is_seen_by_others(place: Place, kind: tuple[dict[str, Any], Any]) -> None:
    """Who opened the index before the first were added asks as if it had been later; a failed call tells nothing."""
    words, items = kind
    where = place.new()
    with twinset.Index.create(where, **words) as writer, twinset.Index.open(where, read_only=True) as reader:
        assert reader.query(items[0]).num_rows == 0
        with pytest.raises(TwinsetError):
            writer.add(["a", "a"], items[:2])
        assert writer.plan is None
        with twinset.Index.open(where) as other:
            other.add(IDS[:40], items[:40])
        assert "d30" in reader.query(items[0]).column("id").to_pylist()
        assert writer.add(IDS[40:], items[40:]).added == 20
        assert writer.plan == reader.plan
        assert reader.verify() == []
        with pytest.raises(SourceError, match="and those of the index have"):
            writer.add(["x"], [[1.0, 2.0]] if "vectors" in words else [b"\0\1"])


DAMAGE = {
    "DELETE FROM bands WHERE document = 3": "missing: 'd2'",
    "DELETE FROM sketches WHERE document = 3": "1 documents without a sketch",
    "UPDATE sketches SET slots = (SELECT slots FROM sketches WHERE document = 9) WHERE document = 3": "missing: 'd2'",
    "UPDATE sketches SET slots = substr(slots, 1, 7) WHERE document = 3": "stored sketches are not valid",
    "UPDATE sketches SET slots = substr(slots, 1, 4)": "sketches do not have the",
    "UPDATE sketches SET shingles = 2 WHERE document = 3": "its sketch is not a (code|vector): 'd2'",
    "UPDATE sketches SET shingles = 0 WHERE document = 3": "its sketch is not a (code|vector): 'd2'",
    "UPDATE documents SET text = (SELECT slots FROM sketches WHERE document = 3) WHERE number = 3": "have contents",
}


def test_damage_is_found_and_never_answers(new_index: NewIndex, kind: tuple[dict[str, Any], Any]) -> None:
    words, items = kind
    index = new_index(**words)
    index.add(IDS, items)
    right = index.query(items).to_pylist()
    unseen = {}
    for statement, expected in DAMAGE.items():
        with damaged(index, statement):
            said = index.verify()
            answers = right
            with suppress(DamagedError):
                answers = index.query(items).to_pylist()
        if not any(re.search(expected, line) for line in said):
            unseen[statement] = said
        assert [row for row in answers if "d2" not in (row["id"], row["query"])] == [
            row for row in right if "d2" not in (row["id"], row["query"])
        ] or "document = 9" in statement
    assert unseen == {}
    assert index.verify() == []


def test_settings_that_do_not_fit_are_refused(place: Place, kind: tuple[dict[str, Any], Any]) -> None:
    words, items = kind
    where = place.new()
    with twinset.Index.create(where, **words) as index:
        index.add(IDS, items)
    [(plan,)] = place.run(where, "SELECT value FROM settings WHERE name = 'plan'")
    other = plan.replace('"bits":64', '"bits":32').replace('"dimensions":12', '"dimensions":13')
    more = [plan.replace('"tables":', '"tables":99999'), plan.replace('"tables":', '"tables":-')]
    if "vectors" in words:
        more += [plan.replace('"functions":', '"functions":99999'), plan.replace('"method":"', '"method":"no')]
    for wrong in ('{"bits": 64}', plan.replace('"tables":', '"x":'), other, *more):
        place.run(where, "UPDATE settings SET value = ? WHERE name = 'plan'", wrong)
        with pytest.raises(DamagedError, match="the settings of the index are damaged"):
            twinset.Index.open(where)
    place.run(where, "UPDATE settings SET value = ? WHERE name = 'plan'", plan)
    place.run(where, "UPDATE settings SET value = '2' WHERE name = 'format'")
    with pytest.raises(DamagedError, match="the settings of the index are damaged"):
        twinset.Index.open(where)
    place.run(where, "UPDATE settings SET value = '7' WHERE name = 'format'")
    with pytest.raises(StateError, match="knows formats up to 6"):
        twinset.Index.open(where)


def test_pictures(place: Place, tmp_path: Path, picture: Callable[[int], Any]) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(4):
        picture(number).save(folder / f"{number}.png")
    picture(2).resize((90, 70)).save(tmp_path / "small.jpg", quality=60)
    with twinset.Index.create(place.new(), images=True) as index:
        assert index.add(folder).added == 4
        [found] = index.query(tmp_path / "small.jpg").to_pylist()
        assert (found["id"], found["recall"]) == ("2.png", 1.0)
        assert found["distance"] <= 6
        assert index.query(str(tmp_path / "small.jpg"), k=4).column("id").to_pylist()[0] == "2.png"
        assert index.query(folder).num_rows == 4
        assert index.similar_to("1.png", k=2).num_rows == 2
        with pytest.raises(SourceError, match="pictures are read from files"):
            index.add(["a"], ["a.png"])
        with pytest.raises(OptionError, match="the index holds pictures"):
            index.add(folder, codes="c")
        assert index.add(folder).unchanged == 4
        assert index.verify() == []


@pytest.fixture
def picture() -> Callable[[int], Any]:
    from tests.pictures import scene

    return scene
