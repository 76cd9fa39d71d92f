"""The nearest sets of each set, however far, against comparing all with all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twinset
from tests import oracles
from twinset.errors import OptionError
from twinset.results.stored_pairs import StoredPairsResult
from twinset.system import batch_sizes

Row = tuple[str, str, float]
Bag = Mapping[Hashable, float]
ELEMENTS = st.lists(st.sampled_from("abcdefghij"), max_size=9)
NAMED = st.dictionaries(st.sampled_from([f"id {number}" for number in range(30)]), ELEMENTS, max_size=16)


def rows_of(found: Any) -> list[Row]:
    return [(row["left"], row["right"], row["similarity"]) for row in found.pairs.to_pylist()]


def bags(items: Mapping[str, Sequence[str]], bag: bool = False) -> dict[str, Bag]:
    return {name: Counter(one if bag else set(one)) for name, one in items.items()}


def skewed(count: int, seed: int) -> dict[str, list[str]]:
    """Sets drawn from a skewed distribution."""
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, 2001) ** 1.0
    upto = np.cumsum(chances / chances.sum())
    sizes = np.clip(rng.lognormal(2.7, 0.6, count).astype(int), 8, 200)
    return {
        f"user {number:05}": [f"{item}" for item in np.unique(np.searchsorted(upto, rng.random(size)))]
        for number, size in enumerate(sizes)
    }


@settings(max_examples=40)
@given(NAMED, st.booleans(), st.integers(1, 6), st.sampled_from([1, 4, 1 << 17]))
def test_the_nearest_of_each_set_are_those_of_a_naive_search(
    items: dict[str, list[str]], bag: bool, top: int, entries: int
) -> None:
    expected = oracles.nearest_sets(bags(items, bag), top)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_sizes, "BOUND_ENTRIES", entries)
        found = twinset.find_pairs(items, items="x", bag=bag, top=top)
        assert rows_of(found) == expected
        backwards = dict(reversed(items.items()))
        again = twinset.find_pairs(backwards, items="x", bag=bag, top=top, threads=1)
    assert sorted(rows_of(again)) == sorted(expected)


@settings(max_examples=40)
@given(NAMED, NAMED, st.integers(1, 4))
def test_the_nearest_on_the_other_side(ours: dict[str, list[str]], theirs: dict[str, list[str]], top: int) -> None:
    found = twinset.find_pairs(ours, items="x", against=[theirs], top=top)
    assert rows_of(found) == oracles.nearest_sets(bags(ours), top, bags(theirs))


@settings(max_examples=40)
@given(NAMED, st.integers(1, 4), st.data())
def test_the_nearest_of_weighted_sets(items: dict[str, list[str]], top: int, data: st.DataObject) -> None:
    weights = st.sampled_from([0.25, 0.5, 1.0, 2.5, 7.0])  # sums are exact, so that ties are ties
    weighted = {name: {element: data.draw(weights) for element in one} for name, one in items.items()}
    table = pa.table(
        {
            "id": list(weighted),
            "x": pa.array([list(one) for one in weighted.values()], pa.list_(pa.string())),
            "w": pa.array([list(one.values()) for one in weighted.values()], pa.list_(pa.float64())),
        }
    )
    expected = oracles.nearest_sets(weighted, top)
    found = twinset.find_pairs(table, items="x", weight="w", top=top)
    assert [row[:2] for row in rows_of(found)] == [row[:2] for row in expected]
    assert [row[2] for row in rows_of(found)] == pytest.approx([row[2] for row in expected])


def test_users_of_a_skewed_distribution_have_ten_neighbours_each() -> None:
    users = skewed(1500, 1)
    found = twinset.find_pairs(users, items="x", top=10)
    rows = rows_of(found)
    assert len(rows) == 15_000
    chosen = dict(list(users.items())[::75])
    assert [row for row in rows if row[0] in chosen] == oracles.nearest_sets(bags(users), 10, asking=chosen)
    tenth = [row[2] for row in rows[9::10]]
    assert 0.1 < np.median(tenth) < 0.25  # far below the threshold of 0.8
    assert str(found.plan) == "exact: the 10 nearest of each item, at any distance"
    assert found.summary["audit"] is None
    for words in ({"threads": 1}, {"batch_bytes": 4096, "threads": 2}):
        assert twinset.find_pairs(users, items="x", top=10, **words).pairs.equals(found.pairs)


def test_similar_users_and_similar_items_of_one_table() -> None:
    users = skewed(60, 2)
    table = pa.table(
        {
            "user": [name for name, items in users.items() for _ in items],
            "item": [item for items in users.values() for item in items],
        }
    )
    found = twinset.find_pairs(table, group="user", item="item", top=3)
    assert sorted(rows_of(found)) == sorted(oracles.nearest_sets(bags(users), 3))
    items: dict[str, list[str]] = {}
    for row in table.to_pylist():
        items.setdefault(row["item"], []).append(row["user"])
    found = twinset.find_pairs(table, group="item", item="user", top=3)
    assert sorted(rows_of(found)) == sorted(oracles.nearest_sets(bags(items), 3))


def test_texts_and_records_and_groups_of_them() -> None:
    words = [f"{number % 7} {number % 5} {number % 3} {number}" for number in range(60)]
    rows = pa.table({"id": [f"{number:02}" for number in range(60)], "text": words, "by": list("abc") * 20})
    sets = {f"{number:02}": oracles.shingle_set(text, "word:1") for number, text in enumerate(words)}
    counted = {name: Counter(one) for name, one in sets.items()}
    assert rows_of(twinset.find_pairs(rows, shingle="word:1", top=4)) == oracles.nearest_sets(counted, 4)
    found = rows_of(twinset.find_pairs(rows, shingle="word:1", top=4, by="by"))
    expected = [oracles.nearest_sets({name: counted[name] for name in list(counted)[at::3]}, 4) for at in range(3)]
    assert sorted(found) == sorted(row for some in expected for row in some)
    records = twinset.find_pairs(rows, text=["text,word:1", "by,word:1,2"], top=4)
    both = {name: Counter([*one, *((int(name) % 3, copy) for copy in range(2))]) for name, one in counted.items()}
    assert rows_of(records) == oracles.nearest_sets(both, 4)


@pytest.mark.parametrize("weight", [False, True])
def test_copies_are_near_too_unless_they_are_linked(weight: bool) -> None:
    table = pa.table(
        {
            "id": ["e", "d", "c", "b", "a"],
            "x": [["1", "2"], ["1", "2"], ["1", "2"], ["2", "3"], ["9"]],
            "w": [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0]],
        }
    )
    words: dict[str, Any] = {"items": "x", "top": 2, **({"weight": "w"} if weight else {})}
    third = 1 / 3
    alike = [("e", "c", 1.0), ("e", "d", 1.0), ("d", "c", 1.0), ("d", "e", 1.0), ("c", "d", 1.0), ("c", "e", 1.0)]
    assert rows_of(twinset.find_pairs(table, **words)) == [*alike, ("b", "c", third), ("b", "d", third)]
    linked = twinset.find_pairs(table, identical="link", **words)
    assert rows_of(linked) == [
        *(("e", "c", 1.0), ("e", "d", 1.0), ("d", "e", 1.0), ("c", "e", 1.0)),
        ("b", "e", third),
    ]


def test_many_copies_make_few_pairs() -> None:
    copies = [["1", "2"]] * 20_000  # two hundred million pairs
    assert twinset.find_pairs(copies, items="x", top=2).summary["pairs"] == 40_000


def test_a_threshold_keeps_its_meaning(tmp_path: Path) -> None:
    items = {"a": ["1", "2", "3"], "b": ["1", "2", "3", "4"], "c": ["3", "7"]}
    limited = twinset.find_pairs(items, items="x", top=2, threshold=0.7)
    assert rows_of(limited) == [("a", "b", 0.75), ("b", "a", 0.75)]
    assert rows_of(twinset.find_pairs(items, items="x", top=2, threshold=0.8)) == []  # the default, but given
    text = "one two three four"
    auto = twinset.find_pairs([text, text + " five"], top=1, shingle="auto", threshold=0.8)
    assert "bands" in str(auto.plan)
    contained = twinset.find_pairs(items, items="x", top=1, contained=0.5)
    assert rows_of(contained) == [("a", "b", 0.75), ("b", "a", 0.75), ("c", "a", 0.25)]
    folder = twinset.find_pairs(items, items="x", top=1, output=tmp_path / "out")
    assert rows_of(folder) == [("a", "b", 0.75), ("b", "a", 0.75), ("c", "a", 0.25)]
    assert str(StoredPairsResult(tmp_path / "out").plan) == str(folder.plan)


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        ({"recall": 0.9}, "recall="),
        ({"n_hashes": 64}, "n_hashes="),
        ({"audit": 5}, "audit="),
        ({"sketch": "kperm"}, "sketch="),
    ],
)
def test_options_of_sketches_are_refused(words: dict[str, Any], flag: str) -> None:
    with pytest.raises(OptionError, match=r"does not apply to the nearest .top=., which are found exactly") as refused:
        twinset.find_pairs([["a"]], items="x", top=1, **words)
    assert str(refused.value).startswith(flag.removesuffix("="))
    assert twinset.find_pairs([["a"]], items="x", top=1, threshold=0.8, **words).summary["pairs"] == 0


def test_lists_that_do_not_fit_are_refused() -> None:
    items = pa.table({"x": pa.array(np.arange(12_000_000).reshape(-1, 100).tolist(), pa.list_(pa.int64()))})
    with pytest.raises(OptionError, match=r"the nearest of 120,000 items .* takes .* more with memory="):
        twinset.find_pairs(items, items="x", top=1, memory="512MB")

