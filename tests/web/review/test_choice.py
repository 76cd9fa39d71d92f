"""Filters, orders and the way to the next undecided pair, compared with a slow and obvious version of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from twinset.web.review import shown as shown_module
from twinset.web.review.choice import ListChoice, ListView
from twinset.web.review.items import FIXED, UNDECIDED, ReviewItems
from twinset.web.review.shown import ShownDocuments
from twinset.web.review.texts import TextFile

WORDS = ("red", "house", "Öl", "a+b", "x")
STATE_OF = {"open": UNDECIDED, "duplicate": 1, "different": 2, "unsure": 3}


class Obvious:
    """A list as plain Python values."""

    def __init__(self, draw: Any) -> None:
        self.documents = draw(
            st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), min_size=2, max_size=12)
        )
        count = len(self.documents)
        place = st.integers(0, count - 1)
        score = st.sampled_from((0.5, 0.75, 0.7999, 0.8, 0.81, 0.9, 1.0))
        pair = st.tuples(place, place, score, st.integers(0, 4), st.floats(0, 50))
        self.items = draw(st.lists(st.lists(pair, min_size=1, max_size=4), max_size=8))

    def view(self) -> ListView:
        pairs = [one for item in self.items for one in item]
        sizes = [len(item) for item in self.items]
        score = np.array([one[2] for one in pairs])
        items = ReviewItems(
            "clusters", np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.array([one[0] for one in pairs], np.uint32), np.array([one[1] for one in pairs], np.uint32),
            score, score, (), (), np.arange(len(pairs)), np.array([one[4] for one in pairs]),
        )  # fmt: skip
        items.state = np.array([one[3] for one in pairs], np.uint8)
        return ListView(
            items, documents([id for id, _ in self.documents], [text for _, text in self.documents]), 0.8, set()
        )

    def chosen(self, choice: ListChoice) -> list[int]:
        found = [number for number, item in enumerate(self.items) if self._fits(item, choice)]
        keys = {
            "": lambda item: 0,
            "least": lambda item: min(one[2] for one in item),
            "most": lambda item: -min(one[2] for one in item),
            "near": lambda item: abs(min(one[2] for one in item) - 0.8),
            "size": lambda item: -len(item),
            "loss": lambda item: -sum(one[4] for one in item),
        }
        return sorted(found, key=lambda number: keys[choice.order](self.items[number]))

    def _fits(self, item: list[Any], choice: ListChoice) -> bool:
        states = [one[3] for one in item]
        scores = [
            (choice.low is None or one[2] >= choice.low)
            and (choice.high is None or int(one[2] * 1e4 + 1e-9) / 1e4 <= choice.high)
            and (not choice.near or abs(one[2] - 0.8) <= 0.05 + 1e-9)
            for one in item
        ]
        texts = [
            f"{id}\n{text}".lower() for one in item for id, text in (self.documents[one[0]], self.documents[one[1]])
        ]
        return (
            (choice.small is None or len(item) + 1 >= choice.small)
            and (choice.large is None or len(item) + 1 <= choice.large)
            and any(scores)
            and (not choice.q or any(all(word in text for word in choice.q.lower().split()) for text in texts))
            and (
                choice.state == ""
                or (UNDECIDED not in states if choice.state == "done" else STATE_OF[choice.state] in states)
            )
        )


def documents(ids: list[str], texts: list[str], parts: list[str] | None = None) -> ShownDocuments:
    count = len(ids)
    none = np.zeros(count, np.uint32)
    part = np.arange(count, dtype=np.uint32) if parts else none
    shown = ShownDocuments(
        np.arange(count), pa.array(ids, pa.large_string()), part, none, np.zeros((count, 16), np.uint8),
        np.zeros(count, np.uint64), none, parts or ["some.jsonl"], TextFile(count),
    )  # fmt: skip
    middle = count // 2
    for some in (np.arange(middle, count), np.arange(middle)):  # in any order
        shown._index(some, [texts[one] for one in some])
    shown.finish()
    return shown


choices = st.builds(
    ListChoice,
    q=st.sampled_from(("", "red", "RED house", "öl", "a+b", "nothing", "x red")),
    low=st.sampled_from((None, 0.75, 0.8)),
    high=st.sampled_from((None, 0.8, 0.7999, 1.0)),
    small=st.sampled_from((None, 2, 3)),
    large=st.sampled_from((None, 2, 4)),
    state=st.sampled_from(("", "open", "done", "duplicate", "different", "unsure")),
    near=st.booleans(),
    order=st.sampled_from(("", "least", "most", "near", "size", "loss")),
)


@given(st.data(), choices)
def test_a_selection_equals_the_obvious_one(data: st.DataObject, choice: ListChoice) -> None:
    obvious = Obvious(data.draw)
    view = obvious.view()
    try:
        assert view.select(choice).tolist() == obvious.chosen(choice)
    finally:
        view.shown.texts.close()


@given(st.data(), choices)
def test_the_ways_on_from_an_item(data: st.DataObject, choice: ListChoice) -> None:
    obvious = Obvious(data.draw)
    if not obvious.items:
        return
    view = obvious.view()
    view.shown.texts.close()
    chosen = view.select(choice)
    item = data.draw(st.integers(0, len(obvious.items) - 1))
    everything = obvious.chosen(ListChoice(order=choice.order))
    order = {one: place for place, one in enumerate(everything)}
    before = [one for one in chosen.tolist() if order[one] < order[item]]
    after = [one for one in chosen.tolist() if order[one] > order[item]]
    wanted = (before[-1] if before else None, after[0] if after else None)
    assert view.neighbours(choice, chosen, item) == wanted
    pairs = view.items.pairs_of(item)
    pair = data.draw(st.sampled_from(pairs))
    found = view.undecided_after(choice, chosen, item, pair)
    states = view.items.state
    rest = [(item, one) for one in pairs if one > pair and states[one] == UNDECIDED]
    around = [*after, *before, *([item] if item in chosen else [])]
    others = [(one, it) for one in around for it in view.items.pairs_of(one) if states[it] == UNDECIDED]
    assert found == next(iter([*rest, *others]), None)


@given(st.lists(st.text("ab ", max_size=4), min_size=1, max_size=8), st.text("ab", min_size=1, max_size=3))
def test_rare_and_frequent_words_are_found_alike(texts: list[str], word: str) -> None:
    names = [f"{place}" for place in range(len(texts))]
    wanted = [word in text for text in texts]
    for few in (0, 1, 100):
        shown = documents(names, texts)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shown_module, "_FEW", few)
            assert shown.search([word]).tolist() == wanted
        shown.texts.close()


def test_limits_include_their_ends() -> None:
    score = np.array([0.79999, 0.8, 0.80004, 1.0])  # shown as 0.7999, 0.8000, 0.8000 and 1.0000
    one = np.arange(4, dtype=np.uint32)
    items = ReviewItems("pairs", np.arange(5), one, one, score, score, (), (), np.arange(4))
    items.state = np.zeros(4, np.uint8)
    view = ListView(items, documents(list("abcd"), [""] * 4), 0.8, set())
    for choice, found in (
        ({"low": 0.8}, [1, 2, 3]), ({"high": 0.8}, [0, 1, 2]), ({"low": 0.8, "high": 0.8}, [1, 2]),
        ({"low": 1.0}, [3]), ({"low": 0.8001}, [3]),
        ({"low": 0.80004, "high": 0.80004}, [2]),
        ({"high": 1.0}, [0, 1, 2, 3]), ({"near": True}, [0, 1, 2]),
    ):  # fmt: skip
        assert view.select(ListChoice(**choice)).tolist() == found
    view.shown.texts.close()


def test_a_search_looks_at_ids_sources_and_beginnings() -> None:
    shown = documents(["A7", "b", "c"], ["the red house", "", "blue"], ["News.jsonl", "old/news.csv", "b.txt"])
    try:
        assert shown.search(["a7"]).tolist() == [True, False, False]
        assert shown.search(["NEWS"]).tolist() == [True, True, False]
        assert shown.search(["news", "red"]).tolist() == [True, False, False]
        assert shown.search(["b"]).tolist() == [False, True, True]
        assert shown.search([]).tolist() == [True] * 3
    finally:
        shown.texts.close()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"low": "x"}, "allowed: a number"), ({"high": "inf"}, "allowed: a number"), ({"page": "-1"}, "a whole number"),
        ({"state": "none"}, "allowed: open, done"), ({"order": "best"}, "allowed: least, most"),
    ],
)  # fmt: skip
def test_a_wrong_choice_says_what_is_allowed(query: dict[str, str], said: str) -> None:
    with pytest.raises(twinset.OptionError, match=said):
        ListChoice.of(query)


@given(choices)
def test_a_choice_survives_its_address(choice: ListChoice) -> None:
    from urllib.parse import parse_qsl

    assert ListChoice.of(dict(parse_qsl(choice.query()))) == choice


def test_fixed_pairs_are_neither_open_nor_decided() -> None:
    assert FIXED not in (UNDECIDED, *STATE_OF.values())
