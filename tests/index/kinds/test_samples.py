"""The table `samples`: what an index made with `contained` stores besides, through its whole life."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.corpora import families
from twinset.errors import DamagedError, OptionError
from twinset.index.kinds.samples import sampled
from twinset.index.kinds.text_entries import sets_of
from twinset.index.write import IndexWriter
from twinset.pairs.sets import Sets
from twinset.system import batch_sizes

ALL = 2**64 - 1
WEYL = 0x9E3779B97F4A7C15
TEXTS = families(60, seed=4) | {"long": " ".join(f"word{number}" for number in range(3000)), "empty": ""}
STORES = ("text", "shingles")


def mix(h: int) -> int:
    """MurmurHash3's finaliser."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor & ALL
    return h ^ h >> 33


def keys_of(hashes: set[int]) -> list[int]:
    """The definition."""
    least = sorted(hashes, key=lambda x: mix(x ^ WEYL))[:16]
    chosen = {x for x in hashes if mix(x ^ WEYL) < 2**64 // 8} | set(least)
    upper = [mix(x + WEYL & ALL) >> 32 for x in chosen]
    return sorted(key - 2**32 if key >= 2**31 else key for key in upper)


def as_sets(sets: list[set[int]]) -> Sets:
    sizes = np.array([len(one) for one in sets], np.uint32)
    hashes = np.array([x for one in sets for x in one], np.uint64)
    return Sets(hashes, np.cumsum(sizes, dtype=np.int64) - sizes, sizes)


@given(st.lists(st.sets(st.integers(0, ALL), max_size=60), max_size=6), st.integers(0, 2000))
def test_samples_equal_their_definition(sets: list[set[int]], more: int) -> None:
    dice = random.Random(more)
    sets = [*sets, {dice.getrandbits(64) for _ in range(more)}]
    offsets, keys = sampled(as_sets(sets))
    assert keys.dtype == np.int32
    assert len(offsets) == len(sets) + 1
    for place, one in enumerate(sets):
        assert sorted(keys[offsets[place] : offsets[place + 1]].tolist()) == keys_of(one)


def test_golden() -> None:
    assert sampled(as_sets([{1, 2**63}]))[1].tolist() == [297842548, -436355035]


def rows_in(place: Place, where: str, table: str = "samples") -> set[tuple[int, int]]:
    return set(place.run(where, f"SELECT key, document FROM {table}"))


def expected(index: twinset.Index, texts: dict[str, str]) -> set[tuple[int, int]]:
    """The rows that an index with these texts should have, worked out from the shingles that it stores."""
    with index._backend.snapshot():
        numbers = index._backend.numbers(list(texts))
        found = index._backend.documents(np.array(sorted(numbers.values())), contents=True)
    sets = sets_of([one.content for one in found], index.settings)
    rows = set()
    for place, one in enumerate(found):
        hashes = sets.hashes[sets.starts[place] :][: sets.sizes[place]].tolist()
        rows |= {(key, one.number) for key in keys_of(set(hashes))}
    return rows


@pytest.mark.parametrize("store", STORES)
def test_life(place: Place, store: str, tmp_path: Path) -> None:
    where, again = place.new(), place.new()
    words: dict[str, Any] = {"contained": True, "store": store, "seed": 5, "shingle": "word:2"}
    now = dict(TEXTS)
    with twinset.Index.create(where, **words) as index:
        index.add(TEXTS)
        assert rows_in(place, where) == expected(index, now)
        assert index.verify() == []
        changed = {"d1": "another text altogether", "long": " ".join(TEXTS["long"].split()[:500]), "d9": ""}
        now |= changed
        assert index.update({"d4": TEXTS["d4"], **changed}).replaced == 3
        assert rows_in(place, where) == expected(index, now)
        index.remove(["d2", "d3", "empty"])
        for id in ("d2", "d3", "empty"):
            del now[id]
        assert rows_in(place, where) == expected(index, now)
        assert index.verify() == []
        index.compact()
        assert index.stats()["bytes"]["samples"] > 0
        assert index.stats()["options"]["contained"] is True
        index.export(tmp_path / "all.parquet")
        before = rows_in(place, where)
    assert "samples" not in pq.read_schema(tmp_path / "all.parquet").names
    with twinset.Index.import_from(tmp_path / "all.parquet", again) as index:
        renumbered = {(key, number) for key, number in rows_in(place, again)}
        assert len(renumbered) == len(before)
        assert renumbered == expected(index, now)
        assert index.verify() == []
    with twinset.Index.open(again, contained=True) as index:
        index.remove(list(now))
        assert rows_in(place, again) == set()
    with pytest.raises(OptionError, match="contained is False, but the index was made with True"):
        twinset.Index.open(again, contained=False)


def test_an_index_without_it_stores_none(place: Place, new_index: NewIndex) -> None:
    index = new_index(shingle="word:2")
    index.add(TEXTS)
    assert index.stats()["options"]["contained"] is False
    for table in ("samples", "anchors"):
        assert not list(place.run(place_of(place, index), f"SELECT key FROM {table}"))


def place_of(place: Place, index: twinset.Index) -> str:
    """The address of an index that `new_index` made."""
    return index.name if place.kind == "sqlite" else f"{place._database}?{index.name.partition('?')[2]}"  # type: ignore[attr-defined]


def test_sets(place: Place, new_index: NewIndex) -> None:
    index = new_index(items="tags", contained=True)
    index.add(["a", "b"], [[str(number) for number in range(100)], []])
    assert index.verify() == []
    assert len(rows_in(place, place_of(place, index))) >= 16


@pytest.mark.parametrize("store", STORES)
def test_damage_is_named(place: Place, store: str) -> None:
    where = place.new()
    with twinset.Index.create(where, contained=True, store=store, seed=5, shingle="word:2") as index:
        index.add(TEXTS)
        numbers = index._backend.numbers(["d1"])
    [(key,), *_] = place.run(where, "SELECT key FROM samples WHERE document = ?", numbers["d1"])

    def problems() -> list[str]:
        with twinset.Index.open(where, read_only=True) as index:
            return index.verify()

    place.run(where, "DELETE FROM samples WHERE key = ? AND document = ?", key, numbers["d1"])
    [first, second] = problems()
    assert first.startswith("the sample rows are wrong")
    assert second == "a sample row is missing: 'd1'"
    place.run(where, "INSERT INTO samples VALUES (?, ?)", key, numbers["d1"])
    assert problems() == []
    place.run(where, "INSERT INTO samples VALUES (?, ?)", key, 100_000)  # of no document
    assert [one.partition(":")[0] for one in problems()] == ["the sample rows are wrong"]
    place.run(where, "DELETE FROM samples WHERE document = ?", 100_000)
    place.run(where, "INSERT INTO anchors VALUES (?, ?)", key, numbers["d1"])
    assert problems() == ["the anchor rows are wrong: 1 are stored, 0 are expected"]
    place.run(where, "DELETE FROM anchors")
    table, column = ("documents", "text") if store == "text" else ("shingles", "hashes")
    name = "number" if store == "text" else "document"
    place.run(where, f"UPDATE {table} SET {column} = ? WHERE {name} = ?", b"\7\7\7", numbers["d1"])
    assert problems() == [f"its stored {store} cannot be read: 'd1'"]
    with twinset.Index.open(where) as index:
        with pytest.raises(DamagedError):
            index.remove(["d1"])
        assert "d1" in index


def test_few_contents_are_in_memory_when_many_documents_go(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    where = place.new()
    with twinset.Index.create(where, contained=True, seed=5, shingle="word:2") as index:
        index.add(TEXTS)
        read: list[int] = []
        documents = index._backend.documents

        def counted(numbers: Any, *, contents: bool) -> Any:
            read.append(len(numbers))
            return documents(numbers, contents=contents)

        monkeypatch.setattr(batch_sizes, "INDEX_SHINGLES", 500)
        monkeypatch.setattr(index._backend, "documents", counted)
        index.remove(list(TEXTS)[5:])
        assert len(read) > 5
        assert max(read) < len(TEXTS) // 2
        assert rows_in(place, where) == expected(index, dict(list(TEXTS.items())[:5]))
        assert index.verify() == []


def test_a_dedup_writes_the_samples_of_long_documents_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [" ".join(f"word{number}x{one}" for one in range(60 + number)) for number in range(400)]
    source = tmp_path / "texts.parquet"
    pq.write_table(pa.table({"id": list(map(str, range(400))), "text": texts}), source, row_group_size=50)
    waiting: list[int] = []
    write_postings = IndexWriter.write_postings

    def counted(writer: IndexWriter) -> None:
        waiting.append(sum(len(rows) for rows in writer._postings.get("samples", [])))
        write_postings(writer)

    monkeypatch.setattr(IndexWriter, "write_postings", counted)
    monkeypatch.setattr(batch_sizes, "INDEX_COMMIT_BYTES", 1)
    twinset.Index.create(tmp_path / "all.twinset", contained=True, seed=5, shingle="word:2").close()
    twinset.dedup(source, index=tmp_path / "all.twinset", batch_bytes=100_000, output=tmp_path / "out")
    assert sum(count > 0 for count in waiting) > 1
    with twinset.Index.open(tmp_path / "all.twinset") as index:
        assert len(index) == len(texts)
        assert index.verify() == []
        assert len(index.query(texts[7][:200], contained=0.9)) == 1


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="contained needs stored contents, and store is 'none'"):
        twinset.Index.create("never", contained=True, store="none")
    with pytest.raises(OptionError, match="contained does not apply to bit codes"):
        twinset.Index.create("never", contained=True, codes="code")
