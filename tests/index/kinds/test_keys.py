"""Band keys are part of the hash scheme: an index is read for years, so they never change."""

from __future__ import annotations

from typing import Any

import pytest

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.corpora import Model
from twinset.schema import HASH_SCHEME

GOLDEN: list[tuple[dict[str, Any], str, list[int]]] = [
    (
        {"seed": 1},
        "the quick brown fox jumps over the lazy dog",
        [1710179681, 1983462033, 1210619960, 270803149, 1415402480, 1669405988],
    ),
    (
        {"seed": 2**63 - 1, "shingle": "char:4", "threshold": 0.5},
        "Ünïcode 東京 🗼",
        [-906240782, 1468792691, -1805089113, 663507056, -243816942, -1151428995],
    ),
    (
        {"seed": 42, "shingle": "word:1", "bag": True, "sketch": "kperm", "n_hashes": 64},
        "a rose is a rose is a rose",
        [1258906672, 953908075, 619497115, 370362614, 1085121711, -1841012714],
    ),
    (
        {"seed": 0, "shingle": "word:2"},
        "",
        [-779192990, 1340039151, -102743622, 1868545566, -56489831, -739861784],
    ),
]


@pytest.mark.parametrize("number", range(len(GOLDEN)))
def test_golden_values(place: Place, new_index: NewIndex, number: int) -> None:
    words, text, golden = GOLDEN[number]
    index = new_index(**words)
    assert HASH_SCHEME == 1
    [keys] = index.band_keys([text]).tolist()
    assert keys[: len(golden)] == golden
    assert keys == Model({}, index.settings.options).stored_keys(text)


def test_the_table_holds_these_keys(place: Place, where: str) -> None:
    texts = {"a": "the quick brown fox jumps over the lazy dog", "b": "a rose is a rose is a rose", "none": ""}
    with twinset.Index.create(where, seed=1) as index:
        index.add(texts)
        keys = dict(zip(texts, index.band_keys(list(texts.values())).tolist(), strict=True))
    found = place.run(where, "SELECT d.id, b.key FROM bands AS b JOIN documents AS d ON d.number = b.document")
    assert sorted(found) == sorted((id, key) for id in ("a", "b") for key in keys[id])
    [(kept,)] = place.run(where, "SELECT slots FROM sketches WHERE document = 1")
    slots = Model({}, index.settings.options).slots(texts["a"])
    assert bytes(kept) == b"".join(slot.to_bytes(4, "little") for slot in slots)
    counts = dict(place.run(where, "SELECT document, shingles FROM sketches"))
    assert counts == {1: 5, 2: 3, 3: 0}  # of the second one, five in all and three distinct
