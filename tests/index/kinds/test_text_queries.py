"""Answers are true: each is what comparing the query with every document in plain Python gives."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests import oracles
from tests.index.conftest import NewIndex
from tests.index.corpora import Model, at, families, rows, rows_by_query, same, words
from twinset.plan import LEAST_LOSS
from twinset.system import batch_sizes

TEXTS = families(140, seed=3)
PLANS: tuple[dict[str, Any], ...] = (
    {"threshold": 0.8},
    {"threshold": 0.5, "recall": 0.9},
    {"threshold": 0.7, "n_bands": 4, "rows_per_band": 8, "n_hashes": 64},
)


@pytest.mark.filterwarnings("ignore::twinset.errors.PlanWarning")
@pytest.mark.parametrize("store", ["text", "shingles"])
@pytest.mark.parametrize("plan", range(len(PLANS)))
def test_answers_are_those_of_an_exact_search_among_candidates(new_index: NewIndex, plan: int, store: str) -> None:
    index = new_index(shingle="word:2", store=store, **PLANS[plan])
    threshold = index.plan.threshold
    index.add(TEXTS)
    model = Model(TEXTS, index.settings.options)
    missed = total = 0
    found = rows_by_query(index.query(TEXTS))
    for id, text in list(TEXTS.items())[::3]:
        candidates = model.candidates(text)
        expected = model.answers(text, threshold, among=candidates)
        assert same(found.get(id, []), expected), id
        truth = model.answers(text, threshold)
        missed, total = missed + len(truth) - len(expected), total + len(truth)
        assert all(row[1] >= threshold for row in found.get(id, []))
        if expected:
            assert same(rows(index.query(text, k=2, threshold=threshold)), expected[:2])
            assert same(rows(index.query(text, threshold=0.9)), [row for row in expected if row[1] >= 0.9])
    assert total > 70
    share = 1 - index.plan.reached  # of pairs exactly at the threshold; of all others less
    assert missed <= total * share + 3 * math.sqrt(total * share)


def test_order_is_similarity_and_then_the_order_of_adding(new_index: NewIndex) -> None:
    index = new_index(shingle="word:1", threshold=0.5)
    base = words(20, "w")
    texts = {name: " ".join(base[:size]) for name, size in zip("zyxbca", (20, 16, 20, 18, 16, 20), strict=True)}
    index.add(texts)
    assert [row[0] for row in rows(index.query(" ".join(base)))] == ["z", "x", "a", "b", "y", "c"]
    assert [row[0] for row in rows(index.query(" ".join(base), k=2))] == ["z", "x"]
    index.update({"z": " ".join(reversed(base))})  # now it was added last
    assert [row[0] for row in rows(index.query(" ".join(base)))] == ["x", "a", "z", "b", "y", "c"]
    assert [row[0] for row in rows(index.similar_to("a"))] == ["x", "z", "b", "y", "c"]


def test_scores_are_exact(new_index: NewIndex) -> None:
    index = new_index(shingle="word:1", threshold=0.5)
    for size in range(20, 61):
        index.add([str(size)], [" ".join(words(size, "w"))])
    for id, *scores in rows(index.query(" ".join(words(40, "w")))):
        size = int(id)
        expected = min(size, 40) / max(size, 40), min(size, 40) / 40, min(size, 40) / size
        assert scores == pytest.approx(expected, abs=1e-12)
    assert len(rows(index.query(" ".join(words(40, "w"))))) == 41
    assert [row[0] for row in rows(index.query(" ".join(words(40, "w")), threshold=1.0))] == ["40"]
    # 0.8 is the similarity of 32 and 40, and of 40 and 50: what is exactly at the threshold is an answer.
    at_least = {row[0] for row in rows(index.query(" ".join(words(40, "w")), threshold=0.8))}
    assert at_least == {str(size) for size in range(32, 51)}


def test_both_homes_give_the_same_answers(tmp_path: Path, postgres_url: str) -> None:
    answered = []
    for where in (str(tmp_path / "news.twinset"), postgres_url):
        with twinset.Index.create(where, seed=11, threshold=0.5, shingle="word:2") as index:
            index.add(TEXTS)
            index.remove(["d5", "d17"])
            index.update({"d7": TEXTS["d8"]})
            answered.append(
                [
                    list(index),
                    index.query(TEXTS).to_pydict(),
                    index.query(TEXTS, k=5).to_pydict(),
                    index.band_keys(list(TEXTS.values())).tolist(),
                    {id: index.similar_to(id, k=4).to_pydict() for id in list(index)[:30]},
                ]
            )
    assert answered[0] == answered[1]
    assert len(answered[0][1]["id"]) > 200


@pytest.mark.parametrize("similarity", [0.8, 0.85])
@pytest.mark.parametrize("recall", [0.9, 0.99])
def test_recall_is_as_planned(tmp_path: Path, recall: float, similarity: float) -> None:
    """Over many seeds, what is exactly at the threshold is found as often as was promised, within four errors."""
    pairs = [at(similarity, 90, f"p{number}x") for number in range(150)]
    seeds, found = range(12), 0
    for seed in seeds:
        where = tmp_path / f"{recall}-{seed}"
        with twinset.Index.create(
            where, seed=seed, shingle="word:1", threshold=0.8, recall=recall, store="shingles"
        ) as index:
            index.add({str(number): left for number, (left, _) in enumerate(pairs)})
            asked = rows_by_query(index.query({str(number): right for number, (_, right) in enumerate(pairs)}))
            assert all(row[0] == query for query, answers in asked.items() for row in answers)
            found += len(asked)
    trials = len(seeds) * len(pairs)
    assert found >= recall * trials - 4 * math.sqrt(trials * recall * (1 - recall))


def test_recall_of_answers_is_the_s_curve(new_index: NewIndex) -> None:
    index = new_index(shingle="word:1", threshold=0.7, recall=0.95)
    index.add({str(size): " ".join(words(size, "w")) for size in range(5, 80)})
    query, bands, per_band = " ".join(words(40, "w")), index.plan.n_bands, index.plan.rows_per_band
    nearest = index.query(query, k=1000)
    for id, recall in zip(nearest.column("id").to_pylist(), nearest.column("recall").to_pylist(), strict=True):
        similarity = min(int(id), 40) / max(int(id), 40)
        assert recall == 1, "all documents are compared where bands find fewer than k"
        assert recall >= twinset.textbook.band_probability(similarity, bands, per_band)
    above = index.query(query)
    for similarity, recall in zip(
        above.column("similarity").to_pylist(), above.column("recall").to_pylist(), strict=True
    ):
        banded = twinset.textbook.band_probability(similarity, bands, per_band)
        assert recall == pytest.approx(banded * (1 - LEAST_LOSS), abs=1e-9)
        assert recall >= 0.95


def test_portions_make_no_difference(new_index: NewIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    index = new_index(shingle="word:2", threshold=0.5)
    index.add(TEXTS)
    expected = index.query(TEXTS), index.query(TEXTS, k=3)
    monkeypatch.setattr(batch_sizes, "INDEX_QUERIES", 7)
    monkeypatch.setattr(batch_sizes, "INDEX_MEETINGS", 50)
    monkeypatch.setattr(batch_sizes, "INDEX_SKETCH_BYTES", 2000)
    monkeypatch.setattr(batch_sizes, "INDEX_SHINGLES", 100)
    monkeypatch.setattr(batch_sizes, "INDEX_RUN", 3)
    assert index.query(TEXTS).equals(expected[0])
    assert index.query(TEXTS, k=3).equals(expected[1])


def test_the_oracle_itself() -> None:
    sets = {"a": frozenset("abcd"), "b": frozenset("ab"), "c": frozenset("xy"), "d": frozenset("abcd")}
    assert oracles.answers(sets, frozenset("abcd")) == [("a", 1, 1, 1), ("d", 1, 1, 1), ("b", 0.5, 0.5, 1)]
    assert oracles.answers(sets, frozenset("abcd"), 0.6) == [("a", 1, 1, 1), ("d", 1, 1, 1)]
    assert oracles.answers(sets, frozenset("abcd"), k=1) == [("a", 1, 1, 1)]
    model = Model({"a": "x y z"}, _options())
    assert len(model.stored_keys("x y z")) == 16
    assert all(-(2**31) <= key < 2**31 for key in model.stored_keys("x y z"))
    assert model.candidates("x y z") == {"a"}
    assert model.candidates("") == set()


def _options() -> Any:
    from twinset.index.settings import Settings
    from twinset.options.index import IndexOptions

    chosen = Settings.create(IndexOptions.of(seed=1, shingle="word:1"))
    return Settings.from_rows(chosen.to_rows(), "here").options


def test_the_nearest_are_the_nearest_however_their_estimates_fall(tmp_path: Path) -> None:
    """Sixty documents within 0.2 of each other: estimates of 128 slots are often off by more than lies between them."""
    query = words(100, "w")
    texts = {f"d{n}": " ".join([*query[: 70 + n // 3], *words(12 + n % 7, f"own{n}x")]) for n in range(60)}
    with twinset.Index.create(tmp_path / "one.twinset", seed=1, shingle="word:1", threshold=0.5, n_hashes=128) as index:
        index.add(texts)
        model = Model(texts, index.settings.options)
        for k in (1, 3, 10):
            asked = " ".join(query)
            assert same(rows(index.query(asked, k=k)), model.nearest(asked, k))
