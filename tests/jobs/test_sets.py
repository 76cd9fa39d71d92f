"""Sets, bags and records from end to end, against the obvious way of comparing them."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twinset
from twinset.errors import OptionError
from twinset.jobs.pairs import PairsResult

Pair = tuple[str, str]
ELEMENTS = st.lists(st.sampled_from("abcdefgh"), max_size=8)


def jaccard(left: list[str], right: list[str], bag: bool) -> float:
    ours, theirs = (Counter(one) if bag else Counter(set(one)) for one in (left, right))
    union = sum((ours | theirs).values())
    return sum((ours & theirs).values()) / union if union else 0.0


def every_pair(items: list[list[str]], threshold: float, bag: bool = False) -> dict[Pair, float]:
    """The naive search."""
    found = {}
    for left in range(len(items)):
        for right in range(left + 1, len(items)):
            similarity = jaccard(items[left], items[right], bag)
            if items[left] and items[right] and similarity >= threshold:
                found[str(left), str(right)] = similarity
    return found


def found_pairs(found: PairsResult) -> dict[Pair, float]:
    return {(row["left"], row["right"]): row["similarity"] for row in found.pairs.to_pylist()}


@settings(max_examples=40)
@given(st.lists(ELEMENTS, max_size=12), st.booleans(), st.sampled_from([0.3, 0.5, 0.75, 1.0]))
def test_exact_pairs_of_sets_and_bags(items: list[list[str]], bag: bool, threshold: float) -> None:
    found = twinset.find_pairs(items, items="x", bag=bag, threshold=threshold, exact=True)
    assert found_pairs(found) == every_pair(items, threshold, bag)


def baskets(count: int) -> list[list[str]]:
    """Sets of which each tenth is a near-copy of the one before."""
    made: list[list[str]] = []
    for number in range(count):
        if number % 10 == 9:
            made.append([*made[-1][1:], f"new {number}"])
        else:
            made.append([f"{number * 7 + at * at} {at % 5}" for at in range(20)])
    return made


def test_near_copies_of_sets_are_found_whatever_the_work_is_cut_into() -> None:
    items = baskets(2000)
    expected = every_pair(items[:300], 0.8)
    one = found_pairs(twinset.find_pairs(items[:300], items="x"))
    assert one == expected
    assert len(one) == 30
    whole = twinset.find_pairs(items, items="x", threads=1)
    assert len(whole.pairs) == 200
    cut = twinset.find_pairs(items, items="x", threads=2, batch_bytes=4096, memory="512MB")
    assert cut.pairs.equals(whole.pairs)


def test_of_each_item_the_most_similar() -> None:
    items = {"a": ["1", "2", "3"], "b": ["1", "2", "3", "4"], "c": ["1", "2"], "d": ["3", "2", "1"], "e": ["9"]}
    found = twinset.find_pairs(items, items="x", threshold=0.3, top=2).pairs
    expected = [
        *(("a", "d", 1.0), ("a", "b", 0.75), ("b", "a", 0.75), ("b", "d", 0.75), ("c", "a", 2 / 3), ("c", "d", 2 / 3)),
        *(("d", "a", 1.0), ("d", "b", 0.75)),
    ]
    assert [tuple(row.values())[:3] for row in found.to_pylist()] == expected
    new = twinset.find_pairs({"n": ["1", "2"]}, items="x", threshold=0.3, top=1, against=[items]).pairs.to_pylist()
    assert [(row["left"], row["right"]) for row in new] == [("n", "c")]


PEOPLE = {
    "1": {"name": "Anna Meier", "street": "12 Mill Lane"},
    "2": {"name": "Ana Meier", "street": "12 Mill Lane"},
    "3": {"name": "Mill Lane", "street": "12 Anna Meier"},
    "4": {"name": "", "street": ""},
}


def chars(text: str, size: int) -> set[str]:
    return {text[at : at + size] for at in range(max(1, len(text) - size + 1))} if text else set()


def test_columns_of_records_are_weighted_and_kept_apart() -> None:
    found = twinset.find_pairs(PEOPLE, text=["name,char:2,3", "street,word:1"], threshold=0.2)
    names = [chars(PEOPLE[id]["name"].lower(), 2) for id in "12"]
    streets = [set(PEOPLE[id]["street"].lower().split()) for id in "12"]
    shared = 3 * len(names[0] & names[1]) + len(streets[0] & streets[1])
    every = 3 * len(names[0] | names[1]) + len(streets[0] | streets[1])
    assert found_pairs(found) == {("1", "2"): shared / every}
    assert found.summary["empty"] == 1
    rows = pa.Table.from_pylist([{"id": id, **row} for id, row in PEOPLE.items()])
    assert twinset.find_pairs(rows, text=["name,char:2,3", "street,word:1"], threshold=0.2).pairs.equals(found.pairs)
    done = twinset.dedup(rows, text=("name,char:2,3", "street,word:1"), threshold=0.2)
    assert done.kept["id"].to_pylist() == ["1", "3", "4"]
    assert done.kept.column_names == ["id", "name", "street"]


def test_records_are_explained_column_by_column() -> None:
    done = twinset.dedup(PEOPLE, text=("name,char:2,3", "street,word:1"), threshold=0.2)
    found = done.explain("2")
    assert found.explanation is not None
    removed = done.removed.to_pylist()[0]
    assert found.explanation.similarity == removed["similarity"]
    assert found.explanation.left_in_right == removed["in_kept"]
    assert found.explanation.right_in_left == removed["of_kept"]
    assert found.explanation.right_only == ("name: nn",)
    assert "street: mill" in found.explanation.shared


def test_records_are_evaluated_as_blocking() -> None:
    truth = pa.table({"left": ["1"], "right": ["2"]})
    done = twinset.evaluate(PEOPLE, truth=truth, text=["name,char:2", "street,word:1"], threshold=0.3)
    row = done.measures.to_pylist()[0]
    assert row["recall"] == 1.0
    assert row["reduction_ratio"] == 1 - 1 / 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"items": "x", "shingle": "char:3"}, "shingle does not apply to sets (items=)"),
        ({"items": "x", "group": "g", "item": "i"}, "items= and group= each select a kind of items"),
        ({"group": "g"}, "group needs item="),
        ({"item": "i"}, "item needs group="),
        ({"weight": "w"}, "weight needs group= and item=, or items="),
        ({"text": ["a", "a,char:3"]}, "text names the column 'a' twice"),
        ({"text": ["a", "b,char:3,101"]}, "the weight from 1 to 100"),
        ({"codes": "c", "threshold": 0.7}, "threshold does not apply to bit codes"),
        ({"codes": "c", "distance": 2.5}, "a whole number of bits"),
        ({"vectors": True, "distance": 1.0, "threshold": 0.9}, "leave one of them out"),
        ({"distance": 3}, "distance does not apply to texts"),
        ({"top": 0}, "top is 0; allowed: a whole number from 1"),
    ],
)
def test_what_cannot_go_together_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        twinset.find_pairs([["a"]], **words)
    assert message in str(caught.value)
