"""The k nearest, also below the threshold; thresholds that the plan was not made for; estimates."""

from __future__ import annotations

import math

import pytest

from tests.index.conftest import NewIndex
from tests.index.corpora import Model, at, families, rows, rows_by_query, same, words
from twinset.errors import OptionError
from twinset.textbook import band_probability, jaccard

TEXTS = families(150, seed=5, size=15)


def test_the_k_nearest_are_those_of_an_exact_search(new_index: NewIndex) -> None:
    index = new_index(shingle="word:2", threshold=0.9, n_hashes=256)
    index.add(TEXTS)
    model = Model(TEXTS, index.settings.options)
    below = 0
    for number, (id, text) in enumerate(list(TEXTS.items())[::2]):
        k = (1, 3, 10, 1000)[number % 4]
        found = rows(index.query(text, k=k))
        assert same(found, model.nearest(text, k)), id
        assert same(rows(index.similar_to(id, k=k)), model.nearest(text, k, without=id))
        below += sum(row[1] < 0.9 for row in found)
    assert below > 50


def test_more_than_there_are(new_index: NewIndex) -> None:
    index = new_index(shingle="word:1")
    index.add({"a": " ".join(words(30, "w"))})
    assert [row[0] for row in rows(index.query(" ".join(words(31, "w")), k=1_000_000))] == ["a"]


def test_nonsense_is_refused(new_index: NewIndex) -> None:
    index = new_index()
    for k in (0, -1, 1_000_001, 1.5, "3", True, float("nan")):
        for ask in (lambda k=k: index.query("text", k=k), lambda k=k: index.query(["text"], k=k)):
            with pytest.raises(OptionError, match=r"k is .*; allowed: a whole number from 1 to 1000000"):
                ask()
    for threshold in (0, -0.1, 1.01, float("nan"), float("inf"), "0.9", True):
        with pytest.raises(OptionError, match=r"threshold is .*; allowed: a number above 0 and up to 1"):
            index.query("text", threshold=threshold)


def test_a_threshold_below_the_plan_is_refused_with_the_recall_it_would_have(new_index: NewIndex) -> None:
    index = new_index(shingle="word:1", threshold=0.8)
    index.add({"a": " ".join(words(50, "w")), "far": " ".join(words(29, "w"))})
    found = band_probability(0.6, index.plan.n_bands, index.plan.rows_per_band)
    asks = (
        lambda: index.query("text", threshold=0.6), lambda: index.query(["text"], threshold=0.6, k=3),
        lambda: index.similar_to("a", threshold=0.6), lambda: next(index.each_query(["text"], threshold=0.6)),
    )  # fmt: skip
    for ask in asks:
        with pytest.raises(OptionError, match="force") as raised:
            ask()
        assert "threshold is 0.6, and the index was planned for 0.8" in str(raised.value)
        assert f"{found:.3f}" in str(raised.value)
    query = " ".join(words(50, "w"))
    assert [row[0] for row in rows(index.query(query, threshold=0.8))] == ["a"]
    forced = [row[:2] for row in rows(index.query(query, threshold=0.1, force=True))]
    assert forced[0] == ("a", 1.0)
    assert all(row in forced for row in [("far", pytest.approx(0.58))][: len(forced) - 1])


def test_what_is_forced_is_what_is_found(new_index: NewIndex) -> None:
    index = new_index(shingle="word:2", threshold=0.9)
    index.add(TEXTS)
    model = Model(TEXTS, index.settings.options)
    below = 0
    for text in list(TEXTS.values())[::4]:
        table = index.query(text, threshold=0.5, force=True)
        assert same(rows(table), model.answers(text, 0.5, among=model.candidates(text)))
        below += sum(row[1] < 0.9 for row in rows(table))
        # What was found less surely than the plan promises says so.
        for row in table.to_pylist():
            assert row["recall"] <= band_probability(row["similarity"], index.plan.n_bands, index.plan.rows_per_band)
    assert below


@pytest.mark.parametrize("store", ["text", "shingles", "none"])
def test_answers_say_whether_they_are_estimates(new_index: NewIndex, store: str) -> None:
    index = new_index(shingle="word:1", store=store)
    index.add({"a": " ".join(words(50, "w")), "b": " ".join(words(45, "w"))})
    for table in (
        index.query(" ".join(words(50, "w"))), index.query([" ".join(words(48, "w"))], k=2), index.similar_to("a")
    ):  # fmt: skip
        assert set(table.column("estimate").to_pylist()) == {store == "none"}


@pytest.mark.parametrize("sketch", ["fss", "kperm"])
def test_estimates_are_right_on_average(new_index: NewIndex, sketch: str) -> None:
    """At similarities that are found for certain: what is met by luck alone looks more similar than it is."""
    index = new_index(shingle="word:1", store="none", threshold=0.5, recall=0.999, sketch=sketch)
    pairs = {f"{similarity}-{one}": at(similarity, 120, f"p{similarity}x{one}y")
             for similarity in (0.75, 0.9) for one in range(150)}  # fmt: skip
    index.add({id: left for id, (left, _) in pairs.items()})
    found = rows_by_query(index.query({id: right for id, (_, right) in pairs.items()}, k=1))
    for similarity in (0.75, 0.9):
        exact = jaccard(*(set(text.split()) for text in pairs[f"{similarity}-0"]))
        asked = [found[f"{similarity}-{one}"][0] for one in range(150)]
        assert all(row[0] == f"{similarity}-{one}" for one, row in enumerate(asked))
        error = math.sqrt(exact * (1 - exact) / index.plan.n_hashes)
        mean = sum(row[1] for row in asked) / len(asked)
        assert abs(mean - exact) < 4 * error / math.sqrt(len(asked))
        assert sum((row[1] - exact) ** 2 for row in asked) / len(asked) < 1.5 * error**2
        shared = 2 * exact / (1 + exact)  # containment, both ways, as both have as many words
        for inside in (2, 3):
            assert abs(sum(row[inside] for row in asked) / len(asked) - shared) < 4 * error / math.sqrt(len(asked))


def test_estimates_are_honest_about_what_they_miss(new_index: NewIndex) -> None:
    """What is truly at the threshold is estimated below it every other time, and `recall` says so."""
    index = new_index(shingle="word:1", store="none", threshold=0.8)
    hashes, bands, per_band = index.plan.n_hashes, index.plan.n_bands, index.plan.rows_per_band
    index.add({str(size): " ".join(words(size, "w")) for size in range(60, 121)})
    table = index.query(" ".join(words(100, "w")))
    assert table.num_rows > 20
    for row in table.to_pylist():
        similarity = row["similarity"]
        reaching = sum(math.comb(hashes, m) * similarity**m * (1 - similarity) ** (hashes - m)
                       for m in range(math.ceil(0.8 * hashes), hashes + 1))  # fmt: skip
        assert row["recall"] == pytest.approx(band_probability(similarity, bands, per_band) * reaching, abs=1e-9)
        assert row["recall"] > 0.9 or similarity < 0.86
    assert min(table["recall"].to_pylist()) < 0.7
    # Above the threshold of the question, not of the index: with the k nearest nothing is lost by estimating.
    nearest = index.query(" ".join(words(100, "w")), k=50)
    for row in nearest.to_pylist():
        banded, shared = band_probability(row["similarity"], bands, per_band), 1 - (1 - row["similarity"]) ** hashes
        assert row["recall"] == pytest.approx(max(banded, shared), abs=1e-9)
    pairs = {str(one): at(0.8, 90, f"p{one}x") for one in range(400)}
    index.add({f"left {id}": left for id, (left, _) in pairs.items()})
    found = rows_by_query(index.query({id: right for id, (_, right) in pairs.items()}))
    assert 0.4 < len(found) / len(pairs) < 0.6


def test_an_estimate_is_the_share_of_equal_slots(new_index: NewIndex) -> None:
    index = new_index(shingle="word:2", store="none", threshold=0.5)
    index.add(TEXTS)
    model = Model(TEXTS, index.settings.options)
    hashes = index.plan.n_hashes
    for id, text in list(TEXTS.items())[::9]:
        ours = model.slots(text)
        for other, similarity, inside, around in rows(index.query(text, k=20)):
            equal = sum(a == b for a, b in zip(ours, model.slots(TEXTS[other]), strict=True))
            assert similarity == equal / hashes
            sizes = len(model.set(text)), len(model.set(TEXTS[other]))
            shared = similarity / (1 + similarity) * sum(sizes)
            assert (inside, around) == pytest.approx([min(shared / size, 1) for size in sizes], abs=1e-12)
        above = [row for row in rows(index.query(text, k=1000)) if row[1] >= 0.5]
        near = [row for row in rows(index.query(text)) if row[0] != id]
        assert near == [row for row in above if row[0] != id and (row in near)]
