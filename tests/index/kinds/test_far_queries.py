"""The k nearest of a query are the nearest of all documents, however dissimilar; compared with brute force."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import twinset
from tests.index.conftest import NewIndex
from twinset import textbook
from twinset.index import content_lists, query
from twinset.index.kinds import text_queries

WORDS = [f"w{number}" for number in range(400)]


def documents(count: int = 60, length: int = 120) -> dict[str, str]:
    rng = random.Random(5)
    return {f"d{number}": " ".join(rng.choices(WORDS, k=length)) for number in range(count)}


def nearest(texts: dict[str, str], wanted: str, k: int, shingle: str = "word:5") -> list[tuple[str, float]]:
    """Brute force, over the sets themselves; ties go to the earlier document."""
    ours = textbook.shingles(wanted, shingle)
    scored = []
    for id, text in texts.items():
        theirs = textbook.shingles(text, shingle)
        scored.append((id, len(ours & theirs) / len(ours | theirs)))
    return [one for one in sorted(scored, key=lambda one: -one[1]) if one[1] > 0][:k]


def answered(index: twinset.Index, what: Any, k: int) -> list[tuple[str, float]]:
    table = index.query(what, k=k)
    return list(zip(table["id"].to_pylist(), table["similarity"].to_pylist(), strict=True))


def filled(new_index: NewIndex, texts: dict[str, str], **options: Any) -> twinset.Index:
    index = new_index(seed=1, **options)
    index.add(texts)
    return index


def test_a_text_that_begins_documents_is_near_to_them(new_index: NewIndex) -> None:
    texts = documents()
    beginning = " ".join(texts["d7"].split()[:8])
    texts["again"] = f"{beginning} {texts['d9']}"
    with filled(new_index, texts) as index:
        found = answered(index, beginning, 3)
        assert found == nearest(texts, beginning, 3)
        assert {id for id, _ in found} == {"d7", "again"}
        assert index.query(beginning, k=3)["recall"].to_pylist() == [1.0, 1.0]
        assert index.nearest_by() == "all"


@pytest.mark.parametrize("store", ["text", "shingles"])
def test_all_queries_are_answered_as_by_brute_force(new_index: NewIndex, store: str) -> None:
    texts = documents(40, 60)
    rng = random.Random(8)
    queries = {
        f"q{number}": " ".join([*text.split()[: rng.randrange(1, 40)], "other"])
        for number, text in enumerate(texts.values())
    }
    queries |= {"same": texts["d3"], "nothing": "never seen at all here", "empty": ""}
    with filled(new_index, texts, store=store, shingle="word:2") as index:
        table = index.query(queries, k=4)
        for id, text in queries.items():
            rows = [row for row in table.to_pylist() if row["query"] == id]
            expected = nearest(texts, text, 4, "word:2") if text else []
            assert [row["similarity"] for row in rows] == [score for _, score in expected], id


def test_lists_follow_the_changes_of_the_index(new_index: NewIndex) -> None:
    texts = documents(20, 30)
    with filled(new_index, texts, shingle="word:1") as index:
        for change in range(3):
            wanted = " ".join(WORDS[change : change + 9])
            assert answered(index, wanted, 10) == nearest(texts, wanted, 10, "word:1")
            index.remove([f"d{change}"])
            del texts[f"d{change}"]
            texts[f"new {change}"] = f"{wanted} once more"
            index.add({f"new {change}": texts[f"new {change}"]})


def test_sets_far_from_each_other_and_long_tables(new_index: NewIndex) -> None:
    rng = random.Random(3)
    sets = {f"s{number}": {str(int(1 / (rng.random() + 0.004))) for _ in range(25)} for number in range(200)}
    with new_index(items="x") as index:
        index.add([{"id": id, "x": sorted(one)} for id, one in sets.items()])
        for wanted in list(sets.values())[::20]:
            scored = [(id, len(wanted & one) / len(wanted | one)) for id, one in sets.items()]
            best = [one for one in sorted(scored, key=lambda one: -one[1]) if one[1] > 0][:10]
            assert answered(index, wanted, 10) == best
        table = index.similar_to("s7", k=3)
        scored = [(id, len(sets["s7"] & one) / len(sets["s7"] | one)) for id, one in sets.items() if id != "s7"]
        assert table["id"].to_pylist() == [id for id, _ in sorted(scored, key=lambda one: -one[1])[:3]]
        assert table["recall"].to_pylist() == [1.0] * 3


def test_a_larger_index_compares_sketches(new_index: NewIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_lists, "MOST_LISTED", 10)
    monkeypatch.setattr(text_queries, "MOST_READ", 10)
    texts = documents()
    half = " ".join(texts["d7"].split()[:60])
    with filled(new_index, texts) as index:
        [row] = index.query(half, k=1).to_pylist()
        assert (row["id"], row["similarity"]) == nearest(texts, half, 1)[0]
        assert row["recall"] == pytest.approx(1 - (1 - row["similarity"]) ** index.plan.n_hashes)


def test_the_largest_say_what_they_cannot_see(new_index: NewIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_lists, "MOST_LISTED", 10)
    monkeypatch.setattr(text_queries, "MOST_READ", 10)
    monkeypatch.setattr(text_queries, "MOST_SCANNED", 10)
    monkeypatch.setattr("twinset.index.kinds.texts.MOST_READ", 10)
    monkeypatch.setattr("twinset.index.kinds.texts.MOST_SCANNED", 10)
    with filled(new_index, documents()) as index:
        assert index.nearest_by() == "bands"
        assert index.query(" ".join(documents()["d7"].split()[:8]), k=3).num_rows == 0


def test_sketches_alone_give_estimates(new_index: NewIndex) -> None:
    texts = documents()
    half = " ".join(texts["d7"].split()[:60])
    with filled(new_index, texts, store="none") as index:
        assert index.nearest_by() == "sketches"
        [row] = index.query(half, k=1).to_pylist()
        assert (row["id"], row["estimate"]) == ("d7", True)


def test_similar_documents_of_the_index_exclude_itself(new_index: NewIndex) -> None:
    texts = documents()
    texts["part"] = " ".join(texts["d7"].split()[:20])
    with filled(new_index, texts) as index:
        table = index.similar_to("part", k=2)
        assert table["id"].to_pylist() == ["d7"]


def test_the_answers_do_not_depend_on_the_batches(new_index: NewIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = documents(40, 60)
    queries = {f"q{number}": " ".join(text.split()[:9]) for number, text in enumerate(texts.values())}
    with filled(new_index, texts, shingle="word:2") as index:
        whole = index.query(queries, k=3)
        monkeypatch.setattr(text_queries, "_PAIRS", 7)
        monkeypatch.setattr("twinset.system.batch_sizes.INDEX_QUERIES", 3)
        monkeypatch.setattr("twinset.system.batch_sizes.INDEX_SKETCH_BYTES", 4096)
        assert index.query(queries, k=3).equals(whole)


@pytest.mark.parametrize("options", [{"threshold": 0.95}, {"distance": 0.2}])
def test_vectors_that_are_far_are_found_as_the_nearest(new_index: NewIndex, options: dict[str, float]) -> None:
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(3000, 16)).astype(np.float32)
    wanted = rng.normal(size=16).astype(np.float32)
    with new_index(vectors="vector", **options) as index:
        index.add([f"v{number}" for number in range(len(vectors))], list(vectors))
        found = index.query(wanted, k=5)
        if "threshold" in options:
            scores = vectors @ wanted / np.linalg.norm(vectors, axis=1) / np.linalg.norm(wanted)
        else:
            scores = -np.linalg.norm(vectors - wanted, axis=1)
        assert found["id"].to_pylist() == [f"v{number}" for number in np.argsort(-scores)[:5]]
        assert found["recall"].to_pylist() == [1.0] * 5


def test_a_vector_index_in_memory_finds_the_nearest() -> None:
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(3000, 16)).astype(np.float32)
    queries = np.concatenate([rng.normal(size=(5, 16)), vectors[:2] + 0.001]).astype(np.float32)
    index = twinset.VectorIndex(vectors, threshold=0.99)
    numbers, scores, counts = index.nearest(queries, 4)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = queries @ units.T / np.linalg.norm(queries, axis=1, keepdims=True)
    assert numbers.tolist() == np.argsort(-cosines, axis=1)[:, :4].tolist()
    assert counts.tolist() == [4] * 7
    np.testing.assert_allclose(scores, -np.sort(-cosines, axis=1)[:, :4], rtol=1e-5)


def test_the_limits_of_a_scan() -> None:
    assert text_queries.MOST_READ < query.MOST_SCANNED == 200_000
